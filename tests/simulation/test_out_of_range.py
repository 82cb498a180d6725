"""Offsets that a leader lacks: fresh metadata confirm the leader before a policy is applied."""

import pytest

from prokurist import errors
from tests.simulation.reading import A, drained, fetches, offsets, reader, written
from tests.simulation.test_fetch_redirections import in_racks, metadata_requests
from tests.simulation.world import World


def deposed(world: World) -> None:
    """Move the leadership from broker 1 to 2 and write more; 1 learns of it a second late.

    Until then what is written is not readable, for 1 is in sync and fetches nothing.
    """
    world.control.delay_metadata(1.0, 1)
    world.control.move_leader(A, 2)
    for _ in range(4):
        world.control.append(A, b"x")


@pytest.mark.parametrize("policy", ["earliest", "latest", "none"])
def test_an_offset_that_a_deposed_leader_lacks(policy: str) -> None:
    """B101: the leader that fresh metadata name has the offset: it is read from there."""
    world = written(3, nodes=3)
    with reader(world, auto_offset_reset=policy) as consumer:
        consumer.seek(A, 0)
        assert drained(consumer) == {A: [0, 1, 2]}
        deposed(world)
        requests = metadata_requests(world)
        consumer.seek(A, 5)
        assert drained(consumer, 3.0) == {A: [5, 6]}
        assert metadata_requests(world) - requests == 1


def test_an_offset_that_every_leader_lacks() -> None:
    """B101: the second leader is believed, and no broker is asked a third time."""
    world = written(3, nodes=3)
    with reader(world, auto_offset_reset="none") as consumer:
        consumer.seek(A, 0)
        assert drained(consumer) == {A: [0, 1, 2]}
        deposed(world)
        before, requests = len(fetches(world)), metadata_requests(world)
        consumer.seek(A, 50)
        with pytest.raises(errors.OffsetOutOfRangeException):
            consumer.poll(5.0)
        asked = [node for node, wanted in fetches(world)[before:] if wanted.get(0) == 50]
        assert asked == [1, 2]
        assert metadata_requests(world) - requests == 1


def test_an_offset_out_of_range_costs_one_round_trip_more() -> None:
    """B101: metadata that name the same leader confirm its answer; it is not asked again."""
    world = written(3, nodes=3)
    with reader(world) as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        before, requests = len(fetches(world)), metadata_requests(world)
        consumer.seek(A, 50)
        began = world.clock.time
        assert offsets(consumer.poll(5.0)) == {A: [0, 1, 2]}
        assert world.clock.time - began < 0.1
        asked = [node for node, wanted in fetches(world)[before:] if wanted.get(0) == 50]
        assert asked == [1]
        assert metadata_requests(world) - requests == 1


def test_metadata_that_do_not_come_confirm_nothing_for_longer_than_a_second() -> None:
    """B101: without metadata the leader's answer counts after a second."""
    world = written(3, nodes=3)
    with reader(world, auto_offset_reset="none") as consumer:
        consumer.seek(A, 0)
        assert drained(consumer) == {A: [0, 1, 2]}
        world.control.drop("Metadata", times=None)
        consumer.seek(A, 50)
        began = world.clock.time
        with pytest.raises(errors.OffsetOutOfRangeException):
            consumer.poll(5.0)
        assert world.clock.time - began < 1.5


def test_an_offset_that_is_left_while_metadata_are_awaited() -> None:
    """B101: a seek ends the wait, and what metadata say of the old offset changes nothing."""
    world = written(3, nodes=3)
    with reader(world, auto_offset_reset="none") as consumer:
        consumer.seek(A, 0)
        assert drained(consumer) == {A: [0, 1, 2]}
        with world.control.answer_late("Metadata", 0.5):
            consumer.seek(A, 50)
            consumer.poll(0.2)
            consumer.seek(A, 1)
            assert drained(consumer, 2.0) == {A: [1, 2]}


def test_an_offset_that_a_follower_and_a_deposed_leader_lack() -> None:
    """B101, B110: the follower's leader is asked first, and then the one of fresh metadata."""
    world = in_racks()
    with reader(world, auto_offset_reset="none", client_rack="east") as consumer:
        consumer.seek(A, 0)
        assert drained(consumer) == {A: [0, 1, 2]}
        assert fetches(world)[-1][0] == 2
        world.control.delay_metadata(1.0, 1)
        world.control.move_leader(A, 3)
        for _ in range(4):
            world.control.append(A, b"x")
        world.control.fail("Fetch", 1, times=1, node=2)
        consumer.seek(A, 5)
        assert drained(consumer, 3.0) == {A: [5, 6]}
