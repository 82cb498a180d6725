"""Fetch sessions (KIP-227) of one broker: each client's partitions, and their last answers.

A session is begun by a full fetch and goes on with incremental ones: those name changed
partitions, and so do the answers. The broker counts the requests of each, and a client that is
out of step has to start again.

Thread: the one that drives the model.
"""

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass

NO_SESSION: Final = 0
FULL: Final = 0
"""The epoch of a request that begins a session."""
FINAL: Final = -1
"""Epoch of a request that ends a session, or wants none."""

TopicNames: TypeAlias = Callable[[UUID], str | None]
"""The name of the topic of an id, where there is one."""


class RequestedPartition(NamedTuple):
    """One partition that a client wants.

    Attributes:
        asked: The part of the request that names the topic.
        each: The part that names the partition.
        topic: The name of the topic, which a session keeps even when the topic of that
            id is gone; None for an id that no topic has had since it was asked for.
    """

    asked: Any
    each: Any
    topic: str | None

    @property
    def key(self) -> tuple[object, int]:
        """The topic as it was named, and the partition's number."""
        return name_of(self.asked), self.each.partition

    def resolved(self, names: TopicNames) -> "RequestedPartition":
        """The same with the topic's name, where it has none and there is one."""
        return self if self.topic else self._replace(topic=names(self.asked.topic_id))


@dataclass(slots=True)
class FetchSession:
    """One of them.

    Attributes:
        id: Its id.
        by_id: True if it names topics by their ids.
        next_epoch: The number that its next request has to have.
        wanted: The client's partitions, in the order of service.
        told: The last answered log offsets of each partition.
    """

    id: int
    by_id: bool
    next_epoch: int = 1
    wanted: dict[tuple[object, int], RequestedPartition] = field(default_factory=dict)
    told: dict[tuple[object, int], tuple[int, int, int]] = field(default_factory=dict)

    def update(self, request: Any) -> None:
        """Apply an incremental request."""
        for wanted in named_in(request):
            known = self.wanted.get(wanted.key, wanted)
            self.wanted[wanted.key] = wanted._replace(topic=wanted.topic or known.topic)
        for forgotten in request.forgotten_topics_data:
            for index in forgotten.partitions:
                self.wanted.pop((name_of(forgotten), index), None)
                self.told.pop((name_of(forgotten), index), None)

    def resolve(self, names: TopicNames) -> None:
        """Give a name to each topic that has none yet and is there now."""
        self.wanted = {key: each.resolved(names) for key, each in self.wanted.items()}

    def tell(
        self, rows: Iterable[tuple[tuple[object, int], tuple[int, int, int], bool]]
    ) -> None:
        """Note a sent answer; partitions with records in it are served last."""
        for key, ends, served in rows:
            self.told[key] = ends
            if served and key in self.wanted:
                self.wanted[key] = self.wanted.pop(key)


@dataclass(slots=True)
class FetchSessions:
    """All of one broker.

    Attributes:
        slots: How many it keeps; who comes later gets none.
        kept: By id.
    """

    slots: int = 1000
    kept: dict[int, FetchSession] = field(default_factory=dict)
    _ids: int = 0

    def begin(self, request: Any, *, by_id: bool) -> FetchSession | None:
        """A session for a full fetch; None where there is no slot, or it wants none."""
        self.kept.pop(request.session_id, None)
        if request.session_epoch == FINAL or len(self.kept) >= self.slots:
            return None
        self._ids += 1
        session = FetchSession(self._ids, by_id)
        session.wanted = {wanted.key: wanted for wanted in named_in(request)}
        self.kept[session.id] = session
        return session

    def go_on(self, request: Any, *, by_id: bool) -> FetchSession | int | None:
        """The session of an incremental fetch, or the code that refuses it.

        None where the request forgets the last partition: the session ends, and what the
        request names is answered as without one.
        """
        session = self.kept.get(request.session_id)
        if session is None:
            return ErrorCode.fetch_session_id_not_found
        if session.next_epoch != request.session_epoch:
            return ErrorCode.invalid_fetch_session_epoch
        if session.by_id != by_id:
            return ErrorCode.fetch_session_topic_id_error
        session.next_epoch += 1
        session.update(request)
        if not session.wanted:
            del self.kept[session.id]
            return None
        return session


def named_in(request: Any) -> list[RequestedPartition]:
    """List the partitions of a request in its order; the last entry for a duplicate counts."""
    named = (
        RequestedPartition(asked, each, getattr(asked, "topic", None))
        for asked in request.topics
        for each in asked.partitions
    )
    return list({wanted.key: wanted for wanted in named}.values())


def name_of(asked: Any) -> object:
    """The topic's id, or its name in the versions before."""
    return asked.topic_id if hasattr(asked, "topic_id") else asked.topic
