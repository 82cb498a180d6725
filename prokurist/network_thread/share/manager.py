"""Fetches records of a share group from its brokers, and sends marks in time.

Thread: the network thread alone.

- Records are fetched while a poll waits and nothing is left to return: a lock runs from the
  fetch on, so nothing is fetched ahead.
- Each broker has one request under way at a time; a silent one stops its own partitions only.
- Marks go with the next fetch to their broker, or by themselves: for a commit, after a poll
  that fetches nothing there, and when half of a lock is over.
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from prokurist.errors import KafkaException, TopicAuthorizationException
from prokurist.events.application_events import (
    Acknowledgements,
    AskForRecords,
    EndSharing,
)
from prokurist.events.background_events import BackgroundError
from prokurist.events.lent.batch import LentBatch, LossCause
from prokurist.events.lent.buffer import LentRows
from prokurist.events.lent.outcome import AcknowledgeOutcome
from prokurist.events.member_identity import PollActivity
from prokurist.events.share_log_events import QUOTA_AND_REDELIVERY
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.error_actions import Action
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.operation import Withdrawn, all_of, begin
from prokurist.network_thread.operations.rounds import Rounds
from prokurist.network_thread.share.error_tables import SHARE_FETCH
from prokurist.network_thread.share.parcel import Parcel
from prokurist.network_thread.share.source import ELSEWHERE, ShareSource
from prokurist.network_thread.share.tools import ShareTools
from prokurist.network_thread.wire.share_fetch import (
    ShareFetchAnswer,
    ShareFetchedPartition,
    SharePartition,
)
from prokurist.types import Node, TopicPartition

Assignment = Callable[[], Mapping[TopicPartition, UUID]]

AHEAD: Final = 1 / 2
"""Part of a lock after which marks are sent."""
AGAIN: Final = 1 / 8
"""Part of a lock between two further times."""


class ShareManager:
    """Fetches records while a poll waits, and sends marks in time.

    Args:
        tools: Its dependencies.
        assignment: Returns the assigned partitions, with the ids of their topics.
        poll_activity: When the application polls.
    """

    def __init__(
        self, tools: ShareTools, assignment: Assignment, poll_activity: PollActivity
    ) -> None:
        self._tools = tools
        self._assignment = assignment
        self._poll_activity = poll_activity
        self._sources: dict[int, ShareSource] = {}
        self._paused: dict[TopicPartition, tuple[float, int]] = {}
        self._told: set[TopicPartition] = set()
        self._stirred = False
        self._ending = False
        self._closed = False
        self._seen = -1
        tools.client.disconnected.connect(self._disconnected)

    def handlers(self) -> Handlers:
        """Return the events of polls, commits and ends."""
        return {
            AskForRecords: self._asked,
            Acknowledgements: self._acknowledge,
            EndSharing: self._end,
        }

    def stir(self) -> None:
        """Look for requests to send in this turn, or the next."""
        self._stirred = True

    def poll(self) -> None:
        """Send requests to brokers that have none under way, if anything has changed."""
        rounds = Rounds(self._tools.timer, "the look for records to fetch")
        while not self._closed:
            rounds.count()
            version = self._tools.metadata.cluster.version
            if not self._stirred and version == self._seen:
                return
            self._stirred, self._seen = False, version
            self._look()

    # --- requests ----------------------------------------------------------------------

    def _asked(self, _event: AskForRecords) -> None:
        for node in self._tools.lent.nodes():
            if node in self._sources:
                self._sources[node].is_flushed = True
        self.stir()

    def _look(self) -> None:
        wanted = self._wanted()
        for node, parts in wanted.values():
            self._source(node).node = node
            del parts
        is_polled = self._is_polled
        for number, source in list(self._sources.items()):
            if source.operation is None:
                parts = wanted[number][1] if number in wanted else {}
                self._next(source, parts if is_polled else {})
            if source.operation is None and not source.session.is_open and number not in wanted:
                self._forget(source)

    @property
    def _is_polled(self) -> bool:
        tools = self._tools
        return tools.background.awaiting is not None and not tools.buffer and not self._ending

    def _wanted(self) -> dict[int, tuple[Node, dict[SharePartition, TopicPartition]]]:
        """The assigned partitions by leader, without those that rest after an error."""
        tools, cluster = self._tools, self._tools.metadata.cluster
        assignment, now = self._assignment(), self._tools.timer.now
        self._paused = {tp: each for tp, each in self._paused.items() if tp in assignment}
        self._told &= assignment.keys()
        wanted: dict[int, tuple[Node, dict[SharePartition, TopicPartition]]] = {}
        leaderless = False
        for tp, topic_id in assignment.items():
            leader = cluster.leader(tp)
            if leader is None:
                leaderless = True
                continue
            until, _ = self._paused.get(tp, (0.0, 0))
            if until <= now:
                _, parts = wanted.setdefault(leader.id, (leader, {}))
                parts[SharePartition(topic_id, tp.partition)] = tp
        if leaderless:
            tools.metadata.request_update()
        return wanted

    def _next(
        self, source: ShareSource, wanted: Mapping[SharePartition, TopicPartition]
    ) -> None:
        """Send the next request of a broker, if there is one to send."""
        lent = self._tools.lent
        if not source.parcels and (
            # A fetch renews nothing.
            lent.renews(source.node.id)
            if wanted and source.session.is_open
            else source.is_flushed
        ):
            source.is_flushed = False
            if runs := lent.take(source.node.id):
                source.parcels.append(Parcel(runs, AcknowledgeOutcome()))
        if source.parcels:
            self._begin(source, source.parcels.popleft(), {})
        elif wanted:
            self._begin(source, None, wanted)

    def _begin(
        self,
        source: ShareSource,
        parcel: Parcel | None,
        wanted: Mapping[SharePartition, TopicPartition],
    ) -> None:
        source.begin(parcel, wanted)
        if source.operation is None:
            self.stir()
        else:
            begin(self._when_idle(source), "the end of a request")

    async def _when_idle(self, source: ShareSource) -> None:
        await source.idle()
        if self._sources.get(source.node.id) is not source:
            return
        self._arm(source)
        self.stir()

    def _source(self, node: Node) -> ShareSource:
        source = self._sources.get(node.id)
        if source is None:
            source = self._sources[node.id] = ShareSource(node, self._tools, self._take)
        return source

    def _forget(self, source: ShareSource) -> None:
        if source.parcels or self._tools.lent.live(source.node.id):
            return
        if source.due is not None:
            self._tools.timer.cancel(source.due)
        del self._sources[source.node.id]

    def _disconnected(
        self, node: Node, lane: Lane, error: KafkaException, _answered: float
    ) -> None:
        source = self._sources.get(node.id)
        if source is not None and lane is Lane.FETCH:
            source.disconnected(error)

    # --- answers -------------------------------------------------------------------------

    def _take(self, source: ShareSource, answer: ShareFetchAnswer, began: float) -> None:
        """Take records, and errors of partitions."""
        tools = self._tools
        rows: list[LentRows] = []
        hints: dict[TopicPartition, tuple[int, int]] = {}
        again = False
        for row in answer.partitions:
            tp = source.session.partitions.get(row.partition)
            if tp is None:
                continue
            if row.error:
                self._troubled(source, tp, row)
                if row.leader is not None and row.error in ELSEWHERE:
                    hints[tp] = row.leader.leader, row.leader.epoch
            elif row.acquired:
                self._paused.pop(tp, None)
                self._told.discard(tp)
                batches = self._batches(source, tp, row, began, answer.lock_duration)
                again = again or any(each.delivery_count > 1 for each in batches)
                rows.append(LentRows(tp, row.records, tuple(batches)))
        if hints:
            tools.metadata.hint(hints, answer.nodes)
        if again and answer.throttle:
            tools.client.trace.emit(QUOTA_AND_REDELIVERY, node=str(source.node))
        if rows:
            replaced = tools.lent.put([each for row in rows for each in row.batches])
            if replaced:
                tools.counters.lost.of(LossCause.REPLACED.value).number += replaced
            tools.buffer.put(rows)
            tools.background.nudge()

    def _batches(
        self,
        source: ShareSource,
        tp: TopicPartition,
        row: ShareFetchedPartition,
        began: float,
        lock: float,
    ) -> list[LentBatch]:
        batches: list[LentBatch] = []
        for each in row.acquired:
            size = each.last - each.first + 1
            name = "first" if each.delivery_count == 1 else "again"
            self._tools.counters.records.of(name).number += size
            batches.append(
                LentBatch(
                    tp,
                    row.partition.topic_id,
                    source.node.id,
                    each.first,
                    bytearray(size),
                    each.delivery_count,
                    began + lock,
                    lock,
                    {},
                )
            )
        return batches

    def _troubled(
        self, source: ShareSource, tp: TopicPartition, row: ShareFetchedPartition
    ) -> None:
        """Leave a partition out for a while: whatever the error is, others go on."""
        tools = self._tools
        _, failures = self._paused.get(tp, (0.0, 0))
        action = SHARE_FETCH.of(row.error)
        if row.error in ELSEWHERE:
            source.lose(LossCause.LEADER, tp)
        if action is Action.SURFACE and tp not in self._told:
            self._told.add(tp)
            tools.background.post(
                BackgroundError(
                    TopicAuthorizationException(
                        f"not allowed to read {tp.topic}: {row.message or 'an ACL is missing'}",
                        topics=(tp.topic,),
                    )
                )
            )
        tools.metadata.request_update()
        pause = tools.backoff.pause(failures + 1)
        self._paused[tp] = tools.timer.now + pause, failures + 1
        tools.timer.after(pause, f"retry backoff of {tp}", self.stir)

    # --- acknowledging -------------------------------------------------------------------

    def _acknowledge(self, event: Acknowledgements) -> Coroutine[Any, Any, Any]:
        """Send all marks; the call ends when each is taken or refused."""
        call = None if event.by_itself else event.call
        parcels: list[tuple[ShareSource, Parcel]] = []
        waits = []
        for source in self._sources.values():
            if source.sending is not None and source.sending.runs:
                waits.append(source.sending.ended)
            if runs := self._tools.lent.take(source.node.id):
                parcel = Parcel(runs, event.outcome, call, is_awaited=True)
                source.parcels.append(parcel)
                parcels.append((source, parcel))
        self.stir()
        return self._await_parcels(event, parcels, waits)

    async def _await_parcels(
        self,
        event: Acknowledgements,
        parcels: list[tuple[ShareSource, Parcel]],
        waits: list[Any],
    ) -> AcknowledgeOutcome:
        try:
            for source, _ in parcels:
                if source.sending is not None:
                    event.call.wait_begins(
                        f"the answer to a request of the share session with {source.node}",
                        self._tools.timer.now,
                    )
            await all_of([*waits, *(parcel.ended for _, parcel in parcels)])
        finally:
            if not event.by_itself:
                for source, parcel in parcels:
                    self._withdraw(source, parcel)
        return event.outcome

    def _withdraw(self, source: ShareSource, parcel: Parcel) -> None:
        """Take back unsent acknowledgements: the records keep their marks."""
        if parcel in source.parcels:
            source.parcels.remove(parcel)
            self._tools.lent.roll_back(parcel.runs)

    def _arm(self, source: ShareSource) -> None:
        """Set the time at which marks are sent ahead of the end of a lock."""
        tools = self._tools
        if source.due is not None:
            tools.timer.cancel(source.due)
            source.due = None
        if not tools.limits.ahead and not tools.limits.renews:
            return
        now = tools.timer.now
        moments = [
            max(end - each.lock * AHEAD, now + each.lock * AGAIN)
            for each, end in tools.lent.ends(source.node.id, now)
        ]
        if moments:
            source.due = tools.timer.at(
                min(moments), "the end of a lock", partial(self._ahead, source)
            )

    def _ahead(self, source: ShareSource) -> None:
        tools, source.due = self._tools, None
        if tools.limits.renews and self._works:
            tools.lent.renew_open(source.node.id, tools.timer.now)
        source.is_flushed = True
        self._arm(source)
        self.stir()

    @property
    def _works(self) -> bool:
        """True while the application polls often enough."""
        left = self._poll_activity.absent_since()
        return left is None or self._tools.timer.now - left < self._tools.limits.poll_interval

    # --- the end -------------------------------------------------------------------------

    async def _end(self, event: EndSharing) -> AcknowledgeOutcome:
        """Send all marks, release the rest, and close the sessions."""
        self._ending = True
        try:
            await all_of(
                [
                    begin(self._end_source(source, event), f"the end of {source}")
                    for source in self._sources.values()
                ]
            )
        finally:
            self._drop()
            self._ending = False
        return event.outcome

    async def _end_source(self, source: ShareSource, event: EndSharing) -> None:
        lent, number = self._tools.lent, source.node.id
        if source.operation is not None and not lent.live(number) and not source.parcels:
            return  # It fetches, and the end of its connection closes the session.
        while source.operation is not None or source.parcels:
            await source.idle()
            self._next(source, {})
        session = source.session
        lent.release_rest(
            lambda batch: (
                batch.node == number and batch.partition not in session.partitions.values()
            )
        )
        runs = lent.take(number)
        if not runs and not session.is_open:
            return
        parcel = Parcel(runs, event.outcome, event.call, is_awaited=True, is_last=True)
        source.begin(parcel, {})
        await parcel.ended

    def _drop(self) -> None:
        """Forget all sessions; held records are not this member's any more."""
        tools = self._tools
        for source in self._sources.values():
            source.drop(Withdrawn("the consumer has left the group"))
            if source.due is not None:
                tools.timer.cancel(source.due)
        self._sources.clear()
        tools.buffer.clear()
        tools.lent.lose(lambda _: True, LossCause.CLOSED)

    def close(self) -> None:
        """Stop all requests."""
        self._closed = True
        self._drop()

    def __repr__(self) -> str:
        busy = sum(each.operation is not None for each in self._sources.values())
        return f"ShareManager({busy} of {len(self._sources)} brokers busy)"
