"""One batch: where it stands, what it ended with, and who is told.

Thread: application threads append to it and wait for it; the network thread alone changes
the rest. An end is set in one assignment before anything is opened or called, so what asks
after that needs no lock.

Invariants: a batch ends once; callbacks of its records run once each, in their order. Once it
is settled it refers to nothing from which a handle could be found, so that the garbage
collector need not know of handles: not to its producer, to no callback, to no traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from prokurist.errors import KafkaException, Wait
from prokurist.events.accumulator.record_metadata import (
    NOT_ENDED,
    OnDelivery,
    Outcome,
    RecordMetadata,
)
from prokurist.events.call import Try
from prokurist.events.waiter import Waiter
from prokurist.records.headers import BATCH_HEADER
from prokurist.types import TopicPartition

if TYPE_CHECKING:
    from prokurist.events.accumulator.batch_buffer import BatchBuffer
else:
    from prokurist.events.accumulator.implementation import BatchBuffer

GRACE: Final = 1.0
"""Seconds after its `delivery.timeout.ms` in which a batch must have ended, whatever is
wrong with the network thread: nothing waits for longer."""


class Owner(Protocol):
    """Interface of the producer, for handles of its batches."""

    def now(self) -> float:
        """The clock."""
        ...

    def wait(self, waiter: Waiter, until: float) -> bool:
        """Wait on a waiter until it opens or the instant has come: whether it is open."""
        ...

    def refuse_in_callback(self, what: str) -> None:
        """Raise if this is the thread that delivers."""
        ...

    @property
    def obstacle(self) -> Callable[[float], KafkaException | None]:
        """Returns the obstacle of records waiting since a given time; None without one."""
        ...

    def held_up(self, since: float, now: float) -> Sequence[Wait]:
        """What holds records up that wait since then, until now."""
        ...

    @property
    def last_errors(self) -> Mapping[Batch, KafkaException]:
        """The last error that an attempt of a batch met."""
        ...


class Numbers(NamedTuple):
    """Numbers by which brokers recognise a repeated batch.

    Attributes:
        producer_id: The producer's id.
        epoch: The epoch of that id.
        first: The sequence number of the first record.
    """

    producer_id: int
    epoch: int
    first: int


class Batch(BatchBuffer):
    """Records for one partition, sent and answered together.

    Args:
        owner: The producer's accumulator.
        topic: The topic.
        partition: The partition's number.
        now: The clock.
        deadline: When it fails at the latest, by `delivery.timeout.ms`.
        room: Bytes that it may take at first.

    Attributes:
        owner: The producer's accumulator; None once it has ended or was split.
        created: When it was begun.
        held: Bytes of `buffer.memory` that it holds.
        attempts: The requests that carried it.
        retries: How many attempts have failed.
        numbers: What an idempotent producer has numbered it with.
        refused: Whether its leader has said that it lacks what came before.
        sealed: Its records, compressed, once they were.
        settled: Whether it has ended and its callbacks have been called.
        outcome: What it has ended with; set once, and never of one that was split.
        parts: What it was split into, each with the index of its first record.
    """

    __slots__ = (
        "__weakref__",
        "_listeners",
        "_waiters",
        "attempts",
        "created",
        "deadline",
        "held",
        "numbers",
        "outcome",
        "owner",
        "partition",
        "parts",
        "refused",
        "retries",
        "sealed",
        "settled",
        "topic",
    )

    def __init__(
        self,
        owner: Owner | None,
        topic: str,
        partition: int,
        now: float,
        deadline: float,
        room: int,
    ) -> None:
        super().__init__(room)
        self.owner: Owner | None = owner
        self.topic: str = topic
        self.partition: int = partition
        self.created: float = now
        self.deadline: float = deadline
        self.held: int = 0
        self.attempts: list[Try] = []
        self.retries: int = 0
        self.numbers: Numbers | None = None
        self.refused: bool = False
        self.sealed: bytes | None = None
        self.settled: bool = False
        self.parts: list[tuple[int, Batch]] = []
        self.outcome: Outcome | None = None
        self._waiters: list[Waiter] = []
        self._listeners: list[tuple[int, Any, Callable[[Any], object]]] = []

    # --- asked by handles --------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """True if it is delivered or has failed; never for one that was split."""
        return self.outcome is not None

    @property
    def is_over(self) -> bool:
        """True if it is settled, or all parts of its split are."""
        if self.parts:
            return all(part.is_over for _, part in self.parts)
        return self.settled

    @property
    def failed(self) -> bool:
        """True if it has ended with an error."""
        return self.outcome is not None and self.outcome.error is not None

    @property
    def has_record_errors(self) -> bool:
        """True if single records of it have failed."""
        return self.outcome is not None and bool(self.outcome.record_errors)

    @property
    def error(self) -> KafkaException | None:
        """The error of the batch; None without one."""
        return None if self.outcome is None else self.outcome.error

    @property
    def name(self) -> str:
        """Name in texts: its partition."""
        return f"{self.topic}-{self.partition}" if self.partition >= 0 else self.topic

    @property
    def tp(self) -> TopicPartition:
        """Its partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def last_moment(self) -> float:
        """When a wait for it is over, whatever happens."""
        return self.deadline + GRACE

    def part(self, index: int) -> tuple[Batch, int]:
        """Return the batch of a record, after any splits, and the index there."""
        batch: Batch = self
        while batch.parts:
            first, batch_of = next(each for each in reversed(batch.parts) if each[0] <= index)
            batch, index = batch_of, index - first
        return batch, index

    def error_of(self, index: int) -> KafkaException | None:
        """Return the error of a record; None without one."""
        return (self.outcome or NOT_ENDED).error_of(index)

    def metadata(self, index: int, timestamp: int) -> RecordMetadata:
        """Return the metadata of a record, as far as known."""
        outcome = self.outcome or NOT_ENDED
        return outcome.metadata(self.topic, self.partition, index, timestamp)

    def watch(self, waiter: Waiter | None = None, *, settled: bool = False) -> Waiter:
        """A waiter that opens when it has ended or was split; at once if it has.

        Args:
            waiter: The one to open; None for a new one.
            settled: Whether its callbacks must have been called, too.
        """
        waiter = waiter or Waiter()
        self._waiters.append(waiter)
        # Whichever comes first, this line or the end: one of the two opens it.
        if self.parts or (self.settled if settled else self.ended):
            waiter.open()
            # The end may have taken the others before this one came: it would stay for good.
            self.unwatch(waiter)
        return waiter

    def unwatch(self, waiter: Waiter) -> None:
        """Forget a waiter that is waited on no more."""
        # The end, on the network thread, may take all waiters between a look and this.
        with suppress(ValueError):
            self._waiters.remove(waiter)

    def add_listener(
        self, index: int, delivery: Any, callback: Callable[[Any], object]
    ) -> bool:
        """Have a handle's callback called at the end.

        Returns:
            False when the end has come first, or a split: the caller looks again.
        """
        entry = (index, delivery, callback)
        self._listeners.append(entry)
        if not (self.ended or self.parts):
            return True
        # The end may have taken it already; then it is called from there.
        try:
            self._listeners.remove(entry)
        except ValueError:
            return True
        return False

    # --- the network thread --------------------------------------------------------------

    def end(self, outcome: Outcome) -> bool:
        """End it: False when it had ended before."""
        if self.outcome is not None or self.parts:
            return False
        self.outcome = outcome.apart()
        if outcome.error is None and not outcome.record_errors:
            self.delivered_as(
                self.topic, self.partition, outcome.base_offset, outcome.append_time
            )
        self.owner = None
        self._open_waiters()
        return True

    def split_into(self, parts: Sequence[Batch]) -> None:
        """Go on as several batches; handles, callbacks and waiters go on with them."""
        first = 0
        placed: list[tuple[int, Batch]] = []
        for part in parts:
            placed.append((first, part))
            end = first + part.count - 1
            part.callbacks = [
                (callback, max(begin, first) - first, min(last, end) - first)
                for callback, begin, last in self.callbacks
                if begin <= end and last >= first
            ]
            first += part.count
        self.callbacks: list[tuple[OnDelivery, int, int]] = []
        self.parts = placed
        self.owner = None
        listeners, self._listeners = self._listeners, []
        for index, delivery, heard in listeners:
            part, place = self.part(index)
            part.add_listener(place, delivery, heard)
        self._open_waiters()

    def _open_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.open()

    def settle(self, report: Callable[[BaseException], None]) -> bool:
        """Call the callbacks of its records, in their order; then nothing is left to do.

        Args:
            report: Told what a callback raises.

        Returns:
            Whether there were any.
        """
        outcome = self.outcome or NOT_ENDED
        had_callbacks = self.call_back(self.topic, self.partition, outcome, report)
        listeners, self._listeners = self._listeners, []
        for _, delivery, heard in sorted(listeners, key=lambda each: each[0]):
            try:
                heard(delivery)
            except BaseException as error:  # noqa: BLE001 - also a sys.exit: not of this thread
                report(error)
        self.settled = True
        self._open_waiters()
        return had_callbacks or bool(listeners)

    @property
    def payload(self) -> int:
        """Bytes of records in it."""
        return self.size - BATCH_HEADER

    def __repr__(self) -> str:
        outcome = self.outcome
        if outcome is None:
            state = "open" if self.is_open else "closed"
        elif outcome.error is None:
            state = f"delivered at {outcome.base_offset}"
        else:
            state = f"failed: {type(outcome.error).__name__}"
        return f"Batch({self.name}, {self.count} records, {self.size} bytes, {state})"
