"""One broker that records are fetched from and acknowledged to, one request at a time.

Thread: the network thread alone.

- The connection is the session: when it ends, all that is held of this broker is lost.
- A session that the broker has forgotten is opened anew; held records stay held.
- Acknowledgements of a partition are taken all together or not at all. Where one record is too
  late, each delivery goes by itself.
- A request that was written and not answered is never repeated.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from prokurist.errors import (
    DisconnectException,
    InvalidRecordStateException,
    KafkaException,
    UnsupportedVersionException,
)
from prokurist.events.background_events import BackgroundError
from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.events.lent.batch import LossCause, MarkedRun
from prokurist.events.lent.lent import WHY
from prokurist.events.lent.marks import GAP
from prokurist.events.lent.outcome import AcknowledgeOutcome
from prokurist.events.share_log_events import (
    RECORDS_LOST,
    RENEWAL_REFUSED,
    SHARE_SESSION_LOST,
)
from prokurist.network_thread.cluster.overdue_responses import OverdueResponse
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import Action
from prokurist.network_thread.operations.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.operations.timer import Due
from prokurist.network_thread.share.error_tables import SHARE_ACKNOWLEDGE, SHARE_SESSION
from prokurist.network_thread.share.parcel import (
    Parcel,
    by_delivery,
    by_partition,
    on_the_wire,
    renewals,
)
from prokurist.network_thread.share.session import ShareSession
from prokurist.network_thread.share.tools import Claim, ShareTools
from prokurist.network_thread.wire.request import Request
from prokurist.network_thread.wire.share_fetch import (
    CLOSING,
    ShareAcknowledge,
    ShareFetch,
    ShareFetchAnswer,
    SharePartition,
)
from prokurist.types import Acknowledge, Node, TopicPartition

Response = TypeVar("Response")

MOST_OPENINGS: Final = 3
"""Times that a session is opened anew for one parcel."""

MEANINGS: Final[Mapping[int, str]] = {
    **{int(each): each.name.lower() for each in Acknowledge},
    GAP: "gap",
}
"""Names of marks, for counters."""

ELSEWHERE: Final = frozenset({3, 6, 74, 100, 103, 124})
"""Codes of a partition that this broker does not lead any more."""
INVALID_RECORD_STATE: Final = 121


class Left(NamedTuple):
    """Acknowledgements that are to be sent again.

    Attributes:
        rolled_back: By partition: the broker could not write them, after a pause.
        parts: By delivery: one record of their partition was too late.
    """

    rolled_back: list[list[MarkedRun]]
    parts: list[list[MarkedRun]]


class ShareSource:
    """One broker, with its session.

    Args:
        node: The broker.
        tools: Its dependencies.
        take: Takes an answer with records, and the time at which its locks begin.

    Attributes:
        node: The broker.
        session: The session.
        operation: The request that is under way, or the pause after one that failed.
        parcels: Acknowledgements that wait for their turn.
        sending: The one that is under way.
        is_flushed: True if marks are to be sent with the next request.
        failures: How many requests in a row had no answer.
        due: When marks are sent ahead of the end of a lock.
    """

    def __init__(
        self,
        node: Node,
        tools: ShareTools,
        take: Callable[["ShareSource", ShareFetchAnswer, float], None],
    ) -> None:
        self.node: Node = node
        self.session: ShareSession = ShareSession()
        self.operation: Operation[None] | None = None
        self.parcels: deque[Parcel] = deque()
        self.sending: Parcel | None = None
        self.is_flushed: bool = False
        self.failures: int = 0
        self.due: Due | None = None
        self._tools = tools
        self._take = take
        self._idle: list[Promise[None]] = []

    # --- one request after another -------------------------------------------------------

    def begin(
        self, parcel: Parcel | None, wanted: Mapping[SharePartition, TopicPartition]
    ) -> None:
        """Send a parcel, or fetch these partitions, if nothing is under way."""
        work = self._fetch(wanted) if parcel is None else self._send(parcel)
        operation = Operation(work, f"share session with {self.node}", self._ended)
        self.operation = None if operation.ended else operation

    def _ended(self, _nothing: None, error: KafkaException | None) -> None:
        self.operation = None
        if error is not None and not isinstance(error, Withdrawn):
            raise AssertionError("a share session handles its own errors") from error
        idle, self._idle = self._idle, []
        for each in idle:
            each.keep(None)

    async def idle(self) -> None:
        """Wait until nothing is under way."""
        while self.operation is not None:
            promise = Promise[None]()
            self._idle.append(promise)
            await promise

    async def _request(
        self, request: Request[Response], claim: Claim, *, wait: float = 0.0
    ) -> Response:
        """Send a request of the session, and count its duration.

        Raises:
            KafkaException: There was no answer.
        """
        tools = self._tools
        overdue = OverdueResponse(tools.metadata, tools.timer, self.node, wait=wait)
        try:
            answer: Answer[Response] = await tools.client.send(
                self.node,
                request,
                call=claim,
                lane=Lane.FETCH,
                effect=isinstance(request, ShareAcknowledge),
                patience=wait + tools.limits.request,
            )
        finally:
            overdue.end()
        self.failures = 0
        began = tools.timer.now if claim.attempt is None else claim.attempt.began
        seconds = tools.counters.requests.of(request.api.name).seconds
        seconds.observe(tools.timer.now - began)
        response: Any = answer.response
        tools.client.reachability.throttled(self.node, response.throttle, tools.timer.now)
        return answer.response

    def _claim(self, operation: str, call: Call | None = None) -> Claim:
        return Claim(call or Call(operation, self._tools.timer.now, NEVER))

    # --- fetching ------------------------------------------------------------------------

    async def _fetch(self, wanted: Mapping[SharePartition, TopicPartition]) -> None:
        tools, session, limits = self._tools, self.session, self._tools.limits
        sent: list[MarkedRun] = []
        if session.is_open:
            sent = tools.lent.take(self.node.id)
            self.is_flushed = False
            # Another thread has just asked for them; a fetch renews nothing.
            renewed, sent = renewals(sent)
            if renewed:
                self.parcels.append(Parcel(renewed, AcknowledgeOutcome()))
        added, gone = session.changes(wanted)
        request = ShareFetch(
            tools.group_id,
            tools.member_id,
            session.number,
            added,
            gone,
            on_the_wire(sent),
            limits.max_wait,
            limits.min_bytes,
            limits.max_bytes,
            limits.max_records,
            limits.max_records,
            limits.mode,
        )
        parcel = self.sending = Parcel(sent, AcknowledgeOutcome())
        claim = self._claim("fetch")
        try:
            answer = await self._request(request, claim, wait=limits.max_wait)
        except Withdrawn:
            raise
        except KafkaException as error:
            await self._no_answer(error, parcel, claim)
            return
        else:
            if answer.error:
                await self._refused_session(answer.error, answer.message)
                return
            session.taken()
            session.partitions = dict(wanted)
            began = tools.timer.now if claim.attempt is None else claim.attempt.began
            if answer.lock_duration:
                tools.counters.lock_duration = answer.lock_duration
            rows = {
                each.partition: (each.acknowledge_error, each.acknowledge_message)
                for each in answer.partitions
            }
            left = self._judge(sent, rows, parcel, began + answer.lock_duration)
            parcel.runs = []
            self._take(self, answer, began)
            for group in (*left.parts, *left.rolled_back):
                self.parcels.append(Parcel(group, AcknowledgeOutcome()))
        finally:
            self._over(parcel)

    # --- acknowledging -------------------------------------------------------------------

    async def _send(self, parcel: Parcel) -> None:
        """Send acknowledgements until each is taken or refused."""
        self.sending = parcel
        try:
            await self._send_groups(parcel)
        finally:
            self._over(parcel)

    def _over(self, parcel: Parcel) -> None:
        """A parcel is over: the rest of it was not sent."""
        self._tools.lent.roll_back(parcel.runs)
        parcel.runs = []
        outcome = parcel.outcome.take_late() if parcel.is_awaited else parcel.outcome
        if outcome:
            self._tools.lent.report(outcome)
        self.sending = None
        parcel.ended.keep(None)

    async def _send_groups(self, parcel: Parcel) -> None:
        tools, openings, pauses = self._tools, 0, 0
        renewed, others = renewals(parcel.runs)
        groups = deque(each for each in (others, renewed) if each)
        if not groups and parcel.is_last:
            groups.append([])
        while groups:
            if parcel.call is not None and not parcel.call.is_open:
                return
            claim = self._claim("acknowledge", parcel.call)
            group: Sequence[MarkedRun] = groups[0]
            try:
                if not self.session.is_open:
                    if parcel.is_last and not group:
                        return
                    openings += 1
                    if not await self._open(parcel, openings):
                        return
                    continue
                closes = parcel.is_last and len(groups) == 1 and not self._is_late(group)
                number = CLOSING if closes else self.session.number
                request = ShareAcknowledge(
                    tools.group_id, tools.member_id, number, on_the_wire(group)
                )
                answer = await self._request(request, claim)
            except Withdrawn:
                raise
            except KafkaException as error:
                await self._no_answer(error, parcel, claim)
                return
            if answer.error:
                claim.refused(tools.timer.now, SHARE_SESSION.error(answer.error))
                if not await self._refused_session(answer.error, answer.message):
                    return
                continue
            groups.popleft()
            if closes:
                self.session.lost()
            else:
                self.session.taken()
            began = tools.timer.now if claim.attempt is None else claim.attempt.began
            lock = answer.lock_duration or tools.counters.lock_duration or 0.0
            rows = {each.partition: (each.error, each.message) for each in answer.partitions}
            left = self._judge(group, rows, parcel, began + lock)
            groups.extend(left.parts)
            rolled_back = left.rolled_back
            parcel.runs = [run for each in (*groups, *rolled_back) for run in each]
            if rolled_back:
                pauses += 1
                await tools.timer.sleep(tools.backoff.pause(pauses), "acknowledge backoff")
                groups.extend(self._still_locked(rolled_back, parcel))
                parcel.runs = [run for each in groups for run in each]
            if parcel.is_last and not groups and self.session.is_open:
                groups.append([])

    def _is_late(self, group: Sequence[MarkedRun]) -> bool:
        now = self._tools.timer.now
        return any(run.batch.until(run.start) <= now for run in group)

    def _still_locked(
        self, groups: list[list[MarkedRun]], parcel: Parcel
    ) -> list[list[MarkedRun]]:
        """Give up acknowledgements that the broker has rolled back until the locks ended."""
        now = self._tools.timer.now
        left: list[list[MarkedRun]] = []
        for group in groups:
            late = [run for run in group if run.batch.until(run.start) <= now]
            if late:
                error = InvalidRecordStateException(
                    "the lock was over before the broker could take the acknowledgement"
                )
                self._refuse(late, error, LossCause.LOCK, parcel)
            if kept := [run for run in group if run not in late]:
                left.append(kept)
        return left

    def _judge(
        self,
        group: Sequence[MarkedRun],
        rows: Mapping[SharePartition, tuple[int, str | None]],
        parcel: Parcel,
        until: float,
    ) -> "Left":
        """Settle acknowledgements by the broker's answer; return those to be sent again."""
        tools = self._tools
        left = Left([], [])
        for key, runs in by_partition(group).items():
            code, message = rows.get(key, (0, None))
            action = SHARE_ACKNOWLEDGE.of(code)
            if action is Action.DONE:
                self._confirm(runs, parcel, until)
                continue
            error = SHARE_ACKNOWLEDGE.error(code, message)
            if action in (Action.RETRY, Action.REFRESH):
                left.rolled_back.append(runs)
            elif code == INVALID_RECORD_STATE and is_renewal(runs):
                self._not_renewed(runs, error, parcel)
            elif code == INVALID_RECORD_STATE and len(parts := by_delivery(runs)) > 1:
                left.parts.extend(parts)
            else:
                why = LossCause.REFUSED
                if code == INVALID_RECORD_STATE:
                    why = LossCause.LOCK
                elif code in ELSEWHERE:
                    why = LossCause.LEADER
                    tools.metadata.request_update()
                self._refuse(runs, error, why, parcel)
                if why is LossCause.LEADER:
                    self.lose(why, runs[0].batch.partition)
        return left

    def _confirm(self, runs: list[MarkedRun], parcel: Parcel, until: float) -> None:
        counters = self._tools.counters
        for run in runs:
            for mark, name in MEANINGS.items():
                if count := run.marks.count(mark):
                    if mark == GAP:
                        counters.gaps += count
                    else:
                        counters.acknowledged.of(name).number += count
                    if mark == Acknowledge.RENEW:
                        counters.renewed += count
            told = [
                offset
                for offset, mark in zip(run.offsets, run.marks, strict=True)
                if mark not in (GAP, Acknowledge.RENEW)
            ]
            if told:
                parcel.outcome.confirm(run.batch.partition, told)
        self._tools.lent.settle(runs, until)

    def _refuse(
        self,
        runs: Sequence[MarkedRun],
        error: KafkaException,
        why: LossCause,
        parcel: Parcel,
        *,
        unknown: bool = False,
    ) -> None:
        tools = self._tools
        for run in runs:
            told = [
                offset
                for offset, mark in zip(run.offsets, run.marks, strict=True)
                if mark != GAP
            ]
            tools.counters.refused.of(type(error).__name__).number += len(told)
            if told:
                parcel.outcome.refuse(run.batch.partition, told, error, unknown=unknown)
        self._lost(tools.lent.refuse(runs, why), why)

    def _not_renewed(
        self, runs: list[MarkedRun], error: KafkaException, parcel: Parcel
    ) -> None:
        tools = self._tools
        tools.client.trace.emit(RENEWAL_REFUSED, group=tools.group_id, error=error)
        for run in runs:
            parcel.outcome.refuse(run.batch.partition, run.offsets, error)
        tools.lent.not_renewed(runs)

    # --- the session ---------------------------------------------------------------------

    async def _open(self, parcel: Parcel, openings: int) -> bool:
        """Open a session without partitions; False where the parcel has to end."""
        tools = self._tools
        if openings > MOST_OPENINGS:
            error = DisconnectException(f"{self.node} keeps forgetting the share session")
            self._refuse(parcel.runs, error, LossCause.REFUSED, parcel)
            parcel.runs = []
            return False
        claim = self._claim("acknowledge", parcel.call)
        answer = await self._request(
            ShareFetch(tools.group_id, tools.member_id, self.session.number), claim
        )
        if answer.error:
            return await self._refused_session(answer.error, answer.message)
        self.session.taken()
        return True

    async def _refused_session(self, code: int, message: str | None) -> bool:
        """Handle an answer that refuses the whole request; False where none will be taken."""
        tools = self._tools
        error = SHARE_SESSION.error(code, message)
        self.session.lost()
        self.failures += 1
        tools.counters.sessions_lost.of(type(error).__name__).number += 1
        tools.client.trace.emit(SHARE_SESSION_LOST, node=str(self.node), error=error)
        if SHARE_SESSION.of(code) is Action.FATAL:
            tools.background.fail(error)
            return False
        if self.failures > 1:
            await tools.timer.sleep(
                tools.backoff.pause(self.failures), "retry backoff of a share session"
            )
        return True

    async def _no_answer(self, error: KafkaException, parcel: Parcel, claim: Claim) -> None:
        """Handle a request without an answer: the session is gone with its connection."""
        self.failures += 1
        if claim.is_written or self.session.is_open:
            self._refuse(
                parcel.runs, error, LossCause.CONNECTION, parcel, unknown=claim.is_written
            )
            parcel.runs = []
        self.disconnected(error)
        tools = self._tools
        if isinstance(error, UnsupportedVersionException):
            tools.background.fail(error)
        elif not error.retriable:
            tools.background.post(BackgroundError(error))
        await tools.timer.sleep(
            tools.backoff.pause(self.failures), "retry backoff of a share session"
        )

    def disconnected(self, error: KafkaException) -> None:
        """The connection has ended, and with it the session and all locks."""
        if not self.session.is_open:
            return
        tools = self._tools
        self.session.lost()
        tools.counters.sessions_lost.of(type(error).__name__).number += 1
        tools.client.trace.emit(SHARE_SESSION_LOST, node=str(self.node), error=error)
        self.lose(LossCause.CONNECTION)

    def drop(self, error: Withdrawn) -> None:
        """Give up all acknowledgements: the consumer leaves the group."""
        waiting = [*self.parcels]
        self.parcels.clear()
        closed = InvalidRecordStateException(WHY[LossCause.CLOSED])
        for parcel in waiting if self.sending is None else [self.sending, *waiting]:
            unknown = parcel is self.sending
            self._refuse(parcel.runs, closed, LossCause.CLOSED, parcel, unknown=unknown)
            parcel.runs = []
        if self.operation is not None:
            self.operation.throw(error)
        for parcel in waiting:
            self._over(parcel)

    def lose(self, why: LossCause, partition: TopicPartition | None = None) -> None:
        """Lose held records of this broker, or of one partition."""
        number = self.node.id
        lost = self._tools.lent.lose(
            lambda batch: batch.node == number and partition in (None, batch.partition), why
        )
        self._lost(lost, why)

    def _lost(self, count: int, why: LossCause) -> None:
        if count:
            tools = self._tools
            tools.counters.lost.of(why.value).number += count
            tools.client.trace.emit(
                RECORDS_LOST, records=count, node=str(self.node), why=why.value
            )

    def __repr__(self) -> str:
        doing = "idle" if self.operation is None else "busy"
        return f"ShareSource({self.node}, {doing}, {self.session}, {len(self.parcels)} parcels)"


def is_renewal(runs: Sequence[MarkedRun]) -> bool:
    """True for renewals, which are sent on their own."""
    return all(run.marks.count(Acknowledge.RENEW) == len(run.marks) for run in runs)
