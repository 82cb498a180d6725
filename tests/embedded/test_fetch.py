"""Reading over real sockets, where a test wants to see what was on the wire, and when."""

import time

import pytest

from prokurist import KafkaConsumer, TopicPartition
from prokurist.testing.broker import EmbeddedBroker
from tests.stopwatch import Stopwatch

TPS = [TopicPartition("orders", number) for number in range(3)]
INTERVAL = 0.6
LATE = 1.0
"""Far above anything measured: these machines are shared."""


def reading(broker: EmbeddedBroker, **keys: object) -> KafkaConsumer:
    """A consumer of all partitions, with a record of each returned."""
    for tp in TPS:
        broker.append(tp, b"0")
    consumer = KafkaConsumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "g", **keys},
        auto_offset_reset="earliest",
        auto_commit_interval_ms=int(INTERVAL * 1000),
    )
    consumer.assign(TPS)
    until, seen = time.monotonic() + 20, 0
    while seen < len(TPS):
        seen += len(consumer.poll(1.0))
        assert time.monotonic() < until
    return consumer


def commits(broker: EmbeddedBroker) -> list[tuple[float, set[int]]]:
    """When commits came, and of which partitions."""
    return [
        (
            entry.at,
            {part.partition_index for topic in entry.body.topics for part in topic.partitions},
        )
        for entry in broker.requests("OffsetCommit")
    ]


def until_committed(broker: EmbeddedBroker, consumer: KafkaConsumer, count: int) -> None:
    """Poll until so many commits have come."""
    until = time.monotonic() + 20
    while len(commits(broker)) < count:
        consumer.poll(0.05)
        assert time.monotonic() < until


def test_sessions_are_ended_with_the_consumer(broker: EmbeddedBroker) -> None:
    """B189, B188: each broker is told with the final epoch, while fetches are parked there."""
    consumer = reading(broker, **{"fetch.max.wait.ms": 10_000})
    consumer.poll(0.3)
    assert all(broker.fetch_sessions(node) for node in (1, 2, 3))
    with Stopwatch() as took:
        consumer.close()
    assert took.own < LATE
    until = time.monotonic() + 20
    while time.monotonic() < until:
        fetches = broker.requests("Fetch")
        if sum(entry.body.session_epoch == -1 for entry in fetches) == 3:
            break
        time.sleep(0.02)
    else:
        pytest.fail("three sessions were not ended")


def test_no_second_automatic_commit_while_one_is_in_flight(broker: EmbeddedBroker) -> None:
    """B53: the next interval picks up."""
    late = 2.5 * INTERVAL
    with reading(broker) as consumer:
        until_committed(broker, consumer, 1)
        with broker.answer_late("OffsetCommit", late):
            before = len(commits(broker))
            until_committed(broker, consumer, before + 2)
        # When one came is written down before its answer begins to be late.
        first, second = (at for at, _ in commits(broker)[before : before + 2])
        assert second - first >= late


def test_a_new_assignment_restarts_the_interval(broker: EmbeddedBroker) -> None:
    """B55, B61: what is given up is committed at once; the next one takes a whole interval."""
    with reading(broker) as consumer:
        until_committed(broker, consumer, 1)
        time.sleep(INTERVAL / 2)
        began = time.monotonic()
        with broker.hold("OffsetCommit"):
            # It does not wait for an answer, for there is none.
            consumer.assign(TPS[:2])
        until = time.monotonic() + 20
        while (seen := commits(broker))[-1][1] != {0, 1}:
            consumer.poll(0.05)
            assert time.monotonic() < until
        *before, (later, _) = seen
        assert all(partitions == {0, 1, 2} for _, partitions in before)
        (given_up, _) = before[-1]
        assert given_up >= began
        assert later - began >= INTERVAL
