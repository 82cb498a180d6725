"""From records to the bytes of a batch.

Thread: either; nothing here keeps state. `encode_records` is the specification of
what the native twin does; the header and the compression around it stand here once.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from prokurist.records.checksum import crc32c
from prokurist.records.columns import pack_headers, sized
from prokurist.records.compression import Compression, compress
from prokurist.records.headers import (
    BATCH_HEADER,
    CONTROL,
    CRC_COUNTS_FROM,
    LEAD,
    LENGTH_COUNTS_FROM,
    LOG_APPEND_TIME,
    REST,
    TRANSACTIONAL,
)
from prokurist.records.varints import encode_varint
from prokurist.types import TimestampType

NewRecord = tuple[int, bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]
"""Timestamp, key, value and headers of a record that has no offset yet."""
MAGIC: Final = 2


def encode_records(records: Iterable[NewRecord], base_timestamp: int) -> bytes:
    """Write records one behind the other, with offsets counted from 0.

    Args:
        records: In order.
        base_timestamp: Base of the records' timestamp deltas.

    Raises:
        OverflowError: A timestamp lies too far from the base.
    """
    parts = []
    for delta, (timestamp, key, value, headers) in enumerate(records):
        inside = b"".join(
            (
                b"\0",
                encode_varint(timestamp - base_timestamp),
                encode_varint(delta),
                *sized(key),
                *sized(value),
                pack_headers(headers),
            )
        )
        parts += [encode_varint(len(inside)), inside]
    return b"".join(parts)


def encode_batch(
    records: Sequence[NewRecord],
    *,
    codec: Compression = Compression.NONE,
    base_offset: int = 0,
    leader_epoch: int = -1,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    write: Callable[[Iterable[NewRecord], int], bytes] = encode_records,
) -> bytes:
    """Write one batch of magic 2.

    Args:
        records: At least one.
        codec: How to compress them.
        base_offset: The first one's offset; brokers put in their own.
        leader_epoch: The leader epoch; brokers put in their own.
        timestamp_type: Who stamped them.
        producer_id: The idempotent producer's id, or −1.
        producer_epoch: Its epoch, or −1.
        base_sequence: Its number for the first record, or −1.
        transactional: True if the batch belongs to a transaction.
        control: True if it holds a marker.
        write: The twin's `encode_records`.

    Raises:
        OverflowError: The timestamps lie too far from each other.
        ValueError: There are no records.
    """
    if not records:
        raise ValueError("a batch has at least one record")
    base_timestamp = records[0][0]
    attributes = codec | (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0)
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= LOG_APPEND_TIME
    body = compress(codec, write(records, base_timestamp))
    head = batch_header(
        body,
        attributes=attributes,
        count=len(records),
        base_timestamp=base_timestamp,
        max_timestamp=max(record[0] for record in records),
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
    return head + body


def batch_header(
    body: bytes,
    *,
    attributes: int,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """Write the header of a batch of magic 2, checksum included.

    Args:
        body: The records behind it, compressed as the attributes say.
        attributes: Codec and flags.
        count: How many records there are.
        base_timestamp: Base of the records' timestamp deltas.
        max_timestamp: The latest of them.
        base_offset: See `encode_batch`.
        leader_epoch: See `encode_batch`.
        producer_id: See `encode_batch`.
        producer_epoch: See `encode_batch`.
        base_sequence: See `encode_batch`.
    """
    head = bytearray(BATCH_HEADER)
    length = len(body) + BATCH_HEADER - LENGTH_COUNTS_FROM
    LEAD.pack_into(head, 0, base_offset, length, leader_epoch, MAGIC)
    numbers = (
        attributes,
        count - 1,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    REST.pack_into(head, LEAD.size, 0, *numbers)
    checksum = crc32c(body, crc32c(memoryview(head)[CRC_COUNTS_FROM:]))
    REST.pack_into(head, LEAD.size, checksum, *numbers)
    return bytes(head)
