"""Progress of a streaming query, as Spark reports it: a batch, and its end in Kafka.

Thread: any; frozen values and pure functions.
Invariants: making a `QueryBatch` reads attributes that are there already, so that Spark's
callback can make it; its JSON is parsed later, when `ends` is read.

Spark reports a description and the JSON of the last offsets of each source. The JVM's Kafka
source is recognised by the first; the description of a Python source says nothing, and it is
recognised by the form of its offsets, unlike that of any other source of Spark's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.offset_json import SourceOffset
from prokurist.types import TopicPartition

JVM_SOURCES: Final = ("KafkaV2[", "KafkaSource[", "KafkaSourceV1[")
"""Prefixes of the JVM sources' descriptions, in all versions so far."""

NOTHING: Final = ("", "null", "None")
"""Texts of a missing offset: Spark's and PySpark's."""


class NotKafkaOffsets(ValueError):
    """Raised where a Kafka source has reported an offset of another form."""


@dataclass(frozen=True, slots=True)
class Query:
    """One run of a streaming query.

    Attributes:
        id: Its id, the same for as long as its checkpoint is.
        run_id: This run's, from a start to an end.
        name: Its name by the application; None without one.
    """

    id: str
    run_id: str
    name: str | None = None

    @property
    def label(self) -> str:
        """Its name in metrics and messages, or else its id."""
        return self.name or self.id


@dataclass(frozen=True, slots=True)
class QueryBatch:
    """A batch of a query that is done.

    Attributes:
        query: The query.
        number: Spark's number for it.
        rows: How many rows its sources gave.
        seconds: How long its trigger took.
        ended: When that was over, in seconds since 1970; None where Spark does not tell.
        sources: For each source its description and the JSON of where the batch ended.
    """

    query: Query
    number: int
    rows: int
    seconds: float
    ended: float | None
    sources: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, progress: Mapping[str, Any]) -> "QueryBatch":
        """Read a batch from Spark's progress, of an event or of `query.lastProgress`."""
        sources: Iterable[Mapping[str, Any]] = progress["sources"]
        rows = progress.get("numInputRows")
        if rows is None:  # Through Spark Connect there is no sum.
            rows = sum(each["numInputRows"] for each in sources)
        seconds = progress["durationMs"].get("triggerExecution", 0) / 1000
        return cls(
            Query(str(progress["id"]), str(progress["runId"]), progress["name"]),
            progress["batchId"],
            rows,
            seconds,
            ended_at(progress["timestamp"], seconds),
            tuple((each["description"] or "", str(each["endOffset"])) for each in sources),
        )

    @classmethod
    def done(cls, progress: Mapping[str, Any]) -> "QueryBatch | None":
        """Read the last done batch from a progress, perhaps of an idle trigger.

        Spark gives an idle trigger the number of the batch that will come next. Where it
        stands is where the batch before that one ended. When that was over is not known.

        Returns:
            None where no batch is done yet.
        """
        batch = cls.of(progress)
        if batch.rows or "addBatch" in progress["durationMs"]:
            return batch
        if any(each.get("startOffset") != each["endOffset"] for each in progress["sources"]):
            return batch
        return replace(batch, number=batch.number - 1, ended=None) if batch.number else None

    def ends(self) -> dict[TopicPartition, int]:
        """The end offset of each Kafka partition in the batch.

        A partition that two sources read is done as far as both have come.

        Raises:
            NotKafkaOffsets: A source of the JVM's has reported unreadable offsets.
        """
        ends: dict[TopicPartition, int] = {}
        for description, end in self.sources:
            for partition, offset in ends_of(description, end).items():
                ends[partition] = min(offset, ends.get(partition, offset))
        return ends


def ended_at(timestamp: str, seconds: float) -> float | None:
    """When a trigger ended; None if its time cannot be read."""
    try:
        return datetime.fromisoformat(timestamp).timestamp() + seconds
    except (TypeError, ValueError):
        return None


def ends_of(description: str, end: str) -> Mapping[TopicPartition, int]:
    """The end offsets of a source; empty if it does not read Kafka.

    Raises:
        NotKafkaOffsets: It is a source of the JVM's, and that is unreadable.
    """
    if end in NOTHING:
        return {}
    try:
        return SourceOffset.of(end, "endOffset").ends
    except ConfigException as error:
        if description.startswith(JVM_SOURCES):
            raise NotKafkaOffsets(f"{description} ended at {end[:200]!r}: {error}") from error
        return {}
