"""A service that changes its client member by member, in one classic group of a real Kafka."""

import secrets
import subprocess
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import confluent_kafka
import pytest

from prokurist import KafkaConsumer
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Consuming, Producing
from tests.broker.java_programs import command

with warnings.catch_warnings():
    # It reads its own schemas in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka as kafka_python  # type: ignore[import-untyped]
    from kafka.errors import (  # type: ignore[import-untyped]
        CommitFailedError,
        RebalanceInProgressError,
    )

pytestmark = pytest.mark.kafka

PARTITIONS = 4
RECORDS = 40
"""How many are written at least with the same members."""
WITHIN = 90.0
"""Seconds for members to share what there is, on a busy machine."""

Read = Counter[tuple[int, int]]
"""How often each record was worked on, by its partition and offset."""


class Worker(Protocol):
    """A member of the service, which commits what it has worked on."""

    def work(self) -> None:
        """Take what there is, and commit it."""

    def close(self) -> None:
        """End as by SIGTERM."""


class Ours:
    """By this library, with what it does by default."""

    def __init__(self, kafka: RealKafka, group: str, topic: str, read: Read) -> None:
        self._read = read
        self._consumer = KafkaConsumer(
            bootstrap_servers=kafka.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            session_timeout_ms=20_000,
            heartbeat_interval_ms=500,
        )
        self._consumer.subscribe(topic)

    def work(self) -> None:
        """See `Worker`."""
        for record in self._consumer.poll(0.1):
            self._read[record.partition, record.offset] += 1

    def close(self) -> None:
        """See `Worker`."""
        self._consumer.close()


class Confluent:
    """By confluent-kafka, committing each message."""

    def __init__(self, consumer: confluent_kafka.Consumer, topic: str, read: Read) -> None:
        self._read = read
        self._consumer = consumer
        # With callbacks partitions go in its poll, and not behind its back.
        consumer.subscribe([topic], on_assign=ignore, on_revoke=ignore)

    def work(self) -> None:
        """See `Worker`."""
        message = self._consumer.poll(0.1)
        if message is not None and message.error() is None:
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            self._read[partition, offset] += 1
            self._consumer.commit(message=message, asynchronous=False)

    def close(self) -> None:
        """See `Worker`."""
        self._consumer.close()


class Pure:
    """By kafka-python, committing each batch, on a thread: its polls do not end in time.

    Now and then its poll returns records while its member joins again. It refuses to commit
    them then, so that who has their partition next works on them once more.
    """

    def __init__(
        self, kafka: RealKafka, group: str, topic: str, read: Read, refused: Read
    ) -> None:
        self._read = read
        self._refused = refused
        self._ends = threading.Event()
        self._consumer = kafka_python.KafkaConsumer(
            bootstrap_servers=kafka.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=20_000,
            heartbeat_interval_ms=500,
            metadata_max_age_ms=1000,
        )
        # Known before it leads: see `test_mixed_groups`.
        assert self._consumer.partitions_for_topic(topic)
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends.is_set():
            polled = self._consumer.poll(100)
            records = [
                (each.partition, each.offset) for part in polled.values() for each in part
            ]
            self._read.update(records)
            try:
                if records:
                    self._consumer.commit()
            except (CommitFailedError, RebalanceInProgressError):
                self._refused.update(records)
        self._consumer.close()

    def work(self) -> None:
        """See `Worker`: it does so by itself."""
        assert self._thread.is_alive()
        time.sleep(0.05)

    def close(self) -> None:
        """See `Worker`."""
        self._ends.set()
        self._thread.join(WITHIN)
        assert not self._thread.is_alive()


