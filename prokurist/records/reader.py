"""One fetched run of batches, read record by record from a position.

Thread: the application's; one reader belongs to one fetched piece of one partition.
A batch is opened when its first record is wanted, whole: checksum, decompression
and decoding are over before any of it is handed out. Skipped are records below the
position, control batches and, under read_committed, aborted transactions. However many
are skipped, `take` ends when its time is over: so late by one batch at most.

Invariants: `position` only grows, and only past what was handed out or skipped. An
error moves nothing: the next call meets it again. At most one batch is open.
"""

import struct
import sys
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final

from prokurist.errors import CorruptRecordException, RecordTooLargeException
from prokurist.records.checksum import crc32c
from prokurist.records.columns import ROW_BYTES, Columns, most_rows, refuse_rows
from prokurist.records.compression import Compression, decompress
from prokurist.records.decode import check_count
from prokurist.records.headers import (
    BATCH_HEADER,
    CRC_COUNTS_FROM,
    LEGACY_CRC_COUNTS_FROM,
    BatchHeader,
)
from prokurist.records.implementation import CODEC, Codec
from prokurist.records.legacy import decode_message
from prokurist.records.run import RecordRun

MARKER: Final = struct.Struct(">hh")
"""The key of a control record: version and kind."""
ABORT: Final = 0
FIRST_OFFSET: Final = itemgetter(1)
"""Of an aborted transaction; there may be a million of them in an answer."""
UNREADABLE: Final = (CorruptRecordException, RecordTooLargeException)
"""Errors of batches that cannot be read."""


