"""A range of offsets of one partition, from its first to its last: `consumer.read_range`.

Thread: the application's. A part of `KafkaConsumer`. Each step is a call of its own, as in an
iteration of records: it returns fetched records of the range, or waits for more.

- It is over when the position has reached the end of the range, regardless of the offsets
  there: markers of transactions, aborted records, and offsets emptied by compaction are
  skipped. Nothing is fetched once the end of the range is in hand.
- Nothing but the range is read. An offset that is not in the log is an error, regardless of
  `auto.offset.reset`, and nothing of it is ever committed unasked.
- While the application processes a step, the network thread fetches the next ones.
"""

from datetime import timedelta
from typing import Final

from prokurist.application.driving import Steps
from prokurist.config import ConsumerConfig
from prokurist.consumer.arguments import partition_in
from prokurist.consumer.lookups import Lookups, edge_in
from prokurist.consumer.polling import Polling
from prokurist.errors import (
    IllegalStateException,
    KafkaException,
    LogTruncationException,
    OffsetOutOfRangeException,
    TimeoutException,
)
from prokurist.events.application_events import Attend, Edge
from prokurist.events.call import Call
from prokurist.events.clock import NEVER, Deadline, as_seconds
from prokurist.events.fetching import Use
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.types import TopicPartition, require_int

OPERATION: Final = "read_range"

PIECE: Final = 4 << 20
"""Bytes of a step, about: each step has a cost of its own, and its content is memory."""

QUIETLY: Final = 0.1
"""Seconds that a step waits before its ledger is kept: who reads at full speed waits often,
and too short to need an explanation."""


@dataclass(frozen=True, slots=True)
class Range:
    """A range of offsets of one partition.

    Attributes:
        partition: The partition.
        start: Its first offset.
        end: The offset after its last.
        began: When it was asked for.
        deadline: When the whole of it has to have been read.
        patience: Seconds that a step may wait for records.
    """

    partition: TopicPartition
    start: int
    end: int
    began: float
    deadline: Deadline
    patience: float

    def __str__(self) -> str:
        return f"{self.partition} from {self.start} to {self.end}"


@dataclass(slots=True)
class Reading:
    """A range that is being read.

    Attributes:
        range: The range.
        born: The ticket of the position that reading began with.
        position: The next offset to read.
    """

    range: Range
    born: int
    position: int

    @property
    def is_over(self) -> bool:
        """True when the position has come to the end of the range."""
        return self.position >= self.range.end


