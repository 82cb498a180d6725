"""Batches of `format("prokurist")`, held against Spark's own source on the same topics."""

import json
import pickle
import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.kafka import RealKafka
from tests.spark.jobs import (
    FORMATS,
    OURS,
    THEIRS,
    batch,
    delete_before,
    offsets,
    options,
    produce,
    refusal,
    transaction,
    until,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGAN = int(time.time() - 7200) * 1000
"""When the first record was stamped: not long ago, or retention would take it."""
PUSHING = "spark.sql.python.filterPushdown.enabled"


def records(count: int) -> list[dict[str, Any]]:
    """Records with and without keys, values, headers; timestamps a second apart."""
    return [
        {
            "key": None if nth % 5 == 0 else b"key-%d" % (nth % 7),
            "value": None if nth % 11 == 0 else b"v" * (nth % 90),
            "partition": nth % 2,
            "timestamp": BEGAN + nth * 1000,
            "headers": [("n", b"%d" % nth), ("n", None)] if nth % 3 == 0 else [],
        }
        for nth in range(count)
    ]


@pytest.fixture(scope="module")
def topic(prokurist_kafka: RealKafka) -> str:
    """A topic of two partitions, in batches of every codec."""
    name = prokurist_kafka.unique_topic("batches", partitions=2)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        produce(prokurist_kafka, name, records(400), **{"compression.type": codec})
    return name


@pytest.mark.parametrize("headers", [True, False])
def test_every_row_is_the_same(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, *, headers: bool
) -> None:
    """Keys, values, times and headers, through each codec; and the schema to the letter."""
    given = options(prokurist_kafka, topic, includeHeaders=headers)
    ours, theirs = (batch(spark, each, given) for each in FORMATS)
    assert ours.schema == theirs.schema
    assert ours.count() == theirs.count() == 2000
    shown = [frame.selectExpr("*") for frame in (ours, theirs)]
    assert shown[0].exceptAll(shown[1]).count() == 0
    assert shown[1].exceptAll(shown[0]).count() == 0


PLACES: dict[str, dict[str, Any]] = {
    "by default": {},
    "earliest": {"startingOffsets": "earliest"},
    "offsets": {"startingOffsets": {"0": 17, "1": -2}, "endingOffsets": {"0": 20, "1": -1}},
    "offsets within": {
        "startingOffsets": {"0": 1000, "1": 5},
        "endingOffsets": {"0": 1000, "1": 6},
    },
    "a time before the first": {"startingTimestamp": str(BEGAN - 1)},
    "between two times": {
        "startingTimestamp": str(BEGAN + 100_500),
        "endingTimestamp": str(BEGAN + 200_000),
    },
    "up to a time": {"endingTimestamp": str(BEGAN + 200_000)},
    "a time behind the last": {"startingTimestamp": str(BEGAN + 9_000_000)},
    "a time behind the last, and latest": {
        "startingTimestamp": str(BEGAN + 9_000_000),
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "times": {"startingOffsetsByTimestamp": {"0": BEGAN + 50_000, "1": 0}},
    "latest": {"startingOffsets": "latest"},
    "offsets of some": {"startingOffsets": {"0": 17}},
    "latest among the starts": {"startingOffsets": {"0": -1, "1": 0}},
    "earliest among the ends": {"endingOffsets": {"0": -2, "1": 0}},
    "up to earliest": {"endingOffsets": "earliest"},
    "ends before it begins": {
        "startingOffsets": {"0": 30, "1": 0},
        "endingOffsets": {"0": 20, "1": -1},
    },
    "offsets of too many": {"startingOffsets": {"0": 0, "1": 0, "2": 0}},
}


@pytest.mark.parametrize("place", PLACES)
def test_it_begins_and_ends_at_the_same_offsets(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, place: str
) -> None:
    """In each way of writing the place; or both refuse it."""
    written = {
        name: json.dumps({topic: value}) if isinstance(value, dict) else value
        for name, value in PLACES[place].items()
    }
    given = options(prokurist_kafka, topic, **written)
    refused = [refusal(spark, each, given) for each in FORMATS]
    assert (refused[0] is None) == (refused[1] is None), refused
    if refused[0] is None:
        ours, theirs = (offsets(batch(spark, each, given)) for each in FORMATS)
        assert ours == theirs


@pytest.mark.parametrize(
    "splits",
    [
        {"minPartitions": 5},
        {"minPartitions": 7, "maxRecordsPerPartition": 400},
    ],
    ids=str,
)
def test_it_is_cut_into_the_same_tasks(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, splits: dict[str, int]
) -> None:
    """As many, at the same offsets."""
    given = options(prokurist_kafka, topic, **splits)
    cuts = []
    for each in FORMATS:
        rows = (
            batch(spark, each, given)
            .selectExpr("spark_partition_id() as task", "partition", "offset")
            .groupBy("task", "partition")
            .agg({"offset": "min"})
            .collect()
        )
        cuts.append(sorted((row.partition, row["min(offset)"]) for row in rows))
    assert cuts[0] == cuts[1]


def test_no_task_reads_more_than_it_may(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str
) -> None:
    """Also without `minPartitions`, where Spark's own source passes the option over."""
    given = options(prokurist_kafka, topic, maxRecordsPerPartition=300)
    rows = batch(spark, OURS, given).selectExpr("spark_partition_id() as task", "offset")
    counts = [row["count"] for row in rows.groupBy("task").count().collect()]
    assert counts == [250] * 8


@pytest.fixture
def filters(spark: "SparkSession") -> Iterator[None]:
    """Spark hands filters to sources in Python, where pyspark knows of any."""
    pytest.importorskip("pyspark", "4.1", reason="PySpark hands on filters since 4.1")
    spark.conf.set(PUSHING, "true")
    yield
    spark.conf.unset(PUSHING)


@pytest.mark.usefixtures("filters")
@pytest.mark.parametrize(
    ("where", "tasks"),
    [
        ("partition = 1 and offset >= 250 and offset < 450", 2),
        (f"timestamp >= timestamp_millis({BEGAN + 398_000})", 18),
        (f"topic = 'another' or timestamp > timestamp_millis({BEGAN + 398_000})", 20),
        (f"timestamp > timestamp_millis({BEGAN + 400_000})", 1),
    ],
    ids=["offsets", "timestamps", "another topic or timestamps", "timestamps above"],
)
def test_only_that_is_read_where_records_can_match(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str, where: str, tasks: int
) -> None:
    """The same rows come out, of fewer tasks of a hundred offsets; of one if there are none."""
    given = options(prokurist_kafka, topic)
    theirs = batch(spark, THEIRS, given).where(where)
    whole = given | {"maxRecordsPerPartition": "100"}
    narrow = batch(spark, OURS, whole | {"filterPushdown": "true"}).where(where)
    assert narrow.exceptAll(theirs).count() == theirs.exceptAll(narrow).count() == 0
    assert narrow.rdd.getNumPartitions() == tasks
    assert batch(spark, OURS, whole).where(where).rdd.getNumPartitions() == 20


def test_filters_are_refused_while_spark_hands_on_none(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str
) -> None:
    """Its own words name the setting."""
    pytest.importorskip("pyspark", "4.1", reason="PySpark hands on filters since 4.1")
    refused = refusal(spark, OURS, options(prokurist_kafka, topic, filterPushdown=True))
    assert refused is not None
    assert PUSHING in refused


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("committed", [True, False], ids=["committed", "aborted"])
def test_transactions_are_read_alike(
    spark: "SparkSession", prokurist_kafka: RealKafka, level: str, *, committed: bool
) -> None:
    """A marker is the last offset, and no reader waits for a record behind it."""
    name = prokurist_kafka.unique_topic("transactions")
    produce(prokurist_kafka, name, [{"value": b"plain", "partition": 0}] * 3)
    transaction(prokurist_kafka, name, [b"in it"] * 4, committed=True)
    transaction(prokurist_kafka, name, [b"in another"] * 5, committed=committed)
    given = options(prokurist_kafka, name, extra={"kafka.isolation.level": level})
    ours, theirs = (offsets(batch(spark, each, given)) for each in FORMATS)
    assert ours == theirs
    assert len(ours[0]) == (12 if committed or level == "read_uncommitted" else 7)


def test_a_compacted_topic_is_read_alike(
    spark: "SparkSession", prokurist_kafka: RealKafka
) -> None:
    """Most of its offsets are gone from the middle, and an aborted marker is its last one."""
    name = prokurist_kafka.unique_topic(
        "compacted",
        configs={
            "cleanup.policy": "compact",
            "segment.ms": 50,
            "min.cleanable.dirty.ratio": 0.001,
            "max.compaction.lag.ms": 1,
        },
    )
    written = 0

    def compacted() -> bool:
        """Whether there are gaps; the segment that is written to is never compacted."""
        nonlocal written
        keys = [{"key": b"%d" % (nth % 7), "value": b"v", "partition": 0} for nth in range(30)]
        produce(prokurist_kafka, name, keys)
        written += len(keys)
        return sum(map(len, found(OURS).values())) < written

    def found(format_: str, level: str = "read_committed") -> dict[int, list[int]]:
        extra = {"kafka.isolation.level": level}
        return offsets(batch(spark, format_, options(prokurist_kafka, name, extra=extra)))

    until(compacted)
    for committed in (True, False):
        transaction(prokurist_kafka, name, [b"0", b"1"], committed=committed)
    for level in ("read_committed", "read_uncommitted"):
        # As long as the broker goes on compacting, two looks differ by that.
        ours, theirs, again = (found(each, level) for each in (OURS, THEIRS, OURS))
        while ours != again:
            ours, theirs, again = (found(each, level) for each in (OURS, THEIRS, OURS))
        assert ours == theirs
        assert len(ours[0]) < written
    assert len([each for each in found(OURS)[0] if each >= written]) == 2


def test_a_schema_is_a_projection(
    spark: "SparkSession", prokurist_kafka: RealKafka, topic: str
) -> None:
    """Only what is asked for is made, and handed on."""
    reader = spark.read.format(OURS).options(**options(prokurist_kafka, topic))
    frame = reader.schema("offset bigint, value binary").load()
    assert frame.columns == ["offset", "value"]
    assert frame.selectExpr("sum(offset)", "count(*)").collect()[0][1] == 2000


def test_nothing_to_read_is_nothing(spark: "SparkSession", prokurist_kafka: RealKafka) -> None:
    """An empty topic, and a pattern that no topic matches."""
    name = prokurist_kafka.unique_topic("empty", partitions=2)
    assert batch(spark, OURS, options(prokurist_kafka, name)).count() == 0
    given = options(prokurist_kafka, name, subscribePattern="^no-such-topic$")
    del given["subscribe"]
    assert batch(spark, OURS, given).count() == 0


def test_a_topic_that_is_not_there_is_an_error(
    spark: "SparkSession", prokurist_kafka: RealKafka
) -> None:
    """Which names it, and makes none."""
    for _ in range(2):
        told = refusal(spark, OURS, options(prokurist_kafka, "no-such-topic"))
        assert told is not None
        assert "there is no topic 'no-such-topic'" in told


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"startingOffset": "earliest"}, "did you mean startingOffsets?"),
        ({"kafka.auto.offset.reset": "latest"}, "kafka.auto.offset.reset cannot be given"),
        ({"failOnDataLoss": "perhaps"}, "failOnDataLoss is true or false"),
    ],
)
def test_what_cannot_be_is_said_when_it_is_loaded(
    spark: "SparkSession", prokurist_kafka: RealKafka, more: dict[str, str], why: str
) -> None:
    """By the name of the option, before a task begins."""
    with pytest.raises(Exception, match=why.replace("?", r"\?")):
        batch(spark, OURS, options(prokurist_kafka, "t", extra=more))


