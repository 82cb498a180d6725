"""A broker's validation of produced batches, in the order of its checks.

First the frames of a whole request (`first_frame`), then those of a partition
(`only_batch`), and in the log the batch (`checked`) and its records (`check_records`).
Kafka spreads this over ProduceRequest, UnifiedLog and LogValidator.

Thread: any; nothing here changes.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from prokurist.errors import CorruptRecordException, RecordTooLargeException
from prokurist.records.compression import Compression, decompress
from prokurist.records.varints import decode_varint
from prokurist.testing.cluster.batches import (
    COMPRESSION,
    HEADER,
    LENGTH_COUNTS_FROM,
    RecordBatch,
    read_header,
)
from prokurist.testing.cluster.topic_config import TopicConfig

UP_TO_MAGIC: Final = 17
"""Bytes of a batch up to and including the magic byte, with its size and its format."""
LEAST_SIZE: Final = 14
FORMAT: Final = 2
ZSTD_FROM: Final = 7
"""The version of Produce from which on batches may be compressed with Zstandard."""
CODECS: Final = frozenset(Compression)
NO_TIMESTAMP: Final = -1
DECOMPRESSED_MOST: Final = 1 << 30


class BatchRefused(Exception):
    """A broker refuses a batch.

    Attributes:
        code: The error code.
        in_log: True if the log was asked, so the answer has its start offset.
        record_errors: The records it is about, by their place, each with a text (KIP-467).
        message: The text beside the code, for clients that show it.
    """

    def __init__(
        self,
        code: int,
        *,
        in_log: bool = False,
        record_errors: Mapping[int, str] | None = None,
        message: str | None = None,
    ) -> None:
        super().__init__(f"error {int(code)}: {message or 'without a text'}")
        self.code = code
        self.in_log = in_log
        self.record_errors: Mapping[int, str] = record_errors or {}
        self.message = message


class RecordFacts(NamedTuple):
    """Properties of a record that a broker validates.

    Attributes:
        timestamp: Its timestamp, in milliseconds since the epoch.
        has_key: True if it has a key.
    """

    timestamp: int
    has_key: bool


def next_frame(data: bytes, at: int) -> bytes | None:
    """The batch that begins at a place; None where there is no whole one.

    Raises:
        BatchRefused: The bytes are none of any format.
    """
    if len(data) - at < LENGTH_COUNTS_FROM:
        return None
    (size,) = struct.unpack_from(">i", data, at + 8)
    if size < LEAST_SIZE:
        text = f"Record size {size} is less than the minimum record overhead ({LEAST_SIZE})"
        raise BatchRefused(ErrorCode.corrupt_message, message=text)
    if len(data) - at < UP_TO_MAGIC:
        return None
    (magic,) = struct.unpack_from(">b", data, at + UP_TO_MAGIC - 1)
    if not 0 <= magic <= FORMAT:
        text = f"Invalid magic found in record: {magic}"
        raise BatchRefused(ErrorCode.corrupt_message, message=text)
    end = at + LENGTH_COUNTS_FROM + size
    return data[at:end] if end <= len(data) else None


def first_frame(data: bytes, version: int) -> RecordBatch | None:
    """The first batch of a partition; None for none, or one of an older format.

    Args:
        data: The partition's bytes in the request.
        version: The version of Produce that it came in.

    Raises:
        BatchRefused: It is none; a broker refuses the whole request then.
    """
    frame = next_frame(data, 0)
    if frame is None or frame[UP_TO_MAGIC - 1] != FORMAT:
        return None
    if len(frame) < HEADER.size:
        raise BatchRefused(ErrorCode.unknown_server_error)
    batch = read_header(frame)
    if version < ZSTD_FROM and batch.attributes & COMPRESSION not in CODECS:
        raise BatchRefused(ErrorCode.unknown_server_error)
    return batch


def only_batch(data: bytes, version: int) -> RecordBatch:
    """The one batch that a partition of a request has; a part of another one is ignored.

    Raises:
        BatchRefused: There is none, there are two, or it is in another format.
    """
    batch = first_frame(data, version)
    if batch is None:
        raise BatchRefused(ErrorCode.invalid_record)
    if version < ZSTD_FROM and batch.attributes & COMPRESSION == Compression.ZSTD:
        raise BatchRefused(ErrorCode.unsupported_compression_type)
    try:
        another = next_frame(data, len(batch.data))
    except BatchRefused as refused:
        # The first pass was past this one already: it is told of the partition alone.
        raise BatchRefused(refused.code) from refused
    if another is not None:
        raise BatchRefused(ErrorCode.invalid_record)
    return batch


def checked(batch: RecordBatch, config: TopicConfig, now: int) -> RecordBatch:
    """The batch as it is to be appended.

    Args:
        batch: The batch as it came.
        config: The topic's configuration.
        now: The broker's clock, in milliseconds since the epoch.

    Raises:
        BatchRefused: It is not to be appended.
    """
    if batch.base_offset != 0:
        raise BatchRefused(ErrorCode.invalid_record, in_log=True)
    if len(batch.data) > config.max_message_bytes:
        raise BatchRefused(ErrorCode.message_too_large)
    if not batch.is_intact:
        raise BatchRefused(ErrorCode.corrupt_message)
    if (
        not 0 < batch.record_count == batch.last_offset_delta + 1
        or batch.is_control
        or (batch.has_producer and batch.base_sequence < 0)
    ):
        raise BatchRefused(ErrorCode.invalid_record, in_log=True)
    check_records(batch, config, now)
    return batch.stamped(now) if config.stamps else batch


def check_records(batch: RecordBatch, config: TopicConfig, now: int) -> None:
    """Look at each record.

    Raises:
        BatchRefused: A record is invalid, or the records contradict the header.
    """
    earliest = now - config.message_timestamp_before_max_ms
    latest = now + config.message_timestamp_after_max_ms
    errors: dict[int, str] = {}
    code = ErrorCode.invalid_record
    for place, record in enumerate(records_of(batch)):
        stamp = record.timestamp
        if config.compacted and not record.has_key:
            errors[place] = "Compacted topic cannot accept message without key"
        elif config.stamps or stamp == NO_TIMESTAMP or earliest <= stamp <= latest:
            continue
        else:
            code = ErrorCode.invalid_timestamp
            errors[place] = f"Timestamp {stamp} is not within [{earliest}, {latest}]"
    if errors:
        about = "an invalid timestamp" if code == ErrorCode.invalid_timestamp else "errors"
        text = f"{len(errors)} records have been rejected due to {about}"
        raise BatchRefused(code, in_log=True, record_errors=errors, message=text)


def records_of(batch: RecordBatch) -> list[RecordFacts]:
    """Decode the records of a batch, as far as a broker validates them.

    Raises:
        BatchRefused: They cannot be read, or are more or fewer than the header says.
    """
    body: bytes = batch.data[HEADER.size :]
    codec = batch.attributes & COMPRESSION
    if codec:
        try:
            body = bytes(decompress(codec, body, DECOMPRESSED_MOST))
        except (CorruptRecordException, RecordTooLargeException) as error:
            raise BatchRefused(ErrorCode.unknown_server_error, in_log=True) from error
    try:
        found = list(walk(body, batch.base_timestamp))
    except (CorruptRecordException, IndexError) as error:
        raise BatchRefused(ErrorCode.invalid_record, in_log=True) from error
    if len(found) != batch.record_count:
        raise BatchRefused(ErrorCode.invalid_record, in_log=True)
    return found


def walk(body: bytes, base_timestamp: int) -> Iterator[RecordFacts]:
    """Read one record after the other.

    Raises:
        CorruptRecordException: A number is none.
        IndexError: A record ends beyond the bytes.
    """
    at = 0
    while at < len(body):
        length, inside = decode_varint(body, at)
        stamp, after = decode_varint(body, inside + 1)
        _, after = decode_varint(body, after)
        key_length, _ = decode_varint(body, after)
        yield RecordFacts(base_timestamp + stamp, key_length >= 0)
        if length <= 0 or inside + length > len(body):
            raise IndexError(f"a record of {length} bytes at {inside} of {len(body)}")
        at = inside + length
