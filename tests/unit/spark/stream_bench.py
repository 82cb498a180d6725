"""A stream, its brokers on paper, and a clock that is put on by hand."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from prokurist.errors import TimeoutException
from prokurist.events.clock import MonotonicClock
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.options import Settings
from prokurist.spark.source.partition_selection import Selection
from prokurist.spark.source.stream_offsets import Stream
from prokurist.spark.source.topic_listing import Listing
from prokurist.types import PartitionInfo, TopicPartition

A, B, C = (TopicPartition("t", number) for number in range(3))


class StandingClock(MonotonicClock):
    """A clock that is put on by hand."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        """The moment."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Put it on."""
        self.time += seconds


class Paper(DriverQueries):
    """Brokers on paper: logs that are written down here, or no answer."""

    def __init__(self, clock: StandingClock) -> None:
        super().__init__({})
        self.clock = clock
        self.max_age = self.request_timeout = 5.0
        self.ids: dict[str, UUID | None] = {}
        self.known: set[str] = set()
        self.until = 0.0
        self.moments: dict[TopicPartition, int] = {}
        self.logs: dict[TopicPartition, tuple[int, int]] = {A: (0, 10), B: (0, 20)}
        self.reads_committed = False
        self.unstable: dict[TopicPartition, int] = {}
        self.hidden: list[TopicPartition] = []
        self.down = False
        self.away: set[TopicPartition] = set()
        self.slow: dict[TopicPartition, float] = {}
        self.young: dict[TopicPartition, int] = {}
        self.looks = 0
        self.seconds: float | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """See `DriverQueries`."""
        self.until = self.clock.time + seconds
        self.seconds = seconds
        try:
            yield
        finally:
            self.seconds = None

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """See `DriverQueries`."""
        whole, self.seconds = self.seconds, seconds
        try:
            yield
        finally:
            self.seconds = whole

    @property
    def has_time(self) -> bool:
        """See `DriverQueries`."""
        return self.clock.time < self.until

    def leaders(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """See `DriverQueries`: each has its own."""
        return {tp: tp.partition for tp in partitions if tp in self.logs}

    def _ask(self, partitions: Collection[TopicPartition] = ()) -> None:
        assert self.seconds is not None, "asked without a deadline"
        self.looks += 1
        took = max((self.slow.get(tp, 0.0) for tp in partitions), default=0.0)
        if took and not (self.down or self.away & set(partitions)):
            self.clock.time += min(took, self.seconds)
            if took > self.seconds:
                raise TimeoutException("no answer in time")
            self.seconds -= took
        silent = self.away | (set(partitions) - self.logs.keys())
        if self.down or silent & set(partitions):
            self.clock.time = min(self.clock.time + self.seconds, self.until)
            raise TimeoutException("no broker answers")

    def at_times(
        self, moments: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """See `DriverQueries`: what `young` has, at any time."""
        self._ask(moments)
        self.moments = dict(moments)
        return {tp: self.young.get(tp) for tp in moments}

    def listing(self, selection: Selection, known: Collection[str] = ()) -> Listing:
        """See `DriverQueries`; what is hidden is seen by the next request."""
        self._ask()
        self.known = set(known)
        hidden, self.hidden = self.hidden, []
        infos: dict[str, list[PartitionInfo]] = {}
        for tp in sorted(self.logs.keys() - set(hidden)):
            info = PartitionInfo(*tp, None, topic_id=self.ids.get(tp.topic))
            infos.setdefault(tp.topic, []).append(info)
        return Listing.of(infos, selection)

    def topic_ids(self, topics: Collection[str]) -> dict[str, UUID | None]:
        """See `DriverQueries`."""
        self._ask()
        there = {tp.topic for tp in self.logs}
        return {name: self.ids.get(name) for name in topics if name in there}

    def beginnings(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """See `DriverQueries`."""
        self._ask(partitions)
        return {tp: self.logs[tp][0] for tp in partitions}

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `DriverQueries`; the first open transaction's offset, where there is one."""
        return {tp: self.unstable.get(tp, end) for tp, end in self.log_ends(partitions).items()}

    def log_ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `DriverQueries`."""
        self._ask(partitions)
        return {tp: self.logs[tp][1] for tp in partitions}


class Bench:
    """A stream, its brokers and its clock."""

    def __init__(self, **options: str) -> None:
        self.clock = StandingClock()
        self.brokers = Paper(self.clock)
        given = {"kafka.bootstrap.servers": "b:9092", "subscribe": "t", **options}
        self.settings = Settings.of(given)
        self.stream = self.restarted()

    def restarted(self) -> Stream:
        """The same after the process has ended."""
        self.stream = Stream(self.settings, self.brokers, self.clock)
        return self.stream

    def latest(self, start: Mapping[str, Any], *, limited: bool = True) -> dict[str, Any]:
        """How far the next trigger goes."""
        return self.stream.latest(start, limited=limited)

    def planned(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> dict[int, list[int]]:
        """What is read of each partition: from where to where."""
        return {
            each.partition.partition: [each.start, each.end]
            for each in self.stream.ranges(start, end)
        }


def at(*ends: int) -> dict[str, Any]:
    """An offset as Spark's source for Kafka writes it."""
    return {"t": {str(number): end for number, end in enumerate(ends)}}
