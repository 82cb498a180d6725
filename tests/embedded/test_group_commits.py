"""Commits of members over real sockets, where no real Kafka moves epochs on command."""

from collections.abc import Callable, Iterator

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster import GroupSettings
from tests.broker.watching import when

A = TopicPartition("orders", 0)
STALE = 113
CLOCK = MonotonicClock()


def polled(member: KafkaConsumer, until: Callable[[], bool]) -> None:
    """Poll until something holds."""
    deadline = Deadline.after(CLOCK.now(), 20.0)
    while not until():
        assert not deadline.expired(CLOCK.now())
        member.poll(0.05)


@pytest.fixture
def member(broker: EmbeddedBroker) -> Iterator[KafkaConsumer]:
    """A member by the consumer protocol that has everything."""
    broker.configure_groups(GroupSettings(consumer_heartbeat_interval=0.1))
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        group_id="g",
        group_protocol="consumer",
        enable_auto_commit=False,
    ) as made:
        made.subscribe(["orders"])
        polled(made, lambda: len(made.assignment()) == 3)
        yield made


def epochs(broker: EmbeddedBroker) -> list[int]:
    """In which epoch each commit was made."""
    return [
        entry.body.generation_id_or_member_epoch for entry in broker.requests("OffsetCommit")
    ]


def test_a_stale_epoch_is_followed_while_everything_is_owned(
    broker: EmbeddedBroker, member: KafkaConsumer
) -> None:
    """B47, B64: the heartbeat tells the new one, and the commit goes with that."""
    before = member.group_metadata().generation_id
    broker.create_topic("payments", 1)
    member.subscribe(["orders", "payments"])
    member.poll(0.0)
    refused = broker.fail("OffsetCommit", STALE, times=2, whole=True)
    member.commit_sync({A: OffsetAndMetadata(1)}, timeout=20.0)
    refused.undo()
    assert epochs(broker)[-1] > before
    assert broker.committed("g")[A].offset == 1


def test_a_stale_epoch_is_not_followed_for_what_is_not_owned(
    broker: EmbeddedBroker, member: KafkaConsumer
) -> None:
    """B47: CommitFailed, and it is not tried again."""
    broker.create_topic("payments", 1)
    broker.fail("OffsetCommit", STALE, times=1, whole=True)
    with pytest.raises(errors.CommitFailedException):
        member.commit_sync({TopicPartition("payments", 0): OffsetAndMetadata(1)}, timeout=20.0)
    assert len(epochs(broker)) == 1


def test_a_commit_that_outlives_its_membership_fails(
    broker: EmbeddedBroker, member: KafkaConsumer
) -> None:
    """B64: it is never sent with a newer stamp."""
    before = member.group_metadata()
    broker.fail("OffsetCommit", 14, times=None)
    with (
        when(lambda: epochs(broker), lambda: broker.expire_member("g", before.member_id)),
        pytest.raises(errors.CommitFailedException),
    ):
        member.commit_sync({A: OffsetAndMetadata(1)}, timeout=20.0)
    polled(member, lambda: member.group_metadata().generation_id > before.generation_id)
    assert set(epochs(broker)) == {before.generation_id}
