"""What the logs hold and how far they have been read, as plain lists: what an oracle knows.

It learns what was written from the writers, and nothing from the client. It says
of each record that comes whether it is the one that is due.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

PLAIN, OPEN, COMMITTED, ABORTED = "plain", "open", "committed", "aborted"


class WrongRecord(AssertionError):
    """The client has returned what was not due, or left out what was."""


@dataclass(slots=True)
class Entry:
    """A record as it was written."""

    offset: int
    value: bytes
    fate: str
    producer: int | None


@dataclass
class Book:
    """One partition.

    Attributes:
        read_committed: What the reader asked for.
        entries: Every record, in order; markers are not among them.
        start: Where the log begins.
        end: Where it ends.
        starts: Offsets at which reading may go on: one, or some of which we do not know
            which one holds until a record has come.
        floor: If that is not known at all, the least that it can be.
    """

    read_committed: bool
    entries: list[Entry] = field(default_factory=list)
    start: int = 0
    end: int = 0
    starts: frozenset[int] = frozenset({0})
    floor: float = math.inf

    # --- what is written -------------------------------------------------------------

    def wrote(self, base: int, values: Iterable[bytes], producer: int | None) -> None:
        """A batch was put at the end."""
        fate = PLAIN if producer is None else OPEN
        new = [Entry(base + nth, value, fate, producer) for nth, value in enumerate(values)]
        self.entries += new
        self.end = base + len(new)

    def ended(self, producer: int, *, committed: bool) -> None:
        """A transaction was ended; its marker takes an offset."""
        for entry in self.entries:
            if entry.producer == producer and entry.fate == OPEN:
                entry.fate = COMMITTED if committed else ABORTED
        self.end += 1

    def open(self) -> set[int]:
        """The producers with a transaction that is open here."""
        return {each.producer for each in self.entries if each.fate == OPEN and each.producer}

    def stable_end(self) -> int:
        """Where the log ends for this reader."""
        if not self.read_committed:
            return self.end
        return min(
            (each.offset for each in self.entries if each.fate == OPEN), default=self.end
        )

    # --- what is read ----------------------------------------------------------------

    def moved_to(self, *starts: int) -> None:
        """Reading goes on at one of these; or at the beginning, if one lies past the end."""
        if max(starts) > self.end:
            starts = (*starts, 0)
        self.starts, self.floor = frozenset(starts), math.inf

    def moved_to_the_end(self, least: int) -> None:
        """Reading goes on where the log ends when a leader is asked for that.

        Args:
            least: Where the log may end for a broker that is asked now.
        """
        self.starts, self.floor = frozenset(), least

    def due(self, first: int, before: float = math.inf) -> Entry | None:
        """The first record that has to come, of those from one offset on."""
        at = bisect_left(self.entries, max(first, self.start), key=lambda each: each.offset)
        for entry in self.entries[at:]:
            if entry.offset >= before:
                break
            if not self.read_committed or entry.fate in {PLAIN, COMMITTED}:
                return entry
            if entry.fate == OPEN:
                break  # Nothing behind it is stable.
        return None

    def returned(self, offset: int, value: bytes) -> None:
        """A record has come: see whether it was due, and go on behind it.

        Raises:
            WrongRecord: It was not.
        """
        at = bisect_left(self.entries, offset, key=lambda each: each.offset)
        if at == len(self.entries) or self.entries[at].offset != offset:
            raise WrongRecord(f"{offset} came, where no record is")
        entry = self.entries[at]
        if entry.value != value:
            raise WrongRecord(f"{value!r} came at {offset}, and not {entry.value!r}")
        if self.read_committed and any(
            each.fate == OPEN for each in self.entries[: at + 1] if each.offset >= self.start
        ):
            raise WrongRecord(f"{offset} came, and a transaction before it is open")
        if self.read_committed and entry.fate == ABORTED:
            raise WrongRecord(f"{offset} came, of an aborted transaction")
        self._reached(offset, "a record")
        self.moved_to(offset + 1)

    def stands_at(self, position: int) -> None:
        """The client says where it will go on: nothing that is due may lie before it.

        Raises:
            WrongRecord: Something does.
        """
        self._reached(position, "the position")
        self.moved_to(position)

    def _reached(self, offset: int, what: str) -> None:
        if offset >= self.floor:
            return  # From wherever the end was when a client looked.
        possible = [first for first in self.starts if first <= offset]
        if not possible:
            raise WrongRecord(f"{what} is at {offset}, and was at {sorted(self.starts)} before")
        left_out = [self.due(first, before=offset) for first in possible]
        if all(left_out):
            missing = min(each.offset for each in left_out if each)
            raise WrongRecord(f"{what} is at {offset}, and {missing} has not come")

    def left(self, before: float = math.inf) -> Entry | None:
        """A record that has to come yet, of those before an offset; None if there is none."""
        return None if self.floor < math.inf else self.due(max(self.starts), before)
