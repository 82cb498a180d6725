"""Commits of the manager of offsets: when it refuses, and what a lost answer leaves open."""

import time
from collections.abc import Iterator

import pytest

from prokurist import KafkaConsumer, TimeoutException
from prokurist.spark import (
    Checkpoint,
    CommitBackwardsException,
    GroupInUseException,
    OffsetManager,
)
from prokurist.testing.broker import EmbeddedBroker
from tests.embedded.managing import A, B, filled, manager

QUERY = "2319eb01-fe57-49f6-88f0-3cc1584874fa"


@pytest.fixture
def kafka(broker: EmbeddedBroker) -> EmbeddedBroker:
    """Brokers with the records."""
    return filled(broker)


@pytest.fixture
def offsets(kafka: EmbeddedBroker) -> OffsetManager:
    """A manager for the group billing."""
    return manager(kafka)


@pytest.fixture
def member(kafka: EmbeddedBroker) -> Iterator[KafkaConsumer]:
    """A live member of the group, with all partitions."""
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, group_id="billing", enable_auto_commit=False
    ) as made:
        made.subscribe("orders")
        until = time.monotonic() + 20
        while len(made.assignment()) < 3:
            assert time.monotonic() < until
            made.poll(0.05)
        yield made


def test_a_commit_does_not_go_back_unless_it_is_told_to(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """All or nothing: what would have gone on is not committed either."""
    offsets.commit({A: 20, B: 5})
    with pytest.raises(CommitBackwardsException, match="orders-0 from 20 to 19") as caught:
        offsets.commit({A: 19, B: 6})
    assert caught.value.committed == {A: 20}
    assert kafka.committed("billing")[B].offset == 5
    offsets.commit({A: 20, B: 6})
    offsets.commit({A: 0, B: 0}, force=True)
    assert [kafka.committed("billing")[tp].offset for tp in (A, B)] == [0, 0]
    assert offsets.commit({}) == {}


def test_a_batch_that_is_repeated_changes_nothing(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """A query that goes over old batches after a crash does not take the group back."""
    third = Checkpoint("/cp", QUERY, 3, {A: 30, B: 3})
    second = Checkpoint("/cp", QUERY, 2, {A: 20, B: 3})
    assert offsets.commit(third) == {A: 30, B: 3}
    assert offsets.commit(second) == {}
    assert offsets.commit({A: 20}, query=QUERY, batch=2) == {}
    assert offsets.commit(third) == {A: 30, B: 3}
    kept = kafka.committed("billing")[A]
    assert (kept.offset, kept.metadata) == (30, '{"q":"2319eb01","b":3}')
    with pytest.raises(CommitBackwardsException):
        offsets.commit({A: 20}, query="another", batch=9)
    with pytest.raises(TypeError, match="query and batch belong together"):
        offsets.commit({A: 40}, batch=4)


def test_a_group_with_a_live_member_is_left_alone(
    kafka: EmbeddedBroker, offsets: OffsetManager, member: KafkaConsumer
) -> None:
    """One error that names the group; the member notices nothing, no rebalance begins."""
    before = member.group_metadata()
    for force in (False, True):
        with pytest.raises(GroupInUseException, match="'billing' has live members") as caught:
            offsets.commit({A: 20}, force=force)
        assert caught.value.group == "billing"
    assert A not in kafka.committed("billing")
    member.commit_sync(timeout=20.0)
    assert member.group_metadata() == before
    assert offsets.lag(topics="orders")[A].records is not None


def test_a_commit_whose_answer_is_lost_says_that_it_may_have_happened(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """And what was done for it before is not taken for an effect."""
    kafka.drop("OffsetCommit")
    with pytest.raises(TimeoutException) as caught:
        offsets.commit({A: 20}, timeout=4.0)
    assert caught.value.may_have_happened
    kafka.heal()
    kafka.drop("OffsetFetch")
    with pytest.raises(TimeoutException) as caught:
        offsets.commit({A: 20}, timeout=1.0)
    assert not caught.value.may_have_happened
