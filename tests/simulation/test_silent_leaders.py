"""Leaders that are away, frozen or replaced: no other partition waits for them."""

from contextlib import suppress

import pytest

from prokurist import errors
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.looking_up import asked
from tests.simulation.reading import A, B, C, drained, offsets, reader, written
from tests.simulation.world import World


def led_by_three(*counts: int) -> World:
    """Each partition is led by another broker, and has only that copy."""
    world = written(*counts, nodes=3)
    for number, tp in enumerate((A, B, C), 1):
        world.control.move_leader(tp, number)
    return world


def metadata_requests(world: World) -> int:
    """How many there were."""
    return len(world.cluster.journal.entries("Metadata"))


@pytest.mark.parametrize("trouble", ["frozen", "away"])
def test_a_position_that_cannot_be_confirmed_holds_up_no_reset(trouble: str) -> None:
    """B84: a partition without a commit is read while the leader of another is not there."""
    world = led_by_three(3, 3, 3)
    world.control.move_coordinator("g", 2)
    with reader(world, A, group_id="g") as consumer:
        consumer.commit_sync({A: OffsetAndMetadata(1, leader_epoch=0)})
    with reader(world, A, B, C, group_id="g") as consumer:
        consumer.end_offsets([A, B, C])
        consumer.committed(A)
        if trouble == "frozen":
            world.control.freeze(1)
        else:
            world.control.kill(1, missed=False)
        began, got = world.clock.time, dict[TopicPartition, list[int]]()
        while len(got) < 2:
            got.update(offsets(consumer.poll(1.0)))
            assert world.clock.time - began < 3.0
        assert got == {B: [0, 1, 2], C: [0, 1, 2]}
        assert consumer.position(B, 0) == 3


def test_an_unstable_commit_holds_up_no_other() -> None:
    """B84: what the group tells of the other partitions counts at once."""
    world = led_by_three(3, 3, 3)
    with reader(world, A, B, group_id="g") as consumer:
        consumer.commit_sync({B: OffsetAndMetadata(1)})
        world.control.fail("OffsetFetch", 88, times=None, partition=0)
        began = world.clock.time
        assert consumer.position(B) == 1
        assert world.clock.time - began < 0.5
        assert drained(consumer) == {B: [1, 2]}
        with pytest.raises(errors.TimeoutException):
            consumer.position(A, 3.0)


def test_a_log_that_was_cut_back_is_reset_while_another_leader_is_silent() -> None:
    """B84, B91: the policy is asked when the leader's word counts; the silent has longer."""
    world = led_by_three(3, 3, 3)
    with reader(world, A, B, group_id="g") as consumer:
        consumer.end_offsets([A, B])
        world.control.freeze(1)
        consumer.seek(A, OffsetAndMetadata(1, leader_epoch=0))
        consumer.seek(B, OffsetAndMetadata(9, leader_epoch=7))
        assert consumer.position(B, 8.0) == 0


def test_a_frozen_leader_is_replaced() -> None:
    """B106: its partition is read from the new leader soon after metadata name one."""
    world = led_by_three(3, 3, 3)
    with reader(world, A, B) as consumer:
        assert drained(consumer) == {A: [0, 1, 2], B: [0, 1, 2]}
        world.control.freeze(1)
        consumer.poll(4.0)
        requests = metadata_requests(world)
        world.control.move_leader(A, 2)
        world.control.append(A, b"x")
        began = world.clock.time
        while not (got := offsets(consumer.poll(1.0))):
            assert world.clock.time - began < 3.0
        assert got == {A: [3]}
        assert metadata_requests(world) - requests <= 3


def test_an_overdue_fetch_asks_for_metadata_once_a_second() -> None:
    """B106: of the brokers that answer, and no oftener."""
    world = led_by_three(3, 3, 3)
    with reader(world, A, B, C) as consumer:
        drained(consumer)
        world.control.freeze(1)
        before = metadata_requests(world)
        consumer.poll(20.0)
        requests = world.cluster.journal.entries("Metadata")[before:]
        assert 10 <= len(requests) <= 22
        assert [each.node for each in requests].count(1) <= 1


def test_metadata_that_a_frozen_broker_owes_is_asked_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B106: a question that is parked there already is put to another one."""
    world = led_by_three(3, 3, 3)
    with reader(world, A, B, C) as consumer:
        drained(consumer)
        metadata = world.members[0].side.metadata
        frozen = metadata.cluster.nodes[1]
        world.control.freeze(1)
        with monkeypatch.context() as patched:
            patched.setattr(metadata.brokers, "candidates", lambda: [frozen])
            metadata.request_update()
            consumer.poll(0.01)
        version = metadata.cluster.version
        consumer.poll(5.0)
        assert metadata.cluster.version > version


@pytest.mark.parametrize("ask", ["end_offsets", "position"])
def test_a_lookup_at_a_frozen_leader_is_asked_of_its_replacement(ask: str) -> None:
    """B84: as soon as metadata name one, long before request.timeout.ms is over."""
    world = led_by_three(3, 3, 3)
    with reader(world, A, B) as consumer:
        consumer.end_offsets([A, B])
        world.control.freeze(1)
        world.at(world.clock.time + 3.0, lambda: world.control.move_leader(A, 2))
        began = world.clock.time
        if ask == "end_offsets":
            assert consumer.end_offsets([A, B]) == {A: 3, B: 3}
        else:
            assert consumer.position(A) == 0
        assert 3.0 < world.clock.time - began < 5.0
        assert [node for node, _ in asked(world)].count(1) <= 2


def test_a_producer_goes_on_where_a_stand_in_was_lost_as_well() -> None:
    """B378: a broker that was silent on two lanes, one for the other; all is delivered."""
    world = World(nodes=3)
    with world.producer() as producer:
        for partition in range(3):
            producer.send("orders", b"before", partition=partition)
        producer.flush(5.0)
        world.control.freeze()
        sent = []
        # Less than delivery.timeout.ms, and enough for the stand-in to time out.
        for _ in range(60):
            sent += [producer.send("orders", b"x", partition=each) for each in range(3)]
            with suppress(errors.TimeoutException):
                producer.flush(1.0)
        world.control.thaw()
        producer.flush(10.0)
        assert all(each.done() and each.exception() is None for each in sent)
