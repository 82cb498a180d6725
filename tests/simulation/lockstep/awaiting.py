"""Scenes of awaited records: the network thread ends batches, and a loop's tasks go on.

The loop is a stand-in of a few lines, so that each of its turns is a point of the play.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from prokurist.events.accumulator.batch import Batch
from prokurist.events.accumulator.record_metadata import Outcome
from prokurist.events.loop_wakes import LoopWakes
from tests.simulation.lockstep.exploring import Scene
from tests.simulation.lockstep.stage import Stage


class Awaited:
    """The future of one task."""

    def __init__(self) -> None:
        self.is_done = False

    def done(self) -> bool:
        """Whether its task goes on."""
        return self.is_done

    def set_result(self, _result: None) -> None:
        """Let its task go on."""
        self.is_done = True


class Timer:
    """The timer of a wait, whose time never comes."""

    def cancel(self) -> None:
        """Do nothing."""


class Loop:
    """What `LoopWakes` asks of an event loop."""

    def __init__(self) -> None:
        self.ready: deque[Callable[[], object]] = deque()
        self.is_closed = False

    def create_future(self) -> Any:
        """A future of the stand-in's own."""
        return Awaited()

    def call_later(
        self, _seconds: float, _callback: Callable[..., object], *_arguments: object
    ) -> Timer:
        """Have something called never: an end comes in each scene."""
        return Timer()

    def call_soon_threadsafe(self, callback: Callable[[], object]) -> None:
        """Have something called in the next turn."""
        if self.is_closed:
            raise RuntimeError("Event loop is closed")
        self.ready.append(callback)


def batches(count: int) -> list[Batch]:
    """Batches that are on their way."""
    owner: Any = object()
    return [Batch(owner, "t", number, 0.0, 120.0, 100) for number in range(count)]


def play(stage: Stage, count: int, tasks: int) -> None:
    """Some tasks await each of some batches, which end one after the other."""
    loop = Loop()
    wakes = LoopWakes(loop)  # type: ignore[arg-type]  # all that is asked of a loop
    ending = batches(count)

    def network() -> None:
        for batch in ending:
            assert batch.end(Outcome(0, -1))

    def live() -> None:
        futures = [
            wakes.future_of(batch, batch.watch, 1.0) for batch in ending for _ in range(tasks)
        ]
        while not all(each.done() for each in futures):
            stage.wait(lambda: bool(loop.ready), math.inf, "the loop")
            loop.ready.popleft()()

    stage.enter("loop", live)
    stage.enter("network", network)
    stage.run()
    assert not wakes._waiting, "a batch that has ended is kept"


def a_batch_ends_while_it_is_awaited(stage: Stage) -> None:
    """Each task goes on: the loop is woken, or the end was seen."""
    play(stage, 1, 2)


def batches_end_while_the_loop_takes_others(stage: Stage) -> None:
    """One ends in the moment in which the loop takes what the last wake was for."""
    play(stage, 3, 1)


def a_task_is_cancelled_while_its_batch_ends(stage: Stage) -> None:
    """Another that begins to await the record then goes on, and no waiter is left."""
    loop = Loop()
    wakes = LoopWakes(loop)  # type: ignore[arg-type]  # all that is asked of a loop
    (batch,) = batches(1)

    def live() -> None:
        cancelled = wakes.future_of(batch, batch.watch, 1.0)
        waiter = wakes.forget(batch, cancelled)
        if waiter is not None:
            batch.unwatch(waiter)
        future = wakes.future_of(batch, batch.watch, 1.0)
        while not future.done():
            stage.wait(lambda: bool(loop.ready), math.inf, "the loop")
            loop.ready.popleft()()

    stage.enter("loop", live)
    stage.enter("network", lambda: batch.end(Outcome(0)))
    stage.run()
    assert not wakes._waiting, "a batch that has ended is kept"
    assert not batch._waiters, "the batch keeps a waiter"


def a_loop_closes_while_a_batch_ends(stage: Stage) -> None:
    """The network thread goes on, and the loop's tasks are left."""
    loop = Loop()
    wakes = LoopWakes(loop)  # type: ignore[arg-type]  # all that is asked of a loop
    ending = batches(2)
    for batch in ending:
        wakes.future_of(batch, batch.watch, 1.0)

    def network() -> None:
        for batch in ending:
            try:
                batch.end(Outcome(0, -1))
            except RuntimeError as error:
                raise AssertionError("a closed loop ends the network thread") from error

    def close() -> None:
        loop.is_closed = True

    stage.enter("network", network)
    stage.enter("loop", close)
    stage.run()


def an_end_races_a_wait_that_is_over(stage: Stage) -> None:
    """A waiter is taken by the end or by its own thread, and neither meets an error."""
    (batch,) = batches(1)

    def app() -> None:
        waiter = batch.watch()
        try:
            batch.unwatch(waiter)
        except ValueError as torn:
            raise AssertionError("the waiter was taken meanwhile") from torn

    stage.enter("app", app)
    stage.enter("network", lambda: batch.end(Outcome(0)))
    stage.run()
    assert not batch._waiters, "the batch keeps a waiter"


SCENES: Final[tuple[Scene, ...]] = (
    an_end_races_a_wait_that_is_over,
    a_batch_ends_while_it_is_awaited,
    batches_end_while_the_loop_takes_others,
    a_task_is_cancelled_while_its_batch_ends,
    a_loop_closes_while_a_batch_ends,
)
