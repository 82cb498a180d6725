"""Events from the network thread for `poll`: errors outside of calls, and steps.

Thread: the network thread posts, the application thread takes; `_lock` guards
everything, and nothing is called while it is held.

A poll shows its call before it looks here, and then waits for that call. Any later event ends
it, so no event posted in between is missed. It announces when it only waits, and the network
thread may wait for its end.

A step is something that the membership needs the application thread for: a listener
to be called, say. Only `poll` takes one, and posts a `StepDone` when it is done. A step that
has not been taken can be cancelled.

Invariants: of one cause there is one error, however often it occurs; a fatal one stays and is
raised before all others, until it is forgiven; once closed, every look raises the error of the
close.
"""

import threading
from collections.abc import Callable
from enum import Enum

from prokurist.errors import KafkaException
from prokurist.errors.security import name_credentials
from prokurist.events.assigned import AssignedPartition, SubscribedTopic
from prokurist.events.call import Call
from prokurist.events.positions import PositionRequest
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition


class StepKind(Enum):
    """The kinds of steps that the application thread makes."""

    POSITIONS = "say how far partitions have come that will be revoked"
    COMMIT = "commit how far partitions have come that stay"
    REVOKED = "on_partitions_revoked"
    LOST = "on_partitions_lost"
    ASSIGNED = "on_partitions_assigned"
    ASSIGN = "assign"
    """Share out the group's partitions, by an assignor that is the user's."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A step for `poll` to make; compared by identity.

    Attributes:
        partitions: The partitions concerned.
        work: The function to run, for a kind that is no call of the listener; its result is the
            answer.
        incarnation: The membership's (`Identity`) that owns the partitions, where the listener
            is called in one; None for partitions that are lost.
    """

    kind: StepKind
    partitions: frozenset[TopicPartition] = frozenset()
    work: Callable[[], object] | None = None
    incarnation: int | None = None


@dataclass(frozen=True, slots=True)
class BackgroundError:
    """An error for `poll` to raise.

    Attributes:
        about: The positions it belongs to, or the assignments, or the topics that are
            subscribed to. It is dropped when none of them is wanted any more; one about
            nothing in particular is always raised.
        narrow: Makes the same error about some of its partitions, for the case that the
            others are not wanted any more; None for an error that is raised as it is.
        topics: The topics that there are no metadata of because of it. It is dropped when
            there are, of one of these, before a poll has raised it.
    """

    error: KafkaException
    about: frozenset[PositionRequest | AssignedPartition | SubscribedTopic] = frozenset()
    narrow: Callable[[frozenset[TopicPartition]], KafkaException] | None = None
    topics: frozenset[str] = frozenset()


