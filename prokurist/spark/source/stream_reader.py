"""The stream reader that Spark calls; `stream_offsets` has its logic.

Thread: the main one of the process that Spark runs beside the driver for each source. A
second object of this class is made elsewhere, for the sake of its `read` alone, and
pickled; so nothing is begun before Spark asks for something.

Spark ends that process by a signal, and calls `stop` only where an exception comes up. So
the signal is made one: what waits is interrupted, and the client is closed.
"""

import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
except ImportError as _missing:
    raise ImportError(
        'streams of format("prokurist") need pyspark 4.2 or later: older ones do not tell a '
        'source where it stands, nor how much it may take. pip install "pyspark>=4.2"'
    ) from _missing
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from prokurist.errors import ConfigException
from prokurist.events.clock import MonotonicClock
from prokurist.spark.source.batch_planning import pieces
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.options import Settings
from prokurist.spark.source.stream_offsets import Stream
from prokurist.spark.source.task import read
from prokurist.spark.source.task_attempts import attempt_number


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Spark's stream reader for Kafka.

    Args:
        settings: What the options come to.
        columns: What is wanted of each record.

    Raises:
        ConfigException: An option is none of a stream's.
    """

    def __init__(self, settings: Settings, columns: tuple[str, ...]) -> None:
        self._settings = settings
        self._columns = columns
        self._stream = self._made()
        self._heeds_signals = False

    def _made(self) -> Stream:
        settings = self._settings
        return Stream(
            settings, DriverQueries(settings.client, settings.group), MonotonicClock()
        )

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the end of the stream to the present ends of the logs."""
        self._heed_signals()
        self._stream.freeze()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit of a trigger, as Spark's read limit."""
        limits = self._stream.limits
        if limits.max_offsets is not None:
            return ReadMaxRows(limits.max_offsets)
        if limits.min_offsets is not None:
            return ReadMinRows(limits.min_offsets)
        return ReadAllAvailable()

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The offsets at which the stream begins."""
        self._heed_signals()
        return self._stream.initial()

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, Any], limit: ReadLimit
    ) -> dict[str, Any]:
        """The end of the next trigger."""
        self._heed_signals()
        # Spark says so when all there is has to be read, regardless of the options.
        return self._stream.latest(start, limited=not isinstance(limit, ReadAllAvailable))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """The ends of the logs at the last look, for Spark's progress."""
        return self._stream.report()

    def partitions(
        self, start: dict[str, Any], end: dict[str, Any]
    ) -> Sequence[InputPartition]:
        """The input partitions: a task for each piece that is not empty."""
        planned = pieces(self._settings, self._columns, self._stream.ranges(start, end))
        return [InputPartition(piece) for piece in planned] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read one piece as Arrow batches."""
        return iter(()) if partition.value is None else read(partition.value, attempt_number())

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing: Spark keeps the offsets, and calls this one batch late, if at all."""

    def stop(self) -> None:
        """Close the client; a second time has no effect."""
        self._stream.close()

    def _heed_signals(self) -> None:
        """Let the signal by which Spark ends this process interrupt a wait."""
        if not self._heeds_signals:
            self._heeds_signals = True
            signal.signal(signal.SIGTERM, leave)

    def __getstate__(self) -> tuple[Settings, tuple[str, ...]]:
        return self._settings, self._columns

    def __setstate__(self, state: tuple[Settings, tuple[str, ...]]) -> None:
        self._settings, self._columns = state
        self._stream = self._made()
        self._heeds_signals = False


class RefusedReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Stream reader of a query that cannot begin: its first step raises.

    Args:
        error: The reason.
    """

    def __init__(self, error: ConfigException) -> None:
        self._error = error

    def prepareForTriggerAvailableNow(self) -> NoReturn:  # noqa: N802 - Spark's name
        """Raise the reason."""
        raise self._error

    def getDefaultReadLimit(self) -> NoReturn:  # noqa: N802 - Spark's name
        """Raise the reason."""
        raise self._error

    def initialOffset(self) -> NoReturn:  # noqa: N802 - Spark's name
        """Raise the reason."""
        raise self._error

    def latestOffset(self, *_: Any) -> NoReturn:  # noqa: N802 - Spark's name
        """Raise the reason."""
        raise self._error

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> NoReturn:
        """Raise the reason."""
        del start, end
        raise self._error

    def read(self, partition: InputPartition) -> NoReturn:
        """Raise the reason."""
        del partition
        raise self._error


def leave(_number: int, _frame: object) -> None:
    """End the process by an exception; Spark sends the signal twice."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)
