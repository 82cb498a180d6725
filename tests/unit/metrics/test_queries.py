"""Spark's queries in the catalogue: what is read of them, and how much of it at most."""

import logging
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from prokurist.events.counter_types import Histogram
from prokurist.metrics.prometheus import ClientsCollector
from prokurist.metrics.queries import OpenQueries, PartitionReading, QueryReading
from prokurist.types import TopicPartition

BATCHES, COMMITS = Histogram(), Histogram()
READING = QueryReading(
    query="bills",
    group="spark.bills",
    partitions=(PartitionReading(TopicPartition("a", 0), 5, 12, 7, 1.5),),
    unlisted=2,
    lag=70,
    lag_seconds=9.5,
    batch=4,
    batch_ended=1.8e9,
    batches=BATCHES,
    rows=33,
    commits={"committed": 3, "refused": 1},
    commit_seconds=COMMITS,
    samples_failed=6,
)
OF_QUERY = {"query": "bills", "group": "spark.bills"}
OF_PARTITION = {**OF_QUERY, "topic": "a", "partition": "0"}


class One:
    """A query that reads as it is told to."""

    def __init__(self, reading: QueryReading) -> None:
        self.given = reading
        self.asked: list[int] = []

    def reading(self, most_partitions: int) -> QueryReading:
        """It."""
        self.asked.append(most_partitions)
        return self.given


def registry_of(queries: OpenQueries, most_partitions: int = 5) -> CollectorRegistry:
    """A registry that reads these and no client."""
    registry = CollectorRegistry()
    registry.register(ClientsCollector(most_partitions, list, queries))
    return registry


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("query_up", OF_QUERY, 1),
        ("committed_offset", OF_PARTITION, 5),
        ("end_offset", OF_PARTITION, 12),
        ("lag_records", OF_PARTITION, 7),
        ("lag_seconds", OF_PARTITION, 1.5),
        ("lag_records_sum", OF_QUERY, 70),
        ("lag_seconds_max", OF_QUERY, 9.5),
        ("partitions_unlisted", OF_QUERY, 2),
        ("samples_failed_total", OF_QUERY, 6),
        ("last_progress_timestamp_seconds", OF_QUERY, 1.8e9),
        ("batch_id", OF_QUERY, 4),
        ("batch_duration_seconds_count", OF_QUERY, 0),
        ("input_rows_total", OF_QUERY, 33),
        ("commit_total", {**OF_QUERY, "result": "refused"}, 1),
        ("commit_seconds_count", OF_QUERY, 0),
    ],
)
def test_each_row_is_read_off_a_query(name: str, labels: dict[str, str], value: float) -> None:
    """With the query and its group as labels, and those of its own."""
    queries = OpenQueries()
    queries.add(One(READING))
    assert registry_of(queries).get_sample_value(f"prokurist_spark_{name}", labels) == value


def test_what_is_not_known_has_no_series() -> None:
    """Neither 0 nor NaN stands for it."""
    queries = OpenQueries()
    nothing = PartitionReading(TopicPartition("a", 0), None, None, None, None)
    queries.add(
        One(replace(READING, partitions=(nothing,), lag=None, lag_seconds=None, batch=None))
    )
    registry = registry_of(queries)
    for name in ("committed_offset", "end_offset", "lag_records", "lag_seconds"):
        assert registry.get_sample_value(f"prokurist_spark_{name}", OF_PARTITION) is None
    for name in ("lag_records_sum", "lag_seconds_max", "batch_id"):
        assert registry.get_sample_value(f"prokurist_spark_{name}", OF_QUERY) is None


def test_series_are_there_for_as_long_as_the_query() -> None:
    """And the registry's bound of partitions is the query's."""
    queries, one = OpenQueries(), One(READING)
    registry = registry_of(queries, 5)
    queries.add(one)
    assert registry.get_sample_value("prokurist_spark_query_up", OF_QUERY) == 1
    assert set(one.asked) == {5}
    queries.remove(one)
    assert registry.get_sample_value("prokurist_spark_query_up", OF_QUERY) is None
    assert repr(queries) == "OpenQueries(0)"


def test_one_name_is_one_query() -> None:
    """Of two with the same labels the younger is read: Prometheus takes no series twice."""
    queries = OpenQueries()
    queries.add(One(READING))
    queries.add(One(replace(READING, rows=1)))
    assert [each.rows for each in queries.read(5)] == [1]


def test_a_bomb_of_queries_is_bounded_and_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Those that came first are read."""
    queries = OpenQueries(most=3)
    with caplog.at_level(logging.WARNING):
        for number in range(50):
            queries.add(One(replace(READING, query=f"q{number}")))
    assert [each.query for each in queries.read(5)] == ["q0", "q1", "q2"]
    (line,) = (each.message for each in caplog.records)
    assert line.startswith("more than 3 queries are watched")
