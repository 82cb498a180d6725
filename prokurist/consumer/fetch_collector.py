"""Takes records from the fetch buffer for a poll to return.

Thread: the application's, inside a call.

Records are decoded here, batch by batch, and no further than they are returned. When the
call's time is over no further batch is opened, so that it is late by one at most. A
partition's position moves in the moment in which its records are taken, and only if
no other call has moved it meanwhile. An error waits until everything before it
has been returned; it is raised by a poll that has nothing else to return.

Partitions take turns, and a turn may last for many polls: as long as the chunk of a partition
that is far behind. So where a full poll has passed others over, the next one begins with
those that have least, and the one after that goes by turns again: who is not behind waits
for one poll, and who is has at least every other one.

Where outstanding records are tracked, no more are returned than may be: of what is fetched, the
others stay where they are, and a poll that waits looks again when a record is done.

In an iteration a chunk's records are lent: one counts as returned when the next one
is asked for, or the next poll. Until then the chunk remembers where that is, and
the next collection first takes back what was lent and not asked for.
"""

import math
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from prokurist.consumer.consumer_counters import MOST_TOPICS, Consumed
from prokurist.consumer.deserializing import Deserializers
from prokurist.errors import KafkaException, OffsetOutOfRangeException
from prokurist.events.clock import Deadline
from prokurist.events.counter_types import Family
from prokurist.events.fetch_buffer import Chunk, Entry, Failure, FetchBuffer
from prokurist.events.fetching import Use
from prokurist.events.hand import Hand, make_hand
from prokurist.events.outstanding import ReturnedRuns
from prokurist.events.partition_state import Position, after
from prokurist.events.subscription import Subscription
from prokurist.records.consumer_records import ConsumerRecords, Run
from prokurist.records.reader import PartitionReader
from prokurist.types import OffsetAndMetadata, TopicPartition

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


@dataclass(slots=True)
class Lent:
    """The run of records that an iteration hands out.

    Attributes:
        taken: It.
        start: Where reading began.
        hand: Its records, of which the one that was handed out last does not count yet.
    """

    taken: Taken
    start: Position
    hand: Hand

    @property
    def seen(self) -> Position:
        """Where reading goes on after the record that was handed out last."""
        last = self.hand.last
        return self.start if last is None else after(last)

    @property
    def handed_out(self) -> int:
        """Count its records that were handed out: on demand, and not one by one."""
        last = self.hand.last
        if last is None:
            return 0
        return sum(
            bisect_right(run.as_columns().offsets, last.offset) for run in self.taken.runs
        )


