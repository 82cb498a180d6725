"""Which columns are written, and which rows of a batch go where."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import ConfigException
from prokurist.spark.row_schema import HEADERS_TYPE
from prokurist.spark.sink.columns import SinkColumns, parts_of

EVERY = [
    ("key", "string"),
    ("value", "binary"),
    ("topic", "string"),
    ("partition", "int"),
    ("headers", HEADERS_TYPE),
    ("timestamp", "timestamp"),
    ("more", "bigint"),
]


def test_others_than_the_known_columns_are_passed_over() -> None:
    """B752: as Spark's own sink does."""
    assert SinkColumns.of(EVERY, None) == SinkColumns(
        None, partition=True, headers="headers", timestamp="timestamp"
    )
    assert SinkColumns.of([("value", "string collate UNICODE")], "bills") == SinkColumns(
        "bills", partition=False, headers=None, timestamp=None
    )


@pytest.mark.parametrize(
    ("fields", "topic", "words"),
    [
        ([("key", "binary")], "t", "no column 'value' to write; the columns are: key"),
        ([("value", "bigint")], "t", "value is of type bigint.* string or binary: cast it"),
        ([("value", "binary")], None, "neither the option topic nor a column 'topic'"),
        ([("value", "binary"), ("partition", "bigint")], "t", "partition is of type bigint"),
        ([("value", "binary"), ("value", "binary")], "t", "two columns are named 'value'"),
        ([("value", "binary"), ("headers", "map<string,binary>")], "t", "headers is of type"),
    ],
)
def test_a_column_that_cannot_be_written_is_named(
    fields: list[tuple[str, str]], topic: str | None, words: str
) -> None:
    """B752: before a task begins."""
    with pytest.raises(ConfigException, match=words):
        SinkColumns.of(fields, topic)


def parts(batch: pa.RecordBatch, columns: SinkColumns) -> list[Any]:
    """The parts of a batch as topic, partition, values, places."""
    return [
        (
            part.topic,
            part.partition,
            part.rows.column("value").to_pylist(),
            [part.place(row) for row in range(part.rows.num_rows)],
        )
        for part in parts_of(batch, columns)
    ]


def test_a_batch_for_one_place_is_not_copied() -> None:
    """With the option, or with one topic and one partition in its columns."""
    batch = pa.record_batch({"value": ["a", "b"], "topic": ["x", "x"], "partition": [1, 1]})
    for columns in (
        SinkColumns("bills", partition=False, headers=None, timestamp=None),
        SinkColumns(None, partition=True, headers=None, timestamp=None),
    ):
        (part,) = parts_of(batch, columns)
        assert part.rows.column("value").buffers()[2].address == (
            batch.column("value").buffers()[2].address
        )
        assert part.places is None


def test_the_option_prevails_over_the_column() -> None:
    """B752: as Spark's own sink has it."""
    batch = pa.record_batch({"value": ["a", "b"], "topic": ["x", "y"]})
    columns = SinkColumns("bills", partition=False, headers=None, timestamp=None)
    assert parts(batch, columns) == [("bills", None, ["a", "b"], [0, 1])]


def test_nothing_is_in_an_empty_batch() -> None:
    """No part, so nothing is sent."""
    batch = pa.record_batch({"value": pa.array([], pa.string())})
    columns = SinkColumns("bills", partition=False, headers=None, timestamp=None)
    assert parts(batch, columns) == []


@given(
    st.lists(
        st.tuples(st.sampled_from(["x", "y", "z", None]), st.sampled_from([0, 1, None])),
        min_size=1,
        max_size=40,
    )
)
def test_each_row_goes_where_its_columns_say_in_order(
    wanted: list[tuple[str | None, int | None]],
) -> None:
    """B753: none is missing, none is twice, and rows for one place keep their order."""
    batch = pa.record_batch(
        {
            "value": pa.array([str(nth) for nth in range(len(wanted))]),
            "topic": pa.array([topic for topic, _ in wanted], pa.string()),
            "partition": pa.array([number for _, number in wanted], pa.int32()),
        }
    )
    columns = SinkColumns(None, partition=True, headers=None, timestamp=None)
    found = parts(batch, columns)
    assert len({part[:2] for part in found}) == len(found)
    for topic, partition, values, places in found:
        expected = [nth for nth, each in enumerate(wanted) if each == (topic, partition)]
        assert places == expected
        assert values == [str(nth) for nth in expected]
    assert sum(len(part[3]) for part in found) == len(wanted)
