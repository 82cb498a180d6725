"""Commits: those that are waited for, those that are not, and callbacks in their order.

Thread: the application's. The network thread ends each commit's Call whenever that
is; here they stand in a line, and a callback runs only when its commit and all
before it have ended. So the order is that of the calls, regardless of the order of the answers.

A commit is tried once. After a passing error its callback gets a
RetriableCommitFailedException: by the time of another attempt a newer commit may have overtaken
it, and only the user knows.
"""

from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Run, Steps
from prokurist.application.instruments import ReadInstrument
from prokurist.consumer.auto_commit import AutoCommitter
from prokurist.consumer.commits_under_way import MOST_PENDING, CommitsUnderWay
from prokurist.consumer.interceptors import Interceptors
from prokurist.errors import (
    DisconnectException,
    KafkaException,
    RetriableCommitFailedException,
    WakeupException,
)
from prokurist.events.application_events import Commit, CommitOnce
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.committable import Committable, CommittableOffsets
from prokurist.events.log_events import ASYNC_COMMIT_FAILED, COMMIT_CALLBACK_ERROR_SUPPRESSED
from prokurist.events.member_identity import Identity, MemberIdentity
from prokurist.types import OffsetAndMetadata, TopicPartition

Offsets: TypeAlias = dict[TopicPartition, OffsetAndMetadata]
CommitCallback: TypeAlias = Callable[[Offsets, KafkaException | None], object]


