"""What tests of groups share: members that poll in turn, and what each has read."""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

import confluent_kafka

from prokurist import KafkaConsumer, TopicPartition
from prokurist.testing.kafka import RealKafka
from tests.stopwatch import Stopwatch

TURN: Final = 0.1

ANOTHER: Final = """
import sys
from prokurist import KafkaConsumer
bootstrap, group, topic, *more = sys.argv[1:]
keys = dict(each.split("=") for each in more)
consumer = KafkaConsumer({"bootstrap.servers": bootstrap, "group.id": group, **keys})
consumer.subscribe(topic)
told = None
while True:
    consumer.poll(0.1)
    if consumer.assignment() != told:
        told = consumer.assignment()
        print(len(told), flush=True)
"""
"""A member that is a process of its own; it prints how many partitions it has."""


class Member:
    """A consumer of ours in a group, and what it has been told and given.

    Attributes:
        read: How often each record was read, by its partition and offset.
        said: What its listener has heard.
        slowest: By how many seconds a poll was late at the most, without what the machine kept.
    """

    def __init__(self, kafka: RealKafka, group: str, topic: Any, **keys: Any) -> None:
        self.read: Counter[tuple[TopicPartition, int]] = Counter()
        self.said: list[str] = []
        self.slowest = 0.0
        settings: dict[str, Any] = {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            # No member is out because this machine was busy, and no test waits for
            # its end where a heartbeat is enough.
            "session.timeout.ms": 20_000,
            "heartbeat.interval.ms": 500,
            "metadata.max.age.ms": 1000,
        }
        settings.update({name.replace("_", "."): value for name, value in keys.items()})
        given = {name: value for name, value in settings.items() if value is not None}
        self.consumer = KafkaConsumer(given)
        self.consumer.subscribe(topic, self)

    def on_partitions_assigned(self, _partitions: frozenset[TopicPartition]) -> None:
        """See `ConsumerRebalanceListener`."""
        self.said.append("assigned")

    def on_partitions_revoked(self, _partitions: frozenset[TopicPartition]) -> None:
        """See `ConsumerRebalanceListener`."""
        self.said.append("revoked")

    def on_partitions_lost(self, _partitions: frozenset[TopicPartition]) -> None:
        """See `ConsumerRebalanceListener`."""
        self.said.append("lost")

    def poll(self, timeout: float = TURN) -> None:
        """Poll, and take note of what came."""
        with Stopwatch() as took:
            records = self.consumer.poll(timeout)
        self.slowest = max(self.slowest, took.own - timeout)
        for record in records:
            self.read[TopicPartition(record.topic, record.partition), record.offset] += 1

    @property
    def has(self) -> frozenset[TopicPartition]:
        """What it reads."""
        return self.consumer.assignment()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.close()


def live(*members: Member, until: Callable[[], object], within: float = 60.0) -> float:
    """Have members poll in turn until something holds: how long that took."""
    began = time.monotonic()
    while not until():
        assert time.monotonic() - began < within, [
            (each.consumer, sorted(each.has)) for each in members
        ]
        for each in members:
            each.poll()
    return time.monotonic() - began


def shared(total: int, *members: Member) -> Callable[[], bool]:
    """Whether these have all partitions among them, each one its share."""

    def holds() -> bool:
        parts = [each.has for each in members]
        fair = all(part for part in parts) or total < len(members)
        return fair and sum(map(len, parts)) == len(frozenset().union(*parts)) == total

    return holds


def write(producer: confluent_kafka.Producer, topic: str, count: int, partitions: int) -> None:
    """Put so many records into a topic, in turn."""
    for nth in range(count):
        producer.produce(topic, b"%d" % nth, partition=nth % partitions)
    assert producer.flush(60) == 0


@contextmanager
def another(
    kafka: RealKafka, group: str, topic: str, **keys: Any
) -> Iterator["subprocess.Popen[str]"]:
    """A member in a process of its own, which has partitions when this begins."""
    listed = [f"{name.replace('_', '.')}={value}" for name, value in keys.items()]
    process = subprocess.Popen(
        [sys.executable, "-c", ANOTHER, kafka.bootstrap, group, topic, *listed],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()


def until_it_has(process: "subprocess.Popen[str]", count: int) -> None:
    """Wait until it says that it has so many partitions."""
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) == count:
            return
    raise AssertionError("it has ended")
