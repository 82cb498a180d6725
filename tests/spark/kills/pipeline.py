"""A program of Spark's that copies a topic to files or a topic, and is killed time and again.

    python -m tests.spark.kills.pipeline DUTY

It takes up its query again when that has failed, as a supervisor would; when it is killed
itself, the test starts it again, on the same checkpoint. It is told to come to an
end by a file, and keeps a journal of what becomes of it.

Thread: the main one.
"""

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

LOOK: Final = 1
"""Seconds between two looks for the file that says it is enough."""


@dataclass(frozen=True)
class Duty:
    """What a pipeline is to do.

    Attributes:
        folder: Where its checkpoint, its files and its journal are.
        master: Spark's, such as `local[2,3]`.
        options: The source's.
        sink: A format to write; parquet files need a folder, which is ours.
        writes: The sink's options; with some, values are written alone.
    """

    folder: str
    master: str
    options: dict[str, str]
    sink: str = "parquet"
    writes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> "Duty":
        """Read back what `text` has written."""
        return cls(**json.loads(text))

    def text(self) -> str:
        """As an argument."""
        return json.dumps(asdict(self))

    @property
    def journal(self) -> Path:
        """A line of JSON for each thing that happens."""
        return Path(self.folder, "journal")

    @property
    def enough(self) -> Path:
        """As soon as this is there, it reads what there is and ends."""
        return Path(self.folder, "enough")

    @property
    def checkpoint(self) -> Path:
        """Spark's folder of offsets."""
        return Path(self.folder, "checkpoint")

    @property
    def rows(self) -> Path:
        """Where the parquet files are."""
        return Path(self.folder, "rows")


def session(master: str) -> SparkSession:
    """Spark, as small as it goes."""
    return (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.stopTimeout", "30s")
        .getOrCreate()
    )


def begin(spark: SparkSession, duty: Duty, **trigger: Any) -> StreamingQuery:
    """The query, from wherever its checkpoint has come."""
    frame = spark.readStream.format("prokurist").options(**duty.options).load()
    # A column `partition` would be written to that number of another topic.
    columns = ("value",) if duty.writes else ("partition", "offset", "value")
    return (
        frame.select(*columns)
        .writeStream.format(duty.sink)
        .options(**(duty.writes or {"path": str(duty.rows)}))
        .option("checkpointLocation", str(duty.checkpoint))
        .trigger(**trigger)
        .start()
    )


def main() -> None:
    """Copy until it is enough."""
    duty = Duty.of(sys.argv[1])

    def note(kind: str, words: str = "") -> None:
        with duty.journal.open("a") as file:
            file.write(json.dumps([kind, words]) + "\n")

    spark = session(duty.master)
    note("up")
    while not duty.enough.exists():
        try:
            query = begin(spark, duty, processingTime="0 seconds")
            note("began")
            while not (duty.enough.exists() or query.awaitTermination(LOOK)):
                pass
            query.stop()
        except PySparkException as error:
            note("failed", str(error)[:2000])
    begin(spark, duty, availableNow=True).awaitTermination()
    spark.stop()
    note("done")


if __name__ == "__main__":
    main()
