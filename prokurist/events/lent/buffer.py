"""Records of a share group that have come, and that no poll has returned yet.

Thread: both, under `_lock`, held for a few assignments. The network thread puts in whole
answers; the application thread takes out whole rows.
"""

import threading
from collections import deque
from collections.abc import Iterable

from prokurist.events.lent.batch import LentBatch
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class LentRows:
    """The records of one partition in one answer.

    Attributes:
        partition: The partition.
        records: Whole batches, a view of the frame.
        batches: The ranges of them that were acquired, in order.
    """

    partition: TopicPartition
    records: memoryview
    batches: tuple[LentBatch, ...]


class LentBuffer:
    """Rows that no poll has returned yet, in the order of their arrival."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._rows: deque[LentRows] = deque()

    def put(self, rows: Iterable[LentRows]) -> None:
        """Add the rows of an answer."""
        with self._lock:
            self._rows.extend(rows)

    def take(self) -> LentRows | None:
        """Take the next row; None for none."""
        with self._lock:
            return self._rows.popleft() if self._rows else None

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._rows.clear()

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"LentBuffer({len(self._rows)} rows)"
