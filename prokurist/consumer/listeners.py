"""Rebalance listeners: the user's code for assigned and revoked partitions.

Thread: the application's, inside a call.

The network thread posts steps; `poll` makes them, in their order, before it raises or
returns anything. Even if a step's code raises, those that are queued are made all the
same: the first error is raised when they are, the others are logged.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Run, Steps
from prokurist.consumer.auto_commit import AutoCommitter
from prokurist.errors import IllegalStateException, KafkaException, WakeupException
from prokurist.events.application_events import StepDone
from prokurist.events.assigned import AnyAssigned
from prokurist.events.background_events import BackgroundEvents, Step, StepKind
from prokurist.events.group_log_events import CALLBACK_RESULT_DROPPED, LISTENER_ERROR_SUPPRESSED
from prokurist.events.member_identity import MemberIdentity
from prokurist.types import TopicPartition

Partitions = frozenset[TopicPartition]


@runtime_checkable
class ConsumerRebalanceListener(Protocol):
    """Is told of revoked and assigned partitions: inside `poll`, `unsubscribe` and `close`.

    Any object with these methods will do. `on_partitions_lost` may be left out: then
    `on_partitions_revoked` is called in its place. In each of them `commit_sync`,
    `committed`, `position`, `seek` and `pause` work.
    """

    def on_partitions_revoked(self, partitions: Partitions) -> object:
        """Called before partitions are revoked: the last moment to commit them."""

    def on_partitions_assigned(self, partitions: Partitions) -> object:
        """Called with newly assigned partitions, before anything of them is read.

        Where it raises, `poll` does. With the consumer protocol the next poll calls it again,
        with the same partitions; with the classic one they are read.
        """


Hears: TypeAlias = Callable[[Partitions], object]
"""Function of assigned or revoked partitions."""


class FunctionListener:
    """Listener made of single functions, each of which may be missing.

    Args:
        assigned: Called with assigned partitions.
        revoked: Called with revoked partitions, and with lost ones without `lost`.
        lost: Called with lost partitions.
    """

    def __init__(
        self, assigned: Hears | None, revoked: Hears | None, lost: Hears | None
    ) -> None:
        self._assigned = assigned
        self._revoked = revoked
        self._lost = lost or revoked

    def on_partitions_assigned(self, partitions: Partitions) -> object:
        """See `ConsumerRebalanceListener`."""
        return None if self._assigned is None else self._assigned(partitions)

    def on_partitions_revoked(self, partitions: Partitions) -> object:
        """See `ConsumerRebalanceListener`."""
        return None if self._revoked is None else self._revoked(partitions)

    def on_partitions_lost(self, partitions: Partitions) -> object:
        """See `ConsumerRebalanceListener`."""
        return None if self._lost is None else self._lost(partitions)


class Listeners:
    """Calls the rebalance listener, and runs the steps of the membership.

    Args:
        caller: The way to the network thread.
        background: Where steps come from.
        auto: The automatic commits, for revoked partitions.
        assigned: The assigned partitions.
        member_identity: The membership that `group_metadata` names inside the listener.
    """

    def __init__(
        self,
        caller: CallRunner,
        background: BackgroundEvents,
        auto: AutoCommitter,
        assigned: AnyAssigned,
        member_identity: MemberIdentity,
    ) -> None:
        self._caller = caller
        self._background = background
        self._auto = auto
        self._assigned = assigned
        self._member_identity = member_identity
        self._listener: ConsumerRebalanceListener | None = None
        self._running: str | None = None

    def follow(self, listener: ConsumerRebalanceListener | None) -> None:
        """Set the listener."""
        self._listener = listener

    def refuse_inside(self, operation: str) -> None:
        """Raise if the call is made inside a callback, where it is not allowed.

        Raises:
            IllegalStateException: It is.
        """
        if self._running is not None:
            raise IllegalStateException(
                f"{operation} inside {self._running}: commit, seek and look up there, and "
                f"call {operation} when it has returned"
            )

    def leave_callback(self) -> None:
        """Forget a callback that does not return, for `close`."""
        self._running = None

    def run(self) -> Steps[None]:
        """Run the queued steps.

        Raises:
            WakeupException: One of them was woken.
            KafkaException: The first error, as its cause.
        """
        failed: Exception | None = None
        while (step := self._background.take_step()) is not None:
            error = yield from self._make(step)
            if error is not None and failed is not None:
                self._caller.trace.emit(LISTENER_ERROR_SUPPRESSED, error=error)
            failed = failed or error
        if failed is not None:
            raise failed

    def tell(self, kind: StepKind, partitions: Partitions) -> Steps[Exception | None]:
        """Call the listener without a step; return its error."""
        try:
            yield from self._call(kind, partitions)
        except Exception as error:  # noqa: BLE001 - a user's code may raise anything
            return wrapped(error, kind.value)
        return None

    def _make(self, step: Step) -> Steps[Exception | None]:
        """Run one step, post `StepDone`, and return the error to raise for it."""
        error: BaseException | None = None
        answer: object = None
        try:
            answer = yield from self._answer(step)
        except BaseException as raised:
            error = raised
            if not isinstance(raised, Exception):
                raise
            # What fails in a step's own work is told by the code that has posted it.
            return None if step.work is not None else wrapped(raised, step.kind.value)
        finally:
            done = StepDone(self._caller.call(step.kind.value, None), step, error, answer)
            try:
                self._caller.post(done)
            except KafkaException as dead:
                self._caller.trace.emit(
                    CALLBACK_RESULT_DROPPED, step=step.kind.value, error=dead
                )
        return None

    def _answer(self, step: Step) -> Steps[object]:
        if step.kind is StepKind.POSITIONS:
            return self._auto.last_of(step.partitions)
        if step.kind is StepKind.COMMIT:
            self._auto.before_rebalance()
            return None
        if step.work is not None:
            return (yield from self.inside(step.kind.value, step.work))
        partitions = step.partitions
        if step.kind is StepKind.ASSIGNED:
            self._assigned.hears(partitions)
        elif step.kind is StepKind.LOST:
            # Fenced while on_partitions_revoked ran: the listener was told of those
            # already, and each partition is told once.
            partitions &= self._assigned.told()
            if not partitions:
                return None
        if step.incarnation is not None:
            self._member_identity.heard(step.incarnation)
        yield from self._call(step.kind, partitions)
        newer = self._auto.newer_of(partitions) if step.kind is StepKind.REVOKED else None
        if step.kind in (StepKind.REVOKED, StepKind.LOST):
            # Here as well as on the network thread: the next look sees it done.
            self._assigned.heard(step.partitions)
        return newer

    def _call(self, kind: StepKind, partitions: Partitions) -> Steps[None]:
        listener = self._listener
        if listener is None:
            return
        name = kind.value
        if kind is StepKind.LOST and not hasattr(listener, name):
            name = StepKind.REVOKED.value
        method: Callable[[Partitions], object] = getattr(listener, name)
        yield from self.inside(name, method, partitions)

    def inside(
        self, name: str, work: Callable[..., object], *arguments: object
    ) -> Steps[object]:
        """Run a callback, which may call the consumer."""
        began = self._caller.now()
        try:
            # Within, so that no interrupt leaves it: each later call would be refused.
            self._running = name
            with self._caller.callback():
                return (yield Run(work, *arguments))
        finally:
            self._running = None
            self._caller.counters.callbacks.of(name).observe(self._caller.now() - began)

    def __repr__(self) -> str:
        return f"Listeners({self._listener!r}{', running' * (self._running is not None)})"


def wrapped(error: Exception, callback: str) -> Exception:
    """The exception that a poll raises for an error of a callback."""
    if isinstance(error, WakeupException):
        return error
    outer = KafkaException(f"{callback} raised {type(error).__name__}: {error}")
    outer.__cause__ = error
    return outer


def listener_in(
    given: object,
    on_assigned: Hears | None = None,
    on_revoked: Hears | None = None,
    on_lost: Hears | None = None,
) -> ConsumerRebalanceListener | None:
    """A listener, of an object or of functions; or None.

    Raises:
        TypeError: The object lacks a method, a function is none, or both are given.
    """
    functions = {"on_assigned": on_assigned, "on_revoked": on_revoked, "on_lost": on_lost}
    there = {name: each for name, each in functions.items() if each is not None}
    for name, each in there.items():
        if not callable(each):
            raise TypeError(f"{name} is a function of the partitions, not {each!r}")
    if given is None:
        return FunctionListener(on_assigned, on_revoked, on_lost) if there else None
    if there:
        raise TypeError(
            f"a listener is given, and {' and '.join(there)} as well: give one kind"
        )
    if isinstance(given, ConsumerRebalanceListener):
        return given
    missing = [
        name
        for name in ("on_partitions_assigned", "on_partitions_revoked")
        if not hasattr(given, name)
    ]
    raise TypeError(
        f"a rebalance listener has on_partitions_assigned and on_partitions_revoked, and may "
        f"have on_partitions_lost; {given!r} lacks {' and '.join(missing)}. Functions are "
        f"given as on_assigned=, on_revoked= and on_lost="
    )