class FetchCollector:
    """Collects records, partition by partition in turn, and raises errors in their place.

    Args:
        subscription: What is assigned, and how far it has come.
        buffer: What was fetched.
        deserializers: The user's.
        most: `max.poll.records`.
        check_crcs: `check.crcs`.
        cap: `fetch.decoded.batch.max.bytes`.
        now: Reads the clock.

    Attributes:
        lent: What an iteration has in hand; it takes note there of what it hands out.
        topics: What was returned, by topic.
    """

    def __init__(
        self,
        subscription: Subscription,
        buffer: FetchBuffer[PartitionReader],
        deserializers: Deserializers,
        *,
        most: int,
        check_crcs: bool,
        cap: int,
        now: Callable[[], float],
    ) -> None:
        self._subscription = subscription
        self._buffer = buffer
        self._deserializers = deserializers
        self._most = most
        self._check_crcs = check_crcs
        self._cap = cap
        self._now = now
        self._until = math.inf
        self.lent: Lent | None = None
        self._begun: dict[TopicPartition, tuple[int, int]] = {}
        self._shortest_first = False
        self.topics: Family[Consumed] = Family(Consumed, MOST_TOPICS)

    # --- for a poll ------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a poll: what earlier polls collected counts as returned."""
        self._begun = {}

    def collect(self, deadline: Deadline) -> ConsumerRecords | None:
        """Collect records to return; None if not even a position has moved.

        Args:
            deadline: When the call's time is over.

        Raises:
            KafkaException: There is nothing before what went wrong.
        """
        self._give_time(deadline)
        return self._collected(self._most)

    def collect_piece(self, enough: int, deadline: Deadline) -> ConsumerRecords | None:
        """Collect about so many bytes of one chunk, regardless of `max.poll.records`.

        Args:
            enough: How many.
            deadline: When the call's time is over.

        Raises:
            KafkaException: There is nothing before what went wrong.
        """
        self._give_time(deadline)
        return self._collected(sys.maxsize, enough, chunks=1)

    def _give_time(self, deadline: Deadline) -> None:
        self._until = max(deadline.at, self._now() + LEEWAY)

    def _is_over(self) -> bool:
        """Whether the time is over, so that no further batch is opened."""
        return self._now() >= self._until

    def _collected(
        self, left: int, enough: int = sys.maxsize, chunks: int = sys.maxsize
    ) -> ConsumerRecords | None:
        """Collect at most so many records, of at most so many chunks.

        Raises:
            KafkaException: There is nothing before what went wrong.
        """
        self.recall()
        left = min(left, self._subscription.room())
        runs: dict[TopicPartition, list[Run]] = {}
        after: dict[TopicPartition, OffsetAndMetadata] = {}
        line = self._line()
        while line and left > 0 and len(after) < chunks and not (after and self._is_over()):
            entry = self._usable(line.popleft())
            if entry is None:
                continue
            most = min(left, self._subscription.room_of(entry.partition))
            if most == 0:
                continue  # Outstanding records of it have to be done before.
            try:
                taken = self._take(entry, most, enough, alone=not after)
            except KafkaException:
                if after:
                    break
                self._buffer.defer(entry.partition)
                raise
            if taken is None:
                continue
            chunk = taken.chunk
            moved = bool(taken.runs) or taken.after.offset != chunk.offset
            self._begun.setdefault(chunk.partition, (chunk.ticket, chunk.offset))
            if self._advance(taken, taken.after) and moved:
                tp = chunk.partition
                runs.setdefault(tp, []).extend(taken.runs)
                after[tp] = OffsetAndMetadata(taken.after.offset, "", taken.after.epoch)
                returned = sum(map(len, taken.runs))
                self.topics.of(tp.topic).records += returned
                left -= returned
            if (following := self._follows(chunk)) is not None:
                line.append(following)  # The others come first.
        self._shortest_first = left <= 0 and bool(line) and not self._shortest_first
        return ConsumerRecords(runs, after) if after else None

    def take_back(self) -> None:
        """Take back what this poll collected, since an interrupt has kept it from the user."""
        begun, self._begun = self._begun, {}
        for tp, (ticket, offset) in begun.items():
            self._subscription.take_back(tp, ticket, Position(offset, None))

    def read_again(self) -> None:
        """Read a chunk again that an interrupt may have left between reading and counting."""
        for entry in self._buffer.heads():
            if isinstance(entry, Chunk):
                entry.reader = None

    # --- for an iteration ------------------------------------------------------------

    def lend(
        self, show: Callable[[ConsumerRecords], ConsumerRecords], deadline: Deadline
    ) -> Lent | None:
        """Records of one chunk, none of which counts as returned yet.

        Args:
            show: Shows them to the interceptors.
            deadline: When the call's time is over.

        Raises:
            KafkaException: There is nothing before what went wrong.
        """
        self._give_time(deadline)
        self.recall()
        room = min(self._most, self._subscription.room())
        for head in self._buffer.heads() if room else ():
            entry = self._usable(head)
            if entry is None:
                continue
            most = min(room, self._subscription.room_of(entry.partition))
            if most == 0:
                continue
            try:
                taken = self._take(entry, most, alone=True)
            except KafkaException:
                self._buffer.defer(entry.partition)
                raise
            if taken is None:
                continue
            tp = taken.chunk.partition
            start = Position(taken.chunk.offset, None)
            records = show(ConsumerRecords({tp: taken.runs}, {}))
            hand = make_hand(self._subscription.steady, records, self._now)
            self.lent = Lent(taken, start, hand)
            return self.lent
        return None

    def count(self) -> None:
        """Count the last record as processed: the next one is asked for."""
        if self.lent is not None:
            self._subscription.done_with(self.lent.taken.chunk.partition)

    def finish(self) -> None:
        """Count all that was lent, since more is asked for."""
        self.count()
        lent, self.lent = self.lent, None
        if lent is None:
            return
        topic = lent.taken.chunk.partition.topic
        self.topics.of(topic).records += sum(map(len, lent.taken.runs))
        if self._advance(lent.taken, lent.taken.after, has_it=True):
            self._follows(lent.taken.chunk)

    def recall(self) -> None:
        """Take back what was lent and not asked for; what was handed out counts now."""
        self.count()
        lent, self.lent = self.lent, None
        if lent is not None:
            chunk = lent.taken.chunk
            self.topics.of(chunk.partition.topic).records += lent.handed_out
            chunk.offset, chunk.reader = lent.seen.offset, None  # Read again from there.

    def close(self) -> None:
        """Drop what is collected and buffered."""
        self.lent = None
        self._buffer.purge(lambda _partition, _ticket: True)

    # --- one entry -------------------------------------------------------------------

    def _line(self) -> deque[Entry[PartitionReader]]:
        """The first entry of each partition, in the order that this poll takes them."""
        heads = self._buffer.heads()
        if self._shortest_first:
            heads.sort(key=length)
        return deque(heads)

    def _usable(self, entry: Entry[PartitionReader] | None) -> Entry[PartitionReader] | None:
        """The first entry of a partition if it may be returned now; else None."""
        while entry is not None:
            use = self._subscription.use_of(entry.partition, entry.ticket)
            if use is Use.KEEP:
                return None
            if use is Use.RETURN:
                return entry
            entry = self._buffer.drop(entry)
        return None

    def _take(
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
            alone: Whether there is nothing else to return.

        Returns:
            What was read; None where the entry has to wait or is no more.

        Raises:
            KafkaException: What comes next cannot be read.
        """
        if isinstance(entry, Failure):
            if alone:
                self._see(entry)
            return None
        chunk = entry
        reader, chunk.reader = chunk.reader or self._reader(chunk), None
        # If anything is raised from here on, the chunk is read again from its offset.
        runs = reader.take(most, enough, self._is_over)
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

    def _advance(self, taken: Taken, to: Position, *, has_it: bool = False) -> bool:
        """Count taken records as returned; False if they must not be."""
        chunk = taken.chunk
        if to.offset == chunk.offset:
            return True
        handed: ReturnedRuns = ()
        if self._subscription.is_tracked and not has_it:
            columns = [run.as_columns() for run in taken.runs]
            handed = [(each.offsets, each.leader_epoch) for each in columns]
        if not self._subscription.advance(
            chunk.partition, chunk.ticket, to, has_it=has_it, handed=handed
        ):
            chunk.reader = None
            return False
        chunk.offset = to.offset
        return True

    def _follows(self, chunk: Chunk[PartitionReader]) -> Entry[PartitionReader] | None:
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
            self._subscription.unstick(each.partition, each.ticket)
        self._buffer.stir()
        if failure.error is not None:
            raise failure.error.with_traceback(None)
        tp, offset = failure.partition, failure.offset
        if self._subscription.policy_of(tp).kind == "none":
            raise OffsetOutOfRangeException(
                f"offset {offset} of {tp} is not in its log, which was cut off, or does not "
                f"go that far, and auto.offset.reset is none: seek, or set a policy",
                offsets={tp: offset},
            )
        self._subscription.reset(tp, failure.ticket)

    def __repr__(self) -> str:
        return f"Collector({self._buffer})"


def length(entry: Entry[PartitionReader]) -> int:
    """The bytes of records of an entry; a failure waits for all of them."""
    return len(entry.records) if isinstance(entry, Chunk) else sys.maxsize


def after_last(run: Run) -> Position:
    """The position after a run that is not empty."""
    columns = run.as_columns()
    return Position(int(columns.offsets[len(run) - 1]) + 1, columns.leader_epoch)
