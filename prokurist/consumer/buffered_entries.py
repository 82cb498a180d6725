"""Reads on in the entries of the fetch buffer, and counts the records taken.

Thread: the application's, inside a call.

Records are decoded here, batch by batch, and no further than they are returned. When the call's
time is over no further batch is opened, so the call is late by one batch at most. A partition's
position moves in the same step in which its records are taken, and only if no other call has
moved it meanwhile.
"""

import math
import sys
from collections.abc import Callable, Sequence
from typing import Final

from prokurist.application.deserializing import Deserializers
from prokurist.consumer.consumer_counters import MOST_TOPICS, Consumed
from prokurist.errors import OffsetOutOfRangeException
from prokurist.events.clock import Deadline
from prokurist.events.counter_types import Family
from prokurist.events.fetch_buffer import Chunk, Entry, Failure, FetchBuffer
from prokurist.events.fetching import Fetching, Use
from prokurist.events.position_state import Position, ReturnedRuns
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.consumer_records import Run
from prokurist.records.reader import PartitionReader

LEEWAY: Final = 0.02
"""Seconds that a collection may open batches for after its call's deadline.

So that a poll that has no time returns full runs of small batches, as one does that has.
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """Records taken from one chunk.

    Attributes:
        chunk: The chunk.
        runs: They.
        after: Where reading goes on.
    """

    chunk: Chunk[PartitionReader]
    runs: Sequence[Run]
    after: Position


class BufferedEntries:
    """The entries of the fetch buffer, as the application takes them.

    Args:
        fetching: Positions of fetched and of returned records.
        buffer: The fetch buffer.
        deserializers: The user's.
        check_crcs: `check.crcs`.
        cap: `fetch.decoded.batch.max.bytes`.
        now: Reads the clock.

    Attributes:
        topics: Counters of returned records, by topic.
    """

    def __init__(
        self,
        fetching: Fetching,
        buffer: FetchBuffer[PartitionReader],
        deserializers: Deserializers,
        *,
        check_crcs: bool,
        cap: int,
        now: Callable[[], float],
    ) -> None:
        self._fetching = fetching
        self._positions = fetching.positions
        self._buffer = buffer
        self._deserializers = deserializers
        self._check_crcs = check_crcs
        self._cap = cap
        self._now = now
        self._until = math.inf
        self.topics: Family[Consumed] = Family(Consumed, MOST_TOPICS)

    def give_time(self, deadline: Deadline) -> None:
        """Begin a collection that opens batches until about this deadline."""
        self._until = max(deadline.at, self._now() + LEEWAY)

    def is_over(self) -> bool:
        """True if the time is over, so that no further batch is opened."""
        return self._now() >= self._until

    def usable(self, entry: Entry[PartitionReader] | None) -> Entry[PartitionReader] | None:
        """The first entry of a partition if it may be returned now; else None."""
        while entry is not None:
            use = self._fetching.use_of(entry.partition, entry.ticket)
            if use is Use.KEEP:
                return None
            if use is Use.RETURN:
                return entry
            entry = self._buffer.drop(entry)
        return None

    def take(
        self,
        entry: Entry[PartitionReader],
        most: int,
        enough: int = sys.maxsize,
        *,
        alone: bool,
    ) -> Taken | None:
        """Read on in an entry, without counting it.

        Args:
            entry: The first one of its partition.
            most: How many records at most.
            enough: Bytes after which no further batch is opened.
            alone: True if there is nothing else to return.

        Returns:
            The records; None where the entry has to wait or is gone.

        Raises:
            KafkaException: The next records cannot be read.
            Pending: The next record is not ready.
        """
        if isinstance(entry, Failure):
            if alone:
                self._see(entry)
            return None
        chunk = entry
        reader, chunk.reader = chunk.reader or self._reader(chunk), None
        # If anything is raised from here on, the chunk is read again from its offset.
        runs = reader.take(most, enough, self.is_over)
        if not self._deserializers.are_there:
            chunk.reader = reader
            return Taken(chunk, runs, Position(reader.position, reader.leader_epoch))
        made: list[Run] = []
        for run in runs:
            part, error = self._deserializers.made(run)
            if len(part):
                made.append(part)
            if error is not None:
                if not made:
                    raise error
                return Taken(chunk, made, after_last(made[-1]))
        chunk.reader = reader
        return Taken(chunk, made, Position(reader.position, reader.leader_epoch))

    def _reader(self, chunk: Chunk[PartitionReader]) -> PartitionReader:
        tp = chunk.partition
        return PartitionReader(
            tp.topic,
            tp.partition,
            chunk.records,
            position=chunk.offset,
            aborted=chunk.aborted,
            check_crcs=self._check_crcs,
            cap=self._cap,
            stop=chunk.stop,
        )

    def advance(self, taken: Taken, to: Position, *, has_it: bool = False) -> bool:
        """Count taken records as returned; False if they must not be."""
        chunk = taken.chunk
        if to.offset == chunk.offset:
            return True
        handed: ReturnedRuns = ()
        if self._positions.is_tracked and not has_it:
            columns = [run.as_columns() for run in taken.runs]
            handed = [(each.offsets, each.leader_epoch) for each in columns]
        if not self._fetching.advance(
            chunk.partition, chunk.ticket, to, has_it=has_it, handed=handed
        ):
            chunk.reader = None
            return False
        chunk.offset = to.offset
        return True

    def follows(self, chunk: Chunk[PartitionReader]) -> Entry[PartitionReader] | None:
        """The next entry of a partition after the one just taken."""
        reader = chunk.reader
        if reader is None:
            return chunk
        if reader.exhausted:
            self.topics.of(chunk.partition.topic).bytes += len(chunk.records)
            return self._buffer.drop(chunk)
        self._buffer.grown(chunk, reader.size - len(chunk.records))
        return chunk

    def _see(self, failure: Failure) -> None:
        """Raise a failure, or handle it, now that its turn has come.

        Raises:
            KafkaException: It is one that the user has to hear of.
        """
        # What is refused for the same reason is told once.
        same = [
            each
            for each in self._buffer.heads()
            if isinstance(each, Failure) and each.error is failure.error is not None
        ]
        for each in same or [failure]:
            self._buffer.drop(each)
            self._fetching.unstick(each.partition, each.ticket)
        self._buffer.stir()
        if failure.error is not None:
            raise failure.error.with_traceback(None)
        tp, offset = failure.partition, failure.offset
        if self._positions.policy_of(tp).kind == "none":
            raise OffsetOutOfRangeException(
                f"offset {offset} of {tp} is not in its log, which was cut off, or does not "
                f"go that far, and auto.offset.reset is none: seek, or set a policy",
                offsets={tp: offset},
            )
        self._fetching.reset(tp, failure.ticket)

    def __repr__(self) -> str:
        return f"BufferedEntries({self._buffer})"


def after_last(run: Run) -> Position:
    """The position after a run that is not empty."""
    columns = run.as_columns()
    return Position(int(columns.offsets[len(run) - 1]) + 1, columns.leader_epoch)
