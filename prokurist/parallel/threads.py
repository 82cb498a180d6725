"""Workers in threads, fed by the thread that polls.

Thread: `run` is the application's, and alone uses the consumer; `stop` and `counts` come from
any; handlers run in threads of the workers.
"""

import math
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Protocol

from prokurist.application.driving import Steps
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.consumer.listeners import ConsumerRebalanceListener
from prokurist.events.call import Call
from prokurist.events.clock import as_seconds
from prokurist.parallel.core import MOST_BYTES, DeadLetterOffice, WorkersCore
from prokurist.parallel.policies import Order, Retries
from prokurist.parallel.schedule import Work
from prokurist.records.consumer_records import ConsumerRecord
from prokurist.types import TopicPartition

Partitions = frozenset[TopicPartition]


class Pool(Protocol):
    """Interface of the runner of workers."""

    def start(self) -> None:
        """Begin to take work."""
        ...

    def wake(self, most: int = 1) -> None:
        """There may be work, for so many workers at most."""
        ...

    def stop(self) -> None:
        """Take no more work; running work goes on."""
        ...


class ThreadPool:
    """Daemon threads that take work from a schedule.

    Args:
        workers: Their workers.
        threads: How many.
    """

    def __init__(self, workers: "Workers", threads: int) -> None:
        self._workers = workers
        self._threads = threads
        self._changed = threading.Condition()
        self._generation = 0
        self._woken = 0

    def start(self) -> None:
        """See `Pool`."""
        for number in range(self._threads):
            threading.Thread(
                target=self._run,
                args=(self._generation,),
                name=f"prokurist-worker-{number}",
                daemon=True,
            ).start()

    def wake(self, most: int = 1) -> None:
        """See `Pool`."""
        with self._changed:
            self._woken += 1
            self._changed.notify(most)

    def stop(self) -> None:
        """See `Pool`."""
        with self._changed:
            self._generation += 1
            self._changed.notify_all()

    def _run(self, generation: int) -> None:
        while (work := self._next(generation)) is not None:
            self._workers.work_on(work)

    def _next(self, generation: int) -> Work | None:
        """Wait for a record; None when this pool was stopped."""
        workers = self._workers
        while self._generation == generation:
            woken = self._woken
            work = workers.take()
            if work is not None:
                return work
            seconds = workers.until_due()
            with self._changed:
                # What has come since the look was told by `wake`.
                if self._woken == woken and self._generation == generation:
                    self._changed.wait(seconds)
        return None

    def __repr__(self) -> str:
        return f"ThreadPool({self._threads})"


