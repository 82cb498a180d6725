"""Headers of record batches, read without decompression.

A fetch answers with a run of batches; the broker cuts the last one off where the
answer is full. The network thread has to know where that run ends, to fetch on from
there, and nothing else: `extent` returns it. Decoding reads the `headers`.

Two layouts share the first seventeen bytes, offset, length and, at the same place,
the magic number. Magic 2 is the batch with a header of its own. Magic 0 and 1 are
single messages; a compressed one wraps others and bears the offset of the last.

Thread: either; nothing here keeps state.
Invariants: every length is compared with the bytes there are before it is used;
`position + size` of a header lies within the data; offsets are not negative and
`last_offset` is not below `base_offset`.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple, NoReturn

from prokurist.errors import CorruptRecordException
from prokurist.types import TimestampType

LEAD: Final = struct.Struct(">qiib")
"""First fields of both layouts: offset, length, leader epoch or checksum, magic."""
REST: Final = struct.Struct(">IhiqqqhiI")
"""Further fields of a batch: checksum, attributes, last offset delta, base and latest
timestamp, producer id, its epoch, base sequence, number of records."""
BATCH_HEADER: Final = LEAD.size + REST.size
LENGTH_COUNTS_FROM: Final = 12
CRC_AT: Final = 17
CRC_COUNTS_FROM: Final = 21
LEGACY_CRC_COUNTS_FROM: Final = 16
LEGACY_TIMESTAMP: Final = struct.Struct(">bq")
LEGACY_SMALLEST: Final = (26, 34)
"""Bytes of an empty message, by magic."""

CODEC: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
STAMPED_BY: Final = {
    0: TimestampType.CREATE_TIME,
    LOG_APPEND_TIME: TimestampType.LOG_APPEND_TIME,
}
LAST_OFFSET: Final = (1 << 63) - 2
"""The highest offset that has a next one."""


class BatchHeader(NamedTuple):
    """The header of a batch: what is known before its records are decoded.

    Attributes:
        base_offset: Its first offset. A compressed message of the legacy formats
            does not tell it: there it is the last one.
        last_offset: Its last offset, whether or not compaction left the record.
        leader_epoch: The leader epoch it was appended in, where it is known.
        magic: 2 for a batch, 0 or 1 for a legacy message.
        codec: How it is compressed, as the number on the wire; 0 for not at all.
        timestamp_type: Who stamped its records.
        base_timestamp: Base of the records' timestamp deltas; −1 without one.
        max_timestamp: The latest timestamp in it; −1 where there is none.
        producer_id: The idempotent producer that wrote it, or −1.
        producer_epoch: That producer's epoch, or −1.
        base_sequence: That producer's number for the first record, or −1.
        transactional: True if it belongs to a transaction.
        control: True if it holds a marker in place of records.
        record_count: How many records it says it holds; 1 for a legacy message.
        checksum: Of the bytes behind it: CRC-32C, or CRC-32 for a legacy message.
        position: Where it begins in the data.
        size: How many bytes it takes there.
    """

    base_offset: int
    last_offset: int
    leader_epoch: int | None
    magic: int
    codec: int
    timestamp_type: TimestampType
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    record_count: int
    checksum: int
    position: int
    size: int

    @property
    def next_offset(self) -> int:
        """Offset to read from after this batch."""
        return self.last_offset + 1


class Extent(NamedTuple):
    """Extent of a run of batches.

    Attributes:
        batches: How many whole batches there are.
        next_offset: Where fetching goes on after them; None if there is none.
        leader_epoch: The leader epoch of the last of them, where it is known.
        size: How many bytes they take; what follows is cut off or damaged.
        damage: Why the next one cannot be read, if that is not for being cut off.
    """

    batches: int
    next_offset: int | None
    leader_epoch: int | None
    size: int
    damage: str | None


def extent(data: bytes | memoryview) -> Extent:
    """Find out where a run of batches ends; damage ends it and is not raised."""
    batches = size = 0
    next_offset = leader_epoch = damage = None
    try:
        for header in headers(data):
            batches += 1
            size = header.position + header.size
            next_offset = max(header.next_offset, next_offset or 0)
            leader_epoch = header.leader_epoch
    except CorruptRecordException as error:
        damage = str(error)
    return Extent(batches, next_offset, leader_epoch, size, damage)


def headers(data: bytes | memoryview, position: int = 0) -> Iterator[BatchHeader]:
    """Read the headers of the whole batches in a run, in order.

    Raises:
        CorruptRecordException: A length, a magic number or an offset is impossible.
    """
    while (header := header_at(data, position)) is not None:
        yield header
        position += header.size


def header_at(data: bytes | bytearray | memoryview, position: int) -> BatchHeader | None:
    """Read the header of the batch that begins at a position; None if it is cut off.

    Raises:
        CorruptRecordException: A length, a magic number or an offset is impossible.
    """
    if len(data) - position < LEAD.size:
        return None
    offset, length, epoch, magic = LEAD.unpack_from(data, position)
    size = length + LENGTH_COUNTS_FROM
    if not 0 <= magic <= 2:
        raise CorruptRecordException(
            f"the batch at byte {position} has magic {magic}: known are 0, 1 and 2"
        )
    least = BATCH_HEADER if magic == 2 else LEGACY_SMALLEST[magic]
    if size < least:
        raise CorruptRecordException(
            f"the batch at byte {position} says it has {size} bytes: "
            f"the smallest with magic {magic} has {least}"
        )
    if size > len(data) - position:
        return None
    if magic < 2:
        return _legacy_header(data, position, offset, size, epoch, magic)
    checksum, attributes, delta, first, latest, producer, producer_epoch, sequence, count = (
        REST.unpack_from(data, position + LEAD.size)
    )
    if offset < 0 or delta < 0 or offset + delta > LAST_OFFSET:
        _refuse_offsets(position, offset, delta)
    # In the order of the fields: by their names it takes twice as long.
    return BatchHeader(
        offset,
        offset + delta,
        epoch if epoch >= 0 else None,
        2,
        attributes & CODEC,
        STAMPED_BY[attributes & LOG_APPEND_TIME],
        first,
        latest,
        producer,
        producer_epoch,
        sequence,
        attributes & TRANSACTIONAL != 0,
        attributes & CONTROL != 0,
        count,
        checksum,
        position,
        size,
    )


def _legacy_header(
    data: bytes | bytearray | memoryview,
    position: int,
    offset: int,
    size: int,
    signed: int,
    magic: int,
) -> BatchHeader:
    if not 0 <= offset <= LAST_OFFSET:
        _refuse_offsets(position, offset, 0)
    attributes, timestamp = LEGACY_TIMESTAMP.unpack_from(data, position + LEAD.size)
    kind = TimestampType.NO_TIMESTAMP_TYPE
    if magic == 1:
        kind = STAMPED_BY[attributes & LOG_APPEND_TIME]
    return BatchHeader(
        base_offset=offset,
        last_offset=offset,
        leader_epoch=None,
        magic=magic,
        codec=attributes & CODEC,
        timestamp_type=kind,
        base_timestamp=timestamp if magic == 1 else -1,
        max_timestamp=timestamp if magic == 1 else -1,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        transactional=False,
        control=False,
        record_count=1,
        checksum=signed & 0xFFFFFFFF,
        position=position,
        size=size,
    )


def _refuse_offsets(position: int, offset: int, delta: int) -> NoReturn:
    raise CorruptRecordException(
        f"the batch at byte {position} has impossible offsets: "
        f"the first is {offset}, the last is {delta} behind it"
    )
