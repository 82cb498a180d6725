"""One run of a query that reads Kafka: its progress, and the ends of its logs.

Thread: the committer's writes; readings are made in any. Tables of a reading are replaced and
never changed.
"""

from collections.abc import Collection, Mapping

from prokurist.events.clock import Clock
from prokurist.events.counter_types import Histogram
from prokurist.metrics.log_ends import LogEnds
from prokurist.metrics.queries import PartitionReading, QueryReading
from prokurist.spark.watcher.event_queue import RunCounters
from prokurist.spark.watcher.pending_commit import PendingCommit
from prokurist.spark.watcher.progress import Query
from prokurist.types import TopicPartition

RESULTS = ("committed", "refused", "failed", "kept_back")
"""Results of a commit."""


class QueryProgress:
    """The progress of one run, and the lag and the age that follow from it.

    Args:
        query: The run.
        group: The group of its commits.
        counters: Its counters.
        commitment: The commits still to be made.
        clock: For the age of offsets that are not done.

    Attributes:
        done: For each partition where the last batch has ended.
        absent: Partitions whose topics do not exist: their places are kept in the query's
            offsets, and neither committed nor compared with a log.
        sample_at: When the logs are to be looked at next.
        commits: How many commits ended how.
        commit_seconds: How long they took.
        samples_failed: How often the logs could not be looked at.
    """

    def __init__(
        self,
        query: Query,
        group: str,
        counters: RunCounters,
        commitment: PendingCommit,
        clock: Clock,
    ) -> None:
        self.query: Query = query
        self.group: str = group
        self.commitment: PendingCommit = commitment
        self.done: Mapping[TopicPartition, int] = {}
        self.absent: frozenset[TopicPartition] = frozenset()
        self.sample_at: float = clock.now()
        self.commits: dict[str, int] = dict.fromkeys(RESULTS, 0)
        self.commit_seconds: Histogram = Histogram()
        self.samples_failed: int = 0
        self._counters = counters
        self._clock = clock
        self._logs: Mapping[TopicPartition, LogEnds] = {}

    def ended(self, ends: Mapping[TopicPartition, int]) -> None:
        """Take the end offsets of a batch."""
        if ends.keys() - self._logs.keys():
            self.sample_at = self._clock.now()  # Of the new ones nothing is known yet.
        self._logs = {each: self._logs.get(each) or LogEnds() for each in ends}
        # What has been read on is there again.
        self.absent = frozenset(
            each for each in self.absent if ends.get(each) == self.done.get(each)
        )
        self.done = dict(ends)
        self.commitment.ended(self.present)

    @property
    def present(self) -> dict[TopicPartition, int]:
        """Where the last batch has ended in partitions that exist."""
        return {each: end for each, end in self.done.items() if each not in self.absent}

    def lacks(self, absent: Collection[TopicPartition]) -> None:
        """Take which partitions do not exist."""
        self.absent = frozenset(absent)
        self.commitment.ended(self.present)

    def sampled(self, ends: Mapping[TopicPartition, int], now: float) -> None:
        """Take the present ends of the logs."""
        for partition, end in ends.items():
            if (log := self._logs.get(partition)) is not None:
                log.seen(end, now, self.done[partition])

    def reading(self, most_partitions: int) -> QueryReading:
        """Read the present state, for metrics."""
        now, last = self._clock.now(), self._counters.last
        logs, done, committed = self._logs, self.done, self.commitment.committed
        listed: list[PartitionReading] = []
        lags: list[int] = []
        ages: list[float] = []
        for partition, log in logs.items():
            offset, end = done.get(partition, 0), log.end
            if end is not None:
                # A batch may have ended beyond what was there at the last look.
                end = max(end, offset)
            lag = None if end is None else end - offset
            age = log.age(offset, now)
            if lag is not None:
                lags.append(lag)
            if age is not None:
                ages.append(age)
            if len(listed) < most_partitions:
                has = committed.get(partition)
                listed.append(PartitionReading(partition, has, end, lag, age))
        return QueryReading(
            query=self.query.label,
            group=self.group,
            partitions=listed,
            unlisted=len(logs) - len(listed),
            lag=sum(lags) if lags else None,
            lag_seconds=max(ages, default=None),
            batch=None if last is None else last.number,
            batch_ended=None if last is None else last.ended,
            batches=self._counters.batches,
            rows=self._counters.rows,
            commits=self.commits,
            commit_seconds=self.commit_seconds,
            samples_failed=self.samples_failed,
        )

    def __repr__(self) -> str:
        return f"QueryProgress({self.query.label} by {self.group}, {self.commitment})"
