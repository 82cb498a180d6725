"""Takes records from the fetch buffer for a poll to return.

Thread: the application's, inside a call.

An error waits until everything before it has been returned; it is raised by a poll that has
nothing else to return.

Partitions take turns, and a turn may last for many polls: as long as the chunk of a partition
that is far behind. So where a full poll has passed others over, the next one begins with
those that have least, and the one after that goes by turns again: who is not behind waits
for one poll, and who is has at least every other one.

Where outstanding records are tracked, the bounds limit the returned records: the rest of the
fetched ones stays in place, and a waiting poll looks again when a record is done.

In an iteration a chunk's records are lent: each counts as returned when the iteration asks for
the next one, or at the next poll. Until then the chunk keeps the place of the last one handed
out, and the next collection first takes back the records after it.
"""

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable

from prokurist.application.deserializing import Deserializers
from prokurist.consumer.buffered_entries import BufferedEntries, Taken
from prokurist.consumer.consumer_counters import Consumed
from prokurist.errors import KafkaException
from prokurist.events.clock import Deadline
from prokurist.events.committable import Committable
from prokurist.events.counter_types import Family
from prokurist.events.fetch_buffer import Chunk, Entry, Failure, FetchBuffer
from prokurist.events.fetching import Bookmark, Fetching
from prokurist.events.hand import Hand, make_hand
from prokurist.events.pending import Pending, Work
from prokurist.events.position_state import Position, after
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.consumer_records import ConsumerRecords, Run
from prokurist.records.reader import PartitionReader
from prokurist.types import OffsetAndMetadata, TopicPartition


