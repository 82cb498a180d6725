"""Groups by the consumer protocol (KIP-848) on a real Kafka."""

import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from prokurist import KafkaConsumer, SubscriptionPattern, TopicPartition, errors
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Producing
from tests.broker.watching import Watch, soon
from tests.processes_watch import ProcessesWatch

pytestmark = pytest.mark.kafka

LATE = 0.25
"""Far above anything measured, what the machine gave to others not counted."""

LEFT = 8.0
"""Seconds in which the others know of who has left, on a busy broker, too; the
brokers' `group.consumer.session.timeout.ms` (testing/kafka/properties.py) would take 9 at the
least. That a heartbeat is enough is held where no broker stands still: in virtual time."""

Joining = Callable[..., KafkaConsumer]


def filled(kafka: RealKafka, producer: Any) -> str:
    """A topic of four partitions, with a hundred records in each."""
    name = kafka.unique_topic("groups", partitions=4)
    for partition in range(4):
        for nth in range(100):
            producer.produce(name, b"%d" % nth, partition=partition)
    producer.flush(20)
    return name


@pytest.fixture
def topic(prokurist_kafka: RealKafka, producer_of: Producing) -> str:
    """A topic of four partitions, with a hundred records in each."""
    return filled(prokurist_kafka, producer_of(prokurist_kafka.bootstrap))


@contextmanager
def group_of(kafka: RealKafka) -> Iterator[Joining]:
    """Make members of one group."""
    group = f"g-{secrets.token_hex(6)}"
    with ExitStack() as stack:

        def make(topics: Any, listener: Any = None, **keys: Any) -> KafkaConsumer:
            keys.setdefault("enable_auto_commit", False)
            consumer = KafkaConsumer(
                {
                    "bootstrap.servers": kafka.bootstrap,
                    "group.id": group,
                    "group.protocol": "consumer",
                    "auto.offset.reset": "earliest",
                },
                **keys,
            )
            stack.callback(consumer.close)
            consumer.subscribe(topics, listener)
            return consumer

        yield make
        kafka.heal()


@pytest.fixture
def join(prokurist_kafka: RealKafka) -> Iterator[Joining]:
    """Make members of one group, of the shared Kafka."""
    with group_of(prokurist_kafka) as make:
        yield make


def share(
    *consumers: KafkaConsumer, shares: list[int], within: float = 90.0
) -> dict[TopicPartition, set[int]]:
    """Poll in turn until each has so many partitions: the offsets that came meanwhile."""
    until = time.monotonic() + within
    got: dict[TopicPartition, set[int]] = {}
    while [len(each.assignment()) for each in consumers] != shares:
        assert time.monotonic() < until, [each.assignment() for each in consumers]
        for each in consumers:
            for record in each.poll(0.1):
                got.setdefault(TopicPartition(record.topic, record.partition), set()).add(
                    record.offset
                )
    return got


def test_two_members_join_read_and_leave(
    prokurist_kafka: RealKafka, topic: str, join: Joining
) -> None:
    """B146, B160, B194: they share, and who stays has everything soon after."""
    one = join(topic)
    share(one, shares=[4])
    two = join(topic)
    share(one, two, shares=[2, 2])
    assert not one.assignment() & two.assignment()
    described = prokurist_kafka.describe_group(one.group_metadata().group_id)
    assert described.protocol == "consumer"
    assert {each.member_id for each in described.members} == {
        one.group_metadata().member_id,
        two.group_metadata().member_id,
    }
    with soon(LEFT):
        two.close()
        share(one, shares=[4])


