"""A quarter of a minute of `make chaos-writers`, and a minute and a half of it."""

from itertools import islice

import pytest

from prokurist.testing.kafka import RealKafka
from tests.chaos.chaos_of_writers import WRITER_WEIGHTS, run, writer_troubles
from tests.chaos.clients import FACES
from tests.chaos.schedule import SLOTS
from tests.chaos.writing import STYLES
from tests.soak.schedule import WEIGHTS, troubles


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
def test_writers_in_trouble(prokurist_own_cluster: RealKafka) -> None:
    """No acknowledged record is lost, none is there twice, nothing is late."""
    outcome = run(prokurist_own_cluster, 23, 10.0, pace=0.2)
    assert not outcome.wrongs, outcome.summary()
    assert outcome.verdict.counts["acknowledged"] > 500
    assert set(outcome.verdict.styles) == set(STYLES)
    assert outcome.troubles.total() > 3
    assert "nothing was wrong" in outcome.summary()


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
def test_writers_by_other_names_in_trouble(prokurist_own_cluster: RealKafka) -> None:
    """The same promises through the faces of confluent-kafka and kafka-python."""
    outcome = run(prokurist_own_cluster, 23, 10.0, pace=0.2, clients=FACES)
    assert not outcome.wrongs, outcome.summary()
    assert outcome.verdict.counts["acknowledged"] > 500
    assert set(outcome.verdict.styles) == set(STYLES)


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(600)
def test_writers_in_trouble_for_longer(prokurist_own_cluster: RealKafka) -> None:
    """The same at its own pace, with writers that are killed and frozen."""
    outcome = run(prokurist_own_cluster, 7, 90.0)
    assert not outcome.wrongs, outcome.summary()
    assert outcome.verdict.counts["acknowledged"] > 5000
    assert sum(outcome.struck.values()) > 3


def test_every_style_has_a_place() -> None:
    """Each writer of a run is of another style, and one goes without idempotence."""
    assert len(STYLES) == SLOTS
    assert [name for name, style in STYLES.items() if not style.idempotent] == ["plain"]


def test_a_seed_replays_the_troubles_of_writers() -> None:
    """The same seed, the same list; every kind comes, and a soak's are what they were."""
    first = list(islice(writer_troubles(1), 300))
    assert first == list(islice(writer_troubles(1), 300))
    assert {each.kind for each in first} == set(WRITER_WEIGHTS)
    quick = list(islice(writer_troubles(1, 0.5), 300))
    assert [each.length * 2 for each in quick] == [each.length for each in first]
    assert {each.kind for each in islice(troubles(1), 300)} == set(WEIGHTS)