def test_what_is_gone_from_the_log(spark: "SparkSession", prokurist_kafka: RealKafka) -> None:
    """It is an error that names the range; or, if it is allowed, what is left is read."""
    name = prokurist_kafka.unique_topic("retention")
    produce(prokurist_kafka, name, [{"value": b"v", "partition": 0}] * 100)
    delete_before(prokurist_kafka, name, 0, 60)
    start = json.dumps({name: {"0": 20}})
    given = options(prokurist_kafka, name, startingOffsets=start)
    told = refusal(spark, OURS, given)
    assert told is not None
    assert f"{name}-0 from 20 on: its log has 60 to 100, so 40 offsets are gone" in told
    given |= {"failOnDataLoss": "false"}
    assert offsets(batch(spark, OURS, given)) == {0: list(range(60, 100))}


def test_readers_travel(prokurist_kafka: RealKafka) -> None:
    """A source and its readers are pickled, also when a client of theirs is open."""
    from pyspark.sql.types import StructType

    from prokurist.spark.data_source import KafkaDataSource

    name = prokurist_kafka.unique_topic("pickles")
    source = KafkaDataSource(options(prokurist_kafka, name))
    schema = StructType().add("value", "binary")
    for reader in (source.reader(schema), source.streamReader(schema)):
        assert pickle.loads(pickle.dumps(reader))
    heard = signal.getsignal(signal.SIGTERM)
    stream = source.streamReader(schema)
    stream.initialOffset()
    again = pickle.loads(pickle.dumps(stream))
    try:
        assert again.initialOffset() == stream.initialOffset()
    finally:
        stream.stop()
        again.stop()
        signal.signal(signal.SIGTERM, heard)  # It was heeded in this process.