def test_nothing_is_lost_or_read_twice_over_a_handover(topic: str, join: Joining) -> None:
    """B58: what is revoked is committed before, as far as it was returned."""
    one = join(topic, enable_auto_commit=True, max_poll_records=7)
    seen: list[tuple[int, int]] = []
    two: KafkaConsumer | None = None
    until = time.monotonic() + 120.0
    while len(seen) < 400:
        assert time.monotonic() < until, len(seen)
        for each in (one,) if two is None else (one, two):
            seen += [(record.partition, record.offset) for record in each.poll(0.1)]
        if len(seen) > 50 and two is None:
            two = join(topic, enable_auto_commit=True, max_poll_records=7)
    assert len(set(seen)) == 400
    assert len(seen) == 400, "auto-commit before a handover leaves nothing to be read again"


CRASHING = """
import sys
from prokurist import KafkaConsumer
consumer = KafkaConsumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2],
    "group.protocol": "consumer", "auto.offset.reset": "earliest"})
consumer.subscribe(sys.argv[3])
while True:
    consumer.poll(0.1)
    if consumer.assignment():
        print("in", flush=True)
"""


def test_a_member_that_crashes(topic: str, join: Joining) -> None:
    """A SIGKILL: its session of 10 s ends, and the other has everything."""
    one = join(topic)
    share(one, shares=[4])
    metadata = one.group_metadata()
    with subprocess.Popen(
        [sys.executable, "-c", CRASHING, prokurist_bootstrap(one), metadata.group_id, topic],
        stdout=subprocess.PIPE,
    ) as other:
        share(one, shares=[2])
        assert other.stdout is not None
        other.stdout.readline()
        other.send_signal(signal.SIGKILL)
    began = time.monotonic()
    share(one, shares=[4], within=90.0)
    # Its session began with its last heartbeat, which a busy machine has put off.
    assert time.monotonic() - began > 3.0, "it did not say that it went"


def prokurist_bootstrap(consumer: KafkaConsumer) -> str:
    """Where a consumer began."""
    return ",".join(f"{each.host}:{each.port}" for each in consumer._config.bootstrap_servers)


def test_one_is_frozen_while_another_joins(topic: str, join: Joining) -> None:
    """The milestone: poll(0.2) stays poll(0.2) for as long as the group waits for the other."""
    frozen = join(topic, listener=Heard())
    share(frozen, shares=[4])
    joining = join(topic)
    until = time.monotonic() + 8.0
    while time.monotonic() < until:
        with Watch(0.0, 0.2 + LATE):
            joining.poll(0.2)
    assert not joining.assignment()
    share(frozen, joining, shares=[2, 2])


class Heard:
    """A listener, because of whom nothing goes without a poll."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Write it down."""
        self.heard.append(f"revoked {len(partitions)}")

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Write it down."""
        self.heard.append(f"assigned {len(partitions)}")


def beats(consumer: KafkaConsumer) -> float:
    """How many heartbeats it has sent."""
    return consumer.metrics().get('prokurist_requests_total{api="ConsumerGroupHeartbeat"}', 0)


def test_an_application_that_does_not_poll_keeps_its_place(topic: str, join: Joining) -> None:
    """B120, B271: heartbeats go on while the application computes and holds the GIL."""
    one = join(topic)
    share(one, shares=[4])
    before, said = one.group_metadata(), beats(one)
    began = time.monotonic()
    total = 0
    # For five heartbeats, on a busy machine, and five seconds.
    while beats(one) < said + 5 or time.monotonic() < began + 5.0:
        assert time.monotonic() < began + 90.0, beats(one) - said
        total += sum(range(1_000_000))
    one.poll(0.1)
    assert one.group_metadata() == before


def test_what_a_leaver_had_is_read_before_its_session_ends(
    prokurist_kafka: RealKafka, topic: str, join: Joining, producer_of: Producing
) -> None:
    """B194: from `close` to the first record that another reads of each partition."""
    one, two = join(topic), join(topic)
    share(one, two, shares=[2, 2])
    theirs = two.assignment()
    one.seek_to_end()
    for each in theirs:
        two.seek_to_end(each)
        two.position(each, 60.0)
    two.commit_sync()
    stopwatch = ProcessesWatch()
    two.close()
    producer = producer_of(prokurist_kafka.bootstrap)
    for partition in range(4):
        producer.produce(topic, b"new", partition=partition)
    producer.flush(60)
    read: set[TopicPartition] = set()
    until = time.monotonic() + 60.0
    while not theirs <= read:
        assert time.monotonic() < until
        read |= {TopicPartition(each.topic, each.partition) for each in one.poll(0.1)}
    assert stopwatch.fair() < LEFT


def test_who_misses_the_poll_interval_is_out_and_comes_back(topic: str, join: Joining) -> None:
    """B150: the other has everything meanwhile; a commit in between fails."""
    slow = join(topic, max_poll_interval_ms=2000)
    share(slow, shares=[4])
    other = join(topic)
    share(slow, other, shares=[2, 2])
    share(other, shares=[4])
    with pytest.raises(errors.CommitFailedException):
        slow.commit_sync()
    share(slow, other, shares=[2, 2])


def test_a_pattern_for_the_broker(topic: str, join: Joining) -> None:
    """B155: the topics are the broker's to find."""
    consumer = join(SubscriptionPattern(f"{topic[:-2]}.*{topic[-2:]}"))
    share(consumer, shares=[4])


