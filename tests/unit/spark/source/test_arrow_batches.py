"""Records as Arrow batches, held against the same records one by one."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from prokurist.errors import SerializationException
from prokurist.records.columns import Columns, Row
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.records.encode import encode_batch
from prokurist.records.reader import PartitionReader
from prokurist.records.run import RecordRun
from prokurist.spark.row_schema import COLUMNS, HEADERS
from prokurist.spark.source.arrow_batches import TYPES, ArrowBatches
from prokurist.types import TimestampType, TopicPartition

ALL = (*COLUMNS, HEADERS)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
New = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def fetched(*batches: Iterable[New]) -> ConsumerRecords:
    """What a poll returns of such batches."""
    data = bytearray()
    offset = 0
    for each in batches:
        records = list(each)
        data += encode_batch(records, base_offset=offset)
        offset += len(records)
    reader = PartitionReader(
        "orders", 3, bytes(data), position=0, aborted=None, check_crcs=False, cap=1 << 20
    )
    return ConsumerRecords({TopicPartition("orders", 3): reader.take(10_000)})


def rows(records: ConsumerRecords) -> list[dict[str, Any]]:
    """The same one by one, as Spark's own source shows them."""
    return [
        {
            "key": each.key,
            "value": each.value,
            "topic": each.topic,
            "partition": each.partition,
            "offset": each.offset,
            "timestamp": EPOCH + timedelta(milliseconds=each.timestamp),
            "timestampType": each.timestamp_type.value,
            "headers": [{"key": name, "value": value} for name, value in each.headers] or None,
        }
        for each in records
    ]


PLAIN: list[New] = [(1_700_000_000_000 + nth, b"k%d" % nth, b"v" * nth, []) for nth in range(7)]
ODD: list[New] = [
    (-1, None, None, []),
    (0, b"", b"", [("a", b"1"), ("a", None)]),
    (1, None, b"x", []),
    (2, b"k", None, [("ü", b"")]),
]


@pytest.mark.parametrize(
    "batches", [[PLAIN], [ODD], [PLAIN, ODD, PLAIN], [[each] for each in PLAIN]]
)
def test_every_column_is_what_the_records_say(batches: list[list[New]]) -> None:
    """Nulls, empty strings, headers and times before 1970 among them."""
    records = fetched(*batches)
    table = pa.Table.from_batches(ArrowBatches(ALL, 1 << 20).of(records))
    assert table.to_pylist() == rows(records)


def test_the_schema_is_sparks() -> None:
    """To the letter: it compares the order, the types, and that each may be null."""
    (batch,) = ArrowBatches(ALL, 1 << 20).of(fetched(PLAIN))
    assert batch.schema == pa.schema(
        [
            pa.field("key", pa.binary()),
            pa.field("value", pa.binary()),
            pa.field("topic", pa.string()),
            pa.field("partition", pa.int32()),
            pa.field("offset", pa.int64()),
            pa.field("timestamp", pa.timestamp("us", "UTC")),
            pa.field("timestampType", pa.int32()),
            pa.field(
                "headers",
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
        ]
    )
    assert list(TYPES) == list(ALL)
    batch.validate(full=True)


@pytest.mark.parametrize("columns", [("offset",), ("value", "key"), ("headers", "partition")])
def test_columns_are_those_that_are_asked_for(columns: tuple[str, ...]) -> None:
    """In that order, and no others are made."""
    records = fetched(ODD)
    (batch,) = ArrowBatches(columns, 1 << 20).of(records)
    assert batch.schema.names == list(columns)
    assert batch.to_pylist() == [{name: row[name] for name in columns} for row in rows(records)]


def test_large_ones_come_in_pieces() -> None:
    """Of about as many bytes as asked for, and together they are the whole."""
    many: list[New] = [(nth, b"key", b"v" * 100, []) for nth in range(1000)]
    records = fetched(many)
    pieces = list(ArrowBatches(ALL, 10_000).of(records))
    assert 10 <= len(pieces) <= 30
    assert all(each.nbytes < 20_000 for each in pieces)
    assert pa.Table.from_batches(pieces).to_pylist() == rows(records)


@pytest.mark.parametrize("kind", TimestampType)
def test_each_run_says_who_stamped_it(kind: TimestampType) -> None:
    """By Kafka's numbers."""
    row: Row = (5, 9, 0, -1, 0, -1, 0, 0)
    run = RecordRun(Columns("t", 0, None, kind, b"", [row]), 0, 1)
    records = ConsumerRecords({TopicPartition("t", 0): [run]})
    (batch,) = ArrowBatches(("timestampType",), 1 << 20).of(records)
    assert batch.to_pylist() == [{"timestampType": kind.value}]


@pytest.mark.parametrize("moment", [9_223_372_036_854_776, 1_700_000_000_000_000_000])
def test_a_timestamp_that_microseconds_cannot_hold_is_named(moment: int) -> None:
    """B497: it is an error, and no other time; without its column the record is read."""
    records = fetched(PLAIN, [(moment, b"k", b"v", [])])
    with pytest.raises(SerializationException, match=rf"orders-3 at offset 7 .* {moment}, in"):
        list(ArrowBatches(("timestamp",), 1 << 20).of(records))
    (batch,) = ArrowBatches(("offset",), 1 << 20).of(records)
    assert batch.num_rows == 8


def test_the_greatest_timestamp_is_read() -> None:
    """B497: the last that microseconds hold."""
    records = fetched([(9_223_372_036_854_775, None, b"v", [])])
    (batch,) = ArrowBatches(("timestamp",), 1 << 20).of(records)
    assert batch.column(0).cast("int64").to_pylist() == [9_223_372_036_854_775_000]
