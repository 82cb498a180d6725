"""Tables as `send_batch` takes them: good ones of pyarrow, hostile ones by the C interface.

The interface does not say how long buffers are. Here they are longer than any row that a
hostile array can lead to without a contradiction; what contradicts itself has to be refused.

Thread: any; no state.
Invariants: everything comes of the `Random` that is handed in.
"""

import struct
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import pyarrow as pa

from prokurist.events.accumulator.rows import Rows
from prokurist.producer.columns import Columns
from prokurist.records.columns import read_headers
from tests.fuzz.arrow_made import Made, Speaker, StreamSpeaker
from tests.fuzz.costs import MIB, Allowance, within
from tests.unit.events.accumulator.test_twins_of_rows import sent
from tests.unit.events.accumulator.twins_of_appending import TWINS, Path

ROOM: Final = bytes(8192)
"""Behind each buffer of a hostile array."""
TEXT_KINDS: Final = (
    pa.binary(),
    pa.large_binary(),
    pa.string(),
    pa.large_string(),
    pa.binary_view(),
    pa.string_view(),
)
"""The kinds that a column of texts may have."""
KINDS: Final = (*TEXT_KINDS, pa.binary(3), pa.null())
REFUSED: Final = (pa.int32(), pa.list_(pa.binary()), pa.bool_(), pa.float64())
PAIR: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])
HEADERS: Final = (pa.list_(PAIR), pa.large_list(PAIR), pa.map_(pa.string(), pa.binary()))
TIMES: Final = (pa.int64(), *map(pa.timestamp, ("s", "ms", "us", "ns")))
COUNTS: Final = (0, 1, 2, 5, 40, 64, -1, -(1 << 63), (1 << 63) - 1, 1 << 40)
"""What an array may say of its rows: few, or what it cannot have."""
NAMES: Final = Columns("value", "key", "headers", "timestamp")


class Wrong(AssertionError):
    """Other records than the table has, or twins that do not agree."""


def tables(lot: Random) -> None:
    """A table is sent as it is, by both twins alike, or refused for what is wrong with it."""
    if lot.random() < 0.3:
        good_table(lot)
    else:
        hostile_table(lot)


def good_table(lot: Random) -> None:
    """A table in chunks, slices of others, with nulls and all types; or of a wrong type."""
    count, refused, kinds = lot.choice((0, 1, 7, 30)), lot.random() < 0.1, kinds_of(lot)
    chunks = [good_chunk(lot, count, kinds) for _ in range(lot.choice((1, 1, 2)))]
    table = pa.concat_tables(chunks).slice(lot.randrange(count + 1), lot.randrange(count + 2))
    if refused:
        table = spoilt(lot, table)
    try:
        with NAMES.rows_of(table) as rows:
            found = [each.row(index, 0) for each in rows for index in range(each.count)]
            sent_alike(rows, lot)
    except TypeError:
        if not refused:
            raise
        return
    if refused and len(table):
        raise Wrong(f"{table.schema} was taken")
    told = [(key, value, read_headers(it, 0, len(it)), when) for key, value, it, when in found]
    if not refused and told != (expected := records_of(table)):
        raise Wrong(f"{told}\n{expected}\n{table.schema}")


def spoilt(lot: Random, table: Any) -> Any:
    """A table one of whose columns is of another type, or in a dictionary."""
    place = lot.randrange(table.num_columns)
    rows = len(table)
    column = pa.nulls(rows, lot.choice(REFUSED))
    if lot.random() < 0.5:
        words = pa.array([b"a", b"b"]) if place < 2 else pa.array([5, 7], pa.timestamp("ms"))
        column = pa.DictionaryArray.from_arrays(pa.array([1] * rows, pa.int64()), words)
    return table.set_column(place, table.column_names[place], column)


def kinds_of(lot: Random) -> tuple[Any, ...]:
    """The types of a table's columns."""
    return lot.choice(KINDS), lot.choice(KINDS), lot.choice(HEADERS), lot.choice(TIMES)


def good_chunk(lot: Random, count: int, kinds: tuple[Any, ...]) -> Any:
    """Columns of these types."""
    keys, values, headers, times = kinds
    pairs = [
        lot.choice((None, [], [("a", b"1"), ("", None)], [("ü", b"")])) for _ in range(count)
    ]
    listed: list[Any] = pairs
    if headers is not HEADERS[2]:
        listed = [
            None if each is None else [{"key": key, "value": value} for key, value in each]
            for each in pairs
        ]
    when = [lot.choice((None, 0, 5_000_000_000)) for _ in range(count)]
    return pa.table(
        {
            "key": byte_column(lot, count, keys),
            "value": byte_column(lot, count, values),
            "headers": pa.array(listed, headers),
            "timestamp": pa.array(when, pa.int64()).cast(times),
        }
    )


