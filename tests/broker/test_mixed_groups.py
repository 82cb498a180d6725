"""Classic groups of several clients, and of both protocols, on a real Kafka."""

import secrets
import warnings
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest

from prokurist import TopicPartition
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Consuming
from tests.broker.grouping import Member

with warnings.catch_warnings():
    # It reads its own schemas in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka as kafka_python  # type: ignore[import-untyped]

pytestmark = pytest.mark.kafka


class Confluent:
    """A member by confluent-kafka."""

    def __init__(self, consumer: confluent_kafka.Consumer, topic: str) -> None:
        self._consumer = consumer
        consumer.subscribe([topic])

    def poll(self) -> None:
        """See `Member`."""
        self._consumer.poll(0.1)

    @property
    def has(self) -> frozenset[TopicPartition]:
        """See `Member`."""
        return frozenset(
            TopicPartition(each.topic, each.partition) for each in self._consumer.assignment()
        )

    def close(self) -> None:
        """Leave."""
        self._consumer.close()


class Pure:
    """A member by kafka-python."""

    def __init__(self, kafka: RealKafka, group: str, topic: str) -> None:
        self._consumer = kafka_python.KafkaConsumer(
            bootstrap_servers=kafka.bootstrap,
            group_id=group,
            session_timeout_ms=6000,
            heartbeat_interval_ms=500,
            metadata_max_age_ms=1000,
        )
        # As a leader it shares out what it knows of. Where its metadata comes while it does, it
        # takes what it shared out, nothing, for what is there, and does not join again.
        assert len(self._consumer.partitions_for_topic(topic)) == 6
        self._consumer.subscribe([topic])

    def poll(self) -> None:
        """See `Member`."""
        self._consumer.poll(100)

    @property
    def has(self) -> frozenset[TopicPartition]:
        """See `Member`."""
        return frozenset(
            TopicPartition(each.topic, each.partition) for each in self._consumer.assignment()
        )

    def close(self) -> None:
        """Leave."""
        self._consumer.close()


def shared_by(total: int, *members: Any) -> Callable[[], bool]:
    """Whether each has a part, and all of them everything, once."""

    def holds() -> bool:
        parts = [each.has for each in members]
        return all(parts) and sum(map(len, parts)) == total == len(frozenset().union(*parts))

    return holds


def live(*members: Any, until: Callable[[], bool], turns: int = 500) -> None:
    """Have all of them poll in turn until something holds."""
    for _ in range(turns):
        if until():
            return
        for each in members:
            each.poll()
    raise AssertionError([sorted(each.has) for each in members])


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_a_group_with_librdkafka(
    prokurist_kafka: RealKafka, consumer_of: Consuming, strategy: str, first: str
) -> None:
    """B133: either leads, and both understand what the other writes."""
    kafka, group = prokurist_kafka, f"g-{secrets.token_hex(6)}"
    topic = kafka.unique_topic(partitions=6)

    def theirs() -> Confluent:
        made = consumer_of(
            kafka.bootstrap,
            group,
            partition_assignment_strategy=strategy,
            session_timeout_ms=6000,
            heartbeat_interval_ms=500,
        )
        return Confluent(made, topic)

    def ours() -> Member:
        return Member(kafka, group, topic, partition_assignment_strategy=strategy)

    members: list[Any] = [ours() if first == "ours" else theirs()]
    live(*members, until=shared_by(6, *members))
    members.append(theirs() if first == "ours" else ours())
    live(*members, until=shared_by(6, *members))
    mine, other = members if first == "ours" else members[::-1]
    mine.consumer.close()
    live(other, until=shared_by(6, other))
    other.close()


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_a_group_with_kafka_python(prokurist_kafka: RealKafka, first: str) -> None:
    """B133: with what both have by default, which is range."""
    kafka, group = prokurist_kafka, f"g-{secrets.token_hex(6)}"
    topic = kafka.unique_topic(partitions=6)
    members: list[Any] = []
    for each in (first, "theirs" if first == "ours" else "ours"):
        make = Member if each == "ours" else Pure
        members.append(make(kafka, group, topic))
        live(*members, until=shared_by(6, *members))
    for each in members:
        (each.consumer if isinstance(each, Member) else each).close()


@pytest.mark.parametrize("first", ["classic", "consumer"])
def test_a_group_that_migrates(prokurist_kafka: RealKafka, first: str) -> None:
    """ADR 8: members of both protocols in one group of 4.x, until one of them is left."""
    kafka, group = prokurist_kafka, f"g-{secrets.token_hex(6)}"
    topic = kafka.unique_topic(partitions=6)

    def member(protocol: str) -> Member:
        if protocol == "classic":
            return Member(kafka, group, topic)
        return Member(
            kafka,
            group,
            topic,
            group_protocol="consumer",
            session_timeout_ms=None,
            heartbeat_interval_ms=None,
        )

    one = member(first)
    live(one, until=shared_by(6, one))
    two = member("consumer" if first == "classic" else "classic")
    live(one, two, until=shared_by(6, one, two))
    one.consumer.close()
    live(two, until=shared_by(6, two))
    two.consumer.commit_sync()
    two.consumer.close()