@dataclass(slots=True)
class Lent:
    """The run of records that an iteration hands out.

    Attributes:
        taken: It.
        start: Where reading began.
        hand: Its records; the last one handed out does not count yet.
    """

    taken: Taken
    start: Position
    hand: Hand

    @property
    def seen(self) -> Position:
        """The position after the record that was handed out last."""
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
        fetching: Positions of fetched and of returned records.
        committable: Bounds outstanding records.
        buffer: The fetch buffer.
        deserializers: The user's.
        most: `max.poll.records`.
        check_crcs: `check.crcs`.
        cap: `fetch.decoded.batch.max.bytes`.
        now: Reads the clock.

    Attributes:
        lent: The records lent to an iteration, with the last one handed out.
        polls: How many polls have begun.
        pending: Partitions whose next record waits, by the last collection, and for what.
        only: Partitions to collect from; of none, all.
        topics: Counters of returned records, by topic.
    """

    def __init__(
        self,
        fetching: Fetching,
        committable: Committable,
        buffer: FetchBuffer[PartitionReader],
        deserializers: Deserializers,
        *,
        most: int,
        check_crcs: bool,
        cap: int,
        now: Callable[[], float],
    ) -> None:
        self._fetching = fetching
        self._committable = committable
        self._steady = committable.assigned.steady
        self._buffer = buffer
        self._entries = BufferedEntries(
            fetching, buffer, deserializers, check_crcs=check_crcs, cap=cap, now=now
        )
        self._most = most
        self._now = now
        self.lent: Lent | None = None
        self.only: frozenset[TopicPartition] = frozenset()
        self._begun: dict[TopicPartition, Bookmark] = {}
        self.polls: int = 0
        self.pending: list[tuple[TopicPartition, Work]] = []
        self._shortest_first = False
        self.topics: Family[Consumed] = self._entries.topics

    # --- for a poll ------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a poll: records collected by earlier polls count as returned."""
        self._begun = {}
        self.polls += 1

    def collect(self, most: int | None, deadline: Deadline) -> ConsumerRecords | None:
        """Collect records to return; None if not even a position has moved.

        Args:
            most: How many at most; None for `max.poll.records`.
            deadline: When the call's time is over.

        Raises:
            KafkaException: An error comes next, with no records before it.
        """
        self._entries.give_time(deadline)
        return self._collected(self._most if most is None else most)

    def collect_more(self, most: int | None, deadline: Deadline) -> ConsumerRecords | None:
        """The same behind what was collected before; empty where an error comes next."""
        self._entries.give_time(deadline)
        try:
            return self._collected(self._most if most is None else most, alone=False)
        except KafkaException:
            return ConsumerRecords()

    def collect_piece(self, enough: int, deadline: Deadline) -> ConsumerRecords | None:
        """Collect about so many bytes of one chunk, regardless of `max.poll.records`.

        Args:
            enough: How many.
            deadline: When the call's time is over.

        Raises:
            KafkaException: An error comes next, with no records before it.
        """
        self._entries.give_time(deadline)
        return self._collected(sys.maxsize, enough, chunks=1)

    def _collected(
        self,
        left: int,
        enough: int = sys.maxsize,
        chunks: int = sys.maxsize,
        *,
        alone: bool = True,
    ) -> ConsumerRecords | None:
        """Collect at most so many records, of at most so many chunks.

        Args:
            left: How many records.
            enough: Bytes of a chunk after which no further batch is opened.
            chunks: How many chunks.
            alone: Whether there is nothing else to return; otherwise no error is used up.

        Raises:
            KafkaException: An error comes next, with no records before it.
        """
        self.recall()
        left = min(left, self._committable.room())
        self.pending = []
        runs: dict[TopicPartition, list[Run]] = {}
        after: dict[TopicPartition, OffsetAndMetadata] = {}
        line = self._line()
        entries = self._entries
        while line and left > 0 and len(after) < chunks and not (after and entries.is_over()):
            entry = entries.usable(line.popleft())
            if entry is None:
                continue
            most = min(left, self._committable.room_of(entry.partition))
            if most == 0:
                continue  # Outstanding records of it have to be done before.
            if not alone and isinstance(entry, Failure):
                return ConsumerRecords(runs, after)
            try:
                taken = entries.take(entry, most, enough, alone=alone and not after)
            except Pending as pending:
                self.pending.append((entry.partition, pending.work))
                continue
            except KafkaException:
                if after:
                    break
                if alone:
                    self._buffer.defer(entry.partition)
                raise
            if taken is None:
                continue
            chunk = taken.chunk
            moved = bool(taken.runs) or taken.after.offset != chunk.offset
            self._mark(chunk)
            if entries.advance(taken, taken.after) and moved:
                tp = chunk.partition
                runs.setdefault(tp, []).extend(taken.runs)
                after[tp] = OffsetAndMetadata(taken.after.offset, "", taken.after.epoch)
                returned = sum(map(len, taken.runs))
                self.topics.of(tp.topic).records += returned
                left -= returned
            if (following := entries.follows(chunk)) is not None:
                line.append(following)  # The others come first.
        self._shortest_first = left <= 0 and bool(line) and not self._shortest_first
        return ConsumerRecords(runs, after) if after else None

    def take_back(self) -> None:
        """Take back what the last poll, or step of an iteration, returned: it comes again."""
        lent = self.lent
        if lent is not None:
            if lent.hand.in_hand:
                lent.hand.take_back()
            return
        begun = self._begun
        for tp, bookmark in tuple(begun.items()):
            self._fetching.take_back(tp, bookmark)
            del begun[tp]  # Not before: an interrupt leaves it to the next call.

    def _mark(self, chunk: Chunk[PartitionReader]) -> None:
        """Note where the records of this poll begin, before any of a chunk counts."""
        tp = chunk.partition
        bookmark, known = self._fetching.bookmark(tp, chunk.ticket), self._begun.get(tp)
        if bookmark is not None and (known is None or known.place is not bookmark.place):
            self._begun[tp] = bookmark

    def read_again(self) -> None:
        """Read a chunk again that an interrupt may have left between reading and counting."""
        for entry in self._buffer.heads():
            if isinstance(entry, Chunk):
                entry.reader = None

    # --- for an iteration ------------------------------------------------------------

    def lend(
        self, show: Callable[[ConsumerRecords], ConsumerRecords], deadline: Deadline
    ) -> Lent | None:
        """Lend the records of one chunk; none of them counts as returned yet.

        Args:
            show: Shows them to the interceptors.
            deadline: When the call's time is over.

        Raises:
            KafkaException: An error comes next, with no records before it.
        """
        self._entries.give_time(deadline)
        self._begun = {}
        self.pending = []
        self.recall()
        room = min(self._most, self._committable.room())
        for head in self._buffer.heads() if room else ():
            entry = self._entries.usable(head)
            if entry is None:
                continue
            most = min(room, self._committable.room_of(entry.partition))
            if most == 0:
                continue
            try:
                taken = self._entries.take(entry, most, alone=True)
            except Pending as pending:
                self.pending.append((entry.partition, pending.work))
                continue
            except KafkaException:
                self._buffer.defer(entry.partition)
                raise
            if taken is None:
                continue
            tp = taken.chunk.partition
            start = Position(taken.chunk.offset, None)
            records = show(ConsumerRecords({tp: taken.runs}, {}))
            hand = make_hand(self._steady, records, self._now)
            self.lent = Lent(taken, start, hand)
            return self.lent
        return None

    def count(self) -> None:
        """Count the last record as processed: the next one is asked for."""
        if self.lent is not None:
            self._fetching.done_with(self.lent.taken.chunk.partition)

    def finish(self) -> None:
        """Count all that was lent, since more is asked for."""
        self.count()
        lent, self.lent = self.lent, None
        if lent is None:
            return
        topic = lent.taken.chunk.partition.topic
        self.topics.of(topic).records += sum(map(len, lent.taken.runs))
        if self._entries.advance(lent.taken, lent.taken.after, has_it=True):
            self._entries.follows(lent.taken.chunk)

    def recall(self) -> None:
        """Take back lent records that were not handed out; those handed out count now."""
        self.count()
        lent, self.lent = self.lent, None
        if lent is not None:
            chunk = lent.taken.chunk
            self.topics.of(chunk.partition.topic).records += lent.handed_out
            chunk.offset, chunk.reader = lent.seen.offset, None  # Read again from there.

    def close(self) -> None:
        """Drop collected and buffered records."""
        self.lent = None
        self._buffer.purge(lambda _partition, _ticket: True)

    # --- one entry -------------------------------------------------------------------

    def _line(self) -> deque[Entry[PartitionReader]]:
        """The first entry of each partition, in the order that this poll takes them."""
        heads = self._buffer.heads()
        if self.only:
            heads = [each for each in heads if each.partition in self.only]
        if self._shortest_first:
            heads.sort(key=length)
        return deque(heads)

    def __repr__(self) -> str:
        return f"FetchCollector({self._buffer})"


def length(entry: Entry[PartitionReader]) -> int:
    """The bytes of records of an entry; a failure waits for all of them."""
    return len(entry.records) if isinstance(entry, Chunk) else sys.maxsize