class Workers(WorkersCore):
    """Works on records in threads, and has the consumer commit finished ones.

    The consumer has `enable.auto.offset.store=false`, and has subscribed to nothing. What is
    committed was worked on, or is a dead letter: after a crash, the records that were in hand
    come again. `run` alone uses the consumer while it runs.

    Args:
        consumer: The consumer.
        topics: The topics to subscribe to.
        handler: Called with each record, in one of the threads; an exception is a failure.
        threads: How many.
        order: Records to work on one after the other.
        retries: Further attempts; None for none.
        dead_letters: Takes a record that has failed for the last time. Without it `run` ends
            with the error, and the record comes again.
        max_outstanding: Records in hand at most.
        max_bytes: Bytes in hand before partitions are paused.
        max_uncommitted: Records of one partition behind one that is not done, at most.
        drain_timeout: Seconds for the work that runs, before its partition goes, and at the
            end of `run`. What takes longer is done once more, by the partition's next member.
        listener: A rebalance listener of your own; it is called after that of the workers.

    Raises:
        IllegalStateException: The consumer stores offsets by itself, or has partitions.
        TypeError: An argument is of a wrong type.
        ValueError: A number is too small.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        topics: str | Iterable[str],
        handler: Callable[[ConsumerRecord], object],
        *,
        threads: int = 8,
        order: Order = Order.KEY,
        retries: Retries | None = None,
        dead_letters: DeadLetterOffice | None = None,
        max_outstanding: int = 1000,
        max_bytes: int = MOST_BYTES,
        max_uncommitted: int = 10_000,
        drain_timeout: float | timedelta = 10.0,
        listener: ConsumerRebalanceListener | None = None,
    ) -> None:
        if not callable(handler):
            raise TypeError(f"handler is a function of the record, not {handler!r}")
        require_number("threads", threads)
        super().__init__(
            consumer,
            order=order,
            retries=retries,
            dead_letters=dead_letters,
            max_bytes=max_bytes,
            drain_timeout=drain_timeout,
            listener=listener,
        )
        self._consumer = consumer
        self._handler = handler
        self._stopping = threading.Event()
        self._draining: tuple[Call, Callable[[], bool]] | None = None
        self._pool: Pool = ThreadPool(self, threads)
        self._tracker = consumer.track_offsets(
            max_outstanding=max_outstanding, max_uncommitted=max_uncommitted
        )
        consumer.subscribe(topics, RevocationListener(self))

    def run(
        self,
        stop: threading.Event | None = None,
        *,
        idle_timeout: float | timedelta | None = None,
    ) -> None:
        """Poll and have records worked on, until `stop` is set.

        At the end it waits for what runs, for `drain_timeout`; the consumer's `close` commits
        it. What has not begun comes again.

        Args:
            stop: An event that ends it, within half a second; `stop()` does as well.
            idle_timeout: Seconds without a record, and with none in hand, that end it.

        Raises:
            Exception: The last error of a record, without `dead_letters`; or an error of those.
            KafkaException: An error of `poll`.
        """
        idle = math.inf if idle_timeout is None else as_seconds(idle_timeout)
        self._begin()
        self._stopping.clear()
        self._pool.start()
        try:
            while not self._is_over(stop):
                records = self._consumer.poll(self._bound())
                self._schedule.add(records)
                if records:
                    self._pool.wake(len(records))
                if self._is_idle(idle, came=bool(records)):
                    break
        finally:
            self._end()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End `run`, within half a second and the time to drain: from any thread."""
        self._stopping.set()

    def _is_over(self, stop: threading.Event | None) -> bool:
        asked = stop is not None and stop.is_set()
        return asked or self._stopping.is_set() or self._failure is not None

    def _end(self) -> None:
        """Wait for running work, and give up the rest."""
        self._schedule.close()
        self._schedule.drop()
        self._pool.stop()
        try:
            self._drain(None)
        finally:
            self._schedule.lose()
            self._paused = frozenset()
            self._runs = False

    # --- rebalances --------------------------------------------------------------------

    def give_away(self, partitions: Partitions) -> None:
        """Partitions are about to go: wait for their running work, and begin none."""
        self._schedule.drop(partitions)
        self._drain(partitions)
        self._schedule.lose(partitions)
        self._paused -= partitions

    def give_up(self, partitions: Partitions) -> None:
        """Partitions are gone: their work counts no more."""
        self._schedule.drop(partitions)
        self._schedule.lose(partitions)
        self._paused -= partitions

    def _drain(self, partitions: Partitions | None) -> None:
        caller = self._runner
        with caller.inside("drain"):
            caller.drive(self._drained(partitions))

    def _drained(self, partitions: Partitions | None) -> Steps[None]:
        call = self._runner.call("drain", self._drain_timeout)

        def is_over() -> bool:
            return self._schedule.running(partitions) == 0

        # Shown before the look: what ends later ends the wait.
        self._draining = call, is_over
        try:
            if not is_over():
                yield from self._runner.wait_for_end(call, call.deadline)
        finally:
            self._draining = None

    # --- the workers' threads ------------------------------------------------------------

    def take(self) -> Work | None:
        """The next record to work on; None where there is none now."""
        return self._schedule.take(self._now())

    def until_due(self) -> float | None:
        """Seconds until the next attempt is due; None where none is."""
        due = self._schedule.next_due
        return None if due is None else max(0.0, due - self._now())

    def work_on(self, work: Work) -> None:
        """Work on a record, once."""
        began = self._now()
        try:
            with self._block(work.record):
                self._handler(work.record)
        except BaseException as error:  # noqa: BLE001 - the user's own code
            seconds = self._now() - began
            if self._failed(work, error, seconds):
                self._bury(work, error, seconds)
            # Another worker sleeps until the next attempt.
            self._pool.wake()
        else:
            self._succeeded(work, self._now() - began)
        draining = self._draining
        if draining is not None and draining[1]():
            draining[0].finish()

    def _bury(self, work: Work, error: BaseException, seconds: float) -> None:
        """Write a dead letter, and wait for its delivery."""
        office: Any = self._dead_letters
        try:
            sent = office.send(work.record, error, work.failures)
            if hasattr(sent, "result"):
                sent.result()
        except Exception as raised:  # noqa: BLE001 - whatever it is, the record is not done
            self._ends_with(work, raised, seconds)
        else:
            self._settle(work, "dead", seconds)


class RevocationListener:
    """Tells workers of partitions that go, and then the user's listener.

    Args:
        workers: The workers.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._own = workers._listener  # noqa: SLF001 - of this very module

    def on_partitions_assigned(self, partitions: Partitions) -> object:
        """See `ConsumerRebalanceListener`."""
        return None if self._own is None else self._own.on_partitions_assigned(partitions)

    def on_partitions_revoked(self, partitions: Partitions) -> object:
        """See `ConsumerRebalanceListener`."""
        self._workers.give_away(partitions)
        return None if self._own is None else self._own.on_partitions_revoked(partitions)

    def on_partitions_lost(self, partitions: Partitions) -> object:
        """See `ConsumerRebalanceListener`."""
        self._workers.give_up(partitions)
        if self._own is None:
            return None
        name = "on_partitions_lost"
        told = getattr(self._own, name, self._own.on_partitions_revoked)
        result: object = told(partitions)
        return result


def require_number(name: str, number: object) -> None:
    """Refuse all but numbers from 1 on.

    Raises:
        TypeError: It is no int.
        ValueError: It is less than 1.
    """
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{name} is an int, not {number!r}")
    if number < 1:
        raise ValueError(f"{name} is at least 1, not {number}")
