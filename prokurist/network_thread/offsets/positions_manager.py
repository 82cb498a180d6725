"""Looks up missing positions of assigned partitions, when a call asks for them.

Thread: the network thread alone. Each look-up is one operation in the background, with a
deadline of its own: the group's committed offsets, confirmed by the leaders, and without those
the offsets by the reset policy, from the leaders.

- Each partition goes through these stages by itself. A leader that is away or silent, or a
  group without a stable answer yet, holds up no other partition.
- One look-up serves all who wait: a partition is never looked up twice at once.
- A search of a `poll` goes on after that poll, until its own deadline. A search of `position`
  alone ends with the last caller that waits for it.
- An answer is bound to its ticket. After a seek or another assignment
  in the meantime it is dropped, and nothing more is asked about it.
- An error ends the look-up for the partitions that it concerns, and for no others.
  A call that waits for one of them raises it; if none does, the next `poll`. Later polls
  look it up again after a back-off (`RefusedPositions`).
- A waiting poll is woken by a new leader epoch, and asks for positions to be confirmed.
"""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any

from prokurist.config import OffsetReset
from prokurist.errors import (
    InvalidTopicException,
    KafkaException,
    TopicAuthorizationException,
    UnknownMemberIdException,
)
from prokurist.events.application_events import (
    DropStale,
    LookUpPosition,
    LookUpPositions,
)
from prokurist.events.assignment import PositionRequest
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.partition_state import Position
from prokurist.events.subscription import Subscription
from prokurist.events.trace import Trace
from prokurist.network_thread.cluster.leader_queries import RowT
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.offsets.commit_manager import CommitManager
from prokurist.network_thread.offsets.offsets_manager import OffsetsManager
from prokurist.network_thread.offsets.position_outcomes import Outcomes
from prokurist.network_thread.offsets.position_search import (
    LEAST,
    Search,
    SearchKind,
    Taking,
    kind_of,
    no_offset,
    nothing,
)
from prokurist.network_thread.offsets.refused_positions import RefusedPositions
from prokurist.network_thread.offsets.validation_manager import Check, ValidationManager
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.network_thread.operations.retries import Retries
from prokurist.network_thread.operations.rounds import Rounds
from prokurist.network_thread.operations.shared_call import SharedCall
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.log_offsets import ListedOffset, Moment
from prokurist.types import OffsetAndMetadata, TopicPartition


