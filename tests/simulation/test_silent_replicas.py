"""A replica that does not answer: its partitions are read from their leaders meanwhile."""

import pytest

from tests.simulation.reading import A, drained, fetches, offsets, reader
from tests.simulation.test_fetch_redirections import in_racks


@pytest.mark.parametrize("request_timeout_ms", [5_000, 30_000])
def test_a_frozen_replica_is_not_waited_for(request_timeout_ms: int) -> None:
    """B110: a second after its answer was due the leader is read, which names it no more."""
    world = in_racks()
    with reader(world, client_rack="east", request_timeout_ms=request_timeout_ms) as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        consumer.poll(2.0)
        assert fetches(world)[-1][0] == 2
        world.control.freeze(2)
        world.control.append(A, b"x")
        began = world.clock.time
        while not (got := offsets(consumer.poll(1.0))):
            assert world.clock.time - began < 2.5
        assert got == {A: [3]}
        consumer.poll(1.0)
        before = len(fetches(world))
        assert not consumer.poll(20.0)
        assert len(fetches(world)) - before <= 60
        world.control.append(A, b"x")
        assert drained(consumer, 3.0) == {A: [4]}


def test_a_replica_that_answers_late_is_read_from_again() -> None:
    """B110: what it answers by then was read already, and is not returned again."""
    world = in_racks()
    with reader(world, client_rack="east") as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        consumer.poll(2.0)
        world.control.freeze(2)
        world.control.append(A, b"x")
        assert drained(consumer, 2.5) == {A: [3]}
        world.control.thaw(2)
        world.control.append(A, b"x")
        assert drained(consumer, 2.5) == {A: [4]}
        assert fetches(world)[-1][0] == 2
