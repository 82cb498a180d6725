"""Random hostile bytes: batches, fetch answers and streams made to do harm.

Thread: any; no state but the corpus, which is made once.
Invariants: everything comes of the `Random` that is handed in.
"""

import struct
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Final

from crc32c import crc32c

from prokurist.records.compression import Compression, compress
from prokurist.records.encode import NewRecord, encode_batch, encode_records
from prokurist.records.headers import BATCH_HEADER, CRC_AT, CRC_COUNTS_FROM
from prokurist.records.varints import encode_varint
from prokurist.types import TimestampType
from tests.unit.network_thread.wire import fetch_exchanges
from tests.unit.network_thread.wire.conftest import Case

EDGES: Final = (0, 1, -1, 2, 61, 0x7FFF, -0x8000, 0x7FFFFFFF, -0x80000000, 0xFFFF, 1 << 24)
PLACES: Final = (0, 8, 12, 16, 17, 21, 23, 27, 35, 43, 51, 53, 57)
"""Where the fields of a batch's header begin."""
VERSIONS: Final = (4, 7, 11, 12, 13, 16, 18)

SAMPLES: Final[Sequence[Sequence[NewRecord]]] = (
    [(0, None, None, [])],
    [(1_700_000_000_000 + each, b"k", b"v" * each, []) for each in range(20)],
    [(5, b"key", b"value" * 40, [("h", b"x"), ("ü", None), ("", b"")])] * 3,
    [(1 << 40, b"\0" * 300, b"\xff" * 300, [("trace", b"\0\xff" * 50)])] * 2,
)


@cache
def batches() -> tuple[bytes, ...]:
    """Good ones, of every kind."""
    made = [
        encode_batch(records, codec=codec, base_offset=70, leader_epoch=3)
        for records in SAMPLES
        for codec in Compression
    ]
    records = SAMPLES[1]
    made += [
        encode_batch(records, timestamp_type=TimestampType.LOG_APPEND_TIME),
        encode_batch(records, producer_id=9, transactional=True, base_offset=5),
        encode_batch([(0, b"\0\0\0\0", b"", [])], producer_id=9, control=True),
        encode_batch([(0, b"\0\0\0\1", b"", [])], producer_id=9, control=True),
    ]
    return (*made, *messages())


def messages() -> list[bytes]:
    """Good ones of the formats before batches, plain and wrapped."""
    made = []
    for magic in (0, 1):
        plain = b"".join(message(magic, b"v" * 20, offset=each) for each in range(3))
        made.append(plain)
        made += [
            message(magic, compress(codec, plain), codec, 2)
            for codec in (Compression.GZIP, Compression.SNAPPY, Compression.LZ4)
        ]
    return made


def message(magic: int, value: bytes, attributes: int = 0, offset: int = 0) -> bytes:
    """One message of an old format."""
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", 7) if magic else b"")
    body += struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


@cache
def answers() -> tuple[tuple[int, Case, bytes], ...]:
    """Good answers to a fetch, in several versions; the records in them are replaced."""
    cases = [(version, Case(fetch_exchanges.EXCHANGES[0], version)) for version in VERSIONS]
    return tuple((version, case, case.frame()) for version, case in cases)


# --- doing harm ----------------------------------------------------------------------


def harmed(data: bytes, lot: Random) -> bytes:
    """The same bytes after one to four harms."""
    harm = bytearray(data)
    for _ in range(lot.choice((1, 1, 1, 2, 4))):
        lot.choice(HARMS)(harm, lot)
    return bytes(harm)


def flip(data: bytearray, lot: Random) -> None:
    """One bit."""
    if data:
        data[lot.randrange(len(data))] ^= 1 << lot.randrange(8)


def scribble(data: bytearray, lot: Random) -> None:
    """Some bytes in a row."""
    at = lot.randrange(len(data) + 1)
    data[at : at + lot.randrange(9)] = lot.randbytes(lot.randrange(9))


def cut(data: bytearray, lot: Random) -> None:
    """Its end is missing."""
    del data[lot.randrange(len(data) + 1) :]


def double(data: bytearray, lot: Random) -> None:
    """A stretch comes twice."""
    at = lot.randrange(len(data) + 1)
    data[at:at] = data[at : at + lot.randrange(80)]