class PositionsManager:
    """Looks up missing positions: committed offsets, leaders' validation, the reset policy.

    Args:
        subscription: The consumer's subscription.
        background: Takes errors that no call waits for.
        calls: Bounds the look-ups.
        offsets: Asks the leaders where logs begin and end.
        validation: Asks the leaders to confirm positions.
        metadata: Knows their epochs.
        commits: Asks the group; None in a client that has none.
        timer: The Timer.
        backoff: The pauses before refused positions are requested again.
        patience: `default.api.timeout.ms`, in seconds.
        read_committed: True if logs end at their last stable offset.
        time_of_day: Milliseconds since the epoch, for policies that count back from now.
        trace: The client's trace.
        ended: Called with partitions of a deleted topic.
    """

    def __init__(
        self,
        subscription: Subscription,
        background: BackgroundEvents,
        calls: Calls,
        offsets: OffsetsManager,
        validation: ValidationManager,
        metadata: MetadataManager,
        commits: CommitManager | None,
        timer: Timer,
        backoff: Backoff,
        *,
        patience: float,
        read_committed: bool,
        time_of_day: Callable[[], int],
        trace: Trace,
        ended: Callable[[Collection[TopicPartition]], None],
    ) -> None:
        self._subscription = subscription
        self._calls = calls
        self._offsets = offsets
        self._validation = validation
        self._commits = commits
        self._timer = timer
        self._backoff = backoff
        self._patience = max(patience, LEAST)
        self._read_committed = read_committed
        self._time_of_day = time_of_day
        refused = self._refused = RefusedPositions(timer, backoff, self._search_all)
        self._outcomes = Outcomes(subscription, background, metadata, trace, ended, refused)
        # Positions are compared with the topic ids and leader epochs of new metadata.
        metadata.updated.connect(self._outcomes.on_metadata)

    def handlers(self) -> Handlers:
        """Return the events about positions."""
        return {
            LookUpPosition: lambda event: self.position(event.call, event.partition),
            LookUpPositions: lambda _: self._search_all(),
            DropStale: lambda _: self.drop_stale(),
        }

    # --- for those who wait ----------------------------------------------------------

    async def position(self, call: Call, tp: TopicPartition) -> int:
        """The position of a partition; waits for a search if it is not known.

        Raises:
            NoOffsetForPartitionException: Nothing is committed and there is no policy; it names
                all such partitions.
            KafkaException: Another error that no patience mends.
        """
        rounds = Rounds(self._timer, "a wait for a position")
        while (known := self._subscription.position(tp)) is None:
            rounds.count()
            search, begun = self._search_for(tp)
            # It is waited for before it begins: what needs no asking ends it at once.
            end = search.end_of(tp)
            search.call.follow(call, self._timer.now)
            try:
                if begun:
                    self._calls.start(search.call, self._work(search))
                await end
            finally:
                search.call.leave_alone(call)
                if not search.is_needed:
                    self._stop(search, "no caller waits for these positions")
            if not call.is_open:
                # The thread is ending, and nothing may begin any more.
                raise Withdrawn("the caller has left")
        return known

    # --- searches --------------------------------------------------------------------

    def _search_all(self) -> None:
        """Search for all missing positions, for a poll."""
        for search in set(self._outcomes.searches.values()):
            search.call.detached = True
        # One for each kind: what the group does not tell concerns only the first.
        kinds: dict[SearchKind, list[PositionRequest]] = {}
        for wanted in self._refused.ready(self._subscription.wanted()):
            if not self._outcomes.looks_for(wanted):
                kinds.setdefault(kind_of(wanted), []).append(wanted)
        for each in kinds.values():
            search = self._new(each, polled=True)
            self._calls.start(search.call, self._work(search))

    def _search_for(self, tp: TopicPartition) -> tuple[Search, bool]:
        """Return the search for a partition, and True if it is new and has to be started.

        Raises:
            Withdrawn: Its position is not missing any more.
        """
        search = self._outcomes.searches.get(tp)
        if search is not None:
            return search, False
        missing = self._not_looked_for()
        mine = next((wanted for wanted in missing if wanted.partition == tp), None)
        if mine is None:
            # The caller has left since we looked, and has sought or assigned already:
            # only it does, and it does not while it waits here.
            raise Withdrawn("the caller has left, and reads elsewhere")
        # With all that are missing in the same way, which an error then names too.
        alike = [each for each in missing if kind_of(each) is kind_of(mine)]
        return self._new(alike, polled=False), True

    def _not_looked_for(self) -> list[PositionRequest]:
        return [
            wanted
            for wanted in self._subscription.wanted()
            if not self._outcomes.looks_for(wanted)
        ]

    def _new(self, wanted: list[PositionRequest], *, polled: bool) -> Search:
        now = self._timer.now
        deadline = Deadline.after(now, self._patience)
        search = Search(SharedCall("positions", now, deadline, detached=polled), wanted)
        self._outcomes.searches.update(dict.fromkeys(search.left, search))
        return search

    async def _work(self, search: Search) -> None:
        try:
            self._go_on(search, tuple(search.left))
            await search.pieces.ended()
        finally:
            self._outcomes.give_up(search)

    def _go_on(
        self,
        search: Search,
        partitions: Iterable[TopicPartition],
        after: SearchKind | None = None,
    ) -> None:
        """Start the next stage for some partitions, without waiting for the others.

        Args:
            search: The search that they are of.
            partitions: The partitions; those found, or still in the same stage, are left out.
            after: The stage that has just answered for them; None for none.
        """
        stages: dict[SearchKind, list[TopicPartition]] = {}
        for tp in partitions:
            wanted = search.left.get(tp)
            if wanted is not None and kind_of(wanted) is not after:
                stages.setdefault(kind_of(wanted), []).append(tp)
        for kind, part in stages.items():
            work = {
                SearchKind.GROUP: self._by_group,
                SearchKind.LEADER: self._by_leaders,
                SearchKind.POLICY: self._by_policy,
            }[kind]
            search.pieces.begin(
                self._stage(search, kind, part, work(search, part)),
                f"positions by {kind.value}",
            )

    async def _stage(
        self,
        search: Search,
        kind: SearchKind,
        partitions: Iterable[TopicPartition],
        work: Coroutine[Any, Any, None],
    ) -> None:
        """Run a stage; its error concerns the partitions that are still in it."""
        try:
            await work
        except Withdrawn:
            raise
        except KafkaException as error:
            stuck = [
                tp
                for tp in partitions
                if (wanted := search.left.get(tp)) is not None and kind_of(wanted) is kind
            ]
            self._outcomes.refuse(search, stuck, error)

    async def _by_group(self, search: Search, partitions: list[TopicPartition]) -> None:
        """Use committed offsets; partitions without one go on to the policy."""
        commits = self._commits
        if commits is None:
            self._take_committed(search, dict.fromkeys(partitions))
            return
        await self._without_refused(
            search, partitions, lambda tps: self._committed(search, commits, tps)
        )

    def _take_committed(
        self, search: Search, found: Mapping[TopicPartition, OffsetAndMetadata | None]
    ) -> None:
        """Take committed offsets of some partitions."""
        self._outcomes.settle_committed(
            search,
            {
                tp: Position(offset.offset, offset.leader_epoch)
                for tp, offset in found.items()
                if offset is not None
            },
        )
        policy = self._subscription.policy
        none = [
            tp for tp, at in found.items() if at is None and self._outcomes.wants(search, tp)
        ]
        if policy.kind == "none" and none:
            self._outcomes.refuse(search, none, no_offset(none), narrow=no_offset)
            none = []
        for tp in none:
            wanted = search.left[tp]
            if self._subscription.need_reset(wanted, policy):
                search.left[tp] = replace(wanted, reset=policy)
        self._go_on(search, found, after=SearchKind.GROUP)

    async def _committed(
        self, search: Search, commits: CommitManager, partitions: tuple[TopicPartition, ...]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Look up committed offsets; once more under a new identity after a refusal.

        A fenced member learns so from its next heartbeat, and loses what it looks for. No
        call has to be told before: `poll` above all could do nothing about it.
        """
        # By hand: it waits for the member's next identity, and not for an answer.
        retries = Retries(self._timer, self._backoff)
        while True:
            try:
                return await commits.committed(
                    search.call,
                    partitions,
                    lambda found: self._take_committed(search, found),
                )
            except UnknownMemberIdException:
                if self._subscription.subscribed is None:
                    raise
            await retries.pause()
            if not any(self._outcomes.wants(search, tp) for tp in partitions):
                return {}

    async def _by_leaders(self, search: Search, partitions: list[TopicPartition]) -> None:
        """Validate positions; truncated logs go on by the policy."""
        unconfirmed = {
            tp: wanted.confirm
            for tp in partitions
            if (wanted := search.left.get(tp)) is not None and wanted.confirm is not None
        }

        def take(checks: Mapping[TopicPartition, Check]) -> None:
            self._outcomes.settle_checks(search, checks)
            self._go_on(search, checks, after=SearchKind.LEADER)

        taking = self._taking(search, take)
        await self._without_refused(
            search,
            unconfirmed,
            lambda tps: self._validation.check(
                search.call, {tp: unconfirmed[tp] for tp in tps}, taking
            ),
        )

    async def _by_policy(self, search: Search, partitions: list[TopicPartition]) -> None:
        """Look up positions by the reset policy."""
        questions = {
            tp: self._moment(wanted.reset)
            for tp in partitions
            if (wanted := search.left.get(tp)) is not None and wanted.reset is not None
        }

        def take(found: Mapping[TopicPartition, ListedOffset]) -> None:
            self._outcomes.settle_listed(search, found)
            young = {tp: questions[tp] for tp in found if tp in search.left}
            if young:
                work = self._by_end(search, young)
                search.pieces.begin(
                    self._stage(search, SearchKind.POLICY, young, work), "positions by time"
                )

        await self._listed(search, questions, self._taking(search, take))

    async def _by_end(self, search: Search, questions: Mapping[TopicPartition, int]) -> None:
        """Use the log's end where no record is young enough for a reset by duration.

        The end is asked for first and the time once more after it: a record written in
        between is found by one of the two.
        """
        ends = await self._listed(search, dict.fromkeys(questions, int(Moment.LATEST)))
        taking: Taking[ListedOffset] = self._taking(
            search, lambda found: self._outcomes.settle_listed(search, found)
        )
        await self._listed(search, {tp: questions[tp] for tp in ends}, taking)
        self._outcomes.settle_listed(search, ends)

    def _taking(
        self, search: Search, take: Callable[[Mapping[TopicPartition, RowT]], None]
    ) -> Taking[RowT]:
        outcomes = self._outcomes
        return Taking(take, lambda tp: outcomes.wants(search, tp), outcomes.believes)

    async def _listed(
        self,
        search: Search,
        questions: Mapping[TopicPartition, int],
        taking: Taking[ListedOffset] | None = None,
    ) -> dict[TopicPartition, ListedOffset]:
        taker: Taking[ListedOffset] = taking or self._taking(search, nothing)
        return await self._without_refused(
            search,
            questions,
            lambda tps: self._offsets.listed(
                search.call,
                {tp: questions[tp] for tp in tps},
                read_committed=self._read_committed,
                taker=taker,
            ),
        )

    async def _without_refused(
        self,
        search: Search,
        partitions: Iterable[TopicPartition],
        ask: Callable[[tuple[TopicPartition, ...]], Awaitable[dict[TopicPartition, Any]]],
    ) -> dict[TopicPartition, Any]:
        """Ask for partitions; if some topics are refused, again without them.

        Raises:
            KafkaException: An error that is about no topics in particular.
        """
        wanted = tuple(partitions)
        while left := tuple(tp for tp in wanted if self._outcomes.wants(search, tp)):
            try:
                return await ask(left)
            except (TopicAuthorizationException, InvalidTopicException) as error:
                refused = [tp for tp in left if tp.topic in error.topics]
                if not refused:
                    raise
                self._outcomes.refuse(search, refused, error)
        return {}

    def _moment(self, reset: OffsetReset) -> int:
        if reset.duration is not None:
            return max(0, self._time_of_day() - round(reset.duration * 1000))
        return Moment.EARLIEST if reset.kind == "earliest" else Moment.LATEST

    # --- how a search ends -----------------------------------------------------------

    def drop_stale(self) -> None:
        """Stop searches without any interest in their results."""
        for search in set(self._outcomes.searches.values()):
            for tp, wanted in tuple(search.left.items()):
                if not self._subscription.still_wanted(wanted):
                    self._outcomes.over(search, tp)
            if not search.left:
                self._stop(search, "other partitions are read by now")

    def _stop(self, search: Search, why: str) -> None:
        search.call.leave(self._timer.now, Withdrawn(why))
        self._calls.withdraw(search.call)

    def __repr__(self) -> str:
        return f"PositionsManager({len(self._outcomes.searches)} being looked up)"
