"""The committer's thread: started with the first query, and ended with the last.

Thread: `CommitThread`'s methods are called from Spark's callbacks and the application; `_run`
is the thread's own. It is a daemon, so it never keeps a program from ending.
Invariants: the callbacks leave an event and begin the thread, and wait for nothing. Between
the thread's last look and its end nothing is lost: both are made under one lock, as is the
look of a callback that would begin another.
"""

import threading
from collections.abc import Callable
from dataclasses import field
from random import Random
from typing import TypeAlias

from prokurist.errors import TimeoutException
from prokurist.events.clock import Clock, Deadline
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.watcher.commit_worker import CommitWorker, Rules
from prokurist.spark.watcher.event_queue import EventQueue, Run
from prokurist.spark.watcher.progress import QueryBatch

Look: TypeAlias = Callable[[], tuple[frozenset[str], list[QueryBatch]]]
"""Asks Spark for its present runs, with the last batch of each that has one."""


@dataclass(slots=True)
class WorkerCall:
    """A question to Spark, asked by the thread: the answer may never come.

    Attributes:
        look: How.
        done: Set when it has answered.
        running: The runs that there are; None where Spark could not say.
        batches: The last batch of each.
    """

    look: Look
    done: threading.Event = field(default_factory=threading.Event)
    running: frozenset[str] | None = None
    batches: list[QueryBatch] = field(default_factory=list)

    def run(self) -> None:
        """Ask Spark, and keep its answer."""
        try:
            self.running, self.batches = self.look()
        except Exception:  # noqa: BLE001 - Spark has ended: there is nothing more to hear
            self.running = None
        finally:
            self.done.set()


class CommitThread:
    """Runs the commit worker on a daemon thread while queries are watched.

    Args:
        rules: The user's settings.
        clock: The clock.

    Attributes:
        queue: The queue of events from callbacks.
    """

    def __init__(self, rules: Rules, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._errand: WorkerCall | None = None
        self.queue: EventQueue = EventQueue(clock, self._wake)
        self._committing = CommitWorker(
            self.queue,
            rules,
            clock,
            Random(),  # noqa: S311 - jitter is no secret
        )

    def _wake(self) -> None:
        """Start the thread if it does not run."""
        with self._lock:
            if self._closing or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(
                target=self._run, name="prokurist-spark-committer", daemon=True
            )
            self._thread.start()

    def _run(self) -> None:
        while not self._closing:
            errand, self._errand = self._errand, None
            if errand is not None:
                self._go(errand)
            due = self._committing.turn()
            if due is not None:
                self.queue.wait(due)
                continue
            with self._lock:
                if self.queue.is_empty and self._errand is None:
                    self._thread = None
                    return
        self._committing.close()

    def _go(self, errand: WorkerCall) -> None:
        errand.run()
        for batch in errand.batches:
            self.queue.asked(batch, over=False)

    def flush(self, batch: QueryBatch, deadline: Deadline, given: float, *, over: bool) -> None:
        """Wait until a batch has been committed.

        Args:
            batch: The batch.
            deadline: When to give up.
            given: The seconds that end at the deadline.
            over: True if its query has ended.

        Raises:
            KafkaException: The group says no.
            TimeoutException: The time is over.
        """
        began = self._clock.now()
        self.queue.asked(batch, over=over)
        run = self.queue.await_settled(
            batch.query.run_id, batch.number, deadline, asked_at=began
        )
        if run is None:
            return
        if run.refused_at is not None and run.refused_at >= began and run.failure is not None:
            raise run.failure
        raise late(batch, run, given, given + self._clock.now() - deadline.at)

    def drain(self, look: Look, deadline: Deadline) -> None:
        """Commit all that is left, as far as there is time.

        Args:
            look: How Spark is asked.
            deadline: The end of all.
        """
        with self._lock:
            if self._thread is None:
                return
            errand = self._errand = WorkerCall(look)
        began = self._clock.now()
        self.queue.nudge()
        if not errand.done.wait(deadline.remaining(self._clock.now())):
            return
        for batch in errand.batches:
            self.queue.await_settled(batch.query.run_id, batch.number, deadline, asked_at=began)
        if errand.running is not None:
            # The others have ended: Spark still tells of their last batches.
            self.queue.await_end(errand.running, deadline)

    def close(self, deadline: Deadline) -> None:
        """End the thread, even with work left; a second time has no effect."""
        with self._lock:
            self._closing, thread = True, self._thread
        self.queue.nudge()
        if thread is not None and thread is not threading.current_thread():
            thread.join(deadline.remaining(self._clock.now()))

    @property
    def is_alive(self) -> bool:
        """True while the thread runs."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def __repr__(self) -> str:
        return f"CommitThread({self.queue}, {'at work' if self.is_alive else 'idle'})"


def late(batch: QueryBatch, run: Run, given: float, took: float) -> TimeoutException:
    """The error for a batch that was not committed in time."""
    failure = run.failure
    return TimeoutException(
        f"flush of {batch.query.label} has not ended within {given:g} s: its group has not "
        f"been told of batch {batch.number}; the last attempt: {failure or 'none has ended'}",
        operation="flush",
        timeout=given,
        elapsed=took,
        last_error=failure,
        may_have_happened=getattr(failure, "may_have_happened", False),
    )
