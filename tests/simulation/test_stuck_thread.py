"""A network thread that does not turn any more: no call hangs for it.

The caller's wait has its own bound. Here it is the only one: no Timer fires.
"""

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import TimeoutException
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.stuck_threads import stuck
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
OFFSETS = {TP: OffsetAndMetadata(7)}

CALLS: Final[Mapping[str, Callable[[KafkaConsumer, float], object]]] = {
    "commit_sync": lambda c, t: c.commit_sync(OFFSETS, timeout=t),
    "committed": lambda c, t: c.committed(TP, timeout=t),
    "position": lambda c, t: c.position(TP, timeout=t),
    "beginning_offsets": lambda c, t: c.beginning_offsets(TP, timeout=t),
    "end_offsets": lambda c, t: c.end_offsets(TP, timeout=t),
    "offsets_for_times": lambda c, t: c.offsets_for_times({TP: 1}, timeout=t),
    "partitions_for": lambda c, t: c.partitions_for("nothing", timeout=t),
    "list_topics": lambda c, t: c.list_topics(timeout=t),
}


@pytest.mark.parametrize("operation", CALLS)
def test_a_call_ends_at_its_deadline_all_the_same(operation: str) -> None:
    """Contract 2.7: at the deadline itself, with an error that names the call."""
    world = World()
    with world.consumer() as consumer:
        consumer.committed(TP)
        consumer.assign([TP])
        with stuck(world.members[-1]):
            began = world.clock.time
            with pytest.raises(TimeoutException, match=operation) as caught:
                CALLS[operation](consumer, 0.2)
            assert world.clock.time == pytest.approx(began + 0.2)
            assert not caught.value.may_have_happened
        CALLS[operation](consumer, 5.0)


def test_a_commit_that_was_not_taken_up_is_not_made_later() -> None:
    """Contract 2.6: the thread comes back to life and finds that its caller has left."""
    world = World()
    with world.consumer() as consumer:
        consumer.committed(TP)
        with stuck(world.members[-1]), pytest.raises(TimeoutException):
            consumer.commit_sync(OFFSETS, timeout=0.2)
        world.clock.sleep(5.0)
        assert not world.cluster.journal.entries("OffsetCommit")


@pytest.mark.parametrize("timeout", [0, 0.2])
def test_a_poll_returns_in_its_time(timeout: float) -> None:
    """Contract 2.7, 3: empty-handed, and never with a TimeoutException."""
    world = World()
    with world.consumer() as consumer:
        consumer.assign([TP])
        with stuck(world.members[-1]):
            began = world.clock.time
            consumer.poll(timeout)
            assert world.clock.time <= began + max(timeout, 0.01) + 1e-6


def test_closing_ends_in_its_time() -> None:
    """Contract 5: the join is bounded too; what was asked for before fails."""
    world = World()
    consumer = world.consumer()
    consumer.committed(TP)
    told: list[Exception | None] = []
    with stuck(world.members[-1]):
        consumer.commit_async(OFFSETS, lambda _, error: told.append(error))
        began = world.clock.time
        consumer.close(1.0)
        assert world.clock.time - began <= 1.0 + 1e-6
    assert len(told) == 1
    assert told[0] is not None