class PartitionReader:
    """Reads the fetched batches of one partition, and keeps how far it has read.

    Args:
        topic: The topic.
        partition: The partition.
        records: A run of batches, the last one possibly cut off.
        position: The first offset that is wanted.
        aborted: The aborted transactions in it, each as its producer's id and its first
            offset, for read_committed; None to read all records there are.
        check_crcs: True if checksums are verified.
        cap: How many bytes one batch may take, decompressed and decoded:
            `fetch.decoded.batch.max.bytes`.
        stop: The offset before which reading ends, regardless of what follows; None for the
        end.
        codec: The twin that decodes.
    """

    def __init__(
        self,
        topic: str,
        partition: int,
        records: bytes | memoryview,
        *,
        position: int,
        aborted: Sequence[tuple[int, int]] | None,
        check_crcs: bool,
        cap: int,
        stop: int | None = None,
        codec: Codec = CODEC,
    ) -> None:
        self._topic: Final = topic
        self._partition: Final = partition
        self._data = memoryview(records)
        self._position = position
        self._leader_epoch: int | None = None
        self._committed_only: Final = aborted is not None
        self._aborted = deque(sorted(aborted or (), key=FIRST_OFFSET))
        self._aborting: Final[set[int]] = set()
        self._check_crcs: Final = check_crcs
        self._cap: Final = cap
        self._stop: Final = stop
        self._codec: Final = codec
        self._at = 0
        self._ahead: BatchHeader | None = None
        self._open: Columns | None = None
        self._row = self._last_row = self._open_size = 0
        self._after_open = 0
        self._looked_at = 0

    def __repr__(self) -> str:
        state = "exhausted" if self.exhausted else f"{self.size} bytes held"
        return f"PartitionReader({self._topic}-{self._partition} @ {self._position}, {state})"

    @property
    def position(self) -> int:
        """The offset of the next record to return."""
        return self._position

    @property
    def leader_epoch(self) -> int | None:
        """The leader epoch of the batch that was read last, where it is known."""
        return self._leader_epoch

    @property
    def exhausted(self) -> bool:
        """True if nothing is left: no record, no batch to skip, and no damage."""
        if self._open is not None:
            return False
        if self._stop is not None and self._position >= self._stop:
            return True
        try:
            return self._look_ahead() is None
        except UNREADABLE:
            return False

    @property
    def size(self) -> int:
        """Bytes kept alive: as fetched, decompressed and decoded."""
        held = len(self._data)
        if self._open is not None:
            held += self._open.size
            if self._open.data is not self._data:
                # With the room that a buffer has and does not use.
                held += sys.getsizeof(self._open.data)
        return held

    def take(
        self,
        most: int,
        enough: int = sys.maxsize,
        over: Callable[[], bool] | None = None,
    ) -> list[RecordRun]:
        """Return the next records, at most so many of them.

        Args:
            most: How many.
            enough: After so many bytes of batches, as they are decompressed, no further
                one is opened.
            over: Whether the time is over: asked before each batch but the first.

        Raises:
            CorruptRecordException: What comes next is damaged. Records before it are
                returned first, and the position stays where it is.
            RecordTooLargeException: What comes next takes more memory than it may;
                likewise.
        """
        runs: list[RecordRun] = []
        self._looked_at = 0
        while most > 0 and enough > 0:
            try:
                columns = self._opened(over)
            except UNREADABLE:
                if runs:
                    break
                raise
            if columns is None:
                break
            stop = min(self._row + most, self._last_row)
            enough -= self._open_size
            runs.append(self._codec.RecordRun(columns, self._row, stop))
            most -= stop - self._row
            self._row = stop
            if stop < self._last_row:
                self._position = columns.offsets[stop - 1] + 1
            else:
                self._leave(self._after_open)
        return runs

    def _opened(self, over: Callable[[], bool] | None) -> Columns | None:
        """Open the batch that the next record is in; None at the end, of the time too."""
        while self._open is None:
            if self._stop is not None and self._position >= self._stop:
                return None
            if self._looked_at and over is not None and over():
                return None
            self._looked_at += 1
            try:
                header = self._look_ahead()
            except CorruptRecordException as error:
                raise self._damage(None, error) from error
            if header is None:
                return None
            try:
                columns = self._columns(header)
            except CorruptRecordException as error:
                raise self._damage(header, error) from error
            except RecordTooLargeException as error:
                raise self._excess(header, error) from error
            self._at += header.size
            self._ahead = None
            self._leader_epoch = header.leader_epoch
            after, row, last = header.next_offset, 0, 0
            if columns is not None:
                row, last = columns.index_of(self._position), len(columns)
                if self._stop is not None and after > self._stop:
                    after, last = self._stop, columns.index_of(self._stop)
            if columns is None or row >= last:
                self._leave(after)
            else:
                self._open, self._row, self._last_row = columns, row, last
                self._after_open = after
                held = columns.data is self._data
                self._open_size = header.size if held else len(columns.data)
        return self._open

    def _look_ahead(self) -> BatchHeader | None:
        """Read the header of the next batch; None at the end."""
        if self._ahead is None:
            self._ahead = self._codec.header_at(self._data, self._at)
        return self._ahead

    def _leave(self, next_offset: int) -> None:
        self._open = None
        # Not back: batches out of order must not cause records to be read twice.
        self._position = max(self._position, next_offset)
        if self.exhausted:
            self._data, self._at = memoryview(b""), 0

    def _columns(self, header: BatchHeader) -> Columns | None:
        """Decode the batch's records; None if there are none to return."""
        if self._check_crcs:
            self._compare_checksum(header)
        if header.magic == 2 and self._skips(header):
            return None
        if header.last_offset < self._position:
            return None
        return self._decoded(header)

    def _decoded(self, header: BatchHeader) -> Columns:
        place = (self._topic, self._partition, header)
        if header.magic < 2:
            return decode_message(*place, self._data, self._cap, self._codec)
        start, stop = header.position + BATCH_HEADER, header.position + header.size
        if header.codec == Compression.NONE:
            self._check_rows(header, stop - start, 0)
            return self._codec.decode_batch(*place, self._data, start, stop)
        plain = decompress(header.codec, self._data[start:stop], self._cap)
        self._check_rows(header, len(plain), len(plain))
        return self._codec.decode_batch(*place, plain, 0, len(plain))

    def _check_rows(self, header: BatchHeader, room: int, added: int) -> None:
        """Check that so many records can be there, and that their columns are not too large.

        Raises:
            CorruptRecordException: They cannot be there.
            RecordTooLargeException: Their columns are too large.
        """
        if added + header.record_count * ROW_BYTES <= self._cap:
            return  # the decoding compares their number with the room
        check_count(header.record_count, room)
        refuse_rows(most_rows(added, self._cap), added, self._cap)

    def _compare_checksum(self, header: BatchHeader) -> None:
        stop = header.position + header.size
        if header.magic == 2:
            found = crc32c(self._data[header.position + CRC_COUNTS_FROM : stop])
        else:
            found = zlib.crc32(self._data[header.position + LEGACY_CRC_COUNTS_FROM : stop])
        if found != header.checksum:
            raise CorruptRecordException(
                f"its checksum is {header.checksum:#010x}, and that of its bytes {found:#010x}"
            )

    def _skips(self, header: BatchHeader) -> bool:
        """Return True if the whole batch is skipped: control, or of an aborted transaction."""
        if self._committed_only and header.producer_id >= 0:
            while self._aborted and self._aborted[0][1] <= header.last_offset:
                self._aborting.add(self._aborted.popleft()[0])
            if header.control:
                if self._aborts(header):
                    self._aborting.discard(header.producer_id)
            elif header.transactional and header.producer_id in self._aborting:
                return True
        return header.control

    def _aborts(self, header: BatchHeader) -> bool:
        """Return True if a control batch is the marker of an abort."""
        columns = self._decoded(header)
        if not len(columns):
            return False  # compaction took the marker, and the records before it
        key = self._codec.RecordRun(columns, 0, 1)[0].key or b""
        if len(key) < MARKER.size:
            raise CorruptRecordException(f"a control record's key has {len(key)} bytes")
        _, kind = MARKER.unpack_from(key)
        return bool(kind == ABORT)

    def _excess(
        self, header: BatchHeader, error: RecordTooLargeException
    ) -> RecordTooLargeException:
        return RecordTooLargeException(
            f"{self._topic}-{self._partition} cannot be read at offset {self._position}: the "
            f"batch of offsets {header.base_offset} to {header.last_offset}, {header.size} "
            f"bytes as fetched, is too large: {error}. Raise fetch.decoded.batch.max.bytes "
            f"({self._cap}), or seek to {self._beyond(header)} to go on past it"
        )

    def _beyond(self, header: BatchHeader) -> int:
        """Find the offset to seek to past a batch."""
        return max(header.next_offset, self._position + 1)

    def _damage(
        self, header: BatchHeader | None, error: CorruptRecordException
    ) -> CorruptRecordException:
        which, beyond = "what follows", "a later offset"
        if header is not None:
            which = f"the batch of offsets {header.base_offset} to {header.last_offset}"
            beyond = f"{self._beyond(header)}"
        return CorruptRecordException(
            f"{self._topic}-{self._partition} cannot be read at offset {self._position}: "
            f"{which} is damaged: {error}. To go on past it, seek to {beyond}"
        )
