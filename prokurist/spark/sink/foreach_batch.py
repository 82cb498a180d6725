"""`kafka_sink`: a function for `foreachBatch` that writes each batch to Kafka.

`foreachBatch` has no limits of a Python sink: it takes the update mode, and pysparks of 4.0.

Thread: the driver's, one that Spark calls back in.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from prokurist.spark.sink.columns import SinkColumns
from prokurist.spark.sink.driver_commit import Batch, commit_once
from prokurist.spark.sink.messages import check_size
from prokurist.spark.sink.options import ExactlyOnce, SinkSettings
from prokurist.spark.sink.writers import QUERY

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def kafka_sink(
    bootstrap: str,
    *,
    topic: str | None = None,
    exactly_once: str | None = None,
    options: Mapping[str, str] | None = None,
) -> "Callable[[DataFrame, int], None]":
    """Make a function for `foreachBatch` that writes each batch to Kafka.

    Args:
        bootstrap: The brokers to ask first.
        topic: The topic of all rows; None where a column `topic` has it.
        exactly_once: `exactlyOnceId`; None for at least once.
        options: More options of the sink.

    Returns:
        The function.

    Raises:
        ConfigException: An option is not known, cannot be given, or has no value of its kind.
    """
    given = dict(options or {}) | {"kafka.bootstrap.servers": bootstrap}
    if topic is not None:
        given["topic"] = topic
    if exactly_once is not None:
        given |= {"delivery": "exactly_once", "exactlyOnceId": exactly_once}
    settings = SinkSettings.of(given)
    once = settings.exactly_once

    def write(frame: "DataFrame", number: int) -> None:
        if once is None:
            frame.write.format("prokurist").mode("append").options(**given).save()
        else:
            _write_once(frame, number, settings, once)

    return write


def _write_once(
    frame: "DataFrame", number: int, settings: SinkSettings, once: ExactlyOnce
) -> None:
    """Bring the rows of a batch to this process, and commit them with its number."""
    fields = [(each.name, each.dataType.simpleString()) for each in frame.schema]
    columns = SinkColumns.of(fields, settings.topic)

    def rows() -> "Iterator[pa.RecordBatch]":
        table = frame.toArrow()
        check_size(table.nbytes, once.max_bytes)
        return iter(table.to_batches())

    if not commit_once(settings, once, columns, Batch(number, query_of(frame)), rows):
        # The query's state goes on by this batch all the same.
        frame.write.format("noop").mode("overwrite").save()


def query_of(frame: "DataFrame") -> str:
    """Return the id of the query that calls back; empty where Spark does not tell it."""
    session: Any = frame.sparkSession
    if hasattr(session, "_client"):  # Spark Connect has no context here.
        return ""
    return session.sparkContext.getLocalProperty(QUERY) or ""
