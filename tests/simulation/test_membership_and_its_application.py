"""What a membership owes to the thread that polls, and what it does without it."""

import threading
from collections.abc import Callable
from traceback import walk_stack
from typing import Any

import pytest

from prokurist import MembershipState, OffsetAndMetadata
from prokurist.errors import (
    CommitFailedException,
    GroupAuthorizationException,
    IllegalStateException,
    KafkaException,
)
from prokurist.testing.cluster.group_settings import GroupSettings
from tests.simulation.joining import (
    INTERVAL,
    ORDERS,
    Notes,
    grouped,
    heartbeats,
    joined,
    member,
    settle,
)
from tests.simulation.reading import drained, value

PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def elsewhere(work: Callable[[], object]) -> int:
    """Do it on a thread of its own: which one that was."""
    idents: list[int] = []

    def run() -> None:
        idents.append(threading.get_ident())
        work()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (ident,) = idents
    return ident


class Witness(Notes):
    """A listener that writes down where it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.where: list[tuple[str, int]] = []
        self.in_a_turn = False

    def _note(self, what: str, partitions: Any) -> None:
        super()._note(what, partitions)
        self.where.append((what, threading.get_ident()))
        # In a simulation the network thread's turns are made by the caller that lets time pass.
        self.in_a_turn |= any(
            frame.f_code.co_name == "guarded_turn" for frame, _ in walk_stack(None)
        )


@PROTOCOLS
def test_the_listener_is_called_by_the_polling_thread(protocol: str) -> None:
    """B158: on the thread that polls this time, and never in a turn of the network thread."""
    world = grouped()
    heard = Witness()
    with member(world, listener=heard, group_protocol=protocol) as consumer:
        here = threading.get_ident()
        settle(consumer, seconds=1.0)
        assert heard.where == [("assigned", here)]
        with joined(world, group_protocol=protocol) as other:
            # What goes is decided while no thread polls, and told by the thread that then does.
            world.clock.sleep(2 * INTERVAL)
            there = elsewhere(lambda: settle(consumer, other, seconds=4 * INTERVAL))
            assert there != here
            assert ("revoked", there) in heard.where[1:]
            assert {ident for _, ident in heard.where[1:]} == {there}
        assert not heard.in_a_turn


@PROTOCOLS
def test_who_is_away_for_longer_than_a_session_keeps_its_place(protocol: str) -> None:
    """B271, B120: an application that computes has heartbeats that go on without it."""
    world = grouped()
    with joined(world, group_protocol=protocol, max_poll_interval_ms=600_000) as consumer:
        settle(consumer, seconds=2 * INTERVAL)
        before = consumer.group_metadata()
        world.clock.sleep(300.0)
        assert consumer.group_metadata() == before
        membership = consumer.health().membership
        assert membership is not None
        assert membership.state is MembershipState.STABLE
        world.control.append(ORDERS[0], value(0))
        assert drained(consumer) == {ORDERS[0]: [0]}
        assert consumer.group_metadata() == before


@PROTOCOLS
def test_a_poll_after_a_listener_that_raised_has_records_at_once(protocol: str) -> None:
    """B410: it began to wait before the partitions were its own to read."""
    world = grouped(records=10)
    refusals = iter([ValueError("no")])

    def refuse(_: object) -> None:
        world.clock.sleep(0.5)
        for each in refusals:
            raise each

    with member(world, listener=Notes(assigned=refuse), group_protocol=protocol) as consumer:
        with pytest.raises(KafkaException, match="no"):
            settle(consumer, seconds=5.0)
        began = world.clock.time
        assert consumer.poll(30.0)
        assert world.clock.time - began < 1.0


@pytest.mark.parametrize(("protocol", "calls"), [("classic", 1), ("consumer", 3)])
def test_a_listener_that_raised_is_called_again(protocol: str, calls: int) -> None:
    """B412: with the same partitions until it returns, if the protocol can wait for it."""
    world = grouped(records=10)
    refusals = iter([ValueError("no"), ValueError("no"), None])
    heard: list[object] = []

    def refuse(partitions: object) -> None:
        heard.append(partitions)
        refusal = next(refusals)
        if refusal is not None:
            raise refusal

    with member(world, listener=Notes(assigned=refuse), group_protocol=protocol) as consumer:
        for _ in range(2 if protocol == "consumer" else 1):
            with pytest.raises(KafkaException, match="no"):
                settle(consumer, seconds=5.0)
        assert consumer.poll(30.0)
        assert heard == [consumer.assignment()] * calls


@PROTOCOLS
def test_a_commit_after_the_group_has_refused_the_member_says_why(protocol: str) -> None:
    """B413: at once, by `commit_sync` and `commit_async`, until it is unsubscribed."""
    world = grouped(records=10)
    told: list[BaseException | None] = []
    with member(world, group_protocol=protocol, enable_auto_commit=False) as consumer:
        settle(consumer, seconds=1.0)
        with world.control.deny(group="g"):
            with pytest.raises(GroupAuthorizationException) as ended:
                settle(consumer, seconds=4 * INTERVAL)
            with pytest.raises(
                CommitFailedException, match="group g: the right to read"
            ) as caught:
                consumer.commit_sync({ORDERS[0]: OffsetAndMetadata(1)}, timeout=5.0)
            consumer.commit_async(
                {ORDERS[0]: OffsetAndMetadata(1)}, lambda _, error: told.append(error)
            )
            with pytest.raises(GroupAuthorizationException):
                consumer.poll(1.0)
        consumer.unsubscribe()
        consumer.subscribe("orders")
        settle(consumer, seconds=4 * INTERVAL)
        consumer.commit_sync({ORDERS[0]: OffsetAndMetadata(1)}, timeout=5.0)
    assert [str(error) for error in told] == [str(caught.value)]
    for refused in (caught.value, *told):
        assert refused is not None
        assert refused.__cause__ is ended.value


@PROTOCOLS
def test_an_unsubscribe_that_is_interrupted_has_left(protocol: str) -> None:
    """B409: another member has the partitions, and who subscribes again reads."""
    world = grouped(records=10)
    heard: list[str] = []

    def interrupted(_: object) -> None:
        heard.append("revoked")
        raise KeyboardInterrupt

    keys = {"group_protocol": protocol}
    with member(world, listener=Notes(revoked=interrupted), **keys) as consumer:
        settle(consumer, seconds=1.0)
        with pytest.raises(KeyboardInterrupt):
            consumer.unsubscribe()
        assert not consumer.assignment()
        with pytest.raises(IllegalStateException, match="nothing to read"):
            consumer.poll(0.1)
        with member(world, **keys) as other:
            settle(other, seconds=2.0)
            assert len(other.assignment()) == 4
            consumer.subscribe("orders")
            settle(consumer, other, seconds=4 * INTERVAL)
            assert len(consumer.assignment()) == 2
    assert heard == ["revoked"]


@PROTOCOLS
def test_a_seek_before_the_callback_is_kept(protocol: str) -> None:
    """B151: they are assigned before a poll tells them, and what was sought by then counts."""
    world = grouped(partitions=1, records=10)
    heard = Notes()
    with member(world, listener=heard, group_protocol=protocol) as consumer:
        consumer.poll(0.0)
        world.clock.sleep(2 * INTERVAL)
        assert consumer.assignment() == {ORDERS[0]}
        assert not heard.heard
        consumer.seek(ORDERS[0], 7)
        assert drained(consumer) == {ORDERS[0]: [7, 8, 9]}
        assert heard.heard == [("assigned", [0])]
        assert not world.cluster.journal.entries("ListOffsets")


def test_an_epoch_that_comes_while_the_consumer_leaves_is_used() -> None:
    """B154: the heartbeat went out before; the last commit takes the epoch of its answer."""
    world = grouped(payments=1, records=5)
    world.control.configure_groups(
        GroupSettings(consumer_heartbeat_interval=INTERVAL, older_epochs_commit=False)
    )
    consumer = joined(world, enable_auto_commit=True, auto_commit_interval_ms=1_000_000)
    drained(consumer)
    before = consumer.group_metadata()
    with joined(world, topics="payments") as other:
        # Its coming moves the epoch of the group, and nothing of what the first one has.
        beats = heartbeats(world, before.member_id)
        world.control.delay("ConsumerGroupHeartbeat", 0.5, times=1)
        while len(heartbeats(world, before.member_id)) == len(beats):
            world.clock.sleep(0.01)
        assert consumer.group_metadata() == before, "its answer is on its way"
        consumer.close()
        commits = world.cluster.journal.entries("OffsetCommit")
        stale, used = (each.body.generation_id_or_member_epoch for each in commits)
        assert stale == before.generation_id < used == other.group_metadata().generation_id
        said = heartbeats(world, before.member_id)[len(beats) :]
        assert [each.member_epoch for each in said] == [stale, -1], "no other has told it"
    assert {each.offset for each in world.control.committed("g").values()} == {5}
