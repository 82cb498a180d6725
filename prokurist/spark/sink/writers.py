"""The writer that Spark calls for a batch, and the base of that for a stream.

Spark pickles them, so they hold settings, and no client. Process: `write` in the
executors' workers, `commit` and `abort` in a short one beside the driver.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from prokurist.errors import ConfigException
from prokurist.spark.sink.columns import SinkColumns
from prokurist.spark.sink.driver_commit import Batch, commit_once
from prokurist.spark.sink.messages import RowsMessage, WrittenMessage, check_size
from prokurist.spark.sink.options import SinkSettings
from prokurist.spark.sink.worker_producers import PRODUCERS
from prokurist.spark.sink.writing import RowWriter
from prokurist.types import counted

if TYPE_CHECKING:
    import pyarrow as pa

QUERY: Final = "sql.streaming.queryId"
"""Spark's property of a task that names the query."""

log: logging.Logger = logging.getLogger("prokurist.spark")

Messages = Sequence[WriterCommitMessage | None]


class RowsSink:
    """Base of the writers of batches and streams.

    Args:
        settings: The settings of the writer.
        columns: The columns of the rows.
    """

    def __init__(self, settings: SinkSettings, columns: SinkColumns) -> None:
        self._settings = settings
        self._columns = columns

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        """Write the rows of a task, or pack them for the driver."""
        once = self._settings.exactly_once
        if once is not None:
            return RowsMessage.of(iterator, query_id(), once.max_bytes)
        with PRODUCERS.lent(self._settings.client) as producer:
            writer = RowWriter(producer, self._columns)
            for batch in iterator:
                writer.write(batch)
            writer.finish()
        return WrittenMessage(writer.rows, writer.ranges)

    def commit_batch(self, messages: Messages, number: int | None, name: str) -> None:
        """Write packed rows; log a line for rows that are written."""
        once = self._settings.exactly_once
        if once is None:
            log.debug("batch %s: %s", "" if number is None else number, told(messages))
            return
        packed = [each for each in messages if isinstance(each, RowsMessage)]
        queries = {each.query for each in packed} - {""}
        rows = list(chain.from_iterable(each.batches() for each in packed))
        check_size(sum(each.nbytes for each in rows), once.max_bytes)
        query = name or next(iter(queries), "")
        batch = Batch(number, query)
        commit_once(self._settings, once, self._columns, batch, lambda: iter(rows))

    def warn_of_rows(self, messages: Messages, number: int | None) -> None:
        """Warn of rows that are written, though the batch has failed."""
        if any(isinstance(each, WrittenMessage) and each.rows for each in messages):
            log.warning(
                "%s has failed, and rows of it are written, which may come twice: %s",
                "the batch" if number is None else f"batch {number}",
                told(messages),
            )


class BatchWriter(RowsSink, DataSourceArrowWriter):
    """Spark's writer of a batch.

    Raises:
        ConfigException: `exactly_once` without the name of the run.
    """

    def __init__(self, settings: SinkSettings, columns: SinkColumns) -> None:
        once = settings.exactly_once
        if once is not None and once.run is None:
            raise ConfigException(
                "delivery=exactly_once in a batch needs exactlyOnceRun: a name of this run, by "
                "which a run that is tried again is known, the day for example"
            )
        super().__init__(settings, columns)

    def commit(self, messages: Messages) -> None:
        """Commit the batch."""
        once = self._settings.exactly_once
        self.commit_batch(messages, None, "" if once is None else str(once.run))

    def abort(self, messages: Messages) -> None:
        """Tell of rows that are written all the same."""
        self.warn_of_rows(messages, None)


def query_id() -> str:
    """Return the id of the query whose task this is; empty outside of a query."""
    context = TaskContext.get()
    return "" if context is None else context.getLocalProperty(QUERY) or ""


def told(messages: Iterable[WriterCommitMessage | None]) -> str:
    """Return the numbers of written rows, by partition, in words."""
    found: dict[str, int] = {}
    for each in messages:
        if isinstance(each, WrittenMessage):
            for tp, written in each.ranges.items():
                found[str(tp)] = found.get(str(tp), 0) + written.rows
    if not found:
        return "no rows"
    return ", ".join(f"{tp} {counted(rows, 'row')}" for tp, rows in sorted(found.items()))
