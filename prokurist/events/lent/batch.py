"""Consecutive offsets of one delivery of a share group, with a byte for each.

Thread: both, under the lock of the `Lent` that a batch belongs to.
"""

from enum import Enum
from itertools import groupby
from typing import Final
from uuid import UUID

from prokurist.events.lent.marks import MARK, ON_THE_WIRE, ONLY_LIVE, ONLY_MARKED
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition


class LossCause(Enum):
    """Reasons why a record is no longer this member's."""

    LOCK = "lock"
    """Its lock was over."""
    LEADER = "leader"
    """The partition has another leader, who knows no locks."""
    CONNECTION = "connection"
    """The connection that the session belongs to has ended."""
    REPLACED = "replaced"
    """It was delivered to this member again."""
    REFUSED = "refused"
    """The broker has refused the acknowledgement for another reason."""
    CLOSED = "closed"
    """The consumer has left the group."""


@dataclass(eq=False, slots=True)
class LentBatch:
    """Consecutive offsets that were acquired together.

    Attributes:
        partition: The partition.
        topic_id: The id of its topic.
        node: The broker that has lent them.
        first: The first offset.
        table: A byte for each; see `marks`.
        delivery_count: How often they were delivered, this time included.
        locked_until: When the lock ends, on the client's clock; never later than that.
        lock: Seconds that it lasts.
        renewed: The ends of locks that were renewed, by index.
        lost: Why they were lost; None while nothing is.
    """

    partition: TopicPartition
    topic_id: UUID
    node: int
    first: int
    table: bytearray
    delivery_count: int
    locked_until: float
    lock: float
    renewed: dict[int, float]
    lost: LossCause | None = None

    @property
    def last(self) -> int:
        """The last offset."""
        return self.first + len(self.table) - 1

    def until(self, index: int) -> float:
        """When the lock of a record ends."""
        return self.renewed.get(index, self.locked_until)

    def next_end(self, now: float) -> float | None:
        """When the first lock of a held record ends that is not over; None without one."""
        live = self.table.translate(ONLY_LIVE)
        if self.renewed:
            ends = {self.until(at) for at, is_live in enumerate(live) if is_live}
        else:
            ends = {self.locked_until} if 1 in live else set()
        return min((each for each in ends if now < each), default=None)

    def marked(self) -> "list[MarkedRun]":
        """Consecutive offsets that are held and have a mark."""
        table = self.table
        runs: list[MarkedRun] = []
        at = 0
        for has_mark, group in groupby(table.translate(ONLY_MARKED)):
            size = len(list(group))
            if has_mark:
                marks = bytes(byte & MARK for byte in table[at : at + size])
                runs.append(MarkedRun(self, at, marks))
            at += size
        return runs

    def __repr__(self) -> str:
        return (
            f"LentBatch({self.partition} @ {self.first} to {self.last}, "
            f"delivery {self.delivery_count})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class MarkedRun:
    """Consecutive offsets of a batch with their marks.

    Attributes:
        batch: The batch.
        start: The index of the first.
        marks: A mark for each.
    """

    batch: LentBatch
    start: int
    marks: bytes

    @property
    def first(self) -> int:
        """The first offset."""
        return self.batch.first + self.start

    @property
    def offsets(self) -> range:
        """The offsets."""
        return range(self.first, self.first + len(self.marks))

    @property
    def types(self) -> tuple[int, ...]:
        """Acknowledge types of the protocol: one for all, or one for each."""
        types = self.marks.translate(_WIRE)
        return (types[0],) if types.count(types[0]) == len(types) else tuple(types)


_WIRE: Final = ON_THE_WIRE + bytes(256 - len(ON_THE_WIRE))
