"""Records of a range as Arrow batches, in the schema that Spark's source for Kafka has.

Thread: the main one of a Python worker of Spark; what is made here is handed on.

Spark compares the schema of the first batch with its own to the letter: the order of the
columns, their types, and that each may be null. Numbers are taken as they lie, keys and
values are brought together once, and no object is made for a record.

Invariants: a batch is a slice, of about as many bytes as asked for, of what one fetch has
brought; so its size is a matter of what is sent on at once, and costs no copy.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from prokurist.errors import SerializationException
from prokurist.records.arrow import NO_HEADERS, byte_strings, joined, repeated
from prokurist.records.columns import RecordColumns, read_headers
from prokurist.records.consumer_records import ConsumerRecords

HEADERS: Final = pa.list_(
    pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
)
TYPES: Final[Mapping[str, Any]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestampType": pa.int32(),
    "headers": HEADERS,
}
"""The Arrow type of each column, as Spark derives it from its own."""

THOUSAND: Final = pa.scalar(1000, pa.int64())
"""Made once: to make one out of an int takes longer than the column."""

MOST_MILLISECONDS: Final = (2**63 - 1) // 1000
"""The greatest timestamp that microseconds can hold."""

Runs = Sequence[RecordColumns]


class ArrowBatches:
    """Makes Arrow batches of records, in the schema of Spark's source for Kafka.

    Args:
        columns: The columns that are wanted, in order.
        size: Bytes that a batch has, more or less.
    """

    def __init__(self, columns: Sequence[str], size: int) -> None:
        self._makers = [MAKERS[name] for name in columns]
        self._schema = pa.schema([pa.field(name, TYPES[name]) for name in columns])
        self._size = size

    def of(self, records: ConsumerRecords) -> Iterator[Any]:
        """Convert records to `pyarrow.RecordBatch`es."""
        runs = records.columns()
        count = len(records)
        arrays = [make(runs, count) for make in self._makers]
        whole = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        pieces = max(1, round(whole.nbytes / self._size))
        rows = -(-count // pieces)
        for start in range(0, count, rows):
            yield whole.slice(start, rows)


def keys(runs: Runs, _count: int) -> Any:
    """The column of keys; null for none."""
    return byte_strings([run.keys for run in runs])


def values(runs: Runs, _count: int) -> Any:
    """The column of values; null for none."""
    return byte_strings([run.values for run in runs])


def topics(runs: Runs, count: int) -> Any:
    """The column of topics, which has one value."""
    return repetition(runs[0].topic, 1 << count.bit_length()).slice(0, count)


@lru_cache(maxsize=8)
def repetition(name: str, count: int) -> Any:
    """A name repeated so often; kept for the next batch of a range."""
    encoded = name.encode()
    ends = array("i", range(0, (count + 1) * len(encoded), len(encoded)))
    data = pa.py_buffer(encoded * count)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(ends), data])


def partitions(runs: Runs, count: int) -> Any:
    """The column of partitions, which has one value."""
    return repeated("i", [runs[0].partition], [count])


def offsets(runs: Runs, _count: int) -> Any:
    """The column of offsets."""
    return joined([run.offsets for run in runs], pa.int64())


def timestamps(runs: Runs, _count: int) -> Any:
    """The column of timestamps in microseconds; −1 ms for a record without one.

    Spark's own source has it so: Kafka's −1 is not nothing to it.

    Raises:
        SerializationException: A timestamp is beyond what 64 bits hold in microseconds.
    """
    found = joined([run.timestamps for run in runs], pa.int64())
    try:
        return pc.multiply_checked(found, THOUSAND).view(TYPES["timestamp"])
    except pa.ArrowInvalid:
        run, nth = next(
            (run, nth)
            for run in runs
            for nth, each in enumerate(run.timestamps)
            if abs(each) > MOST_MILLISECONDS
        )
        raise SerializationException(
            f"{run.topic}-{run.partition} at offset {run.offsets[nth]} has the timestamp "
            f"{run.timestamps[nth]}, in milliseconds, which Spark's microseconds cannot hold: "
            f"its producer may have given another unit. Read without the column timestamp, by "
            f"a schema, or begin behind this record"
        ) from None


def timestamp_types(runs: Runs, _count: int) -> Any:
    """The column of timestamp types: 0 CreateTime, 1 LogAppendTime, −1 none."""
    kinds = [run.timestamp_type.value for run in runs]
    return repeated("i", kinds, [len(run.offsets) for run in runs])


def headers(runs: Runs, count: int) -> Any:
    """The column of headers; null where there are none."""
    lengths = joined([run.headers.lengths for run in runs], pa.int32())
    if pc.max(lengths).as_py() <= NO_HEADERS:
        return pa.nulls(count, HEADERS)
    return pa.array(
        [
            [{"key": name, "value": value} for name, value in found] if found else None
            for run in runs
            for span in zip(run.headers.starts, run.headers.lengths, strict=True)
            for found in (read_headers(run.headers.data, *span),)
        ],
        HEADERS,
    )


MAKERS: Final[Mapping[str, Callable[[Runs, int], Any]]] = {
    "key": keys,
    "value": values,
    "topic": topics,
    "partition": partitions,
    "offset": offsets,
    "timestamp": timestamps,
    "timestampType": timestamp_types,
    "headers": headers,
}
