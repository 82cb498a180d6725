"""Topics of a real Kafka that are deleted and created again while members read them."""

import time
from secrets import token_hex
from typing import Any, Final

import pytest

from prokurist import TopicPartition
from prokurist.testing.kafka import AdminFailed, RealKafka
from tests.broker.conftest import Producing
from tests.broker.grouping import Member, live, write

pytestmark = pytest.mark.kafka

KEYS: Final[dict[str, dict[str, Any]]] = {
    "classic": {"group_protocol": "classic"},
    "consumer": {
        "group_protocol": "consumer",
        "session_timeout_ms": None,
        "heartbeat_interval_ms": None,
    },
}
OLD, NEW = 10, 15


def recreate(kafka: RealKafka, topic: str, pause: float) -> None:
    """Delete it, and make it again as soon as that is possible, or after a while."""
    kafka.delete_topic(topic)
    time.sleep(pause)
    while True:
        try:
            kafka.create_topic(topic)
        except AdminFailed as error:
            if error.code != "TOPIC_ALREADY_EXISTS":
                raise
        else:
            return


@pytest.mark.parametrize("protocol", KEYS)
@pytest.mark.parametrize("interval", [200, 600_000], ids=["often", "at the end"])
@pytest.mark.parametrize("pause", [0.0, 3.0], ids=["at once", "later"])
def test_the_new_one_is_read_from_its_beginning(
    prokurist_kafka: RealKafka,
    producer_of: Producing,
    protocol: str,
    interval: int,
    pause: float,
) -> None:
    """B196: no commit made unasked has a member skip what is new, also after a restart."""
    kafka, topic, group = prokurist_kafka, prokurist_kafka.unique_topic(), f"g-{token_hex(6)}"
    write(producer_of(kafka.bootstrap), topic, OLD, 1)
    keys = {
        "auto_commit_interval_ms": interval,
        "allow_auto_create_topics": False,
        **KEYS[protocol],
    }
    with Member(kafka, group, topic, **keys) as one:
        live(one, until=lambda: len(one.read) == OLD)
        one.poll()
        recreate(kafka, topic, pause)
        write(producer_of(kafka.bootstrap), topic, NEW, 1)
        one.read.clear()
        live(one, until=lambda: len(one.read) >= NEW, within=120)
        assert offsets(one) == list(range(NEW))
    with Member(kafka, group, topic, **keys) as other:
        live(other, until=lambda: other.has)
        assert other.consumer.position(TopicPartition(topic, 0)) == NEW


def offsets(member: Member) -> list[int]:
    """Which records it has read."""
    return sorted(offset for _, offset in member.read)
