"""Settles the outcomes of searches for positions: answers, errors, and ends.

Thread: the network thread alone. `PositionsManager` does the asking.

No caller is told before everything that came with one answer is settled: the last
caller to get its position ends the search, and nothing shall be lost by that.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain

from prokurist.errors import KafkaException, LogTruncationException
from prokurist.events.background_events import BackgroundError, BackgroundEvents
from prokurist.events.cluster import ABSENT, Cluster
from prokurist.events.log_events import LOG_TRUNCATED, POSITIONS_RESET, TOPICS_RECREATED
from prokurist.events.position_state import Position
from prokurist.events.positions import PositionRequest, Positions, truncated
from prokurist.events.topic_ids import TopicIds
from prokurist.events.trace import Trace
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.offsets.position_search import Search, narrowing, truncation_of
from prokurist.network_thread.offsets.refused_positions import RefusedPositions
from prokurist.network_thread.offsets.validation_manager import Check
from prokurist.network_thread.wire.log_offsets import ListedOffset
from prokurist.types import TopicPartition, named


class Outcomes:
    """Settles the outcomes of searches for positions.

    Args:
        positions: The positions.
        topic_ids: The topic ids of assigned partitions.
        background: Takes errors that no call waits for.
        metadata: Knows the leaders' epochs.
        trace: The client's trace.
        ended: Called with partitions of a deleted topic: their offsets are not committed
            automatically any more.
        refused: Called with positions for which an error is raised.

    Attributes:
        searches: Present searches, by partition.
    """

    def __init__(
        self,
        positions: Positions,
        topic_ids: TopicIds,
        background: BackgroundEvents,
        metadata: MetadataManager,
        trace: Trace,
        ended: Callable[[Collection[TopicPartition]], None],
        refused: RefusedPositions,
    ) -> None:
        self._trace = trace
        self._ended = ended
        self._refused = refused
        self.searches: dict[TopicPartition, Search] = {}
        self._positions = positions
        self._topic_ids = topic_ids
        self._background = background
        self._metadata = metadata

    def looks_for(self, wanted: PositionRequest) -> bool:
        """Return True if a search will settle this position.

        One that began for a topic that was deleted since, or before the position was sought
        elsewhere, drops its answer.
        """
        search = self.searches.get(wanted.partition)
        asked = None if search is None else search.left.get(wanted.partition)
        return asked is not None and asked.ticket == wanted.ticket

    def wants(self, search: Search, tp: TopicPartition) -> bool:
        """Return True if an answer about a partition would still be used."""
        wanted = search.left.get(tp)
        return wanted is not None and search.is_needed and self._positions.still_wanted(wanted)

    def believes(self, tp: TopicPartition) -> bool:
        """Return True if metadata name the topic whose id the group has assigned.

        Who leads the other one of that name says nothing about this one's log.
        """
        return not self._topic_ids.is_disputed(tp)

    def settle_listed(
        self, search: Search, found: Mapping[TopicPartition, ListedOffset]
    ) -> None:
        """Set positions that leaders have listed."""
        settled: dict[str, dict[TopicPartition, int]] = {}
        for tp, row in found.items():
            if row.offset is not None and tp in search.left:
                # Without the epoch of the answer: for the end of a log that is the
                # leader's current one, in which nothing need have been written. Once it
                # has ended without a record no log knows it any more.
                self._positions.settle(search.left[tp], Position(row.offset), row.asked_in)
                settled.setdefault(str(search.left[tp].reset), {})[tp] = row.offset
        for policy, begins in settled.items():
            self._trace.emit(POSITIONS_RESET, policy=policy, offsets=begins, count=len(begins))
        self._all_over(search, chain.from_iterable(settled.values()))

    def settle_committed(
        self, search: Search, found: Mapping[TopicPartition, Position]
    ) -> None:
        """Set positions to committed offsets; leaders may have to validate them."""
        settled = []
        for tp, position in found.items():
            if tp in search.left:
                unconfirmed = self._positions.settle_committed(search.left[tp], position)
                if unconfirmed is None:
                    settled.append(tp)
                else:
                    search.left[tp] = unconfirmed
        self._all_over(search, settled)

    def settle_checks(self, search: Search, checks: Mapping[TopicPartition, Check]) -> None:
        """Settle validations: confirmed positions, and truncated logs."""
        settled = []
        cut: list[LogTruncationException] = []
        for tp, check in checks.items():
            wanted = search.left.get(tp)
            if wanted is None or wanted.confirm is None:
                continue
            if check.confirms(wanted.confirm):
                self._positions.confirmed(wanted, check.asked_in)
                settled.append(tp)
                continue
            error = self._positions.diverged(tp, wanted.ticket, *check.shared, check.asked_in)
            if error is not None:
                cut.append(error)
                continue
            self._trace.emit(LOG_TRUNCATED, partition=tp, position=wanted.confirm)
            if self._positions.still_wanted(wanted):
                # The leader cannot tell where: now it is the policy's turn.
                policy = self._positions.policy
                search.left[tp] = replace(wanted, reset=policy, confirm=None)
            else:
                settled.append(tp)
        self._all_over(search, settled)
        if cut:
            together = truncation_of(cut)
            self.refuse(search, together.partitions, together, narrow=narrowing(cut))

    def _all_over(self, search: Search, settled: Iterable[TopicPartition]) -> None:
        self.on_metadata(self._metadata.cluster)
        for tp in settled:
            self.over(search, tp)

    def on_metadata(self, cluster: Cluster) -> None:
        """Compare positions with the topic ids and leader epochs of new metadata."""
        assigned = self._positions.assigned.partitions()
        self._see_topics(cluster, {tp.topic for tp in assigned})
        known = {tp: cluster.leader_epoch(tp) for tp in assigned}
        epochs = {tp: epoch for tp, epoch in known.items() if epoch is not None}
        if self._positions.leaders_are(epochs):
            self._background.nudge()

    def _see_topics(self, cluster: Cluster, topics: Collection[str]) -> None:
        """Find topics that were deleted, and those that were recreated."""
        views = {each: cluster.topics.get(each) for each in topics}
        absent = [each for each, view in views.items() if view and view.error in ABSENT]
        recreated = self._topic_ids.topics_are(cluster.ids_of(topics), absent)
        if recreated.disputed:
            self._metadata.dispute()
        over, kept = recreated.begun + recreated.given_up, recreated.kept
        self._ended(over + kept + recreated.absent)
        if not over and not kept:
            return
        places = [f"positions of the old topics are dropped for {named(over)}"] if over else []
        if kept:
            places.append(f"places that were not read from yet are set again for {named(kept)}")
        self._trace.emit(
            TOPICS_RECREATED,
            topics=tuple(sorted({tp.topic for tp in over + kept})),
            places=", ".join(places),
            partitions=frozenset(over),
            kept=frozenset(kept),
            count=len(over),
        )
        if recreated.unplaced:
            wanted = [each for each, _ in recreated.unplaced]
            lost = [
                truncated(
                    each.partition, offset, where="its topic was deleted and created again"
                )
                for each, offset in recreated.unplaced
            ]
            self._background.post(
                BackgroundError(truncation_of(lost), frozenset(wanted), narrowing(lost))
            )
        self._background.nudge()

    def over(
        self, search: Search, tp: TopicPartition, error: KafkaException | None = None
    ) -> None:
        """End a search for one partition."""
        if self.searches.get(tp) is search:
            del self.searches[tp]
        search.over(tp, error)

    def refuse(
        self,
        search: Search,
        partitions: Iterable[TopicPartition],
        error: KafkaException,
        *,
        narrow: Callable[[frozenset[TopicPartition]], KafkaException] | None = None,
    ) -> None:
        """Raise an error in the calls that wait for one of these; else in the next poll.

        Args:
            search: The search with the error.
            partitions: The partitions concerned.
            error: The error.
            narrow: Makes the same error about some of them.
        """
        refused = [search.left[tp] for tp in partitions if tp in search.left]
        heard = any(search.is_awaited(each.partition) for each in refused)
        self._refused.note(refused)
        # Given up first: the call that has raised it may ask again.
        if self._positions.given_up(refused) and search.polled and not heard:
            self._background.post(BackgroundError(error, frozenset(refused), narrow))
        for wanted in refused:
            self.over(search, wanted.partition, error)

    def give_up(self, search: Search) -> None:
        """End a search: waiting calls may ask again for the positions it has not found."""
        left = list(search.left.values())
        if self._positions.given_up(left):
            self._background.nudge()
        for wanted in left:
            self.over(search, wanted.partition)

    def __repr__(self) -> str:
        return f"Outcomes({len(self.searches)} being looked up)"
