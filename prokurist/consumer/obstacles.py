"""Obstacles of a consumer: the reasons for empty polls.

Thread: any. The readings are taken one by one, without waiting, so two of them may be of two
moments.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from prokurist.events.cluster import ABSENT, Cluster
from prokurist.events.committable import Committable
from prokurist.events.pending import Work
from prokurist.events.positions import Positions, Survey
from prokurist.events.reachability import Reachability
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.why_empty import EmptyCause, WhyEmpty
from prokurist.types import MembershipState, TopicPartition, counted, named

PATIENCE: Final = 2.0
"""Seconds beyond `fetch.max.wait.ms` after which a broker's silence is reported."""

AGAIN: Final = 5.0
"""Seconds between two look-ups of the open transactions that hold records back."""
SHOWN: Final = 3
"""Open transactions in a sentence."""


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """The membership, as far as obstacles need it.

    Attributes:
        state: Where the member stands.
        epoch: The generation, or the member's epoch; −1 while it is in none.
        coordinator: The group's coordinator, where it is known.
        unsettled: Partitions with offset commits in an open transaction.
    """

    state: MembershipState
    epoch: int
    coordinator: str | None
    unsettled: Collection[TopicPartition] = ()


class Obstacles:
    """Finds the next obstacle to returning records.

    Args:
        positions: The positions.
        committable: Knows outstanding records.
        reachability: Reachability of the brokers.
        cluster: Returns the cluster's metadata.
        place: Returns the member's place in its group; None for a client without a group.
        longest: Seconds that a broker may take to answer a fetch without records.
        now: Reads the clock.
        look_up: Has the open transactions of partitions looked up, and waits for nothing.
    """

    def __init__(
        self,
        positions: Positions,
        committable: Committable,
        reachability: Reachability,
        *,
        cluster: Callable[[], Cluster],
        place: Callable[[], GroupPlace | None],
        longest: float,
        now: Callable[[], float],
        look_up: Callable[[Collection[TopicPartition]], None],
    ) -> None:
        self.reachability: Reachability = reachability
        self._positions = positions
        self._committable = committable
        self._cluster = cluster
        self._place = place
        self._silence = longest + PATIENCE
        self._now = now
        self._look_up = look_up
        self._looked_up_at: float | None = None

    @property
    def epoch(self) -> int | None:
        """The member's epoch in its group; None for a client without a group."""
        place = self._place()
        return None if place is None else place.epoch

    def look(self) -> WhyEmpty:
        """Return the reason for a poll without records; `NOTHING_NEW` without an obstacle."""
        now = self._now()
        survey = self._positions.survey()
        return (
            self._unreachable(now)
            or self._missing(survey)
            or self._outside(survey)
            or self._without_partitions(survey)
            or self._paused(survey)
            or self._outstanding(survey)
            or self._unplaced(survey)
            or self._leaderless(survey)
            or self._throttled(survey, now)
            or self._silent(now)
            or self._behind(survey, now)
        )

    def _unreachable(self, now: float) -> WhyEmpty | None:
        since = self.reachability.unreachable_since
        failure = self.reachability.last_failure
        if since is None:
            return None
        why = "" if failure is None else f": {failure[0]}"
        seconds = max(0.0, now - since)
        return WhyEmpty(
            EmptyCause.UNREACHABLE, f"no broker has been reached for {seconds:.1f} s{why}"
        )

    def _missing(self, survey: Survey) -> WhyEmpty | None:
        topics = self._cluster().topics
        missing = sorted(
            name
            for name in survey.topics
            if (view := topics.get(name)) is not None and view.error in ABSENT
        )
        if not missing:
            return None
        exist = "does not exist" if len(missing) == 1 else "do not exist"
        return WhyEmpty(
            EmptyCause.TOPIC_MISSING,
            f"{', '.join(missing)} {exist}",
            of_topics(survey.assigned, missing),
        )

    def _without_partitions(self, survey: Survey) -> WhyEmpty | None:
        missing = self._cluster().without(survey.assigned)
        if not missing:
            return None
        return about(
            EmptyCause.PARTITION_MISSING, "these assigned partitions do not exist:", missing
        )

    def _outside(self, survey: Survey) -> WhyEmpty | None:
        place = self._place()
        if not survey.subscribed or place is None:
            return None
        if place.state is not MembershipState.STABLE:
            state = f"the member is {place.state.value}"
            if place.coordinator is None:
                state += ", and the group's coordinator is not known"
            if survey.assigned:
                return WhyEmpty(
                    EmptyCause.REBALANCING, f"the group shares its partitions out: {state}"
                )
            return WhyEmpty(
                EmptyCause.JOINING, f"the group has given no partitions yet: {state}"
            )
        if survey.assigned:
            return None
        return WhyEmpty(
            EmptyCause.NOTHING_ASSIGNED, "the group has given this member no partitions"
        )

    def _paused(self, survey: Survey) -> WhyEmpty | None:
        if survey.read:
            return None
        return WhyEmpty(EmptyCause.PAUSED, "all partitions are paused")

    def _outstanding(self, survey: Survey) -> WhyEmpty | None:
        records, held_back, full = self._committable.outstanding()
        if self._committable.room() and not (survey.read and survey.read <= full):
            return None
        return WhyEmpty(
            EmptyCause.OUTSTANDING,
            f"{counted(records, 'record')} {'is' if records == 1 else 'are'} outstanding, and "
            f"{held_back} done and waiting for one before them, which is as much as "
            f"track_offsets allows",
            tuple(sorted(full)),
        )

    def _unplaced(self, survey: Survey) -> WhyEmpty | None:
        if not survey.unplaced:
            return None
        place = self._place()
        if place is not None and (unsettled := survey.unplaced.intersection(place.unsettled)):
            return about(
                EmptyCause.NO_POSITION,
                "a transaction that is open commits offsets, and until it ends the position "
                "is not known of",
                unsettled,
            )
        return about(
            EmptyCause.NO_POSITION, "the position is not known yet of", survey.unplaced
        )

    def _leaderless(self, survey: Survey) -> WhyEmpty | None:
        cluster = self._cluster()
        leaderless = [tp for tp in survey.read if cluster.leader(tp) is None]
        if not leaderless:
            return None
        return about(EmptyCause.NO_LEADER, "no leader is known of", leaderless)

    def _throttled(self, survey: Survey, now: float) -> WhyEmpty | None:
        silences = {
            node: each.until - now
            for node, each in self.reachability.silences.items()
            if each.until > now
        }
        cluster = self._cluster()
        held_up = [
            (leader, tp)
            for tp in survey.read
            if silences and (leader := cluster.leader(tp)) is not None and leader.id in silences
        ]
        if not held_up:
            return None
        nodes = {str(leader): silences[leader.id] for leader, _ in held_up}
        told = " and ".join(f"{node} for {nodes[node]:.1f} s more" for node in sorted(nodes))
        return about(
            EmptyCause.THROTTLED,
            f"this client is over a quota, and throttled by {told}; not read meanwhile:",
            [tp for _, tp in held_up],
        )

    def _silent(self, now: float) -> WhyEmpty | None:
        answered_at = self.reachability.answered_at
        if answered_at is None:
            return WhyEmpty(EmptyCause.NO_ANSWER, "no broker has answered yet")
        if now - answered_at <= self._silence:
            return None
        return WhyEmpty(
            EmptyCause.NO_ANSWER, f"no broker has answered for {now - answered_at:.1f} s"
        )

    def _behind(self, survey: Survey, now: float) -> WhyEmpty:
        if survey.behind:
            return about(
                EmptyCause.FETCHING, "records that have not arrived yet are in", survey.behind
            )
        if survey.unanswered:
            return about(
                EmptyCause.FETCHING, "no fetch has been answered yet for", survey.unanswered
            )
        if survey.held_back:
            return self._held_back(survey, now)
        return about(EmptyCause.NOTHING_NEW, "no records were added to", survey.read)

    def _held_back(self, survey: Survey, now: float) -> WhyEmpty:
        since = self._looked_up_at
        if since is None or now - since >= AGAIN:
            self._looked_up_at = now
            self._look_up(survey.held_back)
        offsets = counted(sum(survey.held_back.values()), "offset")
        why = about(
            EmptyCause.OPEN_TRANSACTION,
            f"transactions that are open hold back {offsets}, by "
            f"isolation.level=read_committed, in",
            survey.held_back,
        )
        open_ones = tuple(survey.held_by[tp] for tp in why.partitions if tp in survey.held_by)
        if not open_ones:
            return why
        more = f"; and {len(open_ones) - SHOWN} more" if len(open_ones) > SHOWN else ""
        text = f"{why.text}: {'; '.join(map(str, open_ones[:SHOWN]))}{more}"
        return replace(why, text=text, transactions=open_ones)


def deserializing(waiting: Collection[tuple[TopicPartition, Work]]) -> WhyEmpty:
    """The reason for a poll whose next records wait for their deserializer."""
    works = sorted({str(work) for _, work in waiting})
    text = f"deserializers wait for {', '.join(works[:SHOWN])}:"
    return about(EmptyCause.DESERIALIZING, text, [tp for tp, _ in waiting])


def about(cause: EmptyCause, text: str, partitions: Collection[TopicPartition]) -> WhyEmpty:
    """A sentence that ends with the names of partitions, abbreviated."""
    ordered = tuple(sorted(partitions))
    return WhyEmpty(cause, f"{text} {named(ordered)}", ordered)


def of_topics(
    partitions: Collection[TopicPartition], topics: Collection[str]
) -> tuple[TopicPartition, ...]:
    """The partitions that are of some topics, in order."""
    return tuple(sorted(tp for tp in partitions if tp.topic in topics))
