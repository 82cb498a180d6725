"""What `poll` returns, and the same as an Arrow table."""

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from prokurist.records.compression import Compression
from prokurist.records.consumer_records import ConsumerRecords, DeserializedRun
from prokurist.records.encode import encode_batch
from prokurist.records.implementation import Codec
from prokurist.types import OffsetAndMetadata, TimestampType, TopicPartition
from tests.unit.records.test_reader import reader
from tests.unit.records.twins import SOME, some_batch

ONE, TWO, NONE = (TopicPartition("orders", each) for each in range(3))


@pytest.fixture
def some(codec: Codec) -> ConsumerRecords:
    """Two batches of one partition and one of another."""
    data = some_batch() + some_batch(Compression.LZ4, 4)
    return ConsumerRecords(
        {
            ONE: reader(codec, data, 2).take(100),
            TWO: reader(codec, some_batch(), 0).take(3),
            NONE: [],
        },
        {ONE: OffsetAndMetadata(8), NONE: OffsetAndMetadata(5, leader_epoch=2)},
    )


def test_in_partition_runs(some: ConsumerRecords) -> None:
    """Record by record, each partition's in order; and again."""
    for _ in range(2):
        assert [record.offset for record in some] == [2, 3, 4, 5, 6, 7, 0, 1, 2]
    assert (len(some), some.count, bool(some)) == (9, 9, True)
    assert repr(some) == "ConsumerRecords(9 records of orders-0, orders-1)"


def test_by_partition(some: ConsumerRecords) -> None:
    """Those that have records; another one has an empty list."""
    assert some.partitions() == [ONE, TWO]
    assert [record.offset for record in some.records(TWO)] == [0, 1, 2]
    assert some.records(NONE) == []


def test_where_reading_goes_on(some: ConsumerRecords) -> None:
    """For partitions without records, too; what is returned is a copy."""
    assert some.next_offsets() == {
        ONE: OffsetAndMetadata(8),
        NONE: OffsetAndMetadata(5, leader_epoch=2),
    }
    some.next_offsets().clear()
    assert len(some.next_offsets()) == 2


def test_nothing() -> None:
    """What a poll returns whose time is over."""
    none = ConsumerRecords()
    assert (len(none), bool(none), list(none), none.columns()) == (0, False, [], [])
    assert (none.partitions(), none.next_offsets()) == ([], {})
    assert repr(none) == "ConsumerRecords(0 records)"


def test_as_columns(some: ConsumerRecords) -> None:
    """One entry for each run, in the same order."""
    columns = some.columns()
    assert [each.offsets.tolist() for each in columns] == [[2, 3], [4, 5, 6, 7], [0, 1, 2]]
    assert {(each.topic, each.partition) for each in columns} == {("orders", 2)}


def test_deserialized_records_keep_their_columns(codec: Codec) -> None:
    """Iteration gives what was made of the values; the columns, what they were made of."""
    (run,) = reader(codec, some_batch()).take(100)
    made = [record.with_values(1, [record.offset]) for record in run]
    records = ConsumerRecords({ONE: [DeserializedRun(run, made)]})
    assert [record.value for record in records] == [[0], [1], [2], [3]]
    assert records.columns()[0].values.lengths.tolist() == [1, 300, -1, 0]
    assert len(records) == 4
    assert "DeserializedRun" in repr(DeserializedRun(run, made))


def expected_rows(offset: int) -> list[dict[str, Any]]:
    """The batch of everything, as Arrow shows it."""
    return [
        {
            "topic": "orders",
            "partition": 2,
            "offset": offset + index,
            "timestamp": datetime.fromtimestamp(timestamp / 1000, UTC),
            "timestamp_type": 0,
            "key": key,
            "value": value,
            "headers": [{"key": name, "value": each} for name, each in headers],
        }
        for index, (timestamp, key, value, headers) in enumerate(SOME)
    ]


def test_as_an_arrow_table(some: ConsumerRecords) -> None:
    """Column by column the same records, nulls and headers included."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = some.to_arrow()
    table.validate(full=True)
    first, second = expected_rows(0), expected_rows(4)
    assert table.to_pylist() == first[2:] + second + first[:3]


def test_an_arrow_table_without_headers_or_times(codec: Codec) -> None:
    """No time is null, and no headers are an empty list."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    data = encode_batch(
        [(-1, None, b"x", ()), (5, b"k", None, ())],
        timestamp_type=TimestampType.CREATE_TIME,
    )
    table = ConsumerRecords({ONE: reader(codec, data).take(9)}).to_arrow()
    table.validate(full=True)
    assert table["timestamp"].to_pylist() == [None, datetime(1970, 1, 1, 0, 0, 0, 5000, UTC)]
    assert table["headers"].to_pylist() == [[], []]
    assert table["key"].to_pylist() == [None, b"k"]


def test_an_arrow_table_of_nothing() -> None:
    """It has the same columns."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = ConsumerRecords().to_arrow()
    assert (table.num_rows, table.column_names[0], table.num_columns) == (0, "topic", 8)


def test_without_pyarrow_the_way_out_is_named() -> None:
    """It is an extra, and nothing imports it before it is asked for."""
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from prokurist import ConsumerRecords\n"
        "ConsumerRecords().to_arrow()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "ImportError: to_arrow needs pyarrow" in run.stderr
    assert "pip install 'prokurist[arrow]'" in run.stderr


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("items", r": write partitions\(\), and records\(partition\) for each$"),
        ("error", ": write nothing: poll raises errors$"),
        ("value", r": write for record in records: .* next\(timeout\) of a consumer one$"),
        ("other", "attribute 'other'$"),
    ],
)
def test_what_other_clients_ask_a_poll_for(name: str, way_out: str) -> None:
    """kafka-python's poll returns a dict, and confluent-kafka's a message."""
    with pytest.raises(AttributeError, match=way_out):
        getattr(ConsumerRecords(), name)
