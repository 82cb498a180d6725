"""Work that ends elsewhere, with a real Kafka: in pools, and in batches that take long."""

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Final, Self

import pytest

from prokurist import (
    ConsumerRecord,
    ConsumerRecords,
    KafkaConsumer,
    OffsetTracker,
    TopicPartition,
)
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Producing
from tests.broker.grouping import write
from tests.documents import names_of

pytestmark = pytest.mark.kafka

PARTITIONS: Final = 4
RECORDS: Final = 2000
KEYS: Final[dict[str, dict[str, Any]]] = {
    "classic": {
        "partition_assignment_strategy": "cooperative-sticky",
        "heartbeat_interval_ms": 500,
    },
    "consumer": {},
}
BOTH = pytest.mark.parametrize("protocol", ["classic", "consumer"])
Place = tuple[int, int]


def member(kafka: RealKafka, group: str, protocol: str, **keys: Any) -> KafkaConsumer:
    """A consumer that commits what is done, often."""
    return KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=group,
        group_protocol=protocol,
        auto_offset_reset="earliest",
        enable_auto_offset_store=False,
        auto_commit_interval_ms=100,
        **(KEYS[protocol] | keys),
    )


class Worker:
    """A member with a pool of threads, in which records end in any order.

    Attributes:
        done: What has been worked on, by this one and others.
        consumer: The member.
        tracker: Its tracker.
    """

    def __init__(self, consumer: KafkaConsumer, topic: str, done: set[Place]) -> None:
        self.consumer = consumer
        self.done = done
        self.tracker: OffsetTracker = consumer.track_offsets(
            max_outstanding=100, max_uncommitted=150
        )
        self._pool = ThreadPoolExecutor(8)
        consumer.subscribe(topic, self)

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Nothing."""

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Let half a second's work end."""
        self.tracker.wait(0.5, partitions)

    def poll(self, timeout: float = 0.1) -> None:
        """Poll once, and hand what came to the pool."""
        for record in self.consumer.poll(timeout):
            self._pool.submit(self._work, record, record.offset * 7919 % 100 / 10_000)
        assert self.tracker.outstanding <= 100

    def _work(self, record: ConsumerRecord, seconds: float) -> None:
        time.sleep(seconds)
        self.done.add((record.partition, record.offset))
        self.tracker.done(record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.close()
        self._pool.shutdown()


@BOTH
def test_a_pool_over_rebalances_and_close(
    prokurist_kafka: RealKafka, producer_of: Producing, protocol: str
) -> None:
    """B288, B291: members come and go; what is committed was done, always, and all is done."""
    topic, group = (
        prokurist_kafka.unique_topic(partitions=PARTITIONS),
        f"g-{secrets.token_hex(6)}",
    )
    write(producer_of(prokurist_kafka.bootstrap), topic, RECORDS, PARTITIONS)
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    done: set[Place] = set()

    with ExitStack() as stack:
        observer = stack.enter_context(
            KafkaConsumer(bootstrap_servers=prokurist_kafka.bootstrap, group_id=group)
        )

        def committed() -> int:
            total = 0
            for tp, at in observer.committed(partitions).items():
                for offset in range(at.offset if at is not None else 0):
                    assert (tp.partition, offset) in done
                total += at.offset if at is not None else 0
            return total

        def live(until: Callable[[], object], *workers: Worker) -> None:
            end = time.monotonic() + 60.0
            while not until():
                assert time.monotonic() < end
                for each in workers:
                    each.poll()
                committed()

        first = stack.enter_context(
            Worker(member(prokurist_kafka, group, protocol), topic, done)
        )
        live(lambda: len(done) > 100, first)
        second = Worker(member(prokurist_kafka, group, protocol), topic, done)
        live(lambda: len(second.consumer.assignment()) == 2, first, second)
        live(lambda: len(done) > 700, first, second)
        second.__exit__()
        assert second.tracker.outstanding == 0
        committed()
        live(lambda: committed() == RECORDS, first)
        assert first.tracker.wait(1.0)
        assert first.tracker.held_back == 0
    assert len(done) == RECORDS


@BOTH
def test_close_commits_up_to_the_lowest_that_is_not_done(
    prokurist_kafka: RealKafka, producer_of: Producing, protocol: str
) -> None:
    """B288: the next member begins there."""
    topic, group = prokurist_kafka.unique_topic(), f"g-{secrets.token_hex(6)}"
    write(producer_of(prokurist_kafka.bootstrap), topic, 20, 1)
    with member(prokurist_kafka, group, protocol) as consumer:
        tracker = consumer.track_offsets()
        consumer.subscribe(topic)
        records: list[ConsumerRecord] = []
        while len(records) < 20:
            records += consumer.poll(5.0)
        for record in records:
            if record.offset not in (7, 12):
                assert tracker.done(record)
    with member(prokurist_kafka, group, protocol) as consumer:
        consumer.subscribe(topic)
        again: list[ConsumerRecord] = []
        while not again:
            again += consumer.poll(5.0)
        assert again[0].offset == 7


@BOTH
def test_what_is_stored_is_where_the_next_member_begins(
    prokurist_kafka: RealKafka, producer_of: Producing, protocol: str
) -> None:
    """B281, B282, B286: stored before a revocation, and before close."""
    topic, group = prokurist_kafka.unique_topic(), f"g-{secrets.token_hex(6)}"
    write(producer_of(prokurist_kafka.bootstrap), topic, 20, 1)
    for begins, stores in ((0, 3), (4, 11), (12, 19)):
        with member(prokurist_kafka, group, protocol) as consumer:
            consumer.subscribe(topic)
            records: list[ConsumerRecord] = []
            while not any(each.offset == 19 for each in records):
                records += consumer.poll(5.0)
            assert records[0].offset == begins
            consumer.store_offsets(records[stores - begins])


@BOTH
def test_the_recipe_for_work_that_takes_long(
    prokurist_kafka: RealKafka, producer_of: Producing, protocol: str
) -> None:
    """docs/howto/work_elsewhere.md: it outlives max.poll.interval.ms, and a rebalance in it."""
    names = names_of("long_work.py")
    topic, group = prokurist_kafka.unique_topic(partitions=2), f"g-{secrets.token_hex(6)}"
    write(producer_of(prokurist_kafka.bootstrap), topic, 40, 2)
    began, go_on = threading.Event(), threading.Event()
    worked: list[Place] = []

    def slow(records: ConsumerRecords) -> None:
        began.set()
        assert go_on.wait(60.0)
        worked.extend((each.partition, each.offset) for each in records)

    stop = threading.Event()
    with member(
        prokurist_kafka, group, protocol, max_poll_interval_ms=6000, max_poll_records=30
    ) as consumer:
        long_work = names["LongWork"](consumer, topic, slow)
        said: list[str] = []
        long_work.on_partitions_lost = lambda _: said.append("lost")

        def run() -> None:
            long_work.run(stop)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            assert began.wait(60.0)
            with member(prokurist_kafka, group, protocol) as other:
                other.subscribe(topic)
                end = time.monotonic() + 60.0
                got: list[Place] = []
                while time.monotonic() < end and len(got) < 20:
                    got += [(each.partition, each.offset) for each in other.poll(0.5)]
                # Longer than max.poll.interval.ms, and it is a member yet.
                assert not go_on.wait(8.0)
                (mine,) = other.assignment()
                assert sorted(got) == [(mine.partition, offset) for offset in range(20)]
                go_on.set()
                kept = TopicPartition(topic, 1 - mine.partition)
                while (at := other.committed(kept)[kept]) is None or at.offset < 20:
                    assert time.monotonic() < end
                    other.poll(0.2)
                # What the other works on was not committed by this one, which had it in hand.
                assert other.committed(mine)[mine] is None
        finally:
            go_on.set()
            stop.set()
            thread.join(30.0)
        assert not said
        assert {each for each in worked if each[0] == kept.partition} == {
            (kept.partition, offset) for offset in range(20)
        }
