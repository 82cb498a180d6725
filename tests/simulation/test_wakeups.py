"""`wakeup`: what it ends, what it leaves alone, and when it may come."""

from collections.abc import Callable

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.call import Call
from prokurist.types import OffsetAndMetadata
from tests.simulation.returning import TP
from tests.simulation.world import World

WAITING: dict[str, Callable[[KafkaConsumer], object]] = {
    "poll": lambda consumer: consumer.poll(30),
    "commit_sync": lambda consumer: consumer.commit_sync({TP: OffsetAndMetadata(1)}),
    "committed": lambda consumer: consumer.committed(TP),
    "position": lambda consumer: consumer.position(TP),
    "partitions_for": lambda consumer: consumer.partitions_for("payments"),
    "list_topics": lambda consumer: consumer.list_topics(),
    "beginning_offsets": lambda consumer: consumer.beginning_offsets(TP),
    "end_offsets": lambda consumer: consumer.end_offsets(TP),
    "offsets_for_times": lambda consumer: consumer.offsets_for_times({TP: 1}),
}


@pytest.mark.parametrize("operation", WAITING)
def test_it_ends_every_call_that_waits(operation: str) -> None:
    """B167, B169: at once, by its own name; the call is withdrawn."""
    world = World()
    with world.consumer(enable_auto_commit=False) as consumer:
        consumer.assign(TP)
        world.control.freeze()
        began = world.clock.time
        world.at(began + 0.5, consumer.wakeup)
        with pytest.raises(errors.WakeupException, match=operation):
            WAITING[operation](consumer)
        assert world.clock.time == pytest.approx(began + 0.5)
        world.clock.sleep(0.01)
        # A poll leaves its search for positions to the next poll.
        assert consumer.health().waiting_calls == (operation == "poll")
        world.control.thaw()
        WAITING["committed"](consumer)


def test_a_call_that_has_ended_keeps_its_result_and_the_wakeup_its_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B172: one comes in the moment of the answer; the next wait is the one it ends."""
    world = World()
    with world.consumer() as consumer:
        finish = Call.finish

        def finish_and_wake(call: Call, answer: object = None) -> bool:
            ended = finish(call, answer)
            consumer.wakeup()
            return ended

        with monkeypatch.context() as patched:
            patched.setattr(Call, "finish", finish_and_wake)
            assert consumer.committed(TP) == {TP: None}
        with pytest.raises(errors.WakeupException):
            consumer.committed(TP)
        assert consumer.committed(TP) == {TP: None}


def test_wakeup_in_any_state_is_harmless() -> None:
    """B173: before anything, between calls, and when all is over."""
    world = World()
    consumer = world.consumer()
    consumer.wakeup()
    assert consumer.committed([], timeout=0) == {}
    with pytest.raises(errors.WakeupException):
        consumer.committed(TP)
    consumer.close()
    consumer.wakeup()


def test_a_wakeup_that_opens_a_later_gate_ends_nothing() -> None:
    """B3, B171: its flag has been seen by an earlier call, and only now it opens the waiter."""
    world = World()
    with world.consumer() as consumer:
        world.control.freeze()

        def open_gate() -> None:
            waiter = consumer._caller._waiting_at
            assert waiter is not None
            waiter.open()

        began = world.clock.time
        world.at(began + 0.5, open_gate)
        with pytest.raises(errors.TimeoutException):
            consumer.committed(TP, timeout=1.0)
        assert world.clock.time == pytest.approx(began + 1.0)
