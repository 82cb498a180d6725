"""Builds fetches: partitions that a broker leads, within the free buffer memory.

Thread: the network thread alone.

- It asks for every partition, buffered or not: the next offset is known from the headers of the
  last answer, so nothing waits for the application thread.
- Buffered and requested bytes together stay within `fetch.buffer.max.bytes`: each has one half
  of it, and the brokers share the second. When more than the first half is buffered, nothing
  more is fetched until half of that is free again, except for partitions with an empty buffer,
  which a backlog of others would starve. They share the free bytes, and get one batch at a time
  where there are none.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from prokurist.events.fetch_buffer import FetchBuffer
from prokurist.events.fetching import Wish
from prokurist.events.topic_ids import TopicIds
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.fetch.plan import Part
from prokurist.network_thread.fetch.session import SessionPartition, Terms
from prokurist.network_thread.fetch.sources import FetchSource, Replicas
from prokurist.network_thread.wire.fetch import Fetch, FetchQuestion
from prokurist.types import TopicPartition

ONE_BATCH: Final = 1
"""Bytes to ask for, for the smallest answer: brokers send one whole batch at least."""

WAIT_BESIDE_BACKLOG: Final = 0.1
"""Most seconds that a broker may wait for records of empty partitions, while the others are not
requested: meanwhile half of their buffered bytes may be returned."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The configuration that bounds fetches; bytes.

    Attributes:
        terms: Fields of every request.
        answer: `fetch.max.bytes`.
        partition: `max.partition.fetch.bytes`.
        buffer: `fetch.buffer.max.bytes`.
        request: `request.timeout.ms`, in seconds.
    """

    terms: Terms
    answer: int
    partition: int
    buffer: int
    request: float


class FetchRequests:
    """Builds the next fetch of a broker.

    Args:
        metadata: Knows topics' ids and leaders' epochs.
        topic_ids: Notes the topic ids of fetches.
        buffer: The fetch buffer.
        replicas: Preferred read replicas.
        limits: How much may be fetched.
    """

    def __init__(
        self,
        metadata: MetadataManager,
        topic_ids: TopicIds,
        buffer: FetchBuffer[Any],
        replicas: Replicas,
        limits: FetchLimits,
    ) -> None:
        self._metadata = metadata
        self._topic_ids = topic_ids
        self._buffer = buffer
        self._replicas = replicas
        self._limits = limits
        self._served: dict[TopicPartition, int] = {}
        self._answers = 0

    def keep(self, assigned: Collection[TopicPartition]) -> None:
        """Forget partitions that are not assigned any more."""
        self._served = {tp: at for tp, at in self._served.items() if tp in assigned}

    def served(self, partitions: Iterable[TopicPartition]) -> None:
        """Note the partitions with records in an answer."""
        self._answers += 1
        for tp in partitions:
            self._served[tp] = self._answers

    def next(self, source: FetchSource, part: Part, brokers: int) -> tuple[Fetch | None, bool]:
        """Build a fetch within the free buffer memory.

        Args:
            source: Whom it asks.
            part: The partitions that the broker leads.
            brokers: How many share the room.

        Returns:
            None without anything to fetch; and True if it asks for everything.
        """
        terms, wishes = self._limits.terms, part.wishes
        room = self._limits.buffer // 2
        held = self._buffer.held
        is_full = held > room
        if self._replicas.silent:
            terms = replace(terms, rack="")  # Else the leader would name the replica again.
        if is_full:
            holding = self._buffer.partitions()
            wishes = [wish for wish in wishes if wish.partition not in holding]
            part.changed = None
            room = self._limits.buffer - held
            terms = replace(terms, max_wait=min(terms.max_wait, WAIT_BESIDE_BACKLOG))
        most = min(self._limits.answer, len(wishes) * self._limits.partition, room // brokers)
        most = max(ONE_BATCH, int(min(most, source.most)))
        if part.changed is not None and source.session.is_kept:
            return self._changes(source, part, terms, most), not is_full
        if not wishes:
            return None, not is_full
        return self._everything(source, wishes, terms, most), not is_full

    def _changes(self, source: FetchSource, part: Part, terms: Terms, most: int) -> Fetch:
        """The last fetch again, with some positions moved on."""
        wishes = [part.wishes[place] for place in sorted(part.changed or ())]
        if wishes:
            self._topic_ids.fetched_as(self._ids(wish.partition.topic for wish in wishes))
        source.wishes = wishes
        changed = [SessionPartition(wish, self._question(wish)) for wish in wishes]
        return source.session.request_changes(changed, terms, most)

    def _everything(
        self, source: FetchSource, wishes: list[Wish], terms: Terms, most: int
    ) -> Fetch:
        """A fetch of just these partitions, the longest unserved first."""
        ids = self._ids(wish.partition.topic for wish in wishes)
        self._topic_ids.fetched_as(ids)
        wishes = sorted(wishes, key=lambda wish: self._served.get(wish.partition, 0))
        source.wishes = wishes
        asked = [SessionPartition(wish, self._question(wish)) for wish in wishes]
        return source.session.request(asked, ids, terms, most)

    def _question(self, wish: Wish) -> FetchQuestion:
        view = self._metadata.cluster.partition(wish.partition)
        return FetchQuestion(
            wish.partition,
            wish.position.offset,
            self._limits.partition,
            None if view is None else view.leader_epoch,
        )

    def _ids(self, topics: Iterable[str]) -> dict[str, UUID]:
        """The ids of topics; empty unless all are known."""
        wanted = set(topics)
        ids = self._metadata.cluster.ids_of(wanted)
        return ids if len(ids) == len(wanted) else {}

    def __repr__(self) -> str:
        return f"FetchRequests({self._limits})"
