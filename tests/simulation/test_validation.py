"""Positions that leaders confirm, in virtual time: logs that were cut back (KIP-320)."""

from collections.abc import Callable
from typing import Final

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.cluster import BELIEVED
from prokurist.events.position_state import Position
from prokurist.network_thread.wire.versions import Versions
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.looking_up import ORDERS, asked
from tests.simulation.world import World

A, B, C = ORDERS
WITHOUT_IDS: Final = Versions.of_kafka("2.4")
"""Brokers that tell no ids of topics: epochs alone say that a topic was created again."""


def checked(world: World) -> list[tuple[int, int, int, int]]:
    """What was asked: which leader, about which partition, its own epoch and the record's."""
    return [
        (entry.node, part.partition, part.current_leader_epoch, part.leader_epoch)
        for entry in world.cluster.journal.entries("OffsetForLeaderEpoch")
        for topic in entry.body.topics
        for part in topic.partitions
    ]


def written() -> World:
    """Each log has ten records, of which the last five are of epoch 1; epoch 2 leads."""
    world = World(nodes=2)
    for tp in ORDERS:
        for _ in range(5):
            world.control.append(tp, b"v")
        world.control.move_leader(tp)
        for _ in range(5):
            world.control.append(tp, b"v")
        world.control.move_leader(tp)
    return world


def at(offset: int, epoch: int | None) -> OffsetAndMetadata:
    """A position to seek to."""
    return OffsetAndMetadata(offset, "", epoch)


def refresh(world: World) -> None:
    """Have the client learn who leads by now."""
    world.members[0].side.metadata.request_update()
    world.members[0].network.wake()
    world.clock.sleep(0.1)


def believe(world: World) -> None:
    """The same of a topic that was created again, where no ids say so."""
    for _ in range(BELIEVED):
        refresh(world)
        world.clock.sleep(1.1)  # The backoff of metadata that stays the same.


def reading(world: World, policy: str = "latest", cap: Versions | None = None) -> KafkaConsumer:
    """A consumer of one partition, which has come as far as offset 8."""
    consumer = world.consumer(cap, fetches=False, auto_offset_reset=policy)
    consumer.assign(A)
    consumer.seek(A, at(8, 1))
    assert consumer.position(A) == 8
    return consumer


def test_a_seek_with_an_epoch_is_confirmed_before_the_position_counts() -> None:
    """B91: one question to the leader, with its epoch and the record's; then it is known."""
    world = written()
    leader = world.control.leader(A)[0]
    with world.consumer(fetches=False) as consumer:
        consumer.assign([A, B])
        consumer.seek(A, at(8, 1))
        consumer.seek(B, 3)
        with pytest.raises(errors.TimeoutException):
            consumer.position(A, timeout=0)
        assert consumer.position(B, timeout=0) == 3
        assert consumer.position(A) == 8
        assert consumer.position(A, timeout=0) == 8
        assert checked(world) == [(leader, 0, 2, 1)]
        assert not asked(world)


def test_a_committed_offset_with_an_epoch_is_confirmed() -> None:
    """B74, B91: the same look-up goes on from the group to the leader; without one it ends."""
    world = written()
    with world.consumer(fetches=False) as consumer:
        consumer.commit_sync({A: at(8, 1), B: at(4, None)})
        consumer.assign([A, B])
        consumer.poll(1.0)
        assert [consumer.position(tp, 0) for tp in (A, B)] == [8, 4]
        assert [partition for _, partition, _, _ in checked(world)] == [0]
        assert consumer._committable.snapshot().offsets[A] == at(8, 1)


def test_what_a_leader_has_told_is_not_asked_again() -> None:
    """B91: a position by the policy is the leader's own word, in the epoch it was asked in."""
    world = written()
    with world.consumer(fetches=False, auto_offset_reset="latest") as consumer:
        consumer.assign(ORDERS)
        consumer.poll(1.0)
        refresh(world)
        consumer.poll(1.0)
        assert not checked(world)


def test_a_new_leader_epoch_has_positions_confirmed_once() -> None:
    """B91: also while a poll waits, which goes on waiting; those without an epoch count on."""
    world = written()
    with reading(world) as consumer:
        consumer.assign([A, B])
        consumer.seek(B, 2)
        world.control.forget_requests()
        world.control.move_leader(A)
        world.control.move_leader(B)
        world.at(world.clock.time + 1.0, world.members[0].side.metadata.request_update)
        world.at(world.clock.time + 1.0, world.members[0].network.wake)
        began = world.clock.time
        consumer.poll(5.0)
        assert world.clock.time == pytest.approx(began + 5.0)
        assert checked(world) == [(world.control.leader(A)[0], 0, 3, 1)]
        assert [consumer.position(tp, 0) for tp in (A, B)] == [8, 2]
        refresh(world)
        consumer.poll(5.0)
        assert len(checked(world)) == 1


