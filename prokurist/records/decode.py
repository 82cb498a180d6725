"""From the bytes of a batch to its columns, in pure Python: the specification.

Each number is compared with the room there is before it is used, and the whole
batch is read before any of it is handed out: what a record says later cannot fail.
The native twin stops at the first record that is not right and has `read_row` say
what is wrong, so that both say the same.

Thread: either; nothing here keeps state.
Invariants: see `prokurist.records.columns`; a batch of n bytes takes memory in
proportion to n, regardless of what its fields claim.
"""

from collections.abc import Iterator
from typing import Final, NoReturn

from prokurist.errors import CorruptRecordException
from prokurist.records.columns import MOST_HEADERS, Columns, Row
from prokurist.records.headers import BatchHeader
from prokurist.records.varints import INT64_MAX, INT64_MIN, decode_varint
from prokurist.types import TimestampType

SMALLEST_RECORD: Final = 7
"""Length, attributes, two deltas, two lengths and a number of headers: a byte each."""


def decode_batch(
    topic: str,
    partition: int,
    header: BatchHeader,
    data: bytes | bytearray | memoryview,
    start: int,
    stop: int,
) -> Columns:
    """Read the records of a batch of magic 2.

    Args:
        topic: Where they come from.
        partition: Where they come from.
        header: The batch's header.
        data: The bytes that hold the records, decompressed.
        start: Where in them the first record begins.
        stop: Where the last one ends.

    Raises:
        CorruptRecordException: They are not what the header says.
    """
    check_count(header.record_count, stop - start)
    rows = read_rows(header, bytes(data[start:stop]), start)
    return Columns(topic, partition, header.leader_epoch, header.timestamp_type, data, rows)


def read_rows(header: BatchHeader, body: bytes, shift: int) -> Iterator[Row]:
    """Read all records of a batch, to its end.

    Args:
        header: Its header.
        body: The bytes of its records.
        shift: Where these lie in the data that spans count from.

    Raises:
        CorruptRecordException: They are not what the header says.
    """
    at, previous = 0, header.base_offset - 1
    for index in range(header.record_count):
        row, at = read_row(header, body, index, at, previous, shift)
        previous = row[0]
        yield row
    check_end(at, len(body))


def check_count(count: int, room: int) -> None:
    """Check that so many records can be there, before anything is made for them.

    Raises:
        CorruptRecordException: They cannot.
    """
    if count * SMALLEST_RECORD > room:
        raise CorruptRecordException(
            f"it says it holds {count} records, and has {room} bytes for them"
        )


def check_end(at: int, room: int) -> None:
    """Check that nothing follows the last record.

    Raises:
        CorruptRecordException: Something does.
    """
    if at != room:
        raise CorruptRecordException(f"{room - at} bytes follow its last record")


def read_row(
    header: BatchHeader, body: bytes, index: int, at: int, previous: int, shift: int
) -> tuple[Row, int]:
    """Read one record.

    Args:
        header: Its batch's header.
        body: The bytes of all records of the batch.
        index: The record's number, for the text of an error.
        at: Where it begins.
        previous: The offset of the record before it.
        shift: Where `body` lies in the data that spans count from.

    Returns:
        Its row, and where the next record begins.

    Raises:
        CorruptRecordException: It is not right.
    """
    try:
        return _read(header, body, at, previous, shift)
    except IndexError:
        raise CorruptRecordException(
            f"record {index} of the batch: the data ends within it"
        ) from None
    except CorruptRecordException as error:
        raise CorruptRecordException(f"record {index} of the batch: {error}") from None


def _read(
    header: BatchHeader, body: bytes, at: int, previous: int, shift: int
) -> tuple[Row, int]:
    # Most numbers take one byte, and calling for those would take half the time there is.
    size, at = decode_varint(body, at)
    end = at + size
    if not 1 <= size <= len(body) - at:
        _wrong(f"it says it has {size} bytes, and {len(body) - at} are left")
    at += 1
    if (stamp := body[at]) < 0x80:
        stamp, at = stamp >> 1 ^ -(stamp & 1), at + 1
    else:
        stamp, at = decode_varint(body, at)
    if (offset := body[at]) < 0x80:
        offset, at = offset >> 1 ^ -(offset & 1), at + 1
    else:
        offset, at = decode_varint(body, at)
    if (keyed := body[at]) < 0x80:
        keyed, key = keyed >> 1 ^ -(keyed & 1), at + 1
    else:
        keyed, key = decode_varint(body, at)
    if keyed > end - key:
        _wrong(f"its key says it has {keyed} bytes, and {end - key} are left")
    at = key + keyed if keyed > 0 else key
    if (valued := body[at]) < 0x80:
        valued, value = valued >> 1 ^ -(valued & 1), at + 1
    else:
        valued, value = decode_varint(body, at)
    if valued > end - value:
        _wrong(f"its value says it has {valued} bytes, and {end - value} are left")
    headers = value + valued if valued > 0 else value
    if end - headers != 1 or body[headers]:
        at = _past_headers(body, headers, end)
        if at != end:
            _wrong(f"its parts end at byte {at}, and itself at byte {end}")
    offset += header.base_offset
    if not previous < offset <= header.last_offset:
        _wrong(
            f"its offset {offset} does not lie behind {previous} "
            f"and within the batch's last, {header.last_offset}"
        )
    stamp += header.base_timestamp
    if not INT64_MIN <= stamp <= INT64_MAX:
        _wrong(f"its timestamp {stamp} needs more than 64 bits")
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        stamp = header.max_timestamp
    keyed, valued = max(keyed, -1), max(valued, -1)
    places = (key + shift, keyed, value + shift, valued, headers + shift, end - headers)
    return (offset, stamp, *places), end


def _past_headers(body: bytes, at: int, end: int) -> int:
    count, at = decode_varint(body, at)
    if not 0 <= 2 * count <= end - at:
        _wrong(f"it says it has {count} headers, and {end - at} bytes for them")
    if count > MOST_HEADERS:
        _wrong(f"it has {count} headers, and {MOST_HEADERS} is the most that one may have")
    for _ in range(count):
        length, at = decode_varint(body, at)
        if length < 0:
            _wrong("a header has no name")
        if length > end - at:
            _wrong(f"its header's name says it has {length} bytes, and {end - at} are left")
        length, at = decode_varint(body, at + length)
        if length > end - at:
            _wrong(f"its header says it has {length} bytes, and {end - at} are left")
        at += max(length, 0)
    return at


def _wrong(why: str) -> NoReturn:
    raise CorruptRecordException(why)
