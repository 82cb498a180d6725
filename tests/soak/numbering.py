"""Values that say where they belong, and the check that each comes there, once.

A value is its sequence number in its partition and a filling that follows from it. One
idempotent producer writes a partition, so its sequence numbers are its offsets.
"""

from collections.abc import Iterable
from typing import Final

LARGE: Final = 200_000
TOLD: Final = 20


def value_of(partition: int, sequence: int) -> bytes:
    """The value that bears a sequence number: mostly short, now and then large."""
    length = LARGE if sequence % 4999 == 17 else sequence * 37 % 600
    return b"%d:%d:" % (partition, sequence) + bytes((sequence % 251,)) * length


class Places:
    """How far each partition has been read, and what was wrong on the way.

    Attributes:
        next: The offset that has to come next.
        highest: How far each partition has been read at the most.
        count: How many records came.
        wrongs: In words; the first of them.
    """

    def __init__(self, partitions: Iterable[int]) -> None:
        self.next = dict.fromkeys(partitions, 0)
        self.highest = dict(self.next)
        self.count = 0
        self.wrongs: list[str] = []

    def saw(self, partition: int, offset: int, value: bytes | None) -> None:
        """A record has come."""
        due = self.next[partition]
        if offset != due:
            what = "lost" if offset > due else "again"
            self.wrong(f"{what}: partition {partition} gave {offset} where {due} was due")
        elif value != value_of(partition, offset):
            self.wrong(f"partition {partition} gave {(value or b'')[:40]!r} at {offset}")
        self.next[partition] = offset + 1
        self.highest[partition] = max(self.highest[partition], offset + 1)
        self.count += 1

    def sought(self, partition: int, offset: int) -> None:
        """From here on it is read from another place."""
        self.next[partition] = offset

    def wrong(self, words: str) -> None:
        """Keep what was wrong, unless there is plenty."""
        if len(self.wrongs) < TOLD:
            self.wrongs.append(words)
