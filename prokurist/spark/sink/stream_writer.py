"""The writer that Spark calls for a stream; pyspark has it from 4.1 on.

Spark pickles it, so it holds settings, and no client. Process: `write` in the
executors' workers, `commit` and `abort` in a short one beside the driver.
"""

from pyspark.sql.datasource import DataSourceStreamArrowWriter

from prokurist.spark.sink.writers import Messages, RowsSink


class StreamWriter(RowsSink, DataSourceStreamArrowWriter):
    """Spark's writer of a stream; it makes a new one for each commit."""

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Commit a batch."""
        self.commit_batch(messages, batchId, "")

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Tell of rows that are written all the same."""
        self.warn_of_rows(messages, batchId)
