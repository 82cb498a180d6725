"""Outstanding records of one partition: returned and not done, in any order of completion.

Thread: the holder of the lock of the `Assigned` that owns it.

Offsets have gaps, and so the offsets themselves are kept, in the order of their return. A
commit ends before the lowest outstanding one. Done records above it are kept until it is done
too, as they cannot be committed before.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(slots=True)
class Tracking:
    """Bounds on outstanding records of one client, and counts of finished ones.

    Attributes:
        most: Records of all partitions that may be outstanding.
        most_uncommitted: Records of one partition that may be returned beyond its committable
            offset.
        counted: Records that were outstanding and are done.
        twice: How often one was told that was done already.
        given_up: How often one was told of a partition that was given up, or was sought
            elsewhere, since the record was returned.
        held_up: True if a poll has left records out because of a bound.
    """

    most: int
    most_uncommitted: int
    counted: int = 0
    twice: int = 0
    given_up: int = 0
    held_up: bool = False


class OutstandingOffsets:
    """The offsets of one partition that are outstanding, and those that are held back by them.

    Args:
        first: The first offset that it knows of.

    Attributes:
        first: See above.
    """

    __slots__ = ("_order", "_unfinished", "first")

    def __init__(self, first: int) -> None:
        self.first: int = first
        self._order: deque[int] = deque()
        # The leader epoch of the record before each, as far as it is known.
        self._unfinished: dict[int, int | None] = {}

    @property
    def unfinished(self) -> int:
        """Number of outstanding records."""
        return len(self._unfinished)

    @property
    def uncommitted(self) -> int:
        """Number of records returned at or after the lowest outstanding one."""
        return len(self._order)

    @property
    def lowest(self) -> tuple[int, int | None] | None:
        """The lowest offset, and the epoch of the record before it, if there is one."""
        if not self._order:
            return None
        offset = self._order[0]
        return offset, self._unfinished[offset]

    def begin(self, offsets: Iterable[int], epoch: int | None, before: int | None) -> None:
        """Take note of records that are returned.

        Args:
            offsets: Their offsets, in order.
            epoch: Their leader epoch.
            before: The leader epoch of the record before the first of them.
        """
        for offset in offsets:
            self._order.append(offset)
            self._unfinished[offset] = before
            before = epoch

    def finish(self, offset: int) -> bool:
        """Take note that one record is done; False when it is not outstanding."""
        if offset not in self._unfinished:
            return False
        del self._unfinished[offset]
        self._settle()
        return True

    def cut(self, offset: int) -> None:
        """Forget records from an offset on: they are returned another time."""
        while self._order and self._order[-1] >= offset:
            self._unfinished.pop(self._order.pop(), None)

    def _settle(self) -> None:
        while self._order and self._order[0] not in self._unfinished:
            self._order.popleft()

    def __repr__(self) -> str:
        return f"OutstandingOffsets({self.unfinished} of {self.uncommitted})"
