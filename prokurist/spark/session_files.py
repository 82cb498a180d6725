"""The files of a checkpoint as a Spark session sees them: hdfs, s3a, abfss, and its own.

Thread: the one that uses the session. What Spark does here is bounded by Spark alone.
"""

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from prokurist.spark.errors import CheckpointException


class SessionFiles:
    """See `checkpoint.Files`; small jobs that only read."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path.rstrip("/")

    def numbers(self, folder: str) -> list[int]:
        """See `Files.numbers`."""
        reader = self._spark.read.format("binaryFile").option("pathGlobFilter", "[0-9]*")
        try:
            # Nothing but the names is read of them.
            rows = reader.load(f"{self._path}/{folder}").select("path").collect()
        except Exception as error:
            if isinstance(error, PySparkException) and error.getCondition() == "PATH_NOT_FOUND":
                return []
            raise _unread(f"{self._path}/{folder}", error) from error
        names = [row["path"].rpartition("/")[2] for row in rows]
        return [int(name) for name in names if name.isdecimal()]

    def text(self, name: str) -> str:
        """See `Files.text`."""
        try:
            row = self._spark.read.text(f"{self._path}/{name}", wholetext=True).head()
        except Exception as error:
            raise _unread(f"{self._path}/{name}", error) from error
        return "" if row is None else str(row["value"])


def _unread(name: str, error: Exception) -> CheckpointException:
    """The error for an exception of a file system, through Spark, py4j or Connect."""
    said = str(error).strip().partition("\n")[0]
    return CheckpointException(f"{name} cannot be read: {type(error).__name__}: {said}")
