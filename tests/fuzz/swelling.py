"""Few bytes that ask for much: the smallest piece of each structure, very many times.

What is repeated is found in the structures themselves: members, frames and blocks of
each codec, records, messages and batches, the elements of each array of each answer,
frames of a stream.

Thread: any; no state.
Invariants: everything comes of the `Random` that is handed in.
"""

import struct
import zlib
from collections.abc import Iterator
from random import Random
from typing import Any, Final, NamedTuple

import cramjam

from prokurist.network_thread.wire import apis
from prokurist.network_thread.wire.apis import Api
from prokurist.network_thread.wire.schema import FIXED, Field, Struct, message
from prokurist.network_thread.wire.writing import write_varint
from prokurist.records.compression import Compression, compress
from tests.fuzz.hostile import batch_around
from tests.fuzz.hostile import message as legacy_message

APIS: Final = tuple(each for each in vars(apis).values() if isinstance(each, Api))
XERIAL: Final = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
FEW: Final = 4096
"""Elements of an answer that says one thing."""
MOST: Final = 1 << 20
"""Elements of any answer."""
SHORT: Final = frozenset({"ApiVersions", "FindCoordinator", "Heartbeat", "LeaveGroup"})


class Swollen(NamedTuple):
    """A run of batches.

    Attributes:
        data: Its bytes.
        comes_to: How many bytes its records come to when they are decompressed.
    """

    data: bytes
    comes_to: int


def pieces(lot: Random) -> tuple[Compression, bytes, bytes, int]:
    """A codec, how its data begins, a piece of it, and how many bytes come of that."""
    inside = lot.randbytes(lot.choice((0, 0, 0, 1, 3)))
    codec = lot.choice([each for each in Compression if each])
    if codec is Compression.SNAPPY:
        block = bytes(cramjam.snappy.compress_raw(inside)) if lot.random() < 0.7 else b""
        return codec, XERIAL, struct.pack(">i", len(block)) + block, len(inside)
    if codec is Compression.ZSTD and lot.random() < 0.5:
        return codec, struct.pack("<IBB", 0xFD2FB528, 0, 0x58), bytes(3), 0
    if codec is not Compression.GZIP and lot.random() < 0.3:
        return codec, b"", struct.pack("<II", 0x184D2A50, 0), 0
    return codec, b"", compress(codec, inside), len(inside)


def batch(lot: Random) -> Swollen:
    """A batch of very many pieces, records or messages; or very many batches."""
    size = lot.choice((200_000, 700_000, 2_000_000))
    match lot.randrange(5):
        case 0 | 1:
            codec, begins, piece, inside = pieces(lot)
            count = size // len(piece)
            return Swollen(batch_around(codec, begins + piece * count, 1), inside * count)
        case 2:
            count = size // 34
            plain = bytearray(legacy_message(1, b"") * count)
            for each in range(count):
                struct.pack_into(">q", plain, each * 34, each)
            packed = zlib.compress(plain, wbits=31)
            return Swollen(legacy_message(1, packed, 1, count - 1), len(plain))
        case 3:
            codec = lot.choice(list(Compression))
            plain = bytearray(b"\x0c\0\0\0\1\1\0" * (size // 7))
            return Swollen(batch_around(codec, compress(codec, bytes(plain)), size // 7), size)
        case _:
            empty = lot.choice((batch_around(Compression.NONE, b"", 0), legacy_message(0, b"")))
            return Swollen(empty * (size // len(empty)), size)


def answer(lot: Random) -> tuple[Api, int, bytes, int]:
    """An API, its version, an answer with one array of very many, and how many it may have."""
    api = lot.choice((*APIS, apis.FETCH, apis.API_VERSIONS))
    version = lot.randint(api.oldest, api.newest)
    table = message(api, version, "response")
    size = lot.choice((50_000, 900_000, 7_000_000))
    head = struct.pack(">i", 1) + (b"\0" if table.header_flexible else b"")
    places = list(arrays(table.struct))
    body = written(table.struct, lot.choice(places) if places else (), size)
    return api, version, head + body, FEW if api.name in SHORT else MOST


def arrays(table: Struct, above: tuple[Field, ...] = ()) -> Iterator[tuple[Field, ...]]:
    """The way to each array of a structure."""
    for field in table.fields:
        if field.tag is None and field.array:
            yield (*above, field)
            if field.struct is not None:
                yield from arrays(field.struct, (*above, field))


def written(table: Struct, way: tuple[Field, ...], size: int) -> bytes:
    """A structure in which all is empty but the array at the end of a way."""
    parts = []
    for field in table.fields:
        if field.tag is None:
            on = bool(way) and field is way[0]
            parts.append(
                value(field, way[1:] if on else (), size if on else 0, flexible=table.flexible)
            )
    return b"".join(parts) + (b"\0" if table.flexible else b"")


def value(field: Field, way: tuple[Field, ...], size: int, *, flexible: bool) -> bytes:
    """A field, which is empty or the array that is to be long, or leads to it."""
    if not field.array:
        return alone(field, flexible=flexible)
    if not size:
        return length(0, flexible=flexible)
    if way:
        assert field.struct is not None
        return length(1, flexible=flexible) + written(field.struct, way, size)
    element = alone(field._replace(nullable=False), flexible=flexible)
    count = size // len(element)
    return length(count, flexible=flexible) + element * count


def alone(field: Field, *, flexible: bool) -> bytes:
    """The smallest value that a field, or an element of it, can have."""
    if field.struct is not None:
        return b"\xff" if field.nullable else written(field.struct, (), 0)
    if field.kind in FIXED:
        return bytes(struct.calcsize(FIXED[field.kind]))
    if field.kind == "uuid":
        return bytes(16)
    return length(0, 2 if field.kind == "string" else 4, flexible=flexible)


def length(count: int, width: int = 4, *, flexible: bool) -> bytes:
    """A length as it is written."""
    if not flexible:
        return count.to_bytes(width, "big")
    out = bytearray()
    write_varint(out, count + 1)
    return bytes(out)


def stream(lot: Random) -> list[bytes]:
    """What a peer sends of very many frames, in one piece."""
    inside = bytes(lot.choice((0, 0, 1, 4, 5)))
    frame = len(inside).to_bytes(4, "big") + inside
    return [frame * (100_000 // len(frame))]


class Asked:
    """A request of any kind, whose answer is its body.

    Args:
        api: Which kind.
    """

    def __init__(self, api: Api) -> None:
        self.api: Api = api

    def answer(self, body: Any) -> Any:
        """The body as it is."""
        return body
