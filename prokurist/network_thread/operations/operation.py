"""Operations: the whole way of a piece of work, readable from top to bottom.

An operation is an `async def` without asyncio. It awaits promises; the code that keeps
a promise steps the operations that wait for it. When its time is over, or its
caller is gone, the reason is thrown in at its `await`, and its own `finally`
clauses put everything back: an operation owns its end.

Thread: the network thread alone. Nothing here reads a clock or does I/O.

A promise may be awaited by several operations (a shared look-up); throwing an
operation out of its wait leaves the promise to the others.

Nothing that has ended is part of a reference cycle, so that it is freed at once and
the garbage collector has nothing to do: a full collection holds the interpreter for
as long as the user's heap is large, and every deadline that falls into it is late.

A client whose thread is gone is collected with what has not ended, coroutines in any order,
and the `finally` of one may throw at an operation whose coroutine is closed already. Nothing
is left to end then, and no caller waits.
"""

from collections.abc import Callable, Coroutine, Generator, Iterable
from functools import partial
from typing import Any, Generic, TypeVar

from prokurist.errors import KafkaException

Value = TypeVar("Value")


class Withdrawn(KafkaException):
    """Thrown into an operation whose caller has left; never seen by a user."""


class Promise(Generic[Value]):
    """A value or an error that comes later."""

    __slots__ = ("_error", "_kept", "_value", "_waiting", "on_forsaken")

    def __init__(self) -> None:
        self._kept = False
        self._value: Value | None = None
        self._error: BaseException | None = None
        self._waiting: list[Callable[[], None]] = []
        self.on_forsaken: Callable[[], None] | None = None
        """Called when the last one that waited has been thrown out of its wait."""

    def keep(self, value: Value) -> None:
        """Fulfil it, and step the operations that wait; later calls are ignored."""
        if not self._kept:
            self._kept, self._value = True, value
            self._step_all()

    def break_(self, error: BaseException) -> None:
        """Fail it, and step the operations that wait; later calls are ignored."""
        if not self._kept:
            self._kept, self._error = True, error
            self._step_all()

    def _step_all(self) -> None:
        self.on_forsaken = None  # It leads to what made this promise, and so back here.
        waiting, self._waiting = self._waiting, []
        for step in waiting:
            step()

    @property
    def is_kept(self) -> bool:
        """True once it has its value or its error."""
        return self._kept

    @property
    def error(self) -> BaseException | None:
        """The error that it was broken with; None if it was not."""
        return self._error

    @property
    def value(self) -> Value:
        """The value that it was kept with; only after `is_kept`."""
        if not self._kept or self._error is not None:
            raise AssertionError(f"{self!r} has no value")
        return self._value  # type: ignore[return-value]  # kept without error: it is there

    def add(self, step: Callable[[], None]) -> None:
        """Add a step that is made when it is kept."""
        self._waiting.append(step)

    def remove(self, step: Callable[[], None]) -> None:
        """Remove a step; without any left the promise is forsaken."""
        if step in self._waiting:
            self._waiting.remove(step)
            if not self._waiting and not self._kept and self.on_forsaken is not None:
                forsaken, self.on_forsaken = self.on_forsaken, None
                forsaken()

    def __await__(self) -> Generator["Promise[Value]", None, Value]:
        if not self._kept:
            yield self
        if self._error is not None:
            # Several may wait for one promise: each raises a copy of the error's
            # traceback as it is now, not one that grows with every waiter.
            raise self._error.with_traceback(None)
        return self.value

    def __repr__(self) -> str:
        return f"Promise({'kept' if self._kept else f'{len(self._waiting)} waiting'})"


