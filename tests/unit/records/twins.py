"""What the tests of the records share: the twins, and batches to feed them with."""

import struct
import warnings
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, cast

import pytest

from prokurist.errors import CorruptRecordException
from prokurist.records import pure
from prokurist.records.columns import Columns
from prokurist.records.compression import Compression, decompress
from prokurist.records.encode import NewRecord, encode_batch
from prokurist.records.headers import BATCH_HEADER, header_at
from prokurist.records.implementation import Codec

CAP = 1 << 22

SOME: list[NewRecord] = [
    (1_700_000_000_000, b"one", b"1", []),
    (1_700_000_000_005, None, b"v" * 300, [("a", b"x"), ("a", None), ("ü", b"")]),
    (1_699_999_999_000, b"", None, []),
    (1_700_000_000_001, b"k" * 70, b"", [("trace", b"\x00\xff" * 50)]),
]


def native_twin() -> ModuleType:
    """The native twin, or a skip where there is none."""
    twin: ModuleType = pytest.importorskip(
        "prokurist.records._native", reason="the native twin is not built", exc_type=ImportError
    )
    return twin


@cache
def twin(name: str) -> Codec:
    """One of the twins by its name."""
    return cast("Codec", pure if name == "python" else native_twin())


def kafka_python(name: str) -> Any:
    """One of kafka-python's modules on records: an oracle that is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module(f"kafka.record.{name}")


def decoded(codec: Codec, data: bytes, cap: int = CAP) -> Columns:
    """The records of the one batch there is in some bytes."""
    header = header_at(data, 0)
    assert header is not None
    if header.codec == Compression.NONE:
        return codec.decode_batch("t", 1, header, data, BATCH_HEADER, header.size)
    plain = decompress(header.codec, data[BATCH_HEADER : header.size], cap)
    return codec.decode_batch("t", 1, header, plain, 0, len(plain))


def rows(columns: Columns) -> list[tuple[int, ...]]:
    """All numbers of some columns, row by row."""
    return list(
        zip(
            columns.offsets,
            columns.timestamps,
            columns.key_starts,
            columns.key_lengths,
            columns.value_starts,
            columns.value_lengths,
            columns.header_starts,
            columns.header_lengths,
            strict=True,
        )
    )


def outcome(codec: Codec, data: bytes) -> object:
    """What a twin makes of one batch: all numbers, or the error's text."""
    try:
        return rows(decoded(codec, data))
    except CorruptRecordException as error:
        return str(error)


def around(body: bytes, count: int, *, last: int = 1000, first_timestamp: int = 0) -> bytes:
    """A batch whose header says what it likes about some bytes; no checksum."""
    length = BATCH_HEADER - 12 + len(body)
    numbers = (0, 0, last, first_timestamp, 0, -1, -1, -1, count)
    return struct.pack(">qiibIhiqqqhiI", 100, length, 0, 2, *numbers) + body


def some_batch(codec: Compression = Compression.NONE, base_offset: int = 0) -> bytes:
    """A batch of a bit of everything."""
    return encode_batch(SOME, codec=codec, base_offset=base_offset)
