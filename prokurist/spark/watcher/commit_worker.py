"""The committer's work: takes events, commits to groups, looks up log ends, one at a time.

Thread: the committer's; it is given its clock and its clients' factory, so that it runs in
virtual time.
Invariants: a failure concerns one query and one attempt: it is counted, logged as a problem,
and tried again. The earliest due work is done first, so that a group out of reach delays the
others by one attempt and no more. An ended run is tried for `GRACE` seconds more, and then left
as it is.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Final, Protocol

from prokurist.errors import (
    CommitFailedException,
    KafkaException,
    UnknownTopicOrPartitionException,
)
from prokurist.events.backoff import Backoff
from prokurist.events.clock import Clock, Deadline
from prokurist.lazy_dataclasses import dataclass
from prokurist.metrics.queries import QUERIES, OpenQueries
from prokurist.spark.errors import GroupInUseException
from prokurist.spark.repeated_warnings import RepeatedWarnings
from prokurist.spark.watcher.event_queue import EventQueue, QueuedEvent
from prokurist.spark.watcher.pending_commit import PendingCommit
from prokurist.spark.watcher.progress import Query, QueryBatch
from prokurist.spark.watcher.query_progress import QueryProgress
from prokurist.types import OffsetAndMetadata, PartitionInfo, TopicPartition, named

GRACE: Final = 30.0
"""Seconds for the remaining commits of an ended run."""

CLOSE: Final = 1.0
"""Seconds for closing a client outside of any group."""

PAUSES: Final = (0.5, 10.0)
"""Between attempts that fail: the first pause, and the longest."""


class Client(Protocol):
    """Interface of a consumer, for the worker."""

    def committed(
        self, partitions: tuple[TopicPartition, ...], timeout: float, /
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """The committed offsets of the client's group."""
        ...

    def commit_sync(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout: float, /
    ) -> None:
        """Commit offsets for the client's group."""
        ...

    def end_offsets(
        self, partitions: tuple[TopicPartition, ...], timeout: float, /
    ) -> Mapping[TopicPartition, int]:
        """The end offsets of partitions."""
        ...

    def list_topics(
        self, timeout: float, /, *, topics: Collection[str]
    ) -> Mapping[str, Sequence[PartitionInfo]]:
        """The topics that exist, of some."""
        ...

    def close(self, timeout: float, /) -> None:
        """Close the client."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """The user's settings of `watch`.

    Attributes:
        connect: Makes the client for a query and its group; None where that query is left
            alone.
        group: The group of a query's commits; None where it is left alone.
        sample_interval: Seconds between two looks at the logs.
        commit_deadline: Seconds for each attempt to tell a group, and for each look.
        allow_rewind: True if an offset may go back.
    """

    connect: Callable[[Query, str], Client | None]
    group: Callable[[Query], str | None]
    sample_interval: float
    commit_deadline: float
    allow_rewind: bool


@dataclass(slots=True)
class Kept:
    """The worker's state of one run.

    Attributes:
        query: The run.
        batch: Its newest batch that was read.
        watched: The state of a watched query that reads Kafka.
        client: Its client.
        until: When it is given up, once it is over.
    """

    query: Query
    batch: int = -1
    watched: QueryProgress | None = None
    client: Client | None = None
    until: float = math.inf


class CommitWorker:
    """Does the committer's work, one step at a time.

    Args:
        queue: The source of events, and the sink of results.
        rules: The user's settings.
        clock: The clock.
        random: Spreads the pauses.
        queries: The watched queries, for readers.
    """

    def __init__(
        self,
        queue: EventQueue,
        rules: Rules,
        clock: Clock,
        random: Random,
        queries: OpenQueries = QUERIES,
    ) -> None:
        self._queue = queue
        self._rules = rules
        self._clock = clock
        self._backoff = Backoff(*PAUSES, random.random)
        self._queries = queries
        self._kept: dict[str, Kept] = {}
        self._warnings = RepeatedWarnings()

    def turn(self) -> float | None:
        """Take the events, and do the earliest due work.

        Returns:
            When to come again at the latest; None when nothing is left.
        """
        for event in self._queue.take():
            self._read(event)
        now = self._clock.now()
        for kept in list(self._kept.values()):
            self._settle(kept, now)
        if not self._kept:
            return None
        due, act = min(
            (work for kept in self._kept.values() for work in self._work(kept)),
            key=lambda work: work[0],
            default=(math.inf, None),
        )
        if act is None or due > now:
            return due
        act()
        return now

    def close(self) -> None:
        """Close the clients, even with work left to do."""
        for kept in list(self._kept.values()):
            self._part(kept)

    # --- events -----------------------------------------------------------------------

    def _read(self, event: QueuedEvent) -> None:
        now = self._clock.now()
        kept = self._kept.setdefault(event.query.run_id, Kept(event.query))
        batch = event.batch
        if batch is not None and batch.number > kept.batch:
            kept.query = batch.query
            try:
                self._batch(kept, event, batch)
            except Exception as error:  # noqa: BLE001 - the user's code, or an offset of Spark's
                text = f"batch {batch.number} is ignored: {error}"
                self._warnings.met(kept.query.label, BATCHES, text, now)
                self._queue.failed(kept.query, error, refused=True)
            else:
                kept.batch = batch.number
                self._warnings.over(kept.query.label, BATCHES, now)
        if event.urgent and kept.watched is not None:
            kept.watched.commitment.hurry(now)
        if event.over:
            kept.until = min(kept.until, now + GRACE)

    def _batch(self, kept: Kept, event: QueuedEvent, batch: QueryBatch) -> None:
        ends = batch.ends()
        if kept.watched is None and ends:
            self._begin(kept, event)
        if kept.watched is not None:
            kept.watched.ended(ends)

    def _begin(self, kept: Kept, event: QueuedEvent) -> None:
        """Start to work for a run that turns out to read Kafka."""
        group = self._rules.group(kept.query)
        client = self._rules.connect(kept.query, group) if group else None
        if group is None or client is None:
            return
        commitment = PendingCommit(self._backoff, allow_rewind=self._rules.allow_rewind)
        kept.client = client
        kept.watched = QueryProgress(kept.query, group, event.counters, commitment, self._clock)
        if not event.over:
            self._queries.add(kept.watched)

    def _settle(self, kept: Kept, now: float) -> None:
        """Report results, and drop ended runs."""
        watched = kept.watched
        even = watched is None or not watched.commitment.is_open
        if even:
            self._queue.settled(kept.query, kept.batch)
        if kept.until < math.inf and watched is not None:
            self._queries.remove(watched)
        hopeless = watched is not None and watched.commitment.is_refused
        if (even or hopeless or now >= kept.until) and kept.until < math.inf:
            if not even:
                self._warnings.given_up(kept.query.label, COMMITS, now)
            # Another event may have come meanwhile.
            if self._queue.forget(kept.query):
                self._part(kept)

    def _part(self, kept: Kept) -> None:
        del self._kept[kept.query.run_id]
        self._warnings.forget(kept.query.label)
        if kept.watched is not None:
            self._queries.remove(kept.watched)
        if kept.client is not None:
            with suppress(KafkaException):
                kept.client.close(CLOSE)

    # --- work --------------------------------------------------------------------------

    def _work(self, kept: Kept) -> list[tuple[float, Callable[[], None]]]:
        watched, client = kept.watched, kept.client
        if watched is None or client is None:
            return []
        work: list[tuple[float, Callable[[], None]]] = [
            (watched.commitment.due_at, lambda: self._tell(kept, watched, client))
        ]
        if kept.until == math.inf:
            work.append((watched.sample_at, lambda: self._sample(kept, watched, client)))
        else:
            work.append((kept.until, lambda: None))
        return work

    def _tell(self, kept: Kept, watched: QueryProgress, client: Client) -> None:
        began = self._clock.now()
        commitment = watched.commitment
        if not commitment.is_open:
            commitment.renew(began)
        result, why = "committed", None
        try:
            told = self._told(
                commitment, client, Deadline.after(began, self._rules.commit_deadline)
            )
        except Exception as error:  # noqa: BLE001 - the query goes on after any error
            told, why = True, error
            result = "failed" if is_passing(error) else "refused"
        now = self._clock.now()
        if told:
            watched.commits[result] += 1
            watched.commit_seconds.observe(now - began)
        if why is not None:
            self._tell_of_failure(watched, why, now)
            self._replace(kept, why)
        else:
            self._warnings.over(watched.query.label, COMMITS, now)
            self._tell_of_rewind(watched, now)

    def _told(self, commitment: PendingCommit, client: Client, deadline: Deadline) -> bool:
        """Look up and commit offsets; return True if there was something to do."""
        unknown = commitment.unknown
        if unknown:
            found = client.committed(unknown, deadline.remaining(self._clock.now()))
            has = {each: None if had is None else had.offset for each, had in found.items()}
            commitment.has(has, self._clock.now())
        pending = commitment.pending
        if pending:
            offsets = {each: OffsetAndMetadata(end) for each, end in pending.items()}
            client.commit_sync(offsets, deadline.remaining(self._clock.now()))
            commitment.told(pending, self._clock.now())
        return bool(pending)

    def _tell_of_failure(self, watched: QueryProgress, why: Exception, now: float) -> None:
        refused = not is_passing(why)
        text = f"group {watched.group!r} was not told of its progress: {why}"
        if refused:
            watched.commitment.refused(now)
            if isinstance(why, CommitFailedException):
                text = (
                    f"group {watched.group!r} has members that are alive, and refuses the "
                    f"offsets of a query, which is none of them: give the query a group of its "
                    f"own, or end those consumers ({why})"
                )
                why = GroupInUseException(text, group=watched.group)
        else:
            watched.commitment.failed(now)
        self._warnings.met(watched.query.label, COMMITS, text, now)
        self._queue.failed(watched.query, why, refused=refused)

    def _replace(self, kept: Kept, why: Exception) -> None:
        """Build another client if this one will not work again."""
        if (
            getattr(why, "fatal", False)
            and kept.client is not None
            and kept.watched is not None
        ):
            with suppress(KafkaException):
                kept.client.close(CLOSE)
            kept.client = self._rules.connect(kept.query, kept.watched.group)

    def _tell_of_rewind(self, watched: QueryProgress, now: float) -> None:
        behind = watched.commitment.kept_back
        if not behind:
            self._warnings.over(watched.query.label, AHEAD, now)
            return
        watched.commits["kept_back"] += 1
        first = min(behind)
        self._warnings.met(
            watched.query.label,
            AHEAD,
            f"group {watched.group!r} is ahead in {named(behind)}, such as {behind[first]} "
            f"where the query is at {watched.done[first]}: it is not taken back; if the "
            f"checkpoint was changed on purpose, pass allow_rewind=True",
            now,
        )

    def _sample(self, kept: Kept, watched: QueryProgress, client: Client) -> None:
        began = self._clock.now()
        watched.sample_at = began + self._rules.sample_interval
        label = watched.query.label
        try:
            ends = client.end_offsets(tuple(watched.present), self._rules.commit_deadline)
        except Exception as error:  # noqa: BLE001 - the same
            watched.samples_failed += 1
            text = f"where its logs end is not known: {error}"
            self._warnings.met(label, SAMPLES, text, self._clock.now())
            self._replace(kept, error)
            if isinstance(getattr(error, "last_error", None), UnknownTopicOrPartitionException):
                self._find_absent(watched, client)
        else:
            now = self._clock.now()
            watched.sampled(ends, now)
            self._warnings.over(label, SAMPLES, now)

    def _find_absent(self, watched: QueryProgress, client: Client) -> None:
        """Leave out topics that do not exist: one alone would hide the lag of all others."""
        topics = {each.topic for each in watched.done}
        with suppress(KafkaException):
            listed = client.list_topics(self._rules.commit_deadline, topics=topics)
            there = {
                TopicPartition(name, info.partition)
                for name, infos in listed.items()
                for info in infos
            }
            watched.lacks(watched.done.keys() - there)

    def __repr__(self) -> str:
        return f"CommitWorker({len(self._kept)} runs)"


BATCHES: Final = "its batches are read"
COMMITS: Final = "its group is told of its progress"
SAMPLES: Final = "its logs are looked at"
AHEAD: Final = "its group is not ahead of it"


def is_passing(error: Exception) -> bool:
    """Return True if another attempt may succeed after an error."""
    return bool(getattr(error, "retriable", False))