class CommitQueue:
    """All commits of a consumer, and the queue of the asynchronous ones.

    Args:
        caller: The way to the network thread.
        auto: The automatic commits, reported beside the callbacks.
        interceptors: Interceptors, for committed offsets.
        member_identity: The member's identity.
        committable: Offsets of the assigned partitions.
        on_committed: The callback of asynchronous commits that have none of their own.
        instrument: Watches commits; None where nothing does.
    """

    operation = "commit_sync"
    """The name of the call that waits."""

    def __init__(
        self,
        caller: CallRunner,
        auto: AutoCommitter,
        interceptors: Interceptors,
        member_identity: MemberIdentity,
        committable: Committable,
        on_committed: CommitCallback | None = None,
        instrument: ReadInstrument | None = None,
    ) -> None:
        self._caller = caller
        self._auto = auto
        self._interceptors = interceptors
        self._member_identity = member_identity
        self._committable = committable
        self._on_committed = on_committed
        self._instrument = instrument
        self._line: deque[tuple[Call, Offsets, CommitCallback | None]] = deque()
        self._under_way = CommitsUnderWay()

    def sync(
        self, returned: CommittableOffsets, timeout: float | timedelta | None
    ) -> Steps[None]:
        """Commit offsets and wait, for earlier commits and their callbacks too.

        The commit is posted at once, behind the earlier ones on their connection: waiting for
        those delays only the return, and counts against the timeout. An error of a callback is
        raised after this commit has ended.
        """
        offsets, topics = returned
        call = self._caller.call(self.operation, timeout, partitions=tuple(offsets))
        self._caller.raise_if_woken()
        raised: Exception | None = None
        try:
            if offsets:
                self._caller.post(Commit(call, offsets, self._identity, topics))
            try:
                in_time = yield from self._wait(call.deadline)
            except WakeupException:
                raise
            except Exception as error:  # noqa: BLE001 - a user's callback may raise anything
                in_time, raised = True, error
            if not offsets and in_time:
                call.finish()
            yield from self._caller.answer(call)
        except BaseException as error:
            self._caller.abandon(call)
            self._settled(call, offsets, error)
            raise
        self._settled(call, offsets, None)
        if offsets:
            self._succeeded(offsets)
        if raised is not None:
            raise raised

    def later(self, returned: CommittableOffsets, callback: CommitCallback | None) -> Call:
        """Have offsets committed, once, without waiting: the call that stands for it."""
        offsets, topics = returned
        call = self._caller.call("commit_async", None, partitions=tuple(offsets))
        try:
            self._line.append(
                (call, offsets, callback or (self._on_committed if offsets else None))
            )
            if offsets:
                self._make_room(offsets)
                self._under_way.add(call, offsets)
                self._caller.post(CommitOnce(call, offsets, self._identity, topics))
            else:
                call.finish()
        except BaseException:
            # A call that was never posted would hold up the line for ever.
            self._caller.abandon(call)
            raise
        return call

    def _make_room(self, offsets: Offsets) -> None:
        """Take back, if too many are under way, one of the same partitions that still waits."""
        overtaken = self._under_way.overtaken_by(offsets)
        if overtaken is not None:
            why = RetriableCommitFailedException(
                f"{MOST_PENDING} asynchronous commits are under way already, and a newer one "
                f"of the same partitions took the place of this one"
            )
            self._caller.withdraw(overtaken, why)

    @property
    def _identity(self) -> Identity:
        """The identity to commit under.

        Inside `close` and `unsubscribe`, that is in `on_partitions_revoked`, nothing can be
        committed after the next poll: it goes out also while the group rebalances.
        """
        identity = self._member_identity.identity
        return identity.at_departure if self._committable.assigned.is_leaving else identity

    def run_callbacks(self, before: Call | None = None) -> Steps[None]:
        """Run the callbacks that are due, up to that of one call.

        Raises:
            BaseException: The error of a callback; the others run another time.
        """
        yield from self._auto.tell()
        while self._line and self._line[0][0] is not before and not self._line[0][0].is_open:
            call, offsets, callback = self._line.popleft()
            error = outcome(call)
            self._settled(call, offsets, error, waited=False)
            if error is None and offsets:
                self._succeeded(offsets)
            if callback is not None:
                with self._caller.callback():
                    yield Run(callback, offsets, error)
            elif error is not None:
                kind = type(error).__name__
                self._caller.trace.emit(ASYNC_COMMIT_FAILED, error=error, kind_of_error=kind)

    def _settled(
        self, call: Call, offsets: Offsets, error: BaseException | None, *, waited: bool = True
    ) -> None:
        if self._instrument is not None and offsets:
            seconds = self._caller.now() - call.began
            self._instrument.settled(seconds, offsets, error, waited=waited)

    def _succeeded(self, offsets: Offsets) -> None:
        self._committable.note_committed(offsets)
        self._interceptors.on_commit(offsets)

    def _wait(self, deadline: Deadline) -> Steps[bool]:
        """Wait until the queue is empty, running callbacks; False when time is up."""
        yield from self._auto.tell()
        while self._line:
            if not (yield from self._caller.wait(self._line[0][0], deadline)):
                return False
            yield from self.run_callbacks()
        return True

    def finish(self, deadline: Deadline) -> Steps[Exception | None]:
        """Empty the queue by the deadline, without wake-ups.

        Returns:
            The first error that a callback raised; the others run all the same.
        """
        raised: list[Exception] = []
        while self._line and (yield from self._caller.wait_for_end(self._line[0][0], deadline)):
            yield from self._run_in_close(raised)
        return self._first_of(raised)

    def give_up(self) -> Steps[Exception | None]:
        """Fail all commits that are still queued, and run their callbacks.

        Returns:
            As `finish`.
        """
        raised: list[Exception] = []
        for call, _, _ in self._line:
            self._caller.withdraw(call, DisconnectException("the consumer was closed first"))
        while self._line:
            yield from self._run_in_close(raised)
        return self._first_of(raised)

    def _first_of(self, raised: list[Exception]) -> Exception | None:
        """The first error of callbacks, to be raised; the others are logged."""
        for error in raised[1:]:
            self._caller.trace.emit(COMMIT_CALLBACK_ERROR_SUPPRESSED, error=error)
        return raised[0] if raised else None

    def _run_in_close(self, raised: list[Exception]) -> Steps[None]:
        try:
            yield from self.run_callbacks()
        except Exception as error:  # noqa: BLE001 - a user's callback may raise anything
            raised.append(error)

    def __len__(self) -> int:
        return len(self._line)

    def __repr__(self) -> str:
        return f"CommitQueue({len(self._line)} pending)"


def outcome(call: Call) -> KafkaException | None:
    """The arguments of a commit callback."""
    try:
        call.result()
    except KafkaException as error:
        error.__traceback__ = None  # It leads here, where the call is, and the other error.
        if not error.retriable or isinstance(error, RetriableCommitFailedException):
            return error
        failed = RetriableCommitFailedException(
            f"the offsets may not have been committed ({type(error).__name__}: {error}); "
            f"committing again, these or newer ones, may succeed"
        )
        failed.__cause__ = error
        return failed
    return None
