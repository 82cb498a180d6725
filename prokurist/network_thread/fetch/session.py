"""One broker's fetch session (KIP-227): requests carry only changes.

    FULL ──answered with an id──► KEPT ──► KEPT …
      ▲  └─answered without one─► FULL      │
      └── refused, lost, or another way to name topics ──┘     CLOSED ends each

A broker that keeps a session remembers its partitions; a request then names only partitions
that are new, have moved on, or are forgotten. A broker without room for one answers without an
id, and every request is a full one.

Thread: the network thread alone. A move that is not in the table raises.
Invariants: a session holds exactly the partitions of its last request; one request at a time is
in flight.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final
from uuid import UUID

from prokurist.events.fetching import Wish
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.fetch import (
    FIRST_EPOCH,
    LAST_EPOCH,
    NO_SESSION,
    Fetch,
    FetchQuestion,
)
from prokurist.types import TopicPartition

LAST_NUMBER: Final = 0x7FFF_FFFF
"""After it the requests of a session are counted from 1 again."""


class SessionState(Enum):
    """States of a session, by its next request."""

    FULL = "full"
    """It names everything, and asks the broker to keep it."""
    KEPT = "kept"
    """It names changes only."""
    CLOSED = "closed"
    """There is none."""


MOVES: Final[Mapping[SessionState, frozenset[SessionState]]] = MappingProxyType(
    {
        SessionState.FULL: frozenset(
            {SessionState.FULL, SessionState.KEPT, SessionState.CLOSED}
        ),
        SessionState.KEPT: frozenset(
            {SessionState.FULL, SessionState.KEPT, SessionState.CLOSED}
        ),
        SessionState.CLOSED: frozenset[SessionState](),
    }
)


@dataclass(frozen=True, slots=True)
class SessionPartition:
    """A partition in a session, as it was last sent."""

    wish: Wish
    question: FetchQuestion


@dataclass(frozen=True, slots=True)
class Terms:
    """The fields that are equal in all fetches of a client; see `wire.fetch.Fetch`."""

    max_wait: float
    min_bytes: int
    read_committed: bool
    rack: str


class FetchSession:
    """Fetch session with one broker: each request carries only changes.

    Attributes:
        asked: Its partitions.
    """

    __slots__ = ("_epoch", "_id", "_ids", "_standing", "asked")

    def __init__(self) -> None:
        self.asked: dict[TopicPartition, SessionPartition] = {}
        self._standing = SessionState.FULL
        self._id = NO_SESSION
        self._epoch = FIRST_EPOCH
        self._ids: dict[str, UUID] = {}

    def request(
        self,
        wanted: Iterable[SessionPartition],
        ids: Mapping[str, UUID],
        terms: Terms,
        max_bytes: int,
    ) -> Fetch:
        """Make the next request.

        Args:
            wanted: Everything that is wanted of this broker.
            ids: The ids of all its topics; empty unless all are known.
            terms: Fields of every request.
            max_bytes: How much may come.
        """
        new = {each.wish.partition: each for each in wanted}
        if self._standing is SessionState.KEPT and not self._names_alike(ids):
            self._move(SessionState.FULL)
        if self._standing is SessionState.FULL:
            questions = [each.question for each in new.values()]
            forgotten: list[TopicPartition] = []
            self._ids, self._epoch = dict(ids), FIRST_EPOCH
        else:
            questions = [
                each.question
                for tp, each in new.items()
                if tp not in self.asked or self.asked[tp].question != each.question
            ]
            forgotten = [tp for tp in self.asked if tp not in new]
            self._ids.update(ids)
        self.asked = new
        request = self._made(questions, forgotten, terms, max_bytes)
        # What is forgotten goes by its id once more, and is of no further use.
        self._ids = dict(ids)
        return request

    def _made(
        self,
        questions: Iterable[FetchQuestion],
        forgotten: Iterable[TopicPartition],
        terms: Terms,
        max_bytes: int,
    ) -> Fetch:
        return Fetch(
            questions=tuple(questions),
            forgotten=tuple(forgotten),
            topic_ids=dict(self._ids),
            session_id=self._id,
            session_epoch=self._epoch,
            max_wait=terms.max_wait,
            min_bytes=terms.min_bytes,
            max_bytes=max_bytes,
            read_committed=terms.read_committed,
            rack=terms.rack,
        )

    @property
    def is_kept(self) -> bool:
        """True if the broker keeps the session."""
        return self._standing is SessionState.KEPT

    def request_changes(
        self, changed: Iterable[SessionPartition], terms: Terms, max_bytes: int
    ) -> Fetch:
        """Make the next request of a kept session, for the same partitions.

        Args:
            changed: Changed partitions since the last request, of topics with the same ids.
            terms: Fields of every request.
            max_bytes: How much may come.
        """
        questions = [
            each.question
            for each in changed
            if self.asked[each.wish.partition].question != each.question
        ]
        self.asked.update((each.wish.partition, each) for each in changed)
        return self._made(questions, [], terms, max_bytes)

    def _names_alike(self, ids: Mapping[str, UUID]) -> bool:
        """Return True if each topic has the same id as before, or none as before."""
        if bool(ids) != bool(self._ids):
            return False
        return all(self._ids.get(topic, each) == each for topic, each in ids.items())

    def answered(self, session_id: int) -> None:
        """Take the session id of an answer: kept or not."""
        if session_id == NO_SESSION:
            self._id = NO_SESSION
            self._move(SessionState.FULL)
            return
        self._id = session_id
        self._epoch = 1 if self._epoch == LAST_NUMBER else self._epoch + 1
        self._move(SessionState.KEPT)

    def lost(self, *, unknown: bool = False) -> None:
        """Restart the session: the broker's state of it is not ours.

        Args:
            unknown: True if it has no such session; otherwise the next request ends it.
        """
        if unknown:
            self._id = NO_SESSION
        self.asked.clear()
        self._move(SessionState.FULL)

    def end(self) -> Fetch | None:
        """The request that closes the session; None where the broker keeps none."""
        kept = self._standing is SessionState.KEPT
        self._move(SessionState.CLOSED)
        if not kept:
            return None
        return Fetch((), session_id=self._id, session_epoch=LAST_EPOCH)

    def _move(self, standing: SessionState) -> None:
        if standing not in MOVES[self._standing]:
            raise AssertionError(
                f"a fetch session does not go from {self._standing.value} to {standing.value}"
            )
        self._standing = standing

    def __repr__(self) -> str:
        return (
            f"FetchSession({self._standing.value}, {self._id}, request {self._epoch}, "
            f"{len(self.asked)} partitions)"
        )
