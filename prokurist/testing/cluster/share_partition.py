"""States of the records of one partition in one share group (KIP-932).

A record is available, acquired by a member for a time, or at its end: acknowledged, or
archived. Each acquisition counts, and a record that comes back at its limit is archived.

Which records are at their end, and the counts, stand in the log of the share coordinator; locks
are the leader's alone, and a new one begins without any.

Thread: the one that drives the model.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.batches import RecordBatch
from prokurist.testing.cluster.share_settings import ShareSettings

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
TYPES: Final = frozenset(range(5))


class RecordState(Enum):
    """States of a record between the start offset and the end offset."""

    AVAILABLE = "available"
    ACQUIRED = "acquired"
    ACKNOWLEDGED = "acknowledged"
    ARCHIVED = "archived"


ENDED: Final = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})


@dataclass(slots=True)
class InFlight:
    """One offset between start and end.

    Attributes:
        size: Number of offsets that were acquired together with it for the first time.
        state: Its state.
        count: Number of its deliveries.
        owner: The member that holds it.
        until: When its lock ends.
        written: Its deliveries as the log of the coordinator has them; an acquisition is not
            written, and the end of one is.
    """

    size: int
    state: RecordState = RecordState.AVAILABLE
    count: int = 0
    owner: str = ""
    until: float = 0.0
    written: int = 0


class Acquired(NamedTuple):
    """Consecutive offsets of one delivery."""

    first: int
    last: int
    deliveries: int


class Acknowledgement(NamedTuple):
    """Consecutive offsets of a request: one type for all, or one for each."""

    first: int
    last: int
    types: tuple[int, ...]


class SharePartition:
    """The records of a partition in a share group.

    Attributes:
        start: The first offset that is not at its end.
        end: The offset after the last that was acquired ever.
        records: The offsets between.
        outcomes: How records have ended, by offset, for tests; a broker forgets them.
        leader: The broker whose locks these are.
    """

    def __init__(self, start: int, leader: int) -> None:
        self.start: int = start
        self.end: int = start
        self.records: dict[int, InFlight] = {}
        self.outcomes: dict[int, RecordState] = {}
        self.leader: int = leader

    def __repr__(self) -> str:
        return f"SharePartition({self.start} to {self.end}, {len(self.records)} known)"

    def lead(self, leader: int, settings: ShareSettings) -> None:
        """Have another broker lead: it reads the states, and no locks."""
        if leader != self.leader:
            self.leader = leader
            for each in self.records.values():
                if each.state is RecordState.ACQUIRED:
                    each.count = each.written
            self.let_go(settings)

    def let_go(self, settings: ShareSettings, owner: str | None = None) -> bool:
        """Release acquired records of a member, or of all; False for none."""
        held = [
            (offset, each)
            for offset, each in self.records.items()
            if each.state is RecordState.ACQUIRED and owner in (None, each.owner)
        ]
        for offset, each in held:
            self._give_back(offset, each, settings)
        self._move_start()
        return bool(held)

    def expire(self, now: float, settings: ShareSettings) -> None:
        """Release records whose lock is over."""
        for offset, each in self.records.items():
            if each.state is RecordState.ACQUIRED and each.until <= now:
                self._give_back(offset, each, settings)
        self._move_start()

    def _give_back(self, offset: int, each: InFlight, settings: ShareSettings) -> None:
        each.owner = ""
        each.written = each.count
        if each.count >= settings.delivery_limit:
            self._end(offset, each, RecordState.ARCHIVED)
        else:
            each.state = RecordState.AVAILABLE

    def _end(self, offset: int, each: InFlight, state: RecordState) -> None:
        each.state = state
        each.owner = ""
        self.outcomes[offset] = state

    def _move_start(self) -> None:
        while self.start < self.end and self.records[self.start].state in ENDED:
            del self.records[self.start]
            self.start += 1

    # --- acquiring --------------------------------------------------------------------

    def acquire(
        self,
        member: str,
        batches: Sequence[RecordBatch],
        aborted: frozenset[int],
        most: int,
        now: float,
        settings: ShareSettings,
        *,
        exact: bool,
    ) -> list[Acquired]:
        """Acquire records for a member.

        Args:
            member: The member.
            batches: The batches from the start on that may be read.
            aborted: Offsets of aborted transactions, for readers of committed records.
            most: How many records at most.
            now: The time.
            settings: The group's configuration.
            exact: True for no more than that; else whole batches are acquired.
        """
        taken = self._again(most, settings, exact=exact)
        if len(taken) < most:
            taken += self._new(batches, aborted, most - len(taken), settings, exact=exact)
        until = now + settings.lock_duration
        for offset in taken:
            each = self.records[offset]
            each.state, each.owner, each.until = RecordState.ACQUIRED, member, until
            each.count += 1
        return list(self._ranges(sorted(taken)))

    def _again(self, most: int, settings: ShareSettings, *, exact: bool) -> list[int]:
        """Choose records that came back; fewer of those that are close to their limit."""
        taken: list[int] = []
        careful = (settings.delivery_limit + 1) // 2
        size = 0
        for offset in range(self.start, self.end):
            each = self.records[offset]
            if each.state is not RecordState.AVAILABLE:
                continue
            following = taken and taken[-1] == offset - 1
            if len(taken) >= most and (exact or not following or len(taken) >= size):
                break
            nth = each.count + 1
            if nth > careful and taken and self.records[taken[0]].count != each.count:
                break
            if nth > careful:
                alone = nth >= settings.delivery_limit
                room = 1 if alone else max(1, each.size >> (nth - careful))
                if len(taken) >= room:
                    break
            taken.append(offset)
            size = max(size, each.size)
        return taken

    def _new(
        self,
        batches: Sequence[RecordBatch],
        aborted: frozenset[int],
        most: int,
        settings: ShareSettings,
        *,
        exact: bool,
    ) -> list[int]:
        """Choose records that were never acquired, by whole batches or to the record."""
        taken: list[int] = []
        for batch in batches:
            if batch.last_offset < self.end:
                continue
            if len(taken) >= most or self.end - self.start >= settings.most_locks:
                break
            first = max(batch.base_offset, self.end)
            for offset in range(self.end, first):  # Compaction took them.
                self.records[offset] = InFlight(1)
                self._end(offset, self.records[offset], RecordState.ARCHIVED)
            last = batch.last_offset
            if exact:
                last = min(last, first + most - len(taken) - 1)
            for offset in range(first, last + 1):
                each = self.records[offset] = InFlight(0)
                if offset in aborted:
                    self._end(offset, each, RecordState.ARCHIVED)
                else:
                    taken.append(offset)
            self.end = last + 1
        for offset in taken:
            self.records[offset].size = len(taken)
        self._move_start()
        return taken

    def _ranges(self, offsets: Iterable[int]) -> Iterator[Acquired]:
        first = last = None
        count = 0
        for offset in offsets:
            its = self.records[offset].count
            if first is not None and last == offset - 1 and its == count:
                last = offset
                continue
            if first is not None and last is not None:
                yield Acquired(first, last, count)
            first, last, count = offset, offset, its
        if first is not None and last is not None:
            yield Acquired(first, last, count)

    # --- acknowledging ----------------------------------------------------------------

    def acknowledge(
        self,
        member: str,
        rows: Sequence[Acknowledgement],
        now: float,
        settings: ShareSettings,
    ) -> tuple[int, str | None]:
        """Take acknowledgements of a member: all of them or none.

        Returns:
            The error code, and the broker's words about it.
        """
        marks = [
            (offset, row.types[0] if len(row.types) == 1 else row.types[nth])
            for row in rows
            for nth, offset in enumerate(range(row.first, row.last + 1))
        ]
        if any(offset >= self.end for offset, _ in marks):
            return (
                ErrorCode.invalid_request,
                "Batch record not found. The last offset in request is past acquired records.",
            )
        known = [
            (offset, mark, self.records[offset])
            for offset, mark in marks
            if offset >= self.start
        ]
        for _, mark, each in known:
            if each.state is not RecordState.ACQUIRED:
                return (
                    ErrorCode.invalid_record_state,
                    "The offset cannot be acknowledged. The offset is not acquired.",
                )
            if each.owner != member or (mark == RENEW and not settings.renews):
                return (
                    ErrorCode.invalid_record_state,
                    "Member is not the owner of the offset",
                )
        for offset, mark, each in known:
            if mark == ACCEPT:
                self._end(offset, each, RecordState.ACKNOWLEDGED)
            elif mark in (GAP, REJECT):
                self._end(offset, each, RecordState.ARCHIVED)
            elif mark == RELEASE:
                self._give_back(offset, each, settings)
            else:
                each.until = now + settings.lock_duration
        self._move_start()
        return ErrorCode.none, None
