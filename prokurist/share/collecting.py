"""Takes records from what has come, for a poll to return.

Thread: the application's, inside a call.

An answer is whole batches, and ranges of them that are this member's: what is outside is
skipped. Offsets in a range without a record are acknowledged as gaps, with no word to the user.
A batch that is damaged is rejected, and a record that no deserializer takes is released; either
is raised once, by a poll, and costs its neighbours nothing.
"""

import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from prokurist.application.deserializing import Deserializers
from prokurist.errors import (
    CorruptRecordException,
    KafkaException,
    RecordDeserializationException,
    RecordTooLargeException,
)
from prokurist.events.lent.batch import LentBatch
from prokurist.events.lent.buffer import LentBuffer, LentRows
from prokurist.events.lent.lent import Lent
from prokurist.records.consumer_records import Run
from prokurist.records.headers import headers
from prokurist.records.reader import PartitionReader
from prokurist.records.run import RecordRun
from prokurist.types import Acknowledge

UNREADABLE = (CorruptRecordException, RecordTooLargeException)


class Piece(NamedTuple):
    """Consecutive records of one delivery, as they came."""

    batch: LentBatch
    run: RecordRun


class ShareCollector:
    """Collects records to return, and raises errors in their place.

    Args:
        lent: What is lent.
        buffer: What has come.
        deserializers: The user's.
        most: `max.poll.records`.
        exact: True for no more than that; else whole batches are returned.
        check_crcs: `check.crcs`.
        cap: `fetch.decoded.batch.max.bytes`.

    Attributes:
        returned: How many records polls have returned.
        expired: How many were dropped because no poll came before the end of their locks.
    """

    def __init__(
        self,
        lent: Lent,
        buffer: LentBuffer,
        deserializers: Deserializers,
        *,
        most: int,
        exact: bool,
        check_crcs: bool,
        cap: int,
    ) -> None:
        self._lent = lent
        self._buffer = buffer
        self._deserializers = deserializers
        self._most = most
        self._exact = exact
        self._check_crcs = check_crcs
        self._cap = cap
        self._pieces: deque[Piece] = deque()
        self._failures: deque[KafkaException] = deque()
        self._last: list[Piece] = []
        self.returned: int = 0
        self.expired: int = 0

    @property
    def is_empty(self) -> bool:
        """True if nothing is left that was decoded."""
        return not self._pieces and not self._failures

    def collect(self, most: int | None) -> list[tuple[LentBatch, Run]]:
        """Collect records; none where there are none.

        Args:
            most: How many at most; None for `max.poll.records`.

        Raises:
            KafkaException: A record could not be read, and there are no others to return.
        """
        left = self._most if most is None else min(most, self._most)
        runs: list[tuple[LentBatch, Run]] = []
        self._last = []
        while left > 0:
            if not self._pieces:
                rows = self._buffer.take()
                if rows is None:
                    break
                self._decode(rows)
                continue
            piece = self._cut(self._pieces.popleft(), left)
            if expired := self._lent.expire(piece.batch, offsets_of(piece.run)):
                self.expired += expired
                continue
            self._last.append(piece)
            self._lent.returned(piece.batch, offsets_of(piece.run))
            for run in self._deserialize(piece):
                runs.append((piece.batch, run))
                left -= len(run)
                self.returned += len(run)
        if not runs and self._failures:
            raise self._failures.popleft()
        return runs

    def begin(self) -> None:
        """A poll begins: what the one before has collected was returned."""
        self._last = []

    def take_back(self) -> None:
        """Take back what this poll has collected: it does not return."""
        last, self._last = self._last, []
        for piece in reversed(last):
            self._lent.taken_back(piece.batch, offsets_of(piece.run))
            self._pieces.appendleft(piece)

    @property
    def last(self) -> Sequence[Piece]:
        """The pieces that the last poll has returned."""
        return tuple(self._last)

    def give_back(self, pieces: Sequence[Piece], batch: LentBatch, offset: int) -> None:
        """Have the next poll return what stands behind a record in these pieces.

        Args:
            pieces: Those of one poll.
            batch: The batch of the record.
            offset: Its offset.
        """
        behind: list[Piece] = []
        for piece in reversed(pieces):
            run = piece.run
            if piece.batch is batch and offset in offsets_of(run):
                start = run.columns.index_of(offset + 1)
                behind.append(Piece(batch, type(run)(run.columns, start, run.stop)))
                break
            behind.append(piece)
        for piece in behind:
            if len(piece.run) and self._lent.give_back(piece.batch, offsets_of(piece.run)):
                self._pieces.appendleft(piece)

    def clear(self) -> None:
        """Drop everything: it is not this member's any more."""
        self._pieces.clear()
        self._failures.clear()
        self._last = []

    # --- within ------------------------------------------------------------------------

    def _cut(self, piece: Piece, most: int) -> Piece:
        """The first records of a piece; the rest comes next."""
        run = piece.run
        if not self._exact or len(run) <= most:
            return piece
        middle = run.start + most
        rest = type(run)(run.columns, middle, run.stop)
        self._pieces.appendleft(Piece(piece.batch, rest))
        return Piece(piece.batch, type(run)(run.columns, run.start, middle))

    def _deserialize(self, piece: Piece) -> list[Run]:
        if not self._deserializers.are_there:
            return [piece.run]
        runs: list[Run] = []
        rest = piece.run
        while len(rest):
            made, error = self._deserializers.made(rest)
            if len(made):
                runs.append(made)
            if error is None:
                break
            self._failed(piece.batch, rest[len(made)].offset, error)
            rest = type(rest)(rest.columns, rest.start + len(made) + 1, rest.stop)
        return runs

    def _failed(self, batch: LentBatch, offset: int, error: Exception) -> None:
        """Release a record that cannot be deserialized; the user may reject it instead."""
        index = offset - batch.first
        if self._lent.mark_of(batch, index) is not None:
            return  # It was raised before, and its poll taken back.
        self._lent.mark(batch, index, Acknowledge.RELEASE)
        if isinstance(error, RecordDeserializationException):
            failure = RecordDeserializationException(
                f"{str(error).rpartition(';')[0]}; it is released and comes again: to end "
                f"that, call acknowledge({batch.partition.topic!r}, "
                f"{batch.partition.partition}, {offset}, Acknowledge.REJECT)",
                partition=batch.partition,
                offset=offset,
                key=error.key,
                value=error.value,
            )
            failure.__cause__ = error.__cause__
            self._failures.append(failure)

    def _decode(self, rows: LentRows) -> None:
        """Decode the records of a partition, as far as they are this member's."""
        present: dict[LentBatch, set[int]] = {each: set() for each in rows.batches}
        first, stop = rows.batches[0].first, rows.batches[-1].last + 1
        data = rows.records
        while first < stop:
            reader = self._reader(rows, data, first, stop)
            try:
                while runs := reader.take(sys.maxsize):
                    for run in runs:
                        self._add(rows, run, present)
                break
            except UNREADABLE as error:
                first, data = self._damaged(rows, data, reader.position, error)
        for batch, offsets in present.items():
            self._lent.decoded(batch, offsets)

    def _reader(
        self, rows: LentRows, data: memoryview, first: int, stop: int
    ) -> PartitionReader:
        return PartitionReader(
            rows.partition.topic,
            rows.partition.partition,
            data,
            position=first,
            aborted=None,
            check_crcs=self._check_crcs,
            cap=self._cap,
            stop=stop,
        )

    def _add(self, rows: LentRows, run: RecordRun, present: dict[LentBatch, set[int]]) -> None:
        columns = run.columns
        for batch in rows.batches:
            start = max(run.start, columns.index_of(batch.first))
            stop = min(run.stop, columns.index_of(batch.last + 1))
            if start < stop:
                piece = Piece(batch, type(run)(columns, start, stop))
                self._pieces.append(piece)
                present[batch].update(offsets_of(piece.run))

    def _damaged(
        self, rows: LentRows, data: memoryview, position: int, error: KafkaException
    ) -> tuple[int, memoryview]:
        """Reject a batch that cannot be read; return the offset behind it, and its data."""
        after, behind = rows.batches[-1].last + 1, data[:0]
        # Where the damage is in the lengths, nothing behind it can be found.
        with suppress(CorruptRecordException, StopIteration):
            header = next(each for each in headers(data) if each.last_offset >= position)
            after, behind = header.next_offset, data[header.position + header.size :]
        for batch in rows.batches:
            start, stop = max(batch.first, position), min(batch.last + 1, after)
            if start < stop:
                self._lent.reject(batch, range(start, stop))
        text = str(error).rpartition(". ")[0] or str(error)
        failure = type(error)(f"{text}. The records up to offset {after - 1} are rejected")
        failure.__cause__ = error
        self._failures.append(failure)
        return after, behind

    def __repr__(self) -> str:
        return f"ShareCollector({len(self._pieces)} pieces, {self._buffer})"


def offsets_of(run: RecordRun) -> list[int]:
    """The offsets of a run."""
    return list(run.columns.offsets[run.start : run.stop])
