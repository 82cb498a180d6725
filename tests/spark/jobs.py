"""What the tests of `format("prokurist")` share: topics with something in them, and readers."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import confluent_kafka
from confluent_kafka.admin import AdminClient

from prokurist.testing.kafka import RealKafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

OURS, THEIRS = "prokurist", "kafka"
FORMATS = (OURS, THEIRS)
DONE = 60
"""Seconds within which a query is over, on a machine that is shared."""


def options(kafka: RealKafka, topic: str, **more: Any) -> dict[str, str]:
    """A reader's options; names with dots are given by `more`'s mapping `extra`."""
    extra: Mapping[str, str] = more.pop("extra", {})
    given = {"kafka.bootstrap.servers": kafka.direct_bootstrap, "subscribe": topic}
    return given | {name: str(value) for name, value in more.items()} | dict(extra)


def batch(spark: "SparkSession", format_: str, given: Mapping[str, str]) -> "DataFrame":
    """A batch of a format."""
    return spark.read.format(format_).options(**given).load()


def offsets(frame: "DataFrame") -> dict[int, list[int]]:
    """The offsets that a batch has, by partition, in order."""
    found: dict[int, list[int]] = {}
    for row in frame.select("partition", "offset").collect():
        found.setdefault(row.partition, []).append(row.offset)
    return {number: sorted(found[number]) for number in sorted(found)}


def refusal(spark: "SparkSession", format_: str, given: Mapping[str, str]) -> str | None:
    """Why a batch cannot be read; None if it can."""
    try:
        batch(spark, format_, given).write.format("noop").mode("overwrite").save()
    except Exception as error:  # noqa: BLE001 - whatever either source raises
        return str(error)
    return None


def stream_to(
    spark: "SparkSession",
    format_: str,
    given: Mapping[str, str],
    folder: Any,
    **trigger: Any,
) -> "StreamingQuery":
    """A query that writes what it reads to parquet files, with a checkpoint beside them."""
    frame = spark.readStream.format(format_).options(**given).load()
    return (
        frame.select("partition", "offset", "value")
        .writeStream.format("parquet")
        .option("path", f"{folder}/out")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(**(trigger or {"availableNow": True}))
        .start()
    )


def written_out(spark: "SparkSession", folder: Any) -> dict[int, list[int]]:
    """The offsets that such queries have written, one entry for each row."""
    return offsets(spark.read.parquet(f"{folder}/out"))


def planned(folder: Any) -> list[dict[str, Any]]:
    """The offsets that stand in a checkpoint, batch by batch."""
    found = sorted(
        (int(each.name), each)
        for each in (folder / "checkpoint" / "offsets").iterdir()
        if each.name.isdigit()
    )
    return [json.loads(path.read_text().splitlines()[-1]) for _, path in found]


def produce(
    kafka: RealKafka,
    topic: str,
    records: Iterable[Mapping[str, Any]],
    **settings: Any,
) -> None:
    """Write records; each is what `Producer.produce` takes."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.direct_bootstrap, "log_level": 0, **settings}
    )
    for each in records:
        producer.produce(topic, **each)
    assert producer.flush(30) == 0


def transaction(
    kafka: RealKafka, topic: str, values: Iterable[bytes], *, committed: bool
) -> None:
    """Write records in a transaction, and end it."""
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": kafka.direct_bootstrap,
            "transactional.id": f"tx-{topic}",
            "log_level": 0,
        }
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush(30)
    if committed:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)


def delete_before(kafka: RealKafka, topic: str, partition: int, offset: int) -> None:
    """Have a log begin later, as its retention does."""
    admin = AdminClient({"bootstrap.servers": kafka.direct_bootstrap, "log_level": 0})
    place = confluent_kafka.TopicPartition(topic, partition, offset)
    for future in admin.delete_records([place]).values():
        future.result(30)
