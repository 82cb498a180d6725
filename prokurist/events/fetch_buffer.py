"""Buffer of fetched records that have not been returned, shared by both threads.

Thread: both, under `_lock`, held for a few assignments and never while anything is called. The
network thread puts in whole answers; the application thread takes out the records it returns.

- Partitions take turns: after a whole chunk a partition goes behind the others. Within a
  partition everything keeps its order, errors included: an error is raised when all records
  fetched before it have been returned.
- The buffer counts its bytes: of each answer all bytes until the last of its chunks is gone,
  since a chunk is a view of the whole frame, plus the bytes added by decoding. The network
  thread compares that with `fetch.buffer.max.bytes`.
- A poll served from the buffer does not wake the network thread. Once that has stopped
  fetching, it has noted its condition here: room again, one more partition without buffered
  records, or any poll at all. The first poll that meets the condition asks, once.
"""

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeAlias, TypeVar

from prokurist.errors import KafkaException
from prokurist.types import TopicPartition

Reader = TypeVar("Reader")


class ResponseBytes:
    """The bytes of one answer, counted until the last view of them is gone.

    Attributes:
        size: How many.
        users: How many chunks are views of them.
    """

    __slots__ = ("size", "users")

    def __init__(self, size: int) -> None:
        self.size: int = size
        self.users: int = 0


class Chunk(Generic[Reader]):
    """The records of one partition in one answer.

    Attributes:
        partition: The partition.
        ticket: The ticket of the fetch.
        offset: The requested offset.
        records: The batches.
        aborted: The aborted transactions among them: producer id and first offset;
            None with isolation.level=read_uncommitted.
        held: The bytes of the whole answer.
        stop: End of its range, exclusive; None without one.
        reader: The reader that decodes it, once the application thread has begun.
        decoded: How many bytes decoding has added.
    """

    __slots__ = (
        "aborted",
        "decoded",
        "held",
        "offset",
        "partition",
        "reader",
        "records",
        "stop",
        "ticket",
    )

    def __init__(
        self,
        partition: TopicPartition,
        ticket: int,
        offset: int,
        records: memoryview,
        aborted: tuple[tuple[int, int], ...] | None,
        held: ResponseBytes,
        stop: int | None = None,
    ) -> None:
        self.partition: TopicPartition = partition
        self.ticket: int = ticket
        self.offset: int = offset
        self.records: memoryview = records
        self.aborted: tuple[tuple[int, int], ...] | None = aborted
        self.held: ResponseBytes = held
        self.stop: int | None = stop
        self.reader: Reader | None = None
        self.decoded: int = 0

    def __repr__(self) -> str:
        return f"Chunk({self.partition} from {self.offset}, {len(self.records)} bytes)"


class Failure:
    """An error that a partition's fetch had in place of records.

    Attributes:
        partition: The partition.
        ticket: The ticket of the request.
        offset: The requested offset.
        error: The error to raise; None where the offset is out of the log's range, which
            `auto.offset.reset` may repair.
    """

    __slots__ = ("error", "offset", "partition", "ticket")

    def __init__(
        self,
        partition: TopicPartition,
        ticket: int,
        offset: int,
        error: KafkaException | None,
    ) -> None:
        self.partition: TopicPartition = partition
        self.ticket: int = ticket
        self.offset: int = offset
        self.error: KafkaException | None = error

    def __repr__(self) -> str:
        return f"Failure({self.partition} at {self.offset}, {self.error!r})"


Entry: TypeAlias = Chunk[Reader] | Failure
"""An item in a partition's queue."""


