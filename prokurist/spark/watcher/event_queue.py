"""The queue between Spark's callbacks and the application on one side, and the committer.

Thread: callbacks and the application post, the committer takes; one lock guards all of it, and
is held for a few assignments. Only `await_settled` waits.
Invariants: a run has one queued event at most, with its newest batch: memory is bounded however
long the committer is kept. Events are counted when they are posted, so an overtaken one still
counts. Some hundreds of ended runs are remembered, so that a late event does not begin one
again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import field
from typing import Final

from prokurist.events.clock import Clock, Deadline
from prokurist.events.counter_types import Histogram
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.watcher.progress import Query, QueryBatch

MOST_REMEMBERED: Final = 256
"""Runs that are over."""


class RunCounters:
    """The counters of one run, kept as its events come.

    Attributes:
        rows: How many rows its batches had.
        batches: How long they took.
        last: The newest batch.
    """

    __slots__ = ("batches", "last", "rows")

    def __init__(self) -> None:
        self.rows: int = 0
        self.batches: Histogram = Histogram()
        self.last: QueryBatch | None = None

    def count(self, batch: QueryBatch) -> None:
        """Count a batch that is done; one without rows was none."""
        self.rows += batch.rows
        if batch.rows:
            self.batches.observe(batch.seconds)


@dataclass(slots=True)
class QueuedEvent:
    """Events of a run since the last take.

    Attributes:
        query: The run.
        counters: Its counters.
        batch: Its newest batch.
        over: True if it has ended.
        urgent: True if a call waits for it.
    """

    query: Query
    counters: RunCounters
    batch: QueryBatch | None = None
    over: bool = False
    urgent: bool = False


@dataclass(slots=True)
class Run:
    """The queue's state of one run.

    Attributes:
        counters: Its counters.
        settled: The number of the last batch with all its commits made.
        failure: Why the last attempt to tell it failed; None where it did not.
        refused_at: When the group has said no last.
    """

    counters: RunCounters = field(default_factory=RunCounters)
    settled: int = -1
    failure: Exception | None = None
    refused_at: float | None = None


class EventQueue:
    """The newest batch of each run, its commits' results, and the counts of both.

    Args:
        clock: Clock of the waits.
        wake: Called, without the lock, when there is something for the committer.
    """

    def __init__(self, clock: Clock, wake: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._wake = wake
        self._changed = threading.Condition()
        self._queued: dict[str, QueuedEvent] = {}
        self._runs: dict[str, Run] = {}
        self._over: OrderedDict[str, Run] = OrderedDict()
        self._nudged = False

    # --- who posts ---------------------------------------------------------------------

    def started(self, query: Query) -> None:
        """Note that a run has started."""
        self._post(query)

    def progressed(self, batch: QueryBatch) -> None:
        """Add a batch that Spark reports as done."""
        self._post(batch.query, batch, counts=True)

    def ended(self, query: Query) -> None:
        """Note the end of a run; an unknown run is ignored."""
        self._post(query, over=True)

    def asked(self, batch: QueryBatch, *, over: bool) -> None:
        """Add a batch that the application waits for.

        Args:
            batch: The batch; its event from Spark may still be to come.
            over: True if the run has ended meanwhile.
        """
        self._post(batch.query, batch, over=over, urgent=True)

    def _post(
        self,
        query: Query,
        batch: QueryBatch | None = None,
        *,
        over: bool = False,
        urgent: bool = False,
        counts: bool = False,
    ) -> None:
        with self._changed:
            run = self._run_of(query, batch, over=over, urgent=urgent)
            if run is None:
                return
            if batch is not None and counts:
                run.counters.count(batch)
            event = self._queued.setdefault(query.run_id, QueuedEvent(query, run.counters))
            event.over = event.over or over
            event.urgent = event.urgent or urgent
            last = run.counters.last
            if batch is not None and (last is None or batch.number > last.number):
                event.batch = run.counters.last = batch
            self._changed.notify_all()
        self._wake()

    def _run_of(
        self, query: Query, batch: QueryBatch | None, *, over: bool, urgent: bool
    ) -> Run | None:
        """The run that an event is of; None for one that has nothing to tell any more."""
        run = self._runs.get(query.run_id)
        if run is not None:
            return run
        if query.run_id in self._over:
            # Only who waits may have something newer, where Spark's events were lost.
            newer = batch is not None and batch.number > self._over[query.run_id].settled
            if not (urgent and newer):
                return None
        elif over and batch is None:
            return None
        run = self._runs[query.run_id] = Run()
        return run

    # --- the committer -----------------------------------------------------------------

    def take(self) -> list[QueuedEvent]:
        """Take the newest batch of every run."""
        with self._changed:
            queued, self._queued = self._queued, {}
        return list(queued.values())

    def wait(self, until: float) -> None:
        """Wait for an event, for a nudge, or for a moment."""
        with self._changed:
            if not self._queued and not self._nudged:
                seconds = until - self._clock.now()
                if seconds > 0:
                    self._changed.wait(min(seconds, threading.TIMEOUT_MAX))
            self._nudged = False

    def nudge(self) -> None:
        """End the committer's present wait, or the next one."""
        with self._changed:
            self._nudged = True
            self._changed.notify_all()

    def settled(self, query: Query, batch: int) -> None:
        """Note that all of a run is committed up to this batch."""
        with self._changed:
            if (run := self._runs.get(query.run_id)) is not None and run.settled < batch:
                run.settled, run.failure = batch, None
                self._changed.notify_all()

    def failed(self, query: Query, why: Exception, *, refused: bool) -> None:
        """Note that a commit has failed or was refused."""
        with self._changed:
            if (run := self._runs.get(query.run_id)) is not None:
                run.failure = why
                run.refused_at = self._clock.now() if refused else run.refused_at
                self._changed.notify_all()

    def forget(self, query: Query) -> bool:
        """Forget a run that is over.

        Returns:
            False where there is another event of it.
        """
        with self._changed:
            if query.run_id in self._queued:
                return False
            self._over[query.run_id] = self._runs.pop(query.run_id, Run())
            while len(self._over) > MOST_REMEMBERED:
                self._over.popitem(last=False)
            self._changed.notify_all()
            return True

    # --- who waits ---------------------------------------------------------------------

    def await_settled(
        self, run_id: str, batch: int, deadline: Deadline, *, asked_at: float
    ) -> Run | None:
        """Wait until a batch is committed or refused, or the time is over.

        Args:
            run_id: The run of the batch.
            batch: Its number.
            deadline: The end of the wait.
            asked_at: Since when a refusal counts: from before the batch was asked for, as
                the committer may be done with it before the wait begins.

        Returns:
            None once it is committed; else the run, with its error.
        """
        with self._changed:
            while True:
                over = run_id not in self._runs
                run = self._over.get(run_id, Run()) if over else self._runs[run_id]
                if run.settled >= batch:
                    return None
                refused = run.refused_at is not None and run.refused_at >= asked_at
                if over or refused:
                    return run
                left = deadline.remaining(self._clock.now())
                if not left:
                    return run
                self._changed.wait(min(left, threading.TIMEOUT_MAX))

    def await_end(self, of_others_than: Collection[str], deadline: Deadline) -> None:
        """Wait until all runs but these are over, or the time is."""
        with self._changed:
            while self._runs.keys() - set(of_others_than):
                left = deadline.remaining(self._clock.now())
                if not left:
                    return
                self._changed.wait(left)

    @property
    def is_empty(self) -> bool:
        """True if the queue is empty."""
        return not self._queued

    def __repr__(self) -> str:
        return f"EventQueue({len(self._runs)} runs, {len(self._queued)} queued)"
