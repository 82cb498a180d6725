"""Record batches (format 2) as the model sees them: a header and opaque bytes.

The model reads the same as a broker: lengths, offsets, timestamps, the producer's numbers and
the checksum. It looks inside a batch only to find a record by its timestamp, and only in an
uncompressed one. `make_batch` writes plain ones, for the records a test puts into a partition
without a producer.

Thread: any; values are frozen.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from crc32c import crc32c

from prokurist.lazy_dataclasses import dataclass
from prokurist.records.varints import decode_varint, encode_varint

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta,
base and max timestamp, producer id, epoch and base sequence, record count."""

LENGTH_COUNTS_FROM: Final = 12
CRC_COUNTS_FROM: Final = 21
COMPRESSION: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
NO_PRODUCER: Final = -1


class InvalidBatch(Exception):
    """The bytes are not one batch in format 2."""


class CorruptBatch(Exception):
    """The checksum says that the bytes of a batch were changed."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record to put into a partition.

    Attributes:
        value: Its value; None is a tombstone.
        key: Its key.
        timestamp: In milliseconds since the epoch.
        headers: Its headers, in order.
    """

    value: bytes | None
    key: bytes | None = None
    timestamp: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class RecordBatch:
    """One batch, with the fields of its header."""

    data: bytes
    base_offset: int
    leader_epoch: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        """The offset of its last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def has_producer(self) -> bool:
        """True if an idempotent producer wrote the batch."""
        return self.producer_id > NO_PRODUCER

    @property
    def is_intact(self) -> bool:
        """True if the checksum matches the bytes."""
        _, _, _, _, crc, *_ = HEADER.unpack_from(self.data)
        return bool(crc32c(memoryview(self.data)[CRC_COUNTS_FROM:]) == crc)

    @property
    def is_transactional(self) -> bool:
        """True if the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """True if the batch holds a marker in place of records."""
        return bool(self.attributes & CONTROL)

    @property
    def last_sequence(self) -> int:
        """The sequence of its last record; the numbers go round after 2³¹ − 1."""
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    def __repr__(self) -> str:
        span = f"{self.base_offset} to {self.last_offset}"
        return f"RecordBatch({span}, epoch {self.leader_epoch}, {len(self.data)} bytes)"

    def appended_at(self, base_offset: int, leader_epoch: int) -> "RecordBatch":
        """The batch as a log keeps it; both numbers stand outside the checksum."""
        head = (
            struct.pack(">q", base_offset) + self.data[8:12] + struct.pack(">i", leader_epoch)
        )
        return parse(head + self.data[16:])

    def stamped(self, timestamp: int) -> "RecordBatch":
        """The batch with the time of its append, for topics with `LogAppendTime`."""
        head = list(HEADER.unpack_from(self.data))
        head[5], head[8] = self.attributes | LOG_APPEND_TIME, timestamp
        body = HEADER.pack(*head)[CRC_COUNTS_FROM:] + self.data[HEADER.size :]
        head[4] = crc32c(body)
        return parse(HEADER.pack(*head) + self.data[HEADER.size :])

    def records(self) -> Iterator[tuple[int, int]]:
        """Offset and timestamp of each record; coarse for a compressed batch.

        Of a compressed one the header tells the first record's timestamp and the
        latest: they are given for its first and its last offset. Where the broker stamped
        it, all its records have the time of its append.
        """
        if self.attributes & LOG_APPEND_TIME:
            for offset in range(self.base_offset, self.last_offset + 1):
                yield offset, self.max_timestamp
            return
        if self.attributes & COMPRESSION:
            yield self.base_offset, self.base_timestamp
            if self.last_offset_delta:
                yield self.last_offset, self.max_timestamp
            return
        position = HEADER.size
        while position < len(self.data):
            length, body = decode_varint(self.data, position)
            timestamp_delta, after = decode_varint(self.data, body + 1)
            offset_delta, _ = decode_varint(self.data, after)
            yield self.base_offset + offset_delta, self.base_timestamp + timestamp_delta
            position = body + length


def parse(data: bytes) -> RecordBatch:
    """One whole batch, its checksum compared.

    Raises:
        InvalidBatch: It is cut off, goes on, or is in another format.
        CorruptBatch: It was changed.
    """
    if len(data) < HEADER.size:
        raise InvalidBatch(f"{len(data)} bytes are less than a header")
    _, length, _, magic, *_ = HEADER.unpack_from(data)
    if length + LENGTH_COUNTS_FROM != len(data) or magic != 2:
        raise InvalidBatch(f"length {length} and format {magic} in {len(data)} bytes")
    batch = read_header(data)
    if not batch.is_intact:
        raise CorruptBatch("the checksum does not fit the bytes")
    return batch


def read_header(data: bytes) -> RecordBatch:
    """Read the header of a batch, without any check."""
    base, _, epoch, _, _, attributes, delta, first, most, pid, pepoch, seq, count = (
        HEADER.unpack_from(data)
    )
    return RecordBatch(
        data, base, epoch, attributes, delta, first, most, pid, pepoch, seq, count
    )


def make_batch(
    records: Sequence[Record],
    *,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = 0,
    attributes: int = 0,
) -> RecordBatch:
    """A plain batch of records, as a producer without compression would send it.

    Args:
        records: The records.
        producer_id: The producer, in a transaction.
        producer_epoch: The producer's epoch.
        attributes: Further flags of the header: `TRANSACTIONAL`, `CONTROL`.

    Raises:
        ValueError: There are no records.
    """
    if not records:
        raise ValueError("a batch has at least one record")
    first = records[0].timestamp
    most = max(record.timestamp for record in records)
    body = b"".join(record_bytes(record, delta, first) for delta, record in enumerate(records))
    last = len(records) - 1
    epoch = -1 if producer_id == NO_PRODUCER else producer_epoch
    numbers = (attributes, last, first, most, producer_id, epoch, -1, len(records))
    checked = struct.pack(">hiqqqhii", *numbers) + body
    length = len(checked) + CRC_COUNTS_FROM - LENGTH_COUNTS_FROM
    return parse(struct.pack(">qiibI", 0, length, -1, 2, crc32c(checked)) + checked)


def make_marker(
    producer_id: int,
    *,
    committed: bool,
    timestamp: int = 0,
    producer_epoch: int = 0,
    coordinator_epoch: int = 0,
) -> RecordBatch:
    """The marker that ends a producer's transaction, with the time of a broker's clock."""
    key = struct.pack(">hh", 0, int(committed))
    marker = Record(struct.pack(">hi", 0, coordinator_epoch), key, timestamp)
    return make_batch(
        [marker],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        attributes=TRANSACTIONAL | CONTROL,
    )


def record_bytes(record: Record, offset_delta: int, base_timestamp: int) -> bytes:
    """One record inside a batch."""
    parts = [b"\0", encode_varint(record.timestamp - base_timestamp)]
    parts += [encode_varint(offset_delta), *sized((record.key, record.value))]
    parts.append(encode_varint(len(record.headers)))
    for name, value in record.headers:
        parts += sized((name.encode(), value))
    inside = b"".join(parts)
    return encode_varint(len(inside)) + inside


def sized(values: Iterable[bytes | None]) -> list[bytes]:
    """Each value behind its length; null has the length −1."""
    return [
        encode_varint(-1) if value is None else encode_varint(len(value)) + value
        for value in values
    ]
