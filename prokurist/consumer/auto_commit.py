"""Automatic commits: their schedule, and their positions.

Thread: the application's, inside a call.

The positions are those of records returned by earlier polls: the next poll means that the
application has processed them. So they are taken when a poll begins, or while it waits, with
the same result: records are collected last, and until then `returned` does not change. Between
two polls nothing is taken, however long the application processes records; the network thread
may repeat an attempt.

With `enable.auto.offset.store=false` the stored offsets are committed, or those of tracked
records that are done. During a revocation a listener may store more offsets, of work that it
waited for: these are committed as well, when it has returned.

No thread is woken for the interval: a poll checks it, and waits no longer than until its end.
There is one commit at a time; the next interval catches up. The next call that runs callbacks
looks at the result, and passes it to `on_committed` and the interceptors.
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from prokurist.application.call_runner import LAST_TURN, CallRunner
from prokurist.application.driving import Run, Steps
from prokurist.application.instruments import ReadInstrument
from prokurist.consumer.interceptors import Interceptors
from prokurist.errors import CommitFailedException, KafkaException, TimeoutException
from prokurist.events.application_events import AutoCommit
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.committable import Committable, CommittableOffsets
from prokurist.events.log_events import (
    AUTO_COMMIT_FAILED,
    COMMIT_CALLBACK_ERROR_SUPPRESSED,
    FINAL_COMMIT_FAILED,
)
from prokurist.events.member_identity import Identity, MemberIdentity, Role
from prokurist.types import OffsetAndMetadata, TopicPartition

Offsets: TypeAlias = Mapping[TopicPartition, OffsetAndMetadata]
OnCommitted: TypeAlias = Callable[[dict[TopicPartition, OffsetAndMetadata], Any], object]


class AutoCommitter:
    """Makes automatic commits: takes the positions, and tells how the last one ended.

    Args:
        caller: The way to the network thread.
        committable: Offsets of the assigned partitions.
        interceptors: Interceptors, for committed offsets.
        member_identity: The member's identity.
        interval: Seconds between two commits; None for none at all.
        on_committed: The user's callback for ended commits.
        instrument: Watches commits; None where nothing does.

    Attributes:
        due: When the interval is over; infinite without automatic commits.
    """

    def __init__(
        self,
        caller: CallRunner,
        committable: Committable,
        interceptors: Interceptors,
        member_identity: MemberIdentity,
        interval: float | None,
        on_committed: OnCommitted | None = None,
        instrument: ReadInstrument | None = None,
    ) -> None:
        self._caller = caller
        self._committable = committable
        self._interceptors = interceptors
        self._member_identity = member_identity
        self._interval = math.inf if interval is None else interval
        self._on_committed = on_committed
        self._instrument = instrument
        self._under_way: list[tuple[Call, Offsets]] = []
        self._seen = 0
        self.due: float = math.inf
        self._restart()

    @property
    def is_on(self) -> bool:
        """True if automatic commits are enabled."""
        return self._interval < math.inf

    @property
    def is_due(self) -> bool:
        """True if the interval is over."""
        return self.is_on and self._caller.now() >= self.due

    def when_due(self) -> Steps[None]:
        """Commit if the interval is over; at the start of a poll, and while it waits."""
        if not self.is_due:
            return
        self._restart()
        # In a round of a classic group a commit is refused; what stays ours is committed
        # when the interval is over again.
        identity = self._member_identity.identity
        is_under_way = any(call.is_open for call, _ in self._under_way)
        if not is_under_way and identity.role is not Role.REBALANCING:
            self._commit(identity)
        # Not before: what a callback raises takes nothing from the commit that was due.
        yield from self.tell()

    def until(self, deadline: Deadline) -> Deadline:
        """Limit a poll's wait to the next call of `when_due`."""
        # Without an interval each poll commits when it begins, and never again.
        return deadline.earlier(Deadline(self.due)) if self._interval else deadline

    def let_go(self) -> None:
        """Commit the positions of partitions that are about to go, without waiting."""
        if self.is_on:
            self._restart()
            self._commit(self._member_identity.identity.at_departure)

    def let_go_newer(self) -> None:
        """Commit newer stored offsets of partitions that are about to go, without waiting."""
        if self.has_newer:
            self.let_go()

    @property
    def has_newer(self) -> bool:
        """True if offsets were stored since the last commit was made."""
        committable = self._committable
        return self.is_on and committable.stores and committable.stored != self._seen

    def before_rebalance(self) -> None:
        """Commit the present positions before partitions are added, without waiting.

        Where the process dies soon afterwards, no more is read twice than since then.
        """
        self._restart()
        self._commit(self._member_identity.identity)

    def last_of(self, partitions: Collection[TopicPartition]) -> AutoCommit | None:
        """The offsets to commit of partitions that are revoked; nothing is posted.

        It goes out even if another is under way: that may be of an earlier moment.
        """
        done, topics = self._snapshot(unasked=False)
        offsets = {tp: at for tp, at in done.items() if tp in partitions}
        if not offsets:
            return None
        call = self._caller.call("auto-commit", math.inf, partitions=tuple(offsets))
        self._under_way.append((call, offsets))
        return AutoCommit(call, offsets, self._member_identity.identity, topics)

    def newer_of(self, partitions: Collection[TopicPartition]) -> AutoCommit | None:
        """Snapshot offsets stored since the last commit, as by a listener at a revocation."""
        return self.last_of(partitions) if self.has_newer else None

    def tell(self) -> Steps[None]:
        """Log commits that have failed, and tell callback and interceptors how each has ended.

        Raises:
            BaseException: The error of the callback; the others run another time.
        """
        # One by one: a callback may make calls that tell as well.
        while (ended := self._first_ended()) is not None:
            self._under_way.remove(ended)
            call, offsets = ended
            try:
                committed = call.result()
            except KafkaException as error:
                kind = type(error).__name__
                self._caller.trace.emit(
                    AUTO_COMMIT_FAILED,
                    error=error,
                    kind_of_error=kind,
                    next=self._what_follows(offsets, error),
                )
                self._settled(call, offsets, error)
                yield from self._call_back(offsets, error)
            else:
                self._settled(call, offsets, None)
                if committed:
                    yield from self._succeeded(committed)

    def _settled(self, call: Call, offsets: Offsets, error: KafkaException | None) -> None:
        if self._instrument is not None and offsets:
            seconds = self._caller.now() - call.began
            self._instrument.settled(seconds, offsets, error, waited=False)

    def _what_follows(self, offsets: Offsets, error: KafkaException) -> str:
        """Describe the effect of a failed commit: replaced by the next one, or not."""
        alone = self._member_identity.identity.role is Role.ALONE
        put_out = isinstance(error, CommitFailedException) and not alone
        if put_out or not offsets.keys() <= self._committable.assigned.partitions():
            return "and no other one replaces it, so that its records may be read again"
        return "the next one replaces it"

    def _first_ended(self) -> tuple[Call, Offsets] | None:
        return next((each for each in self._under_way if not each[0].is_open), None)

    def _succeeded(self, committed: Offsets) -> Steps[None]:
        self._committable.note_committed(committed)
        self._interceptors.on_commit(committed)
        yield from self._call_back(committed, None)

    def _call_back(self, offsets: Offsets, error: KafkaException | None) -> Steps[None]:
        if self._on_committed is None:
            return
        if error is not None:
            error.__traceback__ = None  # It leads here, where the call is.
        with self._caller.callback():
            yield Run(self._on_committed, dict(offsets), error)

    def close(self, deadline: Deadline, *, last: bool) -> Steps[Exception | None]:
        """Commit for the last time, and end commits under way, by the deadline.

        A failure of that is logged, and never raised: the user has asked for no commit.

        Returns:
            The first error that the callback raised; it hears of the others all the same.

        Args:
            deadline: How long that may take; one that has come leaves it one turn.
            last: True to commit the present positions. Stored offsets are committed in any
                case: the user has marked their records as done.
        """
        last = last or self._committable.stores
        raised: list[Exception] = []
        ending = self._commit_last(deadline) if last and self.is_on else None
        for call, _ in self._under_way if last else ():
            yield from self._caller.wait_for_end(call, deadline)
        for call, _ in self._under_way:
            self._caller.withdraw(call, KafkaException("the consumer was closed first"))
        while self._under_way:
            yield from self._note(raised, self.tell())
        if ending is not None:
            yield from self._note(raised, self._tell_of_last(*ending, deadline))
        for error in raised[1:]:
            self._caller.trace.emit(COMMIT_CALLBACK_ERROR_SUPPRESSED, error=error)
        return raised[0] if raised else None

    def _note(self, raised: list[Exception], tell: Steps[None]) -> Steps[None]:
        try:
            yield from tell
        except Exception as error:  # noqa: BLE001 - whatever a user's callback raises
            raised.append(error)

    def _commit_last(self, deadline: Deadline) -> tuple[Call, Offsets] | None:
        """Post the last commit; a call that has failed where it cannot be posted."""
        offsets, topics = self._snapshot(unasked=True)
        identity = self._member_identity.identity.at_departure
        if not offsets:
            return None
        now, trace = self._caller.now(), self._caller.tracing
        call = Call("close", now, deadline, partitions=tuple(offsets), trace=trace)
        if identity.role is Role.OUTSIDE:
            call.fail(CommitFailedException("the group does not count this member"))
            return call, offsets
        try:
            self._caller.post(AutoCommit(call, offsets, identity, topics))
        except KafkaException as dead:
            call.fail(dead)
        return call, offsets

    def _unsaved(self, offsets: Offsets, outcome: str, error: KafkaException) -> Steps[None]:
        self._caller.trace.emit(FINAL_COMMIT_FAILED, outcome=outcome, error=error)
        yield from self._call_back(offsets, error)

    def _tell_of_last(self, call: Call, offsets: Offsets, deadline: Deadline) -> Steps[None]:
        now = self._caller.now()
        yield from self._caller.wait_for_end(
            call, Deadline(now + LAST_TURN) if deadline.expired(now) else deadline
        )
        call.leave(self._caller.now())
        try:
            committed = call.result()
        except TimeoutException as late:
            self._settled(call, offsets, late)
            yield from self._unsaved(
                offsets, "before the last offsets were known to be committed", late
            )
        except KafkaException as error:
            self._settled(call, offsets, error)
            yield from self._unsaved(offsets, "without committing the last offsets", error)
        else:
            self._settled(call, offsets, None)
            yield from self._succeeded(committed)

    def _commit(self, identity: Identity) -> None:
        offsets, topics = self._snapshot(unasked=True)
        # Whom the group does not count has nothing: it would refuse the commit.
        if offsets and identity.role is not Role.OUTSIDE:
            call = self._caller.call("auto-commit", None, partitions=tuple(offsets))
            try:
                self._under_way.append((call, offsets))
                self._caller.post(AutoCommit(call, offsets, identity, topics))
            except KafkaException as dead:
                # It is told like any other; the call that we are in says so or need not.
                call.fail(dead)
            except BaseException:
                # A call that was never posted would be under way for ever.
                self._caller.abandon(call)
                raise

    def _snapshot(self, *, unasked: bool) -> CommittableOffsets:
        # Read first: what is done in this moment is newer, or else committed twice.
        self._seen = self._committable.stored
        return self._committable.snapshot(unasked=unasked)

    def _restart(self) -> None:
        self.due = self._caller.now() + self._interval

    def __repr__(self) -> str:
        return f"AutoCommitter({self._interval} s, {len(self._under_way)} under way)"
