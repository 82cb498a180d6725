"""Rows about Spark's streaming queries: progress, lag and commits.

Thread: any.
"""

from collections.abc import Callable, Iterator
from typing import Final

from prokurist.metrics.metric import Metric, Value, counter, gauge, histogram, one
from prokurist.metrics.queries import PartitionReading, QueryReading

LABELS: Final = ("query", "group")
"""Labels of every series of a query, beside those of its row."""


def by_partition(
    of: Callable[[PartitionReading], float | None],
) -> Callable[[QueryReading], Iterator[Value]]:
    """A value for each partition that has series of its own, where it is known."""

    def read(at: QueryReading) -> Iterator[Value]:
        for each in at.partitions:
            value = of(each)
            if value is not None:
                yield (each.partition.topic, str(each.partition.partition)), value

    return read


def commits(at: QueryReading) -> Iterator[Value]:
    """Yield the numbers of commits, by result."""
    for result, count in at.commits.items():
        yield (result,), count


ROWS: tuple[Metric[QueryReading], ...] = (
    gauge(
        "prokurist_spark_query_up",
        "1 while the query runs; its series are gone when it has ended.",
        lambda _: one(1),
    ),
    gauge(
        "prokurist_spark_committed_offset",
        "What the group has committed, as far as the listener knows.",
        by_partition(lambda each: each.committed),
        "topic",
        "partition",
    ),
    gauge(
        "prokurist_spark_end_offset",
        "Where the partition's log ended when it was last looked at.",
        by_partition(lambda each: each.end),
        "topic",
        "partition",
    ),
    gauge(
        "prokurist_spark_lag_records",
        "Offsets between the end of the last batch that is done and the end of the log.",
        by_partition(lambda each: each.lag),
        "topic",
        "partition",
    ),
    gauge(
        "prokurist_spark_lag_seconds",
        "How long ago the first record was written that is not done yet, reckoned from where "
        "the log ended at which time; 0 where all are done.",
        by_partition(lambda each: each.lag_seconds),
        "topic",
        "partition",
    ),
    gauge(
        "prokurist_spark_lag_records_sum",
        "The lags of all partitions together, those without series of their own included.",
        lambda at: one(at.lag),
    ),
    gauge(
        "prokurist_spark_lag_seconds_max",
        "The largest lag of all partitions in seconds, likewise.",
        lambda at: one(at.lag_seconds),
    ),
    gauge(
        "prokurist_spark_partitions_unlisted",
        "Partitions that have no series of their own, because there are too many.",
        lambda at: one(at.unlisted),
    ),
    counter(
        "prokurist_spark_samples_failed_total",
        "How often the ends of the logs were asked for and not told.",
        lambda at: one(at.samples_failed),
    ),
    gauge(
        "prokurist_spark_last_progress_timestamp_seconds",
        "When the last batch was done, in seconds since 1970.",
        lambda at: one(at.batch_ended),
    ),
    gauge(
        "prokurist_spark_batch_id",
        "Spark's number of the last batch that is done.",
        lambda at: one(at.batch),
    ),
    histogram(
        "prokurist_spark_batch_duration_seconds",
        "How long each trigger took that had a batch.",
        lambda at: one(at.batches),
    ),
    counter(
        "prokurist_spark_input_rows_total",
        "Rows that the query's sources gave.",
        lambda at: one(at.rows),
    ),
    counter(
        "prokurist_spark_commit_total",
        "Commits by how they ended: committed, refused by the group, or failed for now; and "
        "kept_back, where the group was ahead of the query.",
        commits,
        "result",
    ),
    histogram(
        "prokurist_spark_commit_seconds",
        "How long a commit took, or failed to be made.",
        lambda at: one(at.commit_seconds),
    ),
)