def byte_column(lot: Random, count: int, kind: Any) -> Any:
    """Byte strings of every length that matters."""
    if kind == pa.null():
        return pa.nulls(count)
    sizes = [lot.choice((None, 0, 1, 12, 13, 90)) for _ in range(count)]
    if kind == pa.binary(3):
        return pa.array([None if each is None else b"abc" for each in sizes], kind)
    values = [None if each is None else b"x" * each for each in sizes]
    return pa.array(values, pa.binary()).cast(kind)


def records_of(table: Any) -> list[object]:
    """The records that pyarrow says the table has."""
    keys, values = (
        [each.encode() if isinstance(each, str) else each for each in table[name].to_pylist()]
        for name in ("key", "value")
    )
    times = table["timestamp"]
    if not pa.types.is_int64(times.type):
        times = times.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    headers = [
        [tuple(each.values()) if isinstance(each, dict) else each for each in row or ()]
        for row in table["headers"].to_pylist()
    ]
    whens = [when or 0 for when in times.to_pylist()]
    return list(zip(keys, values, headers, whens, strict=True))


def sent_alike(chunks: Sequence[Rows], lot: Random) -> None:
    """Both twins send the same of it."""
    seen = []
    partition = lot.choice((None, 0, 1))
    for twin in TWINS:
        path = Path(twin)
        said: object = None
        try:
            said = [sent(path, rows, partition, None, 0) for rows in chunks]
        except (ValueError, IndexError) as error:
            said = type(error)
        seen.append((said, list(path.state())))
    if seen[0] != seen[1]:
        raise Wrong(f"{seen[0]}\n{seen[1]}")


# --- hostile ones ----------------------------------------------------------------------------


def hostile_table(lot: Random) -> None:
    """A table whose parts contradict each other, or not."""
    rows = lot.choice((0, 1, 5, 40))
    # Of one type: what a stream says of its types cannot be held against its memory.
    made = [hostile_rows(lot, rows)] * lot.choice((1, 1, 2))
    source: Speaker = Speaker(made[0], lot.choice((0, 0, 1, 4)))
    if lot.random() < 0.5:
        source = StreamSpeaker(
            made, fails=lot.choice((None, None, 0, 1)), unread=lot.random() < 0.95
        )
    kept = None
    try:
        with NAMES.rows_of(source) as chunks:
            sent_alike(chunks, lot)
            kept = chunks
    except (TypeError, ValueError, OSError):
        pass
    if kept is not None and sum(each.count for each in kept) > 64 * len(made):
        raise Wrong("more rows than there are")


def hostile_rows(lot: Random, rows: int) -> Made:
    """A chunk of a table."""
    columns = [column(lot, name, rows) for name in ("value", "key", "headers", "timestamp")]
    if lot.random() < 0.1:
        columns.append(lot.choice(columns))
    return harmed(lot, Made("+s", rows, [bitmap(lot)], parts=columns))


def column(lot: Random, name: str, rows: int) -> Made:
    """A column of what it ought to be, or nearly."""
    if name == "timestamp":
        kind = lot.choice(("l", "tss:", "tsm:UTC", "tsu:", "tsn:", "ts", "tsx:", "n", ""))
        numbers = [lot.choice((0, 5, -1, 1 << 62, -(1 << 63))) for _ in range(rows)]
        made = Made(kind, rows, [bitmap(lot), packed("q", numbers)])
    elif name == "headers":
        made = headers(lot, rows)
    else:
        made = byte_array(lot, rows)
    made.name = name
    made.encoded = lot.random() < 0.03
    return harmed(lot, made)


def headers(lot: Random, rows: int) -> Made:
    """Headers as lists or maps of pairs."""
    pairs = lot.choice((rows, 60))
    parts = [byte_array(lot, pairs) for _ in range(lot.choice((2, 2, 2, 2, 1, 3)))]
    for part, name in zip(
        parts, lot.choice((("key", "value"), ("value", "key"))), strict=False
    ):
        part.name = name
    kind = lot.choice(("+l", "+l", "+L", "+m", "+w"))
    offsets = packed("q" if kind == "+L" else "i", ascending(lot, rows, 40))
    struct_ = harmed(lot, Made("+s", pairs, [bitmap(lot)], parts=parts))
    return Made(kind, rows, [bitmap(lot), offsets], parts=[struct_])


