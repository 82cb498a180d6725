"""Core of workers, of threads and of tasks: all but how they wait.

Thread: that which polls; results come from the workers' own.

A record that is done is told to the consumer's tracker before it counts as ended here: when a
revocation has waited for its end, the commit of that revocation takes it along.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any, Final, Protocol

from prokurist.application.instruments import INSTALLED
from prokurist.consumer.core import ConsumerCore
from prokurist.consumer.listeners import ConsumerRebalanceListener, listener_in
from prokurist.consumer.offset_tracker import TrackerCore
from prokurist.errors import IllegalStateException
from prokurist.events.clock import as_seconds
from prokurist.parallel.policies import Order, Retries
from prokurist.parallel.schedule import Schedule, Work
from prokurist.records.consumer_records import ConsumerRecord
from prokurist.types import TopicPartition

TURN: Final = 0.5
"""Seconds of one poll: after so long at most, `stop` is noticed."""
SHORT_TURN: Final = 0.05
"""Seconds of one poll while partitions are paused for `max_bytes`."""
MOST_BYTES: Final = 64 << 20

Topics = str | Iterable[str]


class DeadLetterOffice(Protocol):
    """Interface of the taker of hopeless records."""

    def send(self, record: ConsumerRecord, error: BaseException, attempts: int) -> Any:
        """Send a record elsewhere; returns its delivery, or an awaitable of it."""
        ...


class WorkersCore:
    """Core of workers.

    Args:
        consumer: The consumer.
        order: Records to work on one after the other.
        retries: Further attempts; None for none.
        dead_letters: Takes records that have failed for good; None to end `run` with its error.
        max_bytes: Bytes in hand before partitions are paused.
        drain_timeout: Seconds for work in hand, before its partition goes and at the end.
        listener: The user's own rebalance listener.
    """

    def __init__(
        self,
        consumer: ConsumerCore,
        *,
        order: Order,
        retries: Retries | None,
        dead_letters: DeadLetterOffice | None,
        max_bytes: int,
        drain_timeout: float | timedelta,
        listener: ConsumerRebalanceListener | None,
    ) -> None:
        if not isinstance(order, Order):
            raise TypeError(f"order is an Order, such as Order.KEY, not {order!r}")
        if retries is not None and not isinstance(retries, Retries):
            raise TypeError(f"retries is a Retries(attempts=…), not {retries!r}")
        if dead_letters is not None and not hasattr(dead_letters, "send"):
            raise TypeError(
                f"dead_letters is a DeadLetters(producer, topic), not {dead_letters!r}"
            )
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int):
            raise TypeError(f"max_bytes is an int, not {max_bytes!r}")
        if max_bytes < 1:
            raise ValueError(f"max_bytes is at least 1, not {max_bytes}")
        config = consumer._config  # noqa: SLF001 - ours
        if not config.enable_auto_commit or config.enable_auto_offset_store:
            raise IllegalStateException(
                "workers have the automatic commit take what is done: give the consumer "
                "enable.auto.offset.store=false, and leave enable.auto.commit=true"
            )
        self._group: Final = config.group_id
        self._client: Final = consumer
        self._runner: Final = consumer._caller  # noqa: SLF001 - as above
        self._now: Final[Callable[[], float]] = self._runner.now
        self._retries = retries
        self._dead_letters = dead_letters
        self._max_bytes = max_bytes
        self._drain_timeout = as_seconds(drain_timeout)
        self._listener = listener_in(listener)
        self._schedule = Schedule(order)
        self._paused: frozenset[TopicPartition] = frozenset()
        self._failure: BaseException | None = None
        self._runs = False
        self._quiet_since = 0.0
        consumer._counted.workers = self._schedule.counters  # noqa: SLF001 - as above

    _tracker: TrackerCore

    # --- polling -----------------------------------------------------------------------

    def _begin(self) -> None:
        """Begin a run.

        Raises:
            IllegalStateException: There is one.
        """
        if self._runs:
            raise IllegalStateException("run while it is running: one run at a time")
        self._runs, self._failure, self._quiet_since = True, None, self._now()
        self._schedule.open()

    def _bound(self) -> float:
        """Pause what is read, or resume it, by the bytes in hand; seconds of the next poll."""
        client = self._client
        if self._schedule.counters.bytes >= self._max_bytes:
            more = client.assignment() - client.paused()
            client.pause(more)
            self._paused |= more
            return SHORT_TURN
        if self._paused:
            client.resume(self._paused & client.assignment())
            self._paused = frozenset()
        return TURN

    def _is_idle(self, idle: float, *, came: bool) -> bool:
        """True if for so many seconds nothing has come, and nothing is in hand."""
        now = self._now()
        if came or self._schedule.in_hand:
            self._quiet_since = now
        return now - self._quiet_since >= idle

    # --- results -----------------------------------------------------------------------

    def _block(self, record: ConsumerRecord) -> AbstractContextManager[object]:
        """The block of one attempt: a span, where that is on."""
        current = INSTALLED.current
        return nullcontext() if current is None else current.process(record, self._group)

    def _succeeded(self, work: Work, seconds: float) -> None:
        """A record is done."""
        self._settle(work, "done", seconds)

    def _failed(self, work: Work, error: BaseException, seconds: float) -> bool:
        """An attempt has failed; True if the record is to be a dead letter."""
        work.failures += 1
        if work.is_lost:
            self._schedule.finish(work, "given_up", seconds)
            return False
        pause = None
        if self._retries is not None and isinstance(error, Exception):
            pause = self._retries.pause(work.failures, error)
        if pause is not None:
            self._schedule.again(work, self._now() + pause, seconds)
            return False
        if self._dead_letters is not None and isinstance(error, Exception):
            return True
        self._ends_with(work, error, seconds)
        return False

    def _ends_with(self, work: Work, error: BaseException, seconds: float) -> None:
        """A record has failed for good: the run ends, and it comes again in the next one."""
        if work.is_lost:
            self._schedule.finish(work, "given_up", seconds)
            return
        if self._failure is None:
            self._failure = error
        self._schedule.close()
        self._schedule.finish(work, "failed", seconds)

    def _settle(self, work: Work, result: str, seconds: float) -> None:
        if work.is_lost:
            result = "given_up"
        else:
            # Before it has ended: see the module.
            self._tracker.done(work.record)
        self._schedule.finish(work, result, seconds)

    # --- what they are doing -----------------------------------------------------------

    def counts(self) -> Mapping[str, int]:
        """Numbers of records in hand, and of results so far: from any thread, at once.

        `running`, `queued`, `waiting` for their next attempt, and `bytes` are of now; `done`,
        `retried`, `dead`, `failed` and `given_up` have counted since the beginning. The
        consumer's `metrics()` and Prometheus have them, too.
        """
        its = self._schedule.counters
        results = its.results.children
        return {
            "running": its.running,
            "queued": its.queued,
            "waiting": its.waiting,
            "bytes": its.bytes,
            **{name: results[name].number if name in results else 0 for name in RESULTS},
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client!r}, {self._schedule})"


RESULTS: Final = ("done", "retried", "dead", "failed", "given_up")
