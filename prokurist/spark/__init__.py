"""Kafka for Spark, without jars: offsets managed on the driver, and queries watched.

Thread: those of Spark's driver, and of its Python workers.
Holds: Spark's own words for offsets with their arithmetic, the manager of offsets for batch
jobs and `foreachBatch`, and the listener that commits the progress of streaming queries to
groups.
May import: the public parts of the clients, the clock, pauses, counters and metrics.

Invariants: this package and its direct exports load neither pyspark nor
pyarrow; a module that needs one of them imports it at its top, and is loaded when it is
asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prokurist.spark.checkpoint import Checkpoint as Checkpoint
    from prokurist.spark.errors import CheckpointException as CheckpointException
    from prokurist.spark.errors import CommitBackwardsException as CommitBackwardsException
    from prokurist.spark.errors import DataLossException as DataLossException
    from prokurist.spark.errors import GroupInUseException as GroupInUseException
    from prokurist.spark.errors import LedgerException as LedgerException
    from prokurist.spark.errors import Loss as Loss
    from prokurist.spark.errors import SinkRowException as SinkRowException
    from prokurist.spark.offset_manager.manager import Lag as Lag
    from prokurist.spark.offset_manager.manager import OffsetManager as OffsetManager
    from prokurist.spark.offset_manager.plan import OffsetPlan as OffsetPlan
    from prokurist.spark.offset_ranges import OffsetRange as OffsetRange
    from prokurist.spark.registration import register as register
    from prokurist.spark.sink.foreach_batch import kafka_sink as kafka_sink
    from prokurist.spark.watcher.listener import CommitListener as CommitListener
    from prokurist.spark.watcher.listener import watch as watch
    from prokurist.spark.watcher.progress import Query as Query

__all__ = [
    "Checkpoint",
    "CheckpointException",
    "CommitBackwardsException",
    "CommitListener",
    "DataLossException",
    "GroupInUseException",
    "Lag",
    "LedgerException",
    "Loss",
    "OffsetManager",
    "OffsetPlan",
    "OffsetRange",
    "Query",
    "SinkRowException",
    "kafka_sink",
    "register",
    "watch",
]

_HOMES = {
    "Checkpoint": "prokurist.spark.checkpoint",
    "CheckpointException": "prokurist.spark.errors",
    "CommitBackwardsException": "prokurist.spark.errors",
    "CommitListener": "prokurist.spark.watcher.listener",
    "DataLossException": "prokurist.spark.errors",
    "GroupInUseException": "prokurist.spark.errors",
    "Lag": "prokurist.spark.offset_manager.manager",
    "LedgerException": "prokurist.spark.errors",
    "Loss": "prokurist.spark.errors",
    "OffsetManager": "prokurist.spark.offset_manager.manager",
    "OffsetPlan": "prokurist.spark.offset_manager.plan",
    "OffsetRange": "prokurist.spark.offset_ranges",
    "Query": "prokurist.spark.watcher.progress",
    "SinkRowException": "prokurist.spark.errors",
    "kafka_sink": "prokurist.spark.sink.foreach_batch",
    "register": "prokurist.spark.registration",
    "watch": "prokurist.spark.watcher.listener",
}
"""Module of each name; `test_spark_exports` keeps them equal to the names that type checkers
see."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'prokurist.spark' has no attribute {name!r}")
    try:
        value = getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"pyspark", "pyarrow"}:
            raise
        raise ImportError(
            f"prokurist.spark.{name} needs {error.name.partition('.')[0]}: "
            f'pip install "prokurist[spark]"'
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
