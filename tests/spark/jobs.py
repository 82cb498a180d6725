"""What the tests of `format("prokurist")` share: topics with something in them, and readers."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import confluent_kafka
import psutil
from confluent_kafka.admin import AdminClient

from prokurist import KafkaConsumer, TopicPartition
from prokurist.testing.kafka import RealKafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

OURS, THEIRS = "prokurist", "kafka"
FORMATS = (OURS, THEIRS)
DONE = 300
"""Seconds within which a query is over, on a machine that has much else to do."""
STARTS = 4
"""Tries to start a query on a busy machine."""
INITIALIZING = "Initializing sources"
"""State of a query whose sources have not started."""
TOO_SLOW = "Python worker failed to connect back"
"""Spark's error where a Python process of its own has not started within ten seconds."""
ATTEMPT = "task {}, attempt {}"
"""What a gate calls who has come to it; both are counted from 0."""


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


def save(frame: "DataFrame") -> None:
    """Read all of it and drop it."""
    frame.write.format("noop").mode("overwrite").save()


def refusal(spark: "SparkSession", format_: str, given: Mapping[str, str]) -> str | None:
    """Why a batch cannot be read; None if it can."""
    try:
        save(batch(spark, format_, given))
    except Exception as error:  # noqa: BLE001 - either source may raise anything
        return str(error)
    return None


def stream_to(
    spark: "SparkSession",
    format_: str,
    given: Mapping[str, str],
    folder: Any,
    *,
    behind: Path | None = None,
    **trigger: Any,
) -> "StreamingQuery":
    """A query that writes what it reads to parquet files, with a checkpoint beside them.

    Args:
        spark: The session.
        format_: Which source.
        given: Its options.
        folder: Where the files are.
        behind: The folder of a gate that what is read has to pass; None for no gate.
        trigger: Spark's; what is there now, once, if there is none.
    """
    frame = spark.readStream.format(format_).options(**given).load()
    frame = frame.select("partition", "offset", "value")
    return start_query(
        (frame if behind is None else gated(frame, behind))
        .writeStream.format("parquet")
        .option("path", f"{folder}/out")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(**(trigger or {"availableNow": True}))
    )


def start_query(writer: "DataStreamWriter") -> "StreamingQuery":
    """Start a query, again where Spark gave up on a Python process of its own.

    Spark grants the process of a source ten seconds to start, which no setting changes. On a
    busy machine that is too short, and says nothing of the source.
    """
    query = writer.start()
    for _ in range(STARTS - 1):
        until(lambda query=query: query.status["message"] != INITIALIZING)  # type: ignore[misc]
        if TOO_SLOW not in str(query.exception()):
            break
        query = writer.start()
    return query


def gated(frame: "DataFrame", folder: Path) -> "DataFrame":
    """The same rows; but none comes before the test opens the gate in a folder.

    So the tasks that have begun have what they had read when it was reached, and the others
    have not begun. If their values are large, they have not read all of them. Who has come to
    the gate, stands in the folder's folder `reached`: see `ATTEMPT`.
    """
    reached, is_open = folder / "reached", folder / "open"
    this_task = import_module("pyspark").TaskContext

    def passed(offset: int, _value: bytes) -> int:
        context = this_task.get()
        reached.mkdir(exist_ok=True)
        (reached / ATTEMPT.format(context.partitionId(), context.attemptNumber())).touch()
        while not is_open.exists():
            time.sleep(0.02)
        return offset

    # An Arrow one would want pandas.
    gate = import_module("pyspark.sql.functions").udf(passed, "bigint", useArrow=False)
    return frame.withColumn("offset", gate("offset", "value"))


def finish(query: "StreamingQuery") -> None:
    """Wait for the end of a query that has one."""
    assert query.awaitTermination(DONE), "the query has not ended"


def until(question: Callable[[], Any], within: float = DONE) -> None:
    """Wait until it is true."""
    began = time.monotonic()
    while not question():
        assert time.monotonic() - began < within, "never true"
        time.sleep(0.1)


def rows(query: "StreamingQuery") -> int:
    """How many rows a query has read, as far as it tells; one that has failed says why."""
    check(query)
    return sum(each.numInputRows or 0 for each in query.recentProgress)


def check(query: "StreamingQuery") -> None:
    """Say why a query has failed, if it has: a wait for it would be in vain."""
    failed = query.exception()
    if failed is not None:
        raise failed


def runners() -> list[psutil.Process]:
    """The processes that Spark runs beside its driver for sources."""
    return [
        each
        for each in psutil.Process().children(recursive=True)
        if "python_streaming_source_runner" in " ".join(command(each))
    ]


def workers() -> list[psutil.Process]:
    """The processes in which tasks read."""
    return [
        each
        for each in psutil.Process().children(recursive=True)
        if is_daemon(each) and is_daemon(parent(each))
    ]


def is_daemon(process: psutil.Process | None) -> bool:
    """Whether it is the process that begins the workers of one kind, or a worker."""
    return process is not None and "pyspark.daemon" in " ".join(command(process))


def parent(process: psutil.Process) -> psutil.Process | None:
    """Who has started a process; None for one that has ended."""
    try:
        return process.parent()
    except psutil.Error:
        return None


def command(process: psutil.Process) -> list[str]:
    """How a process was started; nothing for one that has ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


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
    assert producer.flush(60) == 0


def write(kafka: RealKafka, topic: str, count: int, partitions: int = 2) -> None:
    """So many records, evenly over the partitions."""
    produce(
        kafka, topic, ({"value": b"%d" % n, "partition": n % partitions} for n in range(count))
    )


def transaction(
    kafka: RealKafka, topic: str, values: Iterable[bytes], *, committed: bool
) -> None:
    """Write records in a transaction, each with a key, and end it."""
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
        producer.produce(topic, value, key=value, partition=0)
    producer.flush(60)
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


def values(kafka: RealKafka, topic: str, isolation: str = "read_committed") -> Counter[bytes]:
    """The values of a topic of two partitions, with how often each is there."""
    places = [TopicPartition(topic, number) for number in range(2)]
    found: Counter[bytes] = Counter()
    with KafkaConsumer(
        bootstrap_servers=kafka.direct_bootstrap, isolation_level=isolation
    ) as consumer:
        consumer.assign(places)
        consumer.seek_to_beginning(places)
        ends = consumer.end_offsets(places, 30.0)
        while any(consumer.position(tp, 30.0) < end for tp, end in ends.items()):
            found.update(record.value for record in consumer.poll(1.0) if record.value)
    return found