class FetchBuffer(Generic[Reader]):
    """Fetched chunks and errors, partition by partition in turn, with their size in bytes."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._lines: dict[TopicPartition, deque[Entry[Reader]]] = {}
        self._held = 0
        self._polled_at = -math.inf
        self._emptied = 0
        self._emptied_then = 0
        self._ask_below: int | None = None
        self._ask = True

    # --- the network thread ----------------------------------------------------------

    def put(self, entries: Iterable[Entry[Reader]]) -> None:
        """Add the chunks and errors of one answer."""
        with self._lock:
            for entry in entries:
                self._lines.setdefault(entry.partition, deque()).append(entry)
                if isinstance(entry, Chunk):
                    if not entry.held.users:
                        self._held += entry.held.size
                    entry.held.users += 1

    def rest(self, *, below: int | None, idle: bool, emptied: int = 0) -> None:
        """Note that nothing more is fetched until a poll asks for it.

        Args:
            below: Ask when no more than this is held, or when all of one more partition
                has been returned; None for never.
            idle: Ask at the next poll: the last one was a while ago.
            emptied: How many partitions had been emptied when it was looked at last.
        """
        with self._lock:
            self._ask_below, self._emptied_then = below, emptied
            self._ask = self._ask or idle

    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions with something in the buffer."""
        with self._lock:
            return frozenset(self._lines)

    @property
    def held(self) -> int:
        """The bytes that are buffered now."""
        return self._held

    @property
    def polled_at(self) -> float:
        """When the last poll began or ended."""
        return self._polled_at

    @property
    def emptied(self) -> int:
        """Number of times that a partition's last entry was returned."""
        return self._emptied

    # --- the application thread ------------------------------------------------------

    def polled(self, now: float) -> None:
        """Note that a poll begins, or ends."""
        self._polled_at = now  # the application thread alone writes it

    def stir(self) -> None:
        """Have the next poll ask for records, since the wanted partitions have changed."""
        with self._lock:
            self._ask = True

    def take_ask(self) -> bool:
        """Return True once if this poll has to ask for more records."""
        with self._lock:
            due = self._ask or (
                self._ask_below is not None
                and (self._held <= self._ask_below or self._emptied != self._emptied_then)
            )
            if due:
                self._ask, self._ask_below = False, None
            return due

    def heads(self) -> list[Entry[Reader]]:
        """The first entry of each partition, in the order of their turns."""
        with self._lock:
            return [line[0] for line in self._lines.values()]

    def drop(self, entry: Entry[Reader]) -> Entry[Reader] | None:
        """Remove a partition's first entry, and return the next one, if there is one.

        The partition's turn is over: the others come first.
        """
        with self._lock:
            line = self._lines.get(entry.partition)
            if line is None or line[0] is not entry:
                return None  # It was dropped meanwhile.
            del self._lines[entry.partition]
            self._leave(line.popleft())
            if not line:
                self._emptied += 1
                return None
            self._lines[entry.partition] = line
            return line[0]

    def defer(self, tp: TopicPartition) -> None:
        """Move a partition behind the others."""
        with self._lock:
            line = self._lines.pop(tp, None)
            if line is not None:
                self._lines[tp] = line

    def grown(self, chunk: Chunk[Reader], decoded: int) -> None:
        """Count the bytes that decoding has added to a chunk."""
        if decoded == chunk.decoded:
            return
        with self._lock:
            if chunk in self._lines.get(chunk.partition, ()):
                self._held += decoded - chunk.decoded
                chunk.decoded = decoded

    # --- either ----------------------------------------------------------------------

    def purge(self, worthless: Callable[[TopicPartition, int], bool]) -> None:
        """Drop data fetched under stale tickets."""
        with self._lock:
            held = {(tp, entry.ticket) for tp, line in self._lines.items() for entry in line}
        # Asked without the lock. A ticket that counts no more never will again.
        stale = {each for each in held if worthless(*each)}
        if not stale:
            return
        with self._lock:
            for tp in {tp for tp, _ in stale}:
                line = self._lines.pop(tp, deque())
                kept = deque(entry for entry in line if (tp, entry.ticket) not in stale)
                for entry in line:
                    if (tp, entry.ticket) in stale:
                        self._leave(entry)
                if kept:
                    self._lines[tp] = kept

    # --- inside: the lock is held ----------------------------------------------------

    def _leave(self, entry: Entry[Reader]) -> None:
        if isinstance(entry, Chunk):
            self._held -= entry.decoded
            entry.decoded = 0
            entry.held.users -= 1
            if not entry.held.users:
                self._held -= entry.held.size

    def __len__(self) -> int:
        """Return the number of entries."""
        with self._lock:
            return sum(map(len, self._lines.values()))

    def __repr__(self) -> str:
        return f"FetchBuffer({len(self)} entries, {self._held} bytes)"
