"""Both twins of the path of a `send`, and what tests drive them with."""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import pytest

from prokurist.events.accumulator import pure
from prokurist.events.accumulator.implementation import MODULES
from prokurist.records.headers import TRANSACTIONAL

native: ModuleType = pytest.importorskip(
    MODULES["native"], reason="the native twin is not built", exc_type=ImportError
)
TWINS = (pure, native)


def outcome(work: Callable[[], object]) -> object:
    """What something returns, or an error's kind and text."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - any error is an outcome here
        return type(error), str(error)


class Path:
    """An Appender of one twin on batches that grow, with a clock of its own.

    Attributes:
        appender: The Appender.
        queues: Its one topic, `t`.
        batches: All batches, each with its partition, in the order of their beginning.
        events: What the Appender asked for and told.
    """

    def __init__(
        self,
        twin: Any,
        *,
        partitions: int = 3,
        batch_size: int = 300,
        ignore_keys: bool = False,
        most: int = 2000,
    ) -> None:
        self.twin = twin
        self.now = 1_700_000_000_000
        self.appender = twin.Appender(batch_size, self.clock, ignore_keys=ignore_keys)
        self.queues = twin.TopicQueues("t")
        self.queues.queues = [twin.QueueBase(number) for number in range(partitions)]
        self.appender.topics["t"] = self.queues
        self.appender.choose = self.choose
        self.appender.slow = self.slow
        self.appender.on_ready = self.ready
        self.batches: list[tuple[int, Any]] = []
        self.events: list[object] = []
        self._most = most
        self._batch_size = batch_size

    def clock(self) -> int:
        """The time of day, which goes on by itself."""
        self.now += 7
        return self.now

    def choose(self, queues: Any) -> None:
        """Partitions in turn."""
        number = 0 if queues.sticky is None else queues.sticky.partition + 1
        queues.sticky = queues.queues[number % len(queues.queues)]
        queues.sticky_bytes = 0
        self.events.append(("chosen", queues.sticky.partition))

    def ready(self, queue: Any) -> None:
        """A partition's batch is ready."""
        self.events.append(("ready", queue.partition))

    def slow(self, *record: Any) -> Any:
        """Make room and append, as long as there can be room."""
        self.events.append(("slow", *record[:6]))
        topic, _, key, _, partition, *_ = record
        while topic in self.appender.topics:
            queue = self.appender.place(self.queues, key, partition)
            if queue is None:
                return "no such partition"
            batch = queue.open_batch
            if batch is not None and batch.room < self._most:
                batch.grow(2 * batch.room)
            else:
                if batch is not None:
                    if batch.count == 0:
                        return "too large"
                    batch.close()
                queue.open_batch = self.twin.BatchBuffer(self._batch_size)
                self.batches.append((queue.partition, queue.open_batch))
            delivery = self.appender.append(*record)
            if delivery is not None:
                return delivery
        return "no such topic"

    def send(self, *given: Any, **named: Any) -> object:
        """The outcome of a `send`; for a handle, what that was made of."""
        found = outcome(lambda: self.appender.send(*given, **named))
        return "sent" if isinstance(found, self.twin.Delivery) else found

    def state(self) -> Iterable[object]:
        """All that can be seen of it."""
        yield self.events
        yield self.queues.sticky_bytes, self.queues.is_used
        for partition, batch in self.batches:
            yield partition, state(batch)


def state(batch: Any) -> tuple[object, ...]:
    """All that can be seen of a batch."""
    return (
        batch.is_open,
        batch.is_ready,
        batch.room,
        batch.size,
        batch.count,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.callbacks,
        batch.body(),
        batch.timestamps(),
        bytes(batch.seal(-1, -1, -1)),
        bytes(batch.seal(1 << 60, 7, 12345)),
        bytes(batch.seal(1 << 60, 7, 12345, TRANSACTIONAL)),
    )