class BackgroundEvents:
    """The queue of errors and steps that the next `poll` takes.

    Args:
        credentials: The client's identity to brokers, for errors of authorization.

    Attributes:
        credentials: The same, for errors that come to a poll on another way.
    """

    def __init__(self, credentials: str | None = None) -> None:
        self.credentials: str | None = credentials
        self._lock = threading.RLock()
        self._errors: list[BackgroundError] = []
        self._steps: list[Step] = []
        self._fatal: KafkaException | None = None
        self._waiting: Call | None = None
        self._closed: KafkaException | None = None

    # --- the network thread ----------------------------------------------------------

    def post(self, event: BackgroundError) -> None:
        """Have an error raised by a poll; it takes the place of an older one of its cause."""
        with self._lock:
            self._errors = [each for each in self._errors if not same_cause(each, event)]
            self._errors.append(event)
            waiting = self._waiting
        if waiting is not None:
            waiting.finish()

    def post_about(
        self,
        error: KafkaException,
        held: frozenset[AssignedPartition | SubscribedTopic],
        topics: frozenset[str],
    ) -> None:
        """The same for an error about assigned partitions; dropped if none is assigned.

        Args:
            error: The error.
            held: What it is about.
            topics: The topics that there are no metadata of because of it.
        """
        if held:
            self.post(BackgroundError(error, frozenset(held), topics=topics))

    def accept(self, topics: frozenset[str]) -> None:
        """Drop the errors that have ended: there are metadata of these topics by now."""
        with self._lock:
            self._errors = [each for each in self._errors if each.topics.isdisjoint(topics)]

    def fail(self, error: KafkaException) -> None:
        """Have every poll raise this from now on, before all other errors."""
        with self._lock:
            self._fatal = error
            waiting = self._waiting
        if waiting is not None:
            waiting.finish()

    def post_step(self, step: Step) -> None:
        """Have a step made by a poll, after those that were posted before."""
        with self._lock:
            self._steps.append(step)
            waiting = self._waiting
        if waiting is not None:
            waiting.finish()

    def nudge(self) -> None:
        """Have a waiting poll check again for positions to request."""
        with self._lock:
            waiting = self._waiting
        if waiting is not None:
            waiting.finish()

    @property
    def fatal(self) -> KafkaException | None:
        """The error that ended the membership, raised by every poll; None without one."""
        with self._lock:
            return self._fatal

    @property
    def awaiting(self) -> Call | None:
        """The poll that waits, or is about to."""
        return self._waiting

    @property
    def waiting(self) -> int:
        """Number of errors and steps that wait for a poll."""
        return len(self._errors) + len(self._steps)

    def close(self, why: KafkaException) -> None:
        """Fail the poll that waits, and later ones: the network thread has ended."""
        with self._lock:
            if self._closed is None:
                self._closed = why
            waiting = self._waiting
        if waiting is not None:
            waiting.finish()

    # --- either ----------------------------------------------------------------------

    def call_off(self) -> None:
        """Cancel the steps that no poll has taken yet."""
        with self._lock:
            self._steps.clear()

    # --- the application thread ------------------------------------------------------

    def watch(self, call: Call | None) -> None:
        """End this call as soon as an error or a step comes; None ends the watch."""
        with self._lock:
            self._waiting = call

    def check_open(self) -> None:
        """Raise if the network thread has ended.

        Raises:
            KafkaException: The error that ended it.
        """
        with self._lock:
            closed = self._closed
        if closed is not None:
            # Raised as often as one asks: without the traceback of the last time.
            raise closed.with_traceback(None)

    def take_step(self) -> Step | None:
        """The next step, if there is one."""
        with self._lock:
            return self._steps.pop(0) if self._steps else None

    def take(
        self,
        still_wanted: Callable[[PositionRequest | AssignedPartition | SubscribedTopic], bool],
    ) -> KafkaException | None:
        """Take the next error, if there is one; a fatal one is never used up."""
        fatal = self.fatal
        if fatal is None:
            return self.take_pending(still_wanted)
        name_credentials(fatal, self.credentials)
        return fatal.with_traceback(None)

    def take_pending(
        self,
        still_wanted: Callable[[PositionRequest | AssignedPartition | SubscribedTopic], bool],
    ) -> KafkaException | None:
        """Take the next error that is not fatal, dropping those that are out of date.

        An error about several positions, some of them stale, is narrowed to the others: a seek
        to the partitions of an error then undoes no earlier seek.
        """
        error = self._take_pending(still_wanted)
        if error is not None:
            name_credentials(error, self.credentials)
        return error

    def _take_pending(
        self,
        still_wanted: Callable[[PositionRequest | AssignedPartition | SubscribedTopic], bool],
    ) -> KafkaException | None:
        while True:
            with self._lock:
                if not self._errors:
                    return None
                event = self._errors.pop(0)
            left = frozenset(filter(still_wanted, event.about))
            if event.narrow is not None and left and left != event.about:
                return event.narrow(
                    frozenset(
                        each.partition for each in left if not isinstance(each, SubscribedTopic)
                    )
                )
            if left or not event.about:
                return event.error

    def forgive(self) -> KafkaException | None:
        """Drop the fatal error, since the membership that it ended has been left.

        Returns:
            The forgiven error.
        """
        with self._lock:
            fatal, self._fatal = self._fatal, None
            return fatal

    def __len__(self) -> int:
        return len(self._errors)

    def __repr__(self) -> str:
        state = "closed" if self._closed is not None else "open"
        waiting = ", a poll waits" * (self._waiting is not None)
        steps = f", {len(self._steps)} steps" * bool(self._steps)
        fatal = ", a fatal error" * (self._fatal is not None)
        return f"BackgroundEvents({state}, {len(self._errors)} errors{steps}{fatal}{waiting})"


def same_cause(old: BackgroundError, new: BackgroundError) -> bool:
    """Return True if the newer of two errors repeats the older one."""
    if type(old.error) is not type(new.error):
        return False
    if not old.about and not new.about:
        return str(old.error) == str(new.error)
    return bool(old.about) and old.about <= new.about