def test_a_pattern_that_the_broker_cannot_read(join: Joining) -> None:
    """B155: fatal, and it is still to be closed."""
    consumer = join(SubscriptionPattern("("))
    with pytest.raises(errors.InvalidRegularExpression):
        consumer.poll(60.0)


def test_a_static_member_that_comes_back_keeps_its_partitions(
    topic: str, join: Joining
) -> None:
    """B153, B193: it leaves with −2, and no other member gets its partitions."""
    static = join(topic, group_instance_id="i")
    other = join(topic)
    share(static, other, shares=[2, 2])
    mine = static.assignment()
    static.close()
    for _ in range(20):
        other.poll(0.1)
    assert len(other.assignment()) == 2
    again = join(topic, group_instance_id="i")
    share(again, other, shares=[2, 2])
    assert again.assignment() == mine


def test_the_assignor_of_ones_choice(
    prokurist_kafka: RealKafka, topic: str, join: Joining
) -> None:
    """`group.remote.assignor`: one that there is, and one that there is not."""
    consumer = join(topic, group_remote_assignor="range")
    share(consumer, shares=[4])
    group = consumer.group_metadata().group_id
    assert prokurist_kafka.describe_group(group).assignor == "range"
    other = join(topic, group_remote_assignor="nobodys")
    with pytest.raises(errors.UnsupportedAssignorException):
        other.poll(60.0)


def has_all(consumer: KafkaConsumer) -> bool:
    """Whether it has come to the end of the hundred records of each partition it has."""
    return all(consumer.position(tp, 60.0) == 100 for tp in consumer.assignment())


def test_the_coordinator_is_restarted(
    prokurist_own_kafka: RealKafka, producer_of: Producing
) -> None:
    """B134, B140: members go on where they were; nothing committed is read again."""
    kafka = prokurist_own_kafka
    topic = filled(kafka, producer_of(kafka.bootstrap))
    with group_of(kafka) as join:
        one, two = join(topic), join(topic)
        share(one, two, shares=[2, 2])
        until = time.monotonic() + 60.0
        while not (has_all(one) and has_all(two)):
            assert time.monotonic() < until
            one.poll(0.1)
            two.poll(0.1)
        one.commit_sync()
        two.commit_sync()
        kafka.kill()
        for _ in range(10):
            with Watch(0.2, LATE):
                assert not one.poll(0.2)
        kafka.restart()
        share(one, two, shares=[2, 2])
        producer = producer_of(kafka.bootstrap)
        for partition in range(4):
            producer.produce(topic, b"new", partition=partition)
        producer.flush(20)
        new: list[bytes | None] = []
        until = time.monotonic() + 60.0
        while len(new) < 4 and time.monotonic() < until:
            new += [each.value for each in (*one.poll(0.1), *two.poll(0.1))]
        assert new == [b"new"] * 4
