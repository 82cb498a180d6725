"""Asynchronous commits without an answer yet, and their overtaking by newer ones.

Thread: the application's. The network thread ends the calls.
Invariants: of each set of partitions the newest commit is never the one that is given up.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

from prokurist.events.call import Call
from prokurist.types import TopicPartition

MOST_PENDING: Final = 1000
"""Asynchronous commits under way at once; a further one takes the place of an older one.

The newest offsets are those that count: they go out however many wait before them. So there is
one more for each set of partitions, and none of a set waits twice.
"""


class CommitsUnderWay:
    """Calls in the order of posting."""

    def __init__(self) -> None:
        self._calls: deque[tuple[Call, frozenset[TopicPartition]]] = deque()
        self._newest: dict[frozenset[TopicPartition], Call] = {}

    def add(self, call: Call, partitions: Iterable[TopicPartition]) -> None:
        """Count a commit, until its call has ended."""
        of = frozenset(partitions)
        self._calls.append((call, of))
        self._newest[of] = call

    def overtaken_by(self, partitions: Iterable[TopicPartition]) -> Call | None:
        """The commit to be given up for a newer one; None while there is room.

        None as well where each commit of these partitions has ended or is on the wire: a
        connection has a bounded number of those.
        """
        while self._calls and not self._calls[0][0].is_open:
            self._forget(*self._calls.popleft())
        if len(self._calls) < MOST_PENDING:
            return None
        call = self._newest.get(frozenset(partitions))
        if call is None or not call.is_open or call.on_the_wire:
            return None
        if self._calls[-1][0] is call:
            self._calls.pop()
        return call

    def _forget(self, call: Call, of: frozenset[TopicPartition]) -> None:
        if self._newest.get(of) is call:
            del self._newest[of]