def byte_array(lot: Random, rows: int) -> Made:
    """Byte strings of each layout."""
    kind = lot.choice(("z", "u", "z", "Z", "U", "vz", "vu", "w:3", "w:0", "w:-1", "w:x", "n"))
    if kind in {"vz", "vu"}:
        sizes = [lot.choice((0, 30, 900)) for _ in range(lot.choice((0, 1, 2)))]
        views = b"".join(view(lot) for _ in range(rows))
        extra = [bytes(each) for each in sizes]
        return Made(kind, rows, [bitmap(lot), views, *extra, packed("q", sizes)])
    code = "q" if kind in {"Z", "U"} else "i"
    return Made(kind, rows, [bitmap(lot), packed(code, ascending(lot, rows, 900)), b"x" * 900])


def view(lot: Random) -> bytes:
    """One view, of a short string or of one in a buffer that there may be."""
    size = lot.choice((0, 3, 12, 13, 30, 900, -1, 0x7FFFFFFF))
    place = lot.choice((0, 0, 1, 2, -1)), lot.choice((0, 0, 1, 30, 870, -1, 0x7FFFFFFF))
    return struct.pack("=i4sii", size, b"abcd", *place)


def ascending(lot: Random, rows: int, most: int) -> list[int]:
    """Offsets of rows; some go back, or begin below zero."""
    found = sorted(lot.randrange(most + 1) for _ in range(rows + 1))
    if lot.random() < 0.2:
        found[lot.randrange(rows + 1)] = lot.choice((-1, -(1 << 31), 0, most))
    return found


def bitmap(lot: Random) -> bytes | None:
    """Which rows are not null."""
    return lot.choice((None, None, None, b"\xff" * 32, lot.randbytes(32)))


def packed(code: str, numbers: Sequence[int]) -> bytes:
    """Numbers as they lie in memory."""
    return struct.pack(f"={len(numbers)}{code}", *numbers)


def harmed(lot: Random, made: Made) -> Made:
    """The same, with room behind its buffers, and sometimes with another number or part."""
    made.buffers = [None if each is None else each + ROOM for each in made.buffers]
    if made.format in {"vz", "vu"}:
        # The last buffer says how long others are, and the memory is as long as it says.
        made.buffers = [*made.buffers[:-1], (made.buffers[-1] or b"")[: -len(ROOM)] or None]
    while lot.random() < 0.15:
        match lot.randrange(7):
            case 0:
                made.length = lot.choice(COUNTS)
            case 1:
                made.offset = lot.choice(COUNTS)
            case 2:
                made.nulls = lot.choice((0, 1, -1, 1 << 40))
            case 3 if made.buffers and made.format not in {"vz", "vu"}:
                made.buffers = made.buffers[: lot.randrange(len(made.buffers))]
            case 4 if made.buffers and made.format not in {"vz", "vu"}:
                place = lot.randrange(len(made.buffers))
                made.buffers = [
                    None if number == place else each
                    for number, each in enumerate(made.buffers)
                ]
            case 5:
                made.more_parts = lot.choice((1, -1))
            case _:
                made.format = lot.choice(("", None, "n", "+s", "l", "w:1"))
    return made


# --- few bytes that ask for much -------------------------------------------------------------


def swollen_tables(lot: Random) -> None:
    """Very many rows with next to nothing in them cost what rows may."""
    rows = lot.choice((10_000, 200_000))
    none, sizes = bytes(rows // 8 + 1), packed("q", [1000])
    values = lot.choice(
        (
            Made("n", rows),
            Made("w:0", rows, [None, None]),
            Made("z", rows, [none, bytes(4 * rows + 4), None]),
            Made("vz", rows, [none, bytes(16 * rows)]),
            Made(
                "vz",
                rows,
                [None, struct.pack("=i4sii", 1000, b"", 0, 0) * rows, bytes(1000), sizes],
            ),
        )
    )
    if values.format == "vz" and len(values.buffers) == 2:
        values.buffers = [*values.buffers, None]
    comes_to = 1000 * rows if values.format == "vz" and len(values.buffers) == 4 else 0
    one = packed("i", range(rows + 1))
    pairs = Made("+s", rows, [None], parts=[Made("w:0", rows, [None, None]), Made("n", rows)])
    parts = [values]
    names = Columns("value", "key", None, None)
    if lot.random() < 0.5:
        parts.append(Made("+l", rows, [None, one], name="headers", parts=[pairs]))
        names = Columns("value", "key", "headers", None)
    source = Speaker(Made("+s", rows, [None], parts=parts))
    size = 25 * rows

    def read() -> None:
        with names.rows_of(source):
            pass

    within(of_table(size, rows, comes_to), read, exact=True)


def of_table(size: int, rows: int, comes_to: int) -> Allowance:
    """What a table may cost.

    Args:
        size: Its bytes.
        rows: How many it has.
        comes_to: How many bytes its views come to.
    """
    return Allowance(
        0.05 + 8e-6 * rows + 0.01 * comes_to / MIB,
        8 * MIB + 2 * size + 400 * rows + 2 * comes_to,
    )
