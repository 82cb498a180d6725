"""Members of groups on a real Kafka that is silent, refuses them, or loses a topic."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any, Final

import pytest

from prokurist import (
    KafkaConsumer,
    MembershipState,
    OffsetAndMetadata,
    SubscriptionPattern,
    TopicPartition,
    errors,
    timeline,
)
from prokurist.events.background_events import BackgroundEvents
from prokurist.testing.kafka import RealKafka
from prokurist.testing.proxy_faults import Fault
from tests.broker.conftest import Asking, Producing
from tests.broker.grouping import Member, live, write
from tests.broker.watching import LATE, Watch, after

pytestmark = pytest.mark.kafka

# With the consumer protocol it is the brokers who say how long a session is.
KEYS: Final[dict[str, dict[str, Any]]] = {
    "classic": {
        "group_protocol": "classic",
        # What is kept stays, so only what goes is committed.
        "partition_assignment_strategy": "cooperative-sticky",
        "session_timeout_ms": 30_000,
    },
    "consumer": {
        "group_protocol": "consumer",
        "session_timeout_ms": None,
        "heartbeat_interval_ms": None,
    },
}
PROTOCOLS = pytest.mark.parametrize("protocol", KEYS)


@pytest.fixture
def group() -> str:
    """A group of this test's own."""
    return f"g-{token_hex(6)}"


@pytest.fixture
def topics(prokurist_kafka: RealKafka, producer_of: Producing) -> Iterator[list[str]]:
    """Two topics of one partition, with records."""
    made = [prokurist_kafka.unique_topic() for _ in range(2)]
    for each in made:
        write(producer_of(prokurist_kafka.bootstrap), each, 10, 1)
    yield made
    prokurist_kafka.heal()


def read_all(member: Member) -> None:
    """Have it poll until it has been given every record of both topics."""
    live(member, until=lambda: len(member.read) == 20)


@PROTOCOLS
def test_the_commit_before_a_revocation_gives_up_with_the_group(
    prokurist_kafka: RealKafka,
    topics: list[str],
    group: str,
    eventually: Asking,
    protocol: str,
) -> None:
    """B59: no broker answers it, and when the group waits no longer the partition goes."""
    kept, _ = topics
    with Member(
        prokurist_kafka,
        group,
        topics,
        max_poll_interval_ms=8000,
        auto_commit_interval_ms=600_000,
        **KEYS[protocol],
    ) as one:
        read_all(one)
        one.consumer.subscribe(kept, one)
        if protocol == "consumer":
            # The broker decides it; the client then waits for a poll to say how far it is.
            eventually(lambda: told_to(one.consumer)._steps)
        assert one.said == ["assigned"]
        prokurist_kafka.freeze()
        with Watch(8.0):
            live(one, until=lambda: "revoked" in one.said)
        assert topics_of(one) == {kept}
        prokurist_kafka.thaw()
        thawed = time.monotonic()
        # The broker may find that it has waited too long itself: then it joins again.
        live(one, until=lambda: is_counted(one, thawed) and topics_of(one) == {kept})
        assert one.slowest < LATE


def told_to(consumer: KafkaConsumer) -> BackgroundEvents:
    """What waits for its next poll."""
    side = consumer._side
    assert side is not None
    return side.background


def is_counted(member: Member, since: float) -> bool:
    """Whether the group has said since then that it wants nothing more of it."""
    membership = member.consumer.health().membership
    if membership is None or membership.heartbeat_age is None:
        return False
    answered = membership.heartbeat_age < time.monotonic() - since
    return answered and membership.state is MembershipState.STABLE


def topics_of(member: Member) -> set[str]:
    """What it reads."""
    return {tp.topic for tp in member.has}


