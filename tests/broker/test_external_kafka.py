"""The first rung: a Kafka that the user runs."""

from collections.abc import Iterator

import pytest

from prokurist.testing.kafka import ControlRefused, RealKafka, survey

pytestmark = pytest.mark.kafka


@pytest.fixture
def given(prokurist_kafka: RealKafka, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealKafka]:
    """The session's Kafka, as if the user ran it."""
    monkeypatch.setenv("PROKURIST_TEST_BOOTSTRAP", prokurist_kafka.direct_bootstrap)
    with RealKafka() as kafka:
        yield kafka


def test_it_serves_first(given: RealKafka, prokurist_kafka: RealKafka) -> None:
    """Nothing is started; topics and groups are there as with one's own."""
    assert given.rung == "given"
    assert given.bootstrap == prokurist_kafka.direct_bootstrap
    topic = given.unique_topic(partitions=2)
    assert given.leaders(topic) == prokurist_kafka.leaders(topic) == [0, 0]
    assert given.describe_group("no-such-group").state == "Dead"
    given.delete_topic(topic)
    assert survey() == f"given, {given.bootstrap} (PROKURIST_TEST_BOOTSTRAP)"


def test_it_is_not_ours_to_hurt(given: RealKafka) -> None:
    """The controls refuse, healing it is nothing, and it outlives our close."""
    with pytest.raises(ControlRefused, match="PROKURIST_TEST_BOOTSTRAP"):
        given.freeze()
    given.heal()
    given.close()
    with RealKafka() as again:
        assert again.rung == "given"
