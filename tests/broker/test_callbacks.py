"""`on_event` and `on_committed` with a real Kafka."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prokurist import KafkaConsumer, LogEvent, OffsetAndMetadata
from prokurist.errors import KafkaException
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Producing
from tests.broker.grouping import write

pytestmark = pytest.mark.kafka

Committed = tuple[dict[Any, OffsetAndMetadata], KafkaException | None]


@pytest.fixture
def kafka(orders: RealKafka) -> Iterator[RealKafka]:
    """The shared Kafka, which is mended at the end."""
    yield orders
    orders.heal()


def polls_until(consumer: KafkaConsumer, seen: Callable[[], object], seconds: float) -> None:
    """Poll until something was seen."""
    end = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < end
        consumer.poll(0.5)


def test_a_broker_that_goes_and_comes_back_is_told(kafka: RealKafka) -> None:
    """B323, B326, B392: the rebalance, an outage and its end, statistics; on poll's thread."""
    topic = kafka.unique_topic("events", partitions=2)
    events: list[LogEvent] = []
    happened: dict[str, float] = {}
    threads: set[int] = set()

    def hear(event: LogEvent) -> None:
        happened[event.name] = time.monotonic() - event.age
        threads.add(threading.get_ident())
        events.append(event)

    def told(name: str) -> list[LogEvent]:
        return [each for each in events if each.name == name]

    def silent_since(name: str) -> float:
        """When the last answer came by what was told, however late this thread heard of it."""
        seconds = told(name)[0].values["seconds"]
        assert isinstance(seconds, float)
        return happened[name] - seconds

    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=topic,
        on_event=hear,
        statistics_interval_ms=1_000,
        request_timeout_ms=3_000,
    ) as consumer:
        consumer.subscribe(topic)
        polls_until(consumer, lambda: told("partitions_assigned"), 30)
        assert told("partitions_assigned")[0].values["count"] == 2
        polls_until(consumer, lambda: len(told("statistics")) > 1, 10)
        awake = time.monotonic()
        kafka.freeze()
        frozen = time.monotonic()
        polls_until(consumer, lambda: told("cluster_unreachable"), 40)
        assert awake - 2 < silent_since("cluster_unreachable") < frozen + 2
        assert isinstance(told("cluster_unreachable")[0].values["error"], KafkaException)
        kafka.thaw()
        polls_until(consumer, lambda: told("cluster_reachable"), 40)
        assert awake - 2 < silent_since("cluster_reachable") < frozen + 2
    assert "partitions_revoked" in {each.name for each in events}
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_automatic_commits_are_told(
    kafka: RealKafka, protocol: str, producer_of: Producing
) -> None:
    """B327, B328: while polls go on, and the last one in close; what it raises comes out."""
    topic = kafka.unique_topic("committed", partitions=1)
    write(producer_of(kafka.bootstrap), topic, 10, 1)
    told: list[Committed] = []

    def hear(offsets: dict[Any, OffsetAndMetadata], error: KafkaException | None) -> None:
        told.append((offsets, error))
        if len(told) == 1:
            raise ZeroDivisionError("of the user")

    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=f"g-{secrets.token_hex(4)}",
        group_protocol=protocol,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=200,
        max_poll_records=6,
        on_committed=hear,
    )
    with consumer:
        consumer.subscribe(topic)
        with pytest.raises(ZeroDivisionError):
            polls_until(consumer, lambda: False, 30)
        (tp,) = consumer.assignment()
        polls_until(consumer, lambda: consumer.position(tp) == 10, 30)
    assert all(error is None for _, error in told)
    assert told[-1][0][tp].offset == 10
