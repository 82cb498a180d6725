"""Positions of what is assigned: looked up where they are missing, when somebody asks.

Thread: the network thread alone. Each look-up is one operation in the background,
with a deadline of its own: what the group has committed, and where that says
nothing, what the policy says, by the leaders.

- One look-up serves all who wait: a partition is never looked up twice at once.
- What a `poll` has asked for goes on after that poll, until its own deadline. What
  only `position` has asked for ends with the last one who waits for it.
- An answer is bound to its ticket. Where the user has sought elsewhere or assigned
  anew in the meantime it is dropped, and nothing more is asked about it.
- An error ends the look-up for the partitions that it concerns, and for no others.
  Whoever waits for one of them raises it; if nobody does, the next `poll`.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from prokurist.config import OffsetReset
from prokurist.errors import (
    InvalidTopicException,
    KafkaException,
    TopicAuthorizationException,
)
from prokurist.events.application_events import (
    DropStale,
    LookUpEnd,
    LookUpPosition,
    LookUpPositions,
    PositionEvent,
)
from prokurist.events.background_events import BackgroundError, BackgroundEvents
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.partition_state import Position
from prokurist.events.subscription import Subscription, Wanted
from prokurist.network_thread.calls import Calls
from prokurist.network_thread.commit_manager import CommitManager
from prokurist.network_thread.offsets_manager import OffsetsManager
from prokurist.network_thread.operation import Withdrawn
from prokurist.network_thread.position_search import Search, Taking, no_offset, nothing
from prokurist.network_thread.shared_call import SharedCall
from prokurist.network_thread.timer import Timer
from prokurist.network_thread.wire.log_offsets import ListedOffset, Moment
from prokurist.types import OffsetAndMetadata, TopicPartition

LOG: Final = logging.getLogger("prokurist.network_thread")

LEAST: Final = 30.0
"""Seconds that a look-up has at least, however short users want their own calls."""


class PositionsManager:
    """See the module.

    Args:
        subscription: What is assigned.
        background: Where errors go that nobody waits for.
        calls: Bounds the look-ups.
        offsets: Asks the leaders.
        commits: Asks the group; None in a client that has none.
        timer: The Timer.
        patience: `default.api.timeout.ms`, in seconds.
        read_committed: Whether logs end at their last stable offset.
        time_of_day: Milliseconds since the epoch, for policies that count back from now.
    """

    def __init__(
        self,
        subscription: Subscription,
        background: BackgroundEvents,
        calls: Calls,
        offsets: OffsetsManager,
        commits: CommitManager | None,
        timer: Timer,
        *,
        patience: float,
        read_committed: bool,
        time_of_day: Callable[[], int],
    ) -> None:
        self._subscription = subscription
        self._background = background
        self._calls = calls
        self._offsets = offsets
        self._commits = commits
        self._timer = timer
        self._patience = max(patience, LEAST)
        self._read_committed = read_committed
        self._time_of_day = time_of_day
        self._searches: dict[TopicPartition, Search] = {}

    def take(self, event: PositionEvent) -> None:
        """Begin what an event asks for."""
        match event:
            case LookUpPosition(call, tp):
                self._calls.start(call, self.position(call, tp))
            case LookUpPositions():
                self._search_all()
            case LookUpEnd(_, tp, born):
                self._look_up_end(tp, born)
            case DropStale():
                self._drop_stale()

    # --- for those who wait ----------------------------------------------------------

    async def position(self, call: Call, tp: TopicPartition) -> int:
        """The position of a partition, as soon as it is known.

        Raises:
            NoOffsetForPartitionException: Nothing is committed and there is no policy;
                it names all partitions of which that is so.
            KafkaException: Another error that no patience mends.
        """
        while (known := self._subscription.position(tp)) is None:
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
                    self._stop(search, "nobody waits for these positions")
            if not call.is_open:
                # The thread is ending, and nothing may begin any more.
                raise Withdrawn("the caller has left")
        return known

    # --- searches --------------------------------------------------------------------

    def _search_all(self) -> None:
        """Look up whatever is missing, for a poll."""
        for each in set(self._searches.values()):
            each.polled = True
        missing = self._not_looked_for()
        # Two searches, because what the group does not tell concerns only the first.
        for kind in (
            [wanted for wanted in missing if wanted.reset is None],
            [wanted for wanted in missing if wanted.reset is not None],
        ):
            if kind:
                search = self._new(kind, polled=True)
                self._calls.start(search.call, self._work(search))

    def _search_for(self, tp: TopicPartition) -> tuple[Search, bool]:
        """The search for one partition, and whether it is new and to be started.

        Raises:
            Withdrawn: Its position is not missing any more.
        """
        search = self._searches.get(tp)
        if search is not None:
            return search, False
        missing = self._not_looked_for()
        mine = next((wanted for wanted in missing if wanted.partition == tp), None)
        if mine is None:
            # The caller has left since we looked, and has sought or assigned already:
            # only he does, and he does not while he waits here.
            raise Withdrawn("the caller has left, and reads elsewhere")
        # With all that are missing in the same way, which an error then names too.
        kind = [each for each in missing if (each.reset is None) == (mine.reset is None)]
        return self._new(kind, polled=False), True

    def _not_looked_for(self) -> list[Wanted]:
        return [
            wanted
            for wanted in self._subscription.wanted()
            if wanted.partition not in self._searches
        ]

    def _new(self, wanted: list[Wanted], *, polled: bool) -> Search:
        now = self._timer.now
        call = SharedCall("positions", now, Deadline.after(now, self._patience))
        search = Search(call, wanted, polled=polled)
        self._searches.update(dict.fromkeys(search.left, search))
        return search

    async def _work(self, search: Search) -> None:
        try:
            await self._by_group(search)
            await self._by_policy(search)
        except Withdrawn:
            raise
        except KafkaException as error:
            self._refuse(search, tuple(search.left), error)
        finally:
            self._give_up(search)

    async def _by_group(self, search: Search) -> None:
        """What the group has committed; what it has not is left to the policy."""
        new = [tp for tp, wanted in search.left.items() if wanted.reset is None]
        found: Mapping[TopicPartition, OffsetAndMetadata | None] = dict.fromkeys(new)
        commits = self._commits
        if commits is not None and new:
            found = await self._without_refused(
                search, new, lambda tps: commits.committed(search.call, tps)
            )
        self._settle(
            search,
            {
                tp: Position(offset.offset, offset.leader_epoch)
                for tp, offset in found.items()
                if offset is not None
            },
        )
        policy = self._subscription.policy
        none = [tp for tp, at in found.items() if at is None and self._wants(search, tp)]
        if policy.kind == "none" and none:
            self._refuse(search, none, no_offset(none))
            return
        for tp in none:
            wanted = search.left[tp]
            if self._subscription.need_reset(wanted, policy):
                search.left[tp] = replace(wanted, reset=policy)

    async def _by_policy(self, search: Search) -> None:
        """What the leaders say of beginnings, ends and times."""
        questions = {
            tp: self._moment(wanted.reset)
            for tp, wanted in search.left.items()
            if wanted.reset is not None
        }
        await self._listed(search, questions, self._taking(search))
        # By time, and no record is that young: reading goes on with the next one that
        # is written. The end is asked for first and the time once more after it: a
        # record written in between is found by one of the two.
        old = {tp: moment for tp, moment in questions.items() if tp in search.left}
        if not old:
            return
        ends = await self._listed(search, dict.fromkeys(old, int(Moment.LATEST)))
        await self._listed(search, {tp: old[tp] for tp in ends}, self._taking(search))
        self._settle_listed(search, ends)

    def _taking(self, search: Search) -> Taking:
        return Taking(
            lambda found: self._settle_listed(search, found),
            lambda tp: self._wants(search, tp),
        )

    async def _listed(
        self,
        search: Search,
        questions: Mapping[TopicPartition, int],
        taking: Taking | None = None,
    ) -> dict[TopicPartition, ListedOffset]:
        taker = taking or Taking(nothing, lambda tp: self._wants(search, tp))
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
        """Ask for partitions; if some topics are refused, again for the others.

        Raises:
            KafkaException: An error that is about no topics in particular.
        """
        wanted = tuple(partitions)
        while left := tuple(tp for tp in wanted if self._wants(search, tp)):
            try:
                return await ask(left)
            except (TopicAuthorizationException, InvalidTopicException) as error:
                refused = [tp for tp in left if tp.topic in error.topics]
                if not refused:
                    raise
                self._refuse(search, refused, error)
        return {}

    def _moment(self, reset: OffsetReset) -> int:
        if reset.duration is not None:
            return max(0, self._time_of_day() - round(reset.duration * 1000))
        return Moment.EARLIEST if reset.kind == "earliest" else Moment.LATEST

    # --- how a search ends -----------------------------------------------------------

    def _wants(self, search: Search, tp: TopicPartition) -> bool:
        wanted = search.left.get(tp)
        return (
            wanted is not None and search.is_needed and self._subscription.still_wanted(wanted)
        )

    def _settle_listed(
        self, search: Search, found: Mapping[TopicPartition, ListedOffset]
    ) -> None:
        self._settle(
            search,
            {
                tp: Position(row.offset, row.leader_epoch)
                for tp, row in found.items()
                if row.offset is not None
            },
        )

    def _settle(self, search: Search, found: Mapping[TopicPartition, Position]) -> None:
        settled = [tp for tp in found if tp in search.left]
        for tp in settled:
            self._subscription.settle(search.left[tp], found[tp])
        # Only now is anybody told: the last one to hear of his position ends the
        # search, and what it has found of others shall not be lost by that.
        for tp in settled:
            self._over(search, tp)

    def _over(
        self, search: Search, tp: TopicPartition, error: KafkaException | None = None
    ) -> None:
        if self._searches.get(tp) is search:
            del self._searches[tp]
        search.over(tp, error)

    def _refuse(
        self, search: Search, partitions: Iterable[TopicPartition], error: KafkaException
    ) -> None:
        """Whoever waits for one of these raises the error; if nobody does, the next poll."""
        refused = [search.left[tp] for tp in partitions if tp in search.left]
        heard = any(search.is_awaited(each.partition) for each in refused)
        # Given up first: whoever has raised it may ask again.
        if self._subscription.given_up(refused) and search.polled and not heard:
            self._background.post(BackgroundError(error, frozenset(refused)))
        for wanted in refused:
            self._over(search, wanted.partition, error)

    def _give_up(self, search: Search) -> None:
        """It has ended: what it has not found is asked for again by whoever waits."""
        left = list(search.left.values())
        if self._subscription.given_up(left):
            self._background.nudge()
        for wanted in left:
            self._over(search, wanted.partition)

    def _drop_stale(self) -> None:
        """Stop the searches of which nothing is wanted any more."""
        for search in set(self._searches.values()):
            for tp, wanted in tuple(search.left.items()):
                if not self._subscription.still_wanted(wanted):
                    self._over(search, tp)
            if not search.left:
                self._stop(search, "other partitions are read by now")

    def _stop(self, search: Search, why: str) -> None:
        search.call.leave(self._timer.now, Withdrawn(why))
        self._calls.withdraw(search.call)

    # --- lags ------------------------------------------------------------------------

    def _look_up_end(self, tp: TopicPartition, born: int) -> None:
        now = self._timer.now
        call = Call("current_lag", now, Deadline.after(now, self._patience), partitions=(tp,))
        self._calls.start(call, self._end(call, tp, born))

    async def _end(self, call: Call, tp: TopicPartition, born: int) -> None:
        end: int | None = None
        try:
            listed = await self._offsets.listed(
                call,
                {tp: int(Moment.LATEST)},
                read_committed=self._read_committed,
                taker=Taking(nothing, lambda _: self._subscription.end_wanted(tp, born)),
            )
            end = listed[tp].offset if tp in listed else None
        except Withdrawn:
            raise
        except KafkaException as error:
            LOG.info("the end of %s, for its lag, is not known: %s", tp, error)
        finally:
            self._subscription.end_found(tp, born, end)

    def __repr__(self) -> str:
        return f"PositionsManager({len(self._searches)} being looked up)"
