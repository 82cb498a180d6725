"""Columns of records as an Arrow table, for `ConsumerRecords.to_arrow`.

Offsets and timestamps are taken as they lie; keys and values are brought together,
since Arrow wants them side by side. This is the one module that imports pyarrow,
and nothing imports it before it is needed.

Thread: any; nothing here keeps state.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final

try:
    import pyarrow as pa
    import pyarrow.compute as pc
except ImportError as _missing:
    raise ImportError(
        "to_arrow needs pyarrow, which is not installed: pip install 'prokurist[arrow]'"
    ) from _missing

from prokurist.records.columns import RecordColumns, Spans, read_headers
from prokurist.records.implementation import CODEC

SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", "UTC")),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field(
            "headers",
            pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])),
            nullable=False,
        ),
    ]
)
KINDS: Final = {"b": pa.int8(), "i": pa.int32()}
NO_HEADERS: Final = 1
"""Length of a span that holds the number of headers alone: there are none."""


def table(runs: Sequence[RecordColumns]) -> Any:
    """Make one table of one chunk from all runs."""
    topics = list(dict.fromkeys(run.topic for run in runs))
    counts = [len(run.offsets) for run in runs]
    indices = repeated("i", [topics.index(run.topic) for run in runs], counts)
    columns = [
        pa.DictionaryArray.from_arrays(indices, pa.array(topics, pa.string())),
        repeated("i", [run.partition for run in runs], counts),
        joined([run.offsets for run in runs], pa.int64()),
        timestamps([run.timestamps for run in runs]),
        repeated("b", [run.timestamp_type.value for run in runs], counts),
        byte_strings([run.keys for run in runs]),
        byte_strings([run.values for run in runs]),
        headers([run.headers for run in runs]),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def repeated(code: str, values: Iterable[int], counts: Iterable[int]) -> Any:
    """Repeat one number per run for all its rows."""
    pieces = [array(code, [value]) * count for value, count in zip(values, counts, strict=True)]
    return joined([memoryview(piece) for piece in pieces], KINDS[code])


def joined(columns: Sequence[memoryview], kind: Any) -> Any:
    """Join columns of numbers; a single one is not copied."""
    data = columns[0] if len(columns) == 1 else b"".join(columns)
    count = sum(map(len, columns))
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(data)])


def timestamps(columns: Sequence[memoryview]) -> Any:
    """Make a column of timestamps, with null for none."""
    found = joined(columns, pa.int64())
    if len(found) and pc.min(found).as_py() < 0:
        found = pc.if_else(pc.less(found, 0), pa.scalar(None, pa.int64()), found)
    return found.cast(SCHEMA.field("timestamp").type)


def byte_strings(columns: Sequence[Spans]) -> Any:
    """Make a column of byte strings, copied together."""
    ends, data, valid = CODEC.gathered(columns)
    buffers = [
        valid if valid is None else pa.py_buffer(valid),
        *map(pa.py_buffer, (ends, data)),
    ]
    return pa.Array.from_buffers(pa.binary(), len(ends) // 4 - 1, buffers)


def headers(columns: Sequence[Spans]) -> Any:
    """Make a column of headers, as lists of pairs."""
    kind = SCHEMA.field("headers").type
    lengths = joined([spans.lengths for spans in columns], pa.int32())
    if not len(lengths) or pc.max(lengths).as_py() <= NO_HEADERS:
        none = pa.array([], kind.value_type)
        return pa.ListArray.from_arrays(repeated("i", [0], [len(lengths) + 1]), none)
    return pa.array(
        [
            [{"key": name, "value": value} for name, value in read_headers(spans.data, *each)]
            for spans in columns
            for each in zip(spans.starts, spans.lengths, strict=True)
        ],
        kind,
    )
