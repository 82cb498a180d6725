"""What members of a group have noted of their polls, read and made figures of.

All times are of the monotonic clock, which all processes of a machine share.

Thread: the main one.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple


class Poll(NamedTuple):
    """One poll: when it began and ended, and the partitions of which it returned records."""

    began: float
    ended: float
    partitions: frozenset[int]


class Read(NamedTuple):
    """A partition was read by a member at a time."""

    at: float
    member: str


class Write(NamedTuple):
    """One record to each partition: when it was asked for, and when it was answered."""

    asked: float
    answered: float


class Lines:
    """The whole lines that have come to a file since one looked last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def new(self) -> list[str]:
        """Those of them; the file need not be there yet."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._at)
            found = file.read()
        whole = found[: found.rfind(b"\n") + 1]
        self._at += len(whole)
        return whole.decode().splitlines()


class Journal:
    """What one member has noted so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.polls: list[Poll] = []
        self._lines = Lines(path)

    def catch_up(self) -> None:
        """Read on."""
        for line in self._lines.new():
            began, ended, *counts = line.split()
            rows = counts[0].split(",") if counts else ()
            partitions = frozenset(int(each.split(":")[0]) for each in rows)
            self.polls.append(Poll(float(began), float(ended), partitions))

    def longest(self, since: float, until: float) -> float:
        """The longest poll that began in this time; 0 without any."""
        return max(
            (each.ended - each.began for each in self.polls if since <= each.began < until),
            default=0.0,
        )

    def recent(self, since: float) -> frozenset[int]:
        """What it has read since then."""
        found: set[int] = set()
        for poll in reversed(self.polls):
            if poll.ended < since:
                break
            found |= poll.partitions
        return frozenset(found)


@dataclass
class Readings:
    """Who has read each partition, and when, in order.

    Attributes:
        of: The reads of each partition.
    """

    of: dict[int, list[Read]] = field(default_factory=dict)

    @classmethod
    def between(cls, journals: dict[str, Journal], since: float, until: float) -> "Readings":
        """Those that ended in this time."""
        found = cls()
        for name, journal in journals.items():
            for poll in journal.polls:
                if since <= poll.ended < until:
                    for each in poll.partitions:
                        found.of.setdefault(each, []).append(Read(poll.ended, name))
        for reads in found.of.values():
            reads.sort()
        return found

    def staying(self) -> dict[int, list[Read]]:
        """Of the partitions that no other member has read meanwhile."""
        return {
            each: reads
            for each, reads in self.of.items()
            if len({read.member for read in reads}) == 1
        }

    def longest_pause(self, written: Sequence[Write]) -> float | None:
        """How long records of a partition that stayed have lain there before they were read.

        Args:
            written: When a record was written to all partitions, in order.

        Returns:
            The longest, from the answer to the first record that was asked for after one read
            to the next read; None where no partition has stayed. How long the broker took for
            a record is no pause of a member's.
        """
        asked = [each.asked for each in written]
        pauses = [
            max(0.0, later.at - written[after].answered)
            for reads in self.staying().values()
            for earlier, later in pairwise(reads)
            if (after := bisect_right(asked, earlier.at)) < len(written)
        ]
        return max(pauses, default=None)

    def elsewhere(self, whose: str, since: float) -> float | None:
        """When the last of what a member had read was read by another.

        Args:
            whose: The member that goes.
            since: When it went; what it read before is what it had.

        Returns:
            None where something of it has not been read by another reader.
        """
        firsts = []
        for reads in self.of.values():
            before = [read for read in reads if read.at < since]
            if not before or before[-1].member != whose:
                continue
            others = [read.at for read in reads if read.at >= since and read.member != whose]
            if not others:
                return None
            firsts.append(others[0])
        return max(firsts, default=None)

    def settled(self, since: float) -> float:
        """When the last partition to change hands was first read by who has it now."""
        latest = since
        for reads in self.of.values():
            last = reads[-1].member
            for read in reversed(reads):
                if read.member != last:
                    break
                first = read
            if first is not reads[0]:
                latest = max(latest, first.at)
        return latest


def is_shared(journals: Iterable[Journal], since: float, partitions: int) -> bool:
    """Whether these have read all partitions since then, each its fair share and alone."""
    parts = [each.recent(since) for each in journals]
    sizes = sorted(map(len, parts))
    return (
        len(frozenset().union(*parts)) == sum(sizes) == partitions and sizes[-1] - sizes[0] <= 1
    )