def number(data: bytearray, lot: Random) -> None:
    """A number becomes an edge of what it can be, in the header or anywhere."""
    at = lot.choice(PLACES) if lot.random() < 0.6 else lot.randrange(len(data) + 1)
    kind = lot.choice((">h", ">i", ">q"))
    size = struct.calcsize(kind)
    if at + size <= len(data):
        value = lot.choice(EDGES) if lot.random() < 0.8 else lot.getrandbits(64)
        data[at : at + size] = (value % (1 << size * 8)).to_bytes(size, "big")


def varint(data: bytearray, lot: Random) -> None:
    """A number of the records becomes any other."""
    at = lot.randrange(len(data) + 1)
    value = lot.choice((lot.choice(EDGES), lot.getrandbits(64) - (1 << 63)))
    data[at : at + lot.randrange(3)] = encode_varint(value)


HARMS: Final[Sequence[Callable[[bytearray, Random], None]]] = (
    flip,
    flip,
    scribble,
    cut,
    double,
    number,
    number,
    varint,
)


def mended(data: bytes, lot: Random) -> bytes:
    """Sometimes with a length and a checksum that fit, so that it is read any further."""
    if len(data) < BATCH_HEADER or lot.random() < 0.3:
        return data
    head = bytearray(data)
    head[8:12] = struct.pack(">i", len(data) - 12)
    head[16] = 2
    head[CRC_AT : CRC_AT + 4] = struct.pack(">I", crc32c(head[CRC_COUNTS_FROM:]))
    return bytes(head)


# --- what comes of it ----------------------------------------------------------------


def hostile_records(lot: Random) -> bytes:
    """A run of one to three batches, of which some are hostile."""
    run = b""
    for _ in range(lot.choice((1, 1, 2, 3))):
        match lot.randrange(6):
            case 0:
                run += lot.choice(batches())
            case 1 | 2:
                run += mended(harmed(lot.choice(batches()), lot), lot)
            case 3:
                run += harmed(lot.choice(batches()), lot)
            case _:
                run += harmed_inside(lot)
    return run


def harmed_inside(lot: Random) -> bytes:
    """A batch whose records were harmed before they were compressed, or a bomb."""
    records = lot.choice(SAMPLES)
    inside = harmed(encode_records(records, records[0][0]), lot)
    if lot.random() < 0.02:
        inside += bytes(1 << 20)
    codec = lot.choice(list(Compression))
    count = len(records) if lot.random() < 0.8 else lot.choice((0, 1, 1 << 31, (1 << 32) - 1))
    last = lot.choice((len(records) - 1, 1000, 0x7FFFFFFF))
    times = records[0][0], records[-1][0]
    return batch_around(codec, compress(codec, inside), count, last, times)


def batch_around(
    codec: int, body: bytes, count: int, last: int = 0x7FFFFFFF, times: tuple[int, int] = (0, 0)
) -> bytes:
    """A batch whose header says what it likes about some bytes, with the right checksum."""
    numbers = (codec, last, *times, -1, -1, -1, count)
    whole = struct.pack(">qiibIhiqqqhiI", 70, len(body) + 49, 3, 2, 0, *numbers) + body
    checksum = struct.pack(">I", crc32c(whole[CRC_COUNTS_FROM:]))
    return whole[:CRC_AT] + checksum + whole[CRC_AT + 4 :]


def hostile_answer(lot: Random) -> tuple[int, Case, bytes]:
    """A fetch answer after some harm."""
    version, case, frame = lot.choice(answers())
    return version, case, harmed(frame, lot)


def hostile_stream(lot: Random) -> list[bytes]:
    """What a peer sends, in the pieces in which it comes."""
    stream = bytearray()
    for _ in range(lot.randrange(5)):
        frame = lot.randbytes(lot.choice((0, 1, 40, 300)))
        stream += len(frame).to_bytes(4, "big") + frame
    if lot.random() < 0.5:
        stream += lot.choice((b"HTTP/1.1 400 Bad", b"\x15\x03\x01\0\2\2\x28", b"\xff" * 9))
    if lot.random() < 0.7:
        lot.choice(HARMS)(stream, lot)
    pieces, at = [], 0
    while at < len(stream):
        size = lot.choice((1, 3, 4, 17, 200, len(stream)))
        pieces.append(bytes(stream[at : at + size]))
        at += size
    return pieces