class Ranges(Polling, Lookups):
    """The part of `KafkaConsumer` that reads ranges of offsets."""

    _config: ConsumerConfig

    def _range(
        self,
        partition: TopicPartition,
        start: int,
        end: int,
        timeout: float | timedelta | None,
        stall_timeout: float | timedelta | None,
    ) -> Range:
        """Check the arguments of `read_range`; its time begins."""
        tp = partition_in(partition)
        for name, value in (("start", start), ("end", end)):
            require_int(f"the {name} of a range", value)
        if not 0 <= start <= end:
            raise ValueError(
                f"a range begins at 0 or later and ends no earlier: {start}, {end}"
            )
        patience = (
            self._config.default_api_timeout_ms / 1000
            if stall_timeout is None
            else as_seconds(stall_timeout)
        )
        with self._caller.inside(OPERATION):
            now = self._caller.now()
            deadline = NEVER if timeout is None else Deadline.after(now, timeout)
            return Range(tp, start, end, now, deadline, patience)

    def _begin_range(self, wanted: Range) -> "Reading":
        born = self._positions.begin_range(wanted.partition, wanted.start, wanted.end)
        self._buffer.stir()
        return Reading(wanted, born, wanted.start)

    def _read_on(self, reading: "Reading") -> Steps[ConsumerRecords]:
        """Read the next records of a range; there may be none in its next offsets."""
        wanted = reading.range
        try:
            self._check_place(wanted, reading.born, reading.position)
            records = yield from self._step(wanted, reading.position)
        except LogTruncationException:
            raise
        except OffsetOutOfRangeException as error:
            raise (yield from self._with_ends(error, wanted)) from None
        reading.position = records.next_offsets()[wanted.partition].offset
        return records

    def _end_range(self, reading: "Reading") -> None:
        """End the reading; also when it is dropped, on any thread: so no call is entered."""
        self._positions.end_range(reading.range.partition, reading.born)
        self._buffer.purge(lambda each, ticket: self._fetching.use_of(each, ticket) is Use.DROP)

    def _check_place(self, wanted: Range, born: int, position: int) -> None:
        """Check that no other call has moved the position.

        Raises:
            IllegalStateException: Another call has.
            KafkaException: The place is worthless; it says why.
        """
        if self._positions.place_in_range(wanted.partition, born) != position:
            error = self._background.take(self._positions.still_wanted)
            if error is not None:
                raise error
            raise IllegalStateException(
                f"read_range of {wanted} cannot go on at {position}: meanwhile something else "
                f"was assigned, or its position was moved by another call"
            )

    def _step(self, wanted: Range, position: int) -> Steps[ConsumerRecords]:
        """The next records of a range, or its end.

        Raises:
            TimeoutException: It has not come in time.
        """
        now = self._caller.now()
        patient = Deadline.after(now, wanted.patience)
        began, deadline = now, patient
        if wanted.deadline.at < patient.at:
            began, deadline = wanted.began, wanted.deadline
        trace = self._caller.tracing
        call = Call(OPERATION, began, deadline, partitions=(wanted.partition,), trace=trace)
        records = None
        if not deadline.expired(now):
            records = yield from self._awaited(call, wanted, now)
        if records is not None:
            return records
        call.leave(self._caller.now())
        try:
            call.result()
        except TimeoutException as error:
            # Where the leaders have answered, that alone does not say what is missing.
            error.add_note(
                f"It had come to offset {position} of the range {wanted}: "
                f"{self._obstacles.look()}."
            )
            raise
        raise AssertionError("a call that was left has an error")

    def _awaited(self, call: Call, wanted: Range, now: float) -> Steps[ConsumerRecords | None]:
        """The next records; None when they do not come in time."""
        self._collector.begin()
        try:
            quietly = call.deadline.earlier(Deadline(now + QUIETLY))
            records = yield from self._await_records(call.again(quietly), self._piece)
            if records is not None:
                call.leave(self._caller.now(), KafkaException("its records have come"))
                return records
            self._caller.post(Attend(call, wanted.partition))
            return (yield from self._await_records(call.again(), self._piece))
        finally:
            if not call.deadline.expired(self._caller.now()):
                self._caller.withdraw(call, KafkaException("no caller waits any more"))

    def _piece(self, deadline: Deadline) -> ConsumerRecords | None:
        return self._collector.collect_piece(PIECE, deadline)

    def _with_ends(
        self, error: OffsetOutOfRangeException, wanted: Range
    ) -> Steps[OffsetOutOfRangeException]:
        """The same error, with where the log begins and ends if there is time to ask."""
        tp = wanted.partition
        now = self._caller.now()
        deadline = wanted.deadline.earlier(Deadline.after(now, wanted.patience))
        start = end = None
        where = ""
        try:
            first, last = edge_in(tp, Edge.BEGINNING), edge_in(tp, Edge.END)
            left = deadline.remaining(now)
            start = (yield from self._offsets("beginning_offsets", first, left))[tp]
            left = deadline.remaining(self._caller.now())
            end = (yield from self._offsets("end_offsets", last, left))[tp]
            where = f", which goes from {start} to {end}"
        except TimeoutException:
            where = ", and its ends could not be looked up in time"
        return OffsetOutOfRangeException(
            f"offset {error.offsets[tp]} of the range {wanted} is not in the log{where}: its "
            f"records are gone, or were never written",
            offsets=error.offsets,
            log_start=start,
            log_end=end,
        )