@PROTOCOLS
def test_the_commit_before_a_revocation_does_not_wait_for_a_deleted_topic(
    prokurist_kafka: RealKafka,
    topics: list[str],
    group: str,
    protocol: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B60: it is refused once, and what was deleted goes long before the group gives up."""
    kept, deleted = topics
    with Member(
        prokurist_kafka,
        group,
        topics,
        auto_commit_interval_ms=600_000,
        allow_auto_create_topics=False,
        **KEYS[protocol],
    ) as one:
        read_all(one)
        prokurist_kafka.delete_topic(deleted)
        live(one, until=lambda: topics_of(one) == {kept})
        assert one.said[:2] == ["assigned", "revoked"]
        assert one.slowest < LATE
        # How it ended the poll after it says; no broker was asked a second time.
        one.poll()
        said = [each.getMessage() for each in caplog.records]
        assert sum("automatic commit failed" in each for each in said) == 1


def test_one_heartbeat_before_the_first_answer(
    prokurist_kafka: RealKafka, topics: list[str], group: str
) -> None:
    """B137: the coordinator is silent, no interval is known, and nothing spins."""
    with Member(prokurist_kafka, group, topics, **KEYS["consumer"]) as one:
        one.consumer.committed(TopicPartition(topics[0], 0))
        prokurist_kafka.freeze()
        live(one, until=lambda: beats(one.consumer))
        before = one.consumer.health().turns
        one.poll(3.0)
        assert beats(one.consumer) == 1
        assert one.consumer.health().turns - before < 60
        prokurist_kafka.thaw()
        read_all(one)


@contextmanager
def refused(member: Member, kind: type[Exception]) -> Iterator[KafkaConsumer]:
    """See that each poll raises this, and no heartbeat follows; leave, and be free again."""
    consumer = member.consumer
    with pytest.raises(kind):
        consumer.poll(60)
    said = beats(consumer)
    for _ in range(3):
        with Watch(0.0), pytest.raises(kind):
            consumer.poll(60)
    yield consumer
    assert beats(consumer) == said
    consumer.unsubscribe()
    assert not consumer.subscription()


def beats(consumer: KafkaConsumer) -> float:
    """How many heartbeats it has sent by the consumer protocol."""
    return consumer.metrics().get('prokurist_requests_total{api="ConsumerGroupHeartbeat"}', 0)


@pytest.mark.parametrize(
    ("keys", "pattern", "kind"),
    [
        ({"group_remote_assignor": "mine"}, None, errors.UnsupportedAssignorException),
        ({}, "(", errors.InvalidRegularExpression),
    ],
)
def test_what_the_coordinator_refuses_for_good(
    prokurist_kafka: RealKafka,
    topics: list[str],
    group: str,
    keys: dict[str, Any],
    pattern: str | None,
    kind: type[Exception],
) -> None:
    """B143: from every poll; then what is assigned by hand is read, and close has no work."""
    wanted = topics if pattern is None else SubscriptionPattern(pattern)
    with Member(prokurist_kafka, group, wanted, **KEYS["consumer"], **keys) as one:
        with refused(one, kind):
            time.sleep(6.0)  # Longer than the broker's interval.
        one.consumer.assign(TopicPartition(topics[0], 0))
        live(one, until=lambda: len(one.read) == 10)


@pytest.mark.prokurist_broker(
    properties={"group.max.size": 1, "group.consumer.max.size": 1},
)
def test_who_finds_the_group_full(prokurist_own_kafka: RealKafka, group: str) -> None:
    """B143, B126: by either protocol; the other goes on, and whose place it is may change."""
    kafka = prokurist_own_kafka
    topic = kafka.unique_topic()
    for protocol in KEYS:
        find_it_full(kafka, f"{group}-{protocol}", topic, protocol)


def find_it_full(kafka: RealKafka, group: str, topic: str, protocol: str) -> None:
    """Come second into a group that takes one, and again when the first has gone."""
    with Member(kafka, group, topic, **KEYS[protocol]) as late:
        with Member(kafka, group, topic, **KEYS[protocol]) as one:
            live(one, until=lambda: one.has)
            with refused(late, errors.GroupMaxSizeReachedException):
                live(one, until=lambda: one.has)
        late.consumer.subscribe(topic, late)
        live(late, until=lambda: late.has)


@PROTOCOLS
def test_a_wakeup_while_the_listener_waits(
    prokurist_kafka: RealKafka, topics: list[str], group: str, protocol: str
) -> None:
    """B163: it comes out of poll, and the next ones give records.

    By the consumer protocol the listener is called again, classic ones have their part.
    """

    def commit(_partitions: object) -> None:
        one.said.append("assigned")
        if len(one.said) > 1:
            return
        prokurist_kafka.freeze()
        with Watch(0.3), after(0.3, one.consumer.wakeup):
            one.consumer.commit_sync({first: OffsetAndMetadata(0)}, timeout=25)

    with Member(prokurist_kafka, group, topics, **KEYS[protocol]) as one:
        first = TopicPartition(topics[0], 0)
        setattr(one, "on_partitions_assigned", commit)  # noqa: B010 - the listener that it is
        with pytest.raises(errors.WakeupException):
            one.consumer.poll(60)
        prokurist_kafka.thaw()
        read_all(one)
        assert one.said == ["assigned"] * (2 if protocol == "consumer" else 1)


def test_errors_that_belong_to_no_call_come_one_by_one(
    prokurist_kafka: RealKafka, topics: list[str], group: str, eventually: Asking
) -> None:
    """B164: one for each poll; then records come."""
    good, wrong = TopicPartition(topics[0], 0), TopicPartition("no such/name", 0)
    keys = {"bootstrap.servers": prokurist_kafka.bootstrap, "group.id": group}
    with KafkaConsumer({**keys, "auto.offset.reset": "none"}) as consumer:
        consumer.assign([good, wrong])
        consumer.seek(wrong, 0)
        consumer.poll(0)
        # Both are met meanwhile, and no poll could raise them.
        eventually(lambda: len(told_to(consumer)._errors) == 2)
        raised = []
        for _ in range(2):
            with Watch(0.0), pytest.raises(errors.KafkaException) as caught:
                consumer.poll(60)
            raised.append(caught.type)
        assert set(raised) == {
            errors.InvalidTopicException,
            errors.NoOffsetForPartitionException,
        }
        consumer.assign(good)
        consumer.seek(good, 0)
        assert len(consumer.poll(60))


def test_a_fatal_error_comes_before_those_that_wait(
    prokurist_kafka: RealKafka,
    topics: list[str],
    group: str,
    eventually: Asking,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B164: and stays; what was met before it is logged when the user leaves."""
    wanted = [topics[0], "no such/name"]
    keys = {"group_remote_assignor": "mine", **KEYS["consumer"]}
    with Member(prokurist_kafka, group, wanted, **keys) as one:
        one.poll(0)
        met = told_to(one.consumer)
        eventually(lambda: met._errors and met._fatal)
        with refused(one, errors.UnsupportedAssignorException):
            assert not any("no such/name" in each for each in caplog.messages)
        unraised = [each for each in caplog.messages if "before this was raised" in each]
        assert len(unraised) == 1
        assert "no such/name" in unraised[0]


def stale(recording: timeline.Recording) -> int:
    """How many commits the broker has refused for their epoch."""
    return sum(
        each.event == "attempt_ended" and "StaleMemberEpoch" in each.text
        for each in recording.entries
    )


@pytest.mark.parametrize("foreign", [False, True], ids=["ours by then", "not ours"])
def test_a_commit_that_the_epoch_has_overtaken(
    prokurist_kafka: RealKafka,
    topics: list[str],
    group: str,
    foreign: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """B47: sent again with the newer epoch while all of it is ours, else CommitFailed.

    The coordinator's answers come late: it is in the newer epoch before we are, and does
    not take a commit in the older one of what it has given us since.
    """
    topic = prokurist_kafka.unique_topic(partitions=2)
    settings = {
        "bootstrap.servers": prokurist_kafka.bootstrap,
        "group.id": group,
        "group.protocol": "consumer",
        "enable.auto.commit": False,
    }
    wanted = [TopicPartition(topics[0], 0)] if foreign else []
    taken, to_come = -1, TopicPartition(topic, 0)
    failed: errors.CommitFailedException | None = None
    with KafkaConsumer(settings) as consumer, timeline.record(consumer) as recording:
        consumer.subscribe(topic)
        # Again where no commit came in between: this machine had other things to do.
        while not stale(recording):
            to_come, late = one_goes(prokurist_kafka, consumer, settings)
            epoch = consumer.group_metadata().generation_id
            with late:
                while not stale(recording) and is_in(consumer, epoch):
                    offset = OffsetAndMetadata(taken + 1)
                    try:
                        consumer.commit_sync(
                            dict.fromkeys([to_come, *wanted], offset), timeout=60
                        )
                    except errors.CommitFailedException as error:
                        failed = error
                    else:
                        taken += 1
        if foreign:
            assert failed is not None
            assert isinstance(failed.__cause__, errors.StaleMemberEpochException)
        else:
            assert failed is None
        kept = consumer.committed(to_come)[to_come]
        assert (-1 if kept is None else kept.offset) == taken


def is_in(consumer: KafkaConsumer, epoch: int) -> bool:
    """Whether it is still in an epoch."""
    return consumer.group_metadata().generation_id == epoch


def one_goes(
    kafka: RealKafka, consumer: KafkaConsumer, settings: dict[str, Any]
) -> tuple[TopicPartition, Fault]:
    """Have another come and go, and from then on all answers come late.

    Returns:
        What the other one had, and what makes them late.
    """
    with KafkaConsumer(settings) as other:
        other.subscribe(consumer.subscription())
        while not len(consumer.assignment()) == len(other.assignment()) == 1:
            consumer.poll(0.1)
            other.poll(0.1)
        (to_come,) = other.assignment()
        late = kafka.proxy(0).delay(1.5, "to_client")
        other.close(0)
    return to_come, late
