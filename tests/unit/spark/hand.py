"""A clock that is moved by hand, and a Kafka that is not there."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from prokurist.errors import TimeoutException, UnknownTopicOrPartitionException
from prokurist.spark.watcher.progress import Query, QueryBatch
from prokurist.types import OffsetAndMetadata, PartitionInfo, TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
BILLS = Query("id-1", "run-1", "bills")


@dataclass
class HandClock:
    """A clock that moves only when a test moves it."""

    time: float = 1000.0

    def now(self) -> float:
        """The moment."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """It passes at once."""
        self.time += max(0.0, seconds)


@dataclass
class FakeClient:
    """What a group has and where logs end; each call takes what it is said to take.

    Attributes:
        has: What the group has.
        ends: Where the logs end.
        absent: Topics that do not exist; what is asked of them has no answer in time.
        error: What every call raises, after `takes` seconds.
        told: What was committed, call by call.
        told_at: When.
        timeouts: What each call was given.
        closed: Whether it was closed.
    """

    clock: HandClock
    has: dict[TopicPartition, int] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    error: Exception | None = None
    takes: float = 0.0
    told: list[dict[TopicPartition, int]] = field(default_factory=list)
    told_at: list[float] = field(default_factory=list)
    timeouts: list[float] = field(default_factory=list)
    closed: bool = False

    def _call(self, timeout: float) -> None:
        self.timeouts.append(timeout)
        self.clock.time += min(self.takes, timeout)
        if self.error is not None:
            raise self.error

    def committed(
        self, partitions: tuple[TopicPartition, ...], timeout: float, /
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """What its group has."""
        self._call(timeout)
        return {
            each: OffsetAndMetadata(self.has[each]) if each in self.has else None
            for each in partitions
        }

    def commit_sync(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout: float, /
    ) -> None:
        """Tell its group."""
        self._call(timeout)
        self._need(offsets, timeout)
        told = {each: place.offset for each, place in offsets.items()}
        self.told.append(told)
        self.told_at.append(self.clock.time)
        self.has.update(told)

    def end_offsets(
        self, partitions: tuple[TopicPartition, ...], timeout: float, /
    ) -> Mapping[TopicPartition, int]:
        """Where logs end."""
        self._call(timeout)
        self._need(partitions, timeout)
        return {each: self.ends.get(each, 0) for each in partitions}

    def _need(self, partitions: Iterable[TopicPartition], timeout: float) -> None:
        if any(each.topic in self.absent for each in partitions):
            self.clock.time += timeout
            unknown = UnknownTopicOrPartitionException("a topic is not there")
            raise TimeoutException(last_error=unknown)

    def list_topics(
        self, timeout: float, /, *, topics: Collection[str]
    ) -> Mapping[str, list[PartitionInfo]]:
        """Those that exist, of four partitions each."""
        self._call(timeout)
        there = set(topics) - self.absent
        return {name: [PartitionInfo(name, n, None) for n in range(4)] for name in there}

    def close(self, _timeout: float, /) -> None:
        """It is needed no more."""
        self.closed = True


def batch(number: int, end: str, query: Query = BILLS, rows: int = 10) -> QueryBatch:
    """One of a source of the JVM's, that ended there."""
    sources = (("KafkaV2[Subscribe[a]]", end),)
    return QueryBatch(query, number, rows, 0.25, 1.0e9 + number, sources)


def at(*offsets: int) -> str:
    """The JSON of these offsets of topic `a`, from partition 0 on."""
    return json.dumps({"a": {str(n): each for n, each in enumerate(offsets)}})