class Java:
    """By Java's client: the console consumer, which commits at its end."""

    def __init__(self, kafka: RealKafka, group: str, topic: str, read: Read) -> None:
        self._read = read
        formats = ("print.partition=true", "print.offset=true", "print.value=false")
        self._process = subprocess.Popen(
            command(
                "org.apache.kafka.tools.consumer.ConsoleConsumer",
                *("--bootstrap-server", kafka.bootstrap, "--topic", topic, "--group", group),
                *("--command-property", "auto.offset.reset=earliest"),
                *("--command-property", "heartbeat.interval.ms=500"),
                *(part for each in formats for part in ("--formatter-property", each)),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._reader = threading.Thread(target=self._collect)
        self._reader.start()

    def _collect(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            words = dict(each.split(":") for each in line.split())
            self._read[int(words["Partition"]), int(words["Offset"])] += 1

    def work(self) -> None:
        """See `Worker`: it does so by itself."""
        time.sleep(0.05)

    def close(self) -> None:
        """See `Worker`."""
        with self._process:
            self._process.terminate()
            self._reader.join(30.0)


def ignore(*_: object) -> None:
    """Do what confluent-kafka does by default."""


class Service:
    """A topic that is written to all the time, and the members that read it."""

    def __init__(self, kafka: RealKafka, producer: confluent_kafka.Producer) -> None:
        self.group = f"g-{secrets.token_hex(6)}"
        self.topic = kafka.unique_topic(partitions=PARTITIONS)
        self.read: Read = Counter()
        self.refused: Read = Counter()
        self.members: list[Worker] = []
        self._kafka, self._producer = kafka, producer
        self._written = 0

    def go_on(self, until: Callable[[], bool]) -> None:
        """Write and read until something holds."""
        began = time.monotonic()
        while not until():
            assert time.monotonic() - began < WITHIN
            self._producer.produce(self.topic, b"x", partition=self._written % PARTITIONS)
            self._producer.poll(0)
            self._written += 1
            for each in self.members:
                each.work()

    def share(self) -> None:
        """Go on until each member has its part of the partitions, and has worked a while."""
        looks, enough = iter(range(10_000)), self._written + RECORDS

        def holds() -> bool:
            if next(looks) % 5 or self._written < enough:
                return False
            told = self._kafka.describe_group(self.group)
            parts = [len(each.assignment) for each in told.members]
            return len(parts) == len(self.members) and all(parts) and sum(parts) == PARTITIONS

        self.go_on(holds)

    def all_is_read(self) -> bool:
        """Whether every record was worked on."""
        self._producer.flush(30.0)
        return len(self.read) == self._written

    def close(self) -> None:
        """End all members, and let go of what others' clients keep until they are forgotten."""
        while self.members:
            self.members.pop().close()
        del self._producer


@pytest.fixture
def service(prokurist_kafka: RealKafka, producer_of: Producing) -> Iterator[Service]:
    """A service without members."""
    made = Service(prokurist_kafka, producer_of(prokurist_kafka.bootstrap))
    yield made
    made.close()


@pytest.mark.parametrize("before", ["confluent-kafka", "kafka-python", "java"])
def test_a_service_changes_its_client_member_by_member(
    service: Service, prokurist_kafka: RealKafka, consumer_of: Consuming, before: str
) -> None:
    """B133: and back; where one has committed another goes on, and no record is lost.

    No record is worked on twice, but for those that a peer has refused to commit.
    """
    place: tuple[Any, ...] = prokurist_kafka, service.group, service.topic, service.read

    def theirs() -> Worker:
        if before == "kafka-python":
            where = service.group, service.topic
            return Pure(prokurist_kafka, *where, service.read, service.refused)
        if before == "java":
            return Java(*place)
        keys: dict[str, Any] = {"enable_auto_commit": False, "heartbeat_interval_ms": 500}
        made = consumer_of(prokurist_kafka.bootstrap, service.group, **keys)
        return Confluent(made, service.topic, service.read)

    def ours() -> Worker:
        return Ours(*place)

    service.members += [theirs(), theirs()]
    service.share()
    for nth, make in ((0, ours), (1, ours), (0, theirs)):
        service.members[nth].close()
        service.members[nth] = make()
        service.share()
    service.go_on(service.all_is_read)
    assert set((service.read - service.refused).values()) == {1}, service.read.most_common(5)