def test_a_position_waits_for_its_confirmation() -> None:
    """B91: its TimeoutException says what it was doing; a poll takes over from it."""
    world = written()
    with reading(world) as consumer:
        world.control.move_leader(A)
        refresh(world)
        world.control.answer_late("OffsetForLeaderEpoch", 2.0, times=1)
        with pytest.raises(errors.TimeoutException) as caught:
            consumer.position(A, timeout=0.5)
        assert [each.request for each in caught.value.attempts] == ["OffsetForLeaderEpoch"]
        consumer.poll(0)
        assert consumer.position(A) == 8
        assert len(checked(world)) == 2


@pytest.mark.parametrize("policy", ["earliest", "latest", "by_duration:PT1H"])
def test_a_log_that_was_cut_back_with_a_policy(policy: str) -> None:
    """B91: reading goes on where the logs part, under any policy; it is committed so."""
    world = written()
    with reading(world, policy) as consumer:
        world.control.truncate(A, 6)
        world.control.append(A, b"another")
        refresh(world)
        assert not consumer.poll(1.0)
        assert consumer.position(A, 0) == 6
        assert consumer._committable.snapshot().offsets == {A: at(6, 1)}
        assert not asked(world)


@pytest.mark.parametrize(("policy", "offset"), [("earliest", 0), ("latest", 2)])
def test_a_log_in_which_nothing_is_left_of_the_epoch(policy: str, offset: int) -> None:
    """B91: where the leader cannot tell the end, the policy says where reading goes on."""
    world = written()
    with reading(world, policy, WITHOUT_IDS) as consumer:
        world.control.recreate_topic("orders")
        for _ in range(2):
            world.control.append(A, b"v")
        believe(world)
        assert consumer.position(A) == offset
        # By the seek; and repeatedly, as the new leader's epoch is older than the record's.
        assert 6 <= len(checked(world)) <= 11
        assert len(asked(world)) == 1


def cut(world: World) -> None:
    """Cut the logs back, and let the client know."""
    for tp in (A, C):
        world.control.truncate(tp, 6)
    refresh(world)


@pytest.mark.parametrize("by", ["poll", "position"])
def test_a_log_that_was_cut_back_without_a_policy(by: str) -> None:
    """B91: LogTruncation with the divergent offset, until one has sought there."""
    world = written()
    with reading(world, "none") as consumer:
        cut(world)
        ask: Callable[[], object] = (
            (lambda: consumer.poll(1.0)) if by == "poll" else (lambda: consumer.position(A))
        )
        began = world.clock.time
        for _ in range(2):
            with pytest.raises(errors.LogTruncationException, match="seek") as caught:
                ask()
            assert caught.value.offsets == {A: 8}
            assert caught.value.divergent_offsets == {A: at(6, 1)}
        # A poll that comes again waits for a back-off (B394).
        assert world.clock.time - began < (0.2 if by == "poll" else 0.1)
        consumer.seek(A, at(6, 1))
        assert consumer.position(A) == 6
        assert not consumer.poll(1.0)


def test_several_logs_of_one_leader_that_were_cut_back() -> None:
    """B91: one error names them all, the good one goes on."""
    world = written()
    with reading(world, "none") as consumer:
        consumer.assign(ORDERS)
        for tp in (B, C):
            consumer.seek(tp, at(8, 1))
        consumer.poll(1.0)
        cut(world)
        with pytest.raises(errors.LogTruncationException) as caught:
            consumer.poll(1.0)
        assert caught.value.offsets == {A: 8, C: 8}
        assert caught.value.divergent_offsets == {A: at(6, 1), C: at(6, 1)}
        assert consumer.position(B, 0) == 8


def test_a_truncation_does_not_name_what_was_sought_since() -> None:
    """B91: found in the background; one of the two logs is sought before the next poll."""
    world = written()
    with reading(world, "none") as consumer:
        consumer.assign([A, C])
        consumer.seek(C, at(8, 1))
        consumer.poll(1.0)
        cut(world)
        consumer.poll(0)
        world.clock.sleep(1.0)
        consumer.seek(A, at(6, 1))
        with pytest.raises(errors.LogTruncationException) as caught:
            consumer.poll(0)
        assert caught.value.offsets == {C: 8}