class Operation(Generic[Value]):
    """A running coroutine.

    Args:
        work: The coroutine; it is started at once, as far as its first wait.
        name: For the repr.
        done: Called once with the value and None, or None and the error. An
            exception that is no KafkaException is a bug of ours: it goes
            through to the loop, which ends loudly.
    """

    __slots__ = ("_awaited", "_coroutine", "_done", "_running", "_step", "ended", "name")

    def __init__(
        self,
        work: Coroutine[Any, Any, Value],
        name: str,
        done: Callable[[Value | None, KafkaException | None], None],
    ) -> None:
        self._coroutine = work
        self._done = done
        self._awaited: Promise[Any] | None = None
        self._step: Callable[[], None] | None = None
        self._running = False
        self.name: str = name
        self.ended: bool = False
        self._advance(partial(work.send, None))

    def throw(self, why: KafkaException) -> None:
        """End its wait with an exception; no effect once it has ended.

        An operation that is running just now cannot be thrown at: the code that
        steps it ends it by what it returns.
        """
        if self.ended or self._running:
            return
        if self._awaited is not None and self._step is not None:
            self._awaited.remove(self._step)
        self._advance(partial(self._coroutine.throw, why))

    def _wait_for(self, awaited: Promise[Any]) -> None:
        self._awaited, self._step = awaited, partial(self._go_on, awaited)
        awaited.add(self._step)

    def _go_on(self, awaited: Promise[Any]) -> None:
        # A kept promise steps all its waiters in turn. If the first of them throws
        # this operation out of its wait, this step still comes: it is then the step
        # of a wait that is over. None waits again at a promise that is kept.
        if self._awaited is not awaited:
            return
        self._advance(partial(self._coroutine.send, None), awaited.error)

    def _advance(
        self, resume: Callable[[], Promise[Any]], met: BaseException | None = None
    ) -> None:
        self._awaited = self._step = None
        if getattr(self._coroutine, "cr_frame", True) is None:
            self.ended = True  # By the garbage collector: see the module.
            return
        self._running = True
        try:
            try:
                awaited = resume()
            finally:
                if met is not None:
                    # Dealt with or on its way to a user: the frames it has been
                    # through here tell a reader nothing, and they hold what holds it.
                    met.__traceback__ = None
        except StopIteration as stop:
            self._end(stop.value, None)
        except KafkaException as error:
            error.__traceback__ = None  # As above; and no later, since a user may have it then.
            self._end(None, error)
        except BaseException:
            # A bug goes through to the loop; the coroutine is over all the same,
            # and the code that ends what is left must not throw at it.
            self.ended = True
            raise
        else:
            self._wait_for(awaited)
        finally:
            self._running = False

    def _end(self, value: Value | None, error: KafkaException | None) -> None:
        self.ended = True
        self._done(value, error)

    def __repr__(self) -> str:
        if self.ended:
            return f"Operation({self.name}, ended)"
        return f"Operation({self.name}, waiting for {self._awaited})"


def begin(work: Coroutine[Any, Any, Value], name: str) -> Promise[Value]:
    """Start work beside the operation that awaits its result; forsaking that ends the work."""
    promise = Promise[Value]()

    def done(value: Value | None, error: KafkaException | None) -> None:
        if error is not None:
            promise.break_(error)
        else:
            promise.keep(value)  # type: ignore[arg-type]  # ended without error: it is there

    operation = Operation(work, name, done)
    promise.on_forsaken = lambda: operation.throw(Withdrawn(f"no caller waits for {name}"))
    return promise


def all_of(promises: Iterable[Promise[Value]]) -> Promise[list[Value]]:
    """The values of some promises, in order; or the first error, at once.

    The others are not waited for after an error, nor after the operation that awaited this
    was thrown out of it: both reach each promise that is not kept yet.
    """
    return _All(list(promises)).whole


class _All(Generic[Value]):
    """The common wait for some promises."""

    def __init__(self, parts: list[Promise[Value]]) -> None:
        self.whole: Promise[list[Value]] = Promise()
        self.whole.on_forsaken = self._leave
        self._parts = parts
        for each in parts:
            # Even where one is broken already: only who has waited can leave the others.
            each.add(self._step)
        self._step()

    def _step(self) -> None:
        if self.whole.is_kept:
            return
        error = next((each.error for each in self._parts if each.error is not None), None)
        if error is not None:
            self.whole.break_(error)
            self._leave()
        elif all(each.is_kept for each in self._parts):
            self.whole.keep([each.value for each in self._parts])

    def _leave(self) -> None:
        for each in self._parts:
            each.remove(self._step)
