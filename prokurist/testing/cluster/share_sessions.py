"""Share sessions of one broker: members, their partitions and connections.

A session belongs to the connection that opened it: it is over when that ends. The broker counts
its requests when it takes them up, and a refused one does not count.

Thread: the one that drives the model.
"""

from dataclasses import field
from typing import Final, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass

OPENING: Final = 0
CLOSING: Final = -1
LARGEST: Final = 2**31 - 1


class Part(NamedTuple):
    """A partition, by its topic's id."""

    topic_id: UUID | None
    partition: int


class Holder(NamedTuple):
    """The owner of a session: nothing compares it with the members of the group."""

    group: str
    member: str


@dataclass(slots=True)
class ShareSession:
    """One of them.

    Attributes:
        connection: The connection that opened it.
        next_epoch: The number that its next request has to have.
        parts: Its partitions, in the order of service.
    """

    connection: int
    next_epoch: int = 1
    parts: dict[Part, None] = field(default_factory=dict)

    def count(self) -> None:
        """Count a request; 1 follows the largest number."""
        self.next_epoch = 1 if self.next_epoch == LARGEST else self.next_epoch + 1


@dataclass(slots=True)
class ShareSessions:
    """All of one broker.

    Attributes:
        kept: By group and member.
    """

    kept: dict[Holder, ShareSession] = field(default_factory=dict)

    def take(self, holder: Holder, epoch: int) -> ShareSession | int:
        """The session that a request goes on, or closes; or the code that refuses it."""
        session = self.kept.get(holder)
        if session is None:
            return ErrorCode.share_session_not_found
        if epoch == CLOSING:
            return session
        if epoch != session.next_epoch:
            return ErrorCode.invalid_share_session_epoch
        session.count()
        return session

    def of_connection(self, connection: int) -> list[Holder]:
        """The holders of sessions that a connection has opened."""
        return [each for each, its in self.kept.items() if its.connection == connection]