def test_a_truncation_of_unknown_end_without_a_policy() -> None:
    """B91: LogTruncation without a divergent offset."""
    world = written()
    with reading(world, "none", WITHOUT_IDS) as consumer:
        world.control.recreate_topic("orders")
        believe(world)
        with pytest.raises(
            errors.LogTruncationException, match="does not know where it diverges"
        ) as caught:
            consumer.poll(10.0)
        assert caught.value.divergent_offsets == {}


@pytest.mark.parametrize("act", ["seek", "unsubscribe", "recreate"])
def test_an_answer_that_is_no_longer_wanted(act: str) -> None:
    """B90, B91: the confirmation of a position that was left is dropped, and so its error."""
    world = written()
    with reading(world, "none") as consumer:
        cut(world)
        world.control.answer_late("OffsetForLeaderEpoch", 1.0, times=1)
        consumer.poll(0.5)
        if act == "seek":
            consumer.seek(A, 3)
        else:
            consumer.unsubscribe()
            consumer.assign(A)
            consumer.seek(A, 3)
        assert not consumer.poll(3.0)
        assert consumer.position(A, 0) == 3


def test_a_leader_epoch_that_changes_while_a_leader_is_asked() -> None:
    """B91: what was confirmed in the older epoch is confirmed in the newer one, too."""
    world = written()
    with reading(world) as consumer:
        world.control.forget_requests()
        world.control.move_leader(A)
        refresh(world)
        world.control.answer_late("OffsetForLeaderEpoch", 1.0, times=1)
        consumer.poll(0.5)
        world.control.move_leader(A)
        refresh(world)
        consumer.poll(2.0)
        assert [epoch for _, _, epoch, _ in checked(world)] == [3, 4]
        assert consumer.position(A, 0) == 8


@pytest.mark.parametrize("older", [True, False])
def test_brokers_too_old_for_epochs(*, older: bool) -> None:
    """B92: the position counts as it is, and nothing is asked."""
    world = written()
    if older:
        world.control.offer("OffsetForLeaderEpoch", 2, 2)
    else:
        world.control.withdraw("OffsetForLeaderEpoch")
    with reading(world, "none") as consumer:
        cut(world)
        assert not consumer.poll(1.0)
        assert consumer.position(A, 0) == 8
        assert not checked(world)


def test_missing_rights() -> None:
    """CONTRACT 4: TopicAuthorization by poll, once; when they are granted it goes on."""
    world = written()
    with reading(world) as consumer:
        world.control.move_leader(A)
        refresh(world)
        fault = world.control.fail("OffsetForLeaderEpoch", 29, times=None)
        with pytest.raises(errors.TopicAuthorizationException) as caught:
            consumer.poll(1.0)
        assert caught.value.topics == ("orders",)
        fault.undo()
        assert consumer.position(A) == 8


@pytest.mark.parametrize("code", [3, 5, 6, 9, 56, 74, 75, 78])
def test_what_fresh_metadata_mends(code: int) -> None:
    """B83, B91: metadata is asked for, then the leader again; no call fails."""
    world = written()
    with reading(world) as consumer:
        world.control.move_leader(A)
        refresh(world)
        world.control.forget_requests()
        world.control.fail("OffsetForLeaderEpoch", code, times=2)
        consumer.poll(1.0)
        assert consumer.position(A, 0) == 8
        assert len(checked(world)) == 3
        assert len(world.cluster.journal.entries("Metadata")) >= 2


def test_reading_starts_again_after_what_was_returned() -> None:
    """B91: what was fetched ahead may be of the log that was cut back."""
    world = written()
    with reading(world) as consumer:
        state = consumer._committable.assigned.rows[A]
        state.position = Position(10, 1)
        ticket = state.ticket
        world.control.move_leader(A)
        refresh(world)
        assert state.position == state.returned
        assert state.ticket != ticket


def test_a_topic_without_a_leader() -> None:
    """B85: it waits for a leader; a call that waits for it hears so at its deadline."""
    world = World(nodes=2, topics={})
    world.control.create_topic("orders", 1, replication=1)
    tp = TopicPartition("orders", 0)
    with world.consumer(fetches=False) as consumer:
        consumer.assign(tp)
        consumer.partitions_for("orders")
        leader = world.control.leader(tp)[0]
        world.control.kill(leader)
        consumer.seek(tp, at(0, 0))
        with pytest.raises(errors.TimeoutException, match="the leader of orders-0"):
            consumer.position(tp, timeout=2.0)
        assert not checked(world)
        world.control.restart(leader)
        assert consumer.position(tp, timeout=20.0) == 0
