"""The handle of one record that has been sent.

It refers to a batch and a place in it, and has a future's surface without being one: a
future costs as much as five sends. What it answers is kept once for its whole batch.

Thread: any waits and asks; the network thread ends batches.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from prokurist.errors import KafkaException, TimeoutException
from prokurist.events.accumulator.record_metadata import RecordMetadata
from prokurist.events.clock import as_seconds
from prokurist.events.loop_wakes import wakes_of

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from prokurist.events.accumulator.batch import Batch, Owner


DELIVERY_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "add_callback": "add_done_callback(callback), which is given the delivery",
        "add_errback": "add_done_callback(callback), which is given the delivery",
        "cancel": "purge() of the producer, which fails what is not on the wire",
        "error": "exception(timeout)",
        "failed": "exception(timeout), which is None for a record that is delivered",
        "get": "result(timeout)",
        "is_done": "done()",
        "succeeded": "exception(timeout), which is None for a record that is delivered",
        "value": "result(timeout)",
    }
)
"""Calls of what other clients' `send` returns, each with its counterpart here."""


class Delivery:
    """Handle of one record's outcome.

    Args:
        batch: The batch that it is in.
        index: Its place there.
        timestamp: Its timestamp.
    """

    __slots__ = ("_batch", "_index", "_timestamp")

    def __init__(self, batch: Batch, index: int, timestamp: int) -> None:
        self._batch = batch
        self._index = index
        self._timestamp = timestamp

    def done(self) -> bool:
        """Return True if the record is delivered or has failed."""
        return is_done(self._batch, self._index)

    def result(self, timeout: float | timedelta | None = None) -> RecordMetadata:
        """Wait until the record is delivered.

        Args:
            timeout: Seconds; None until it is delivered or has failed, which
                `delivery.timeout.ms` bounds.

        Returns:
            Where it is.

        Raises:
            IllegalStateException: It is not done, and this is a delivery callback: the
                thread that would deliver it waits here.
            KafkaException: The record has failed; each call raises an exception of its own.
            TimeoutException: This wait is over; the delivery goes on.
        """
        return result_of(self._batch, self._index, self._timestamp, timeout)

    def exception(self, timeout: float | timedelta | None = None) -> KafkaException | None:
        """Wait like `result`, and return why the record has failed; None if it has not.

        Raises:
            IllegalStateException: As in `result`.
            TimeoutException: This wait is over; the delivery goes on.
        """
        return exception_of(self._batch, self._index, timeout)

    def add_done_callback(self, callback: Callable[[Delivery], object]) -> None:
        """Have something called with this handle once the record is done, or at once if it is.

        Called on the network thread, or on the caller's if the record is done already.
        """
        when_done(self._batch, self._index, self, callback)

    def future(self) -> Future[RecordMetadata]:
        """A future of the standard library that is done when this is."""
        return future_of(self)

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        return awaited(self).__await__()

    @property
    def topic(self) -> str:
        """The record's topic."""
        return self._batch.topic

    @property
    def partition(self) -> int:
        """Its partition; −1 where it failed before one was chosen."""
        return self._batch.partition

    @property
    def offset(self) -> int | None:
        """Its offset; None until it is delivered, and where it has failed."""
        return offset_of(self._batch, self._index)

    @property
    def timestamp(self) -> int:
        """Its timestamp in epoch milliseconds; the broker's once that has given its own."""
        return timestamp_of(self._batch, self._index, self._timestamp)

    def __repr__(self) -> str:
        return shown(self._batch, self._index)

    if not TYPE_CHECKING:  # To a type checker it would have every attribute.

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name)


def is_done(batch: Batch, index: int) -> bool:
    """Return True if a record of a batch is delivered or has failed."""
    return batch.part(index)[0].ended


def ended(
    batch: Batch, index: int, operation: str, timeout: float | timedelta | None
) -> tuple[Batch, int]:
    """Wait for the end of a record: the batch that it ended in, and its place there.

    Raises:
        IllegalStateException: This thread would wait for itself.
        TimeoutException: The time is over.
    """
    began = until = math.nan
    while True:
        # A batch that was too large for the broker goes on in parts.
        part, place = batch.part(index)
        owner = part.owner
        if part.ended:
            return part, place
        if owner is None:
            continue  # It was split in this moment.
        if math.isnan(began):
            owner.refuse_in_callback(f"{operation} of a record that is not done")
            began = owner.now()
            until = batch.last_moment if timeout is None else began + as_seconds(timeout)
        elif owner.now() >= until:
            raise undelivered(part, owner, began)
        waiter = part.watch()
        try:
            owner.wait(waiter, until)
        finally:
            part.unwatch(waiter)


def undelivered(part: Batch, owner: Owner, began: float) -> TimeoutException:
    """The exception for a wait since then that is over before the record's end."""
    now = owner.now()
    obstacle = owner.obstacle(part.created) or owner.last_errors.get(part)
    waits = owner.held_up(began, now)
    why = "".join(f". It waits for {each.reason}" for each in waits)
    if obstacle is not None:
        why += f". The last error was {type(obstacle).__name__}: {obstacle}"
    return TimeoutException(
        f"{part.name} was not delivered within {now - began:.3f} s; its delivery goes on until "
        f"delivery.timeout.ms{why}",
        waits=waits,
        last_error=obstacle,
        # Whatever was sent until now: it may be in the next moment.
        may_have_happened=True,
    )


def result_of(
    batch: Batch, index: int, timestamp: int, timeout: float | timedelta | None
) -> RecordMetadata:
    """See `Delivery.result`."""
    part, place = ended(batch, index, "result", timeout)
    error = part.error_of(place)
    if error is not None:
        raise own(error)
    return part.metadata(place, timestamp)


def exception_of(
    batch: Batch, index: int, timeout: float | timedelta | None
) -> KafkaException | None:
    """See `Delivery.exception`."""
    part, place = ended(batch, index, "exception", timeout)
    error = part.error_of(place)
    return None if error is None else own(error)


def own(error: KafkaException) -> KafkaException:
    """An exception like another: each raise has a traceback of its own."""
    made: KafkaException = copy.copy(error)
    return made


def when_done(
    batch: Batch, index: int, delivery: Delivery, callback: Callable[[Delivery], object]
) -> None:
    """See `Delivery.add_done_callback`."""
    if not callable(callback):
        raise TypeError(f"a done callback is a callable of the delivery, not {callback!r}")
    while True:
        part, place = batch.part(index)
        if part.ended:
            callback(delivery)
            return
        if part.add_listener(place, delivery, callback):
            return


def future_of(delivery: Delivery) -> Future[RecordMetadata]:
    """See `Delivery.future`."""
    future: Future[RecordMetadata] = Future()
    # Nothing can take a record back out of its batch.
    future.set_running_or_notify_cancel()

    def done(delivery: Delivery) -> None:
        error = delivery.exception()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(delivery.result())

    delivery.add_done_callback(done)
    return future


async def awaited(delivery: Delivery) -> RecordMetadata:
    """The result, for a coroutine; one that is done does not suspend it.

    Raises:
        ForkedClientError: It is not done, and the producer was copied by a fork.
        IllegalStateException: It is not done, and this is a delivery callback.
        KafkaException: The record has failed.
        RuntimeError: It is not done, and no asyncio loop runs in this thread.
        TimeoutException: Its `delivery.timeout.ms` is over, and the network thread, which a
            callback holds up, has not come to it.
    """
    if not delivery.done():
        await await_end(delivery._batch, delivery._index)  # noqa: SLF001 - its own function
    return delivery.result()


async def await_end(batch: Batch, index: int) -> None:
    """Wait, in a coroutine, for the end of a record; see `awaited`."""
    began = math.nan
    while True:
        part, _ = batch.part(index)
        owner = part.owner
        if part.ended:
            return
        if owner is None:
            continue  # It was split in this moment.
        now = owner.now()
        if math.isnan(began):
            owner.refuse_in_callback("await of a record that is not done")
            began = now
        elif now >= part.last_moment:
            raise undelivered(part, owner, began)
        wakes = wakes_of(running_loop())
        future = wakes.future_of(part, part.watch, part.last_moment - now)
        try:
            await future
        except BaseException:
            waiter = wakes.forget(part, future)
            if waiter is not None:
                part.unwatch(waiter)
            raise


def running_loop() -> AbstractEventLoop:
    """The event loop of this thread.

    Raises:
        RuntimeError: No asyncio loop runs here.
    """
    from asyncio import get_running_loop  # noqa: PLC0415 - only who awaits pays for it

    try:
        return get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "await of a delivery needs a running asyncio loop: under trio await "
            "trio.to_thread.run_sync(delivery.result) instead, and without a loop call "
            "delivery.result()"
        ) from None


def offset_of(batch: Batch, index: int) -> int | None:
    """See `Delivery.offset`."""
    part, place = batch.part(index)
    if not part.ended or part.error_of(place) is not None:
        return None
    return part.metadata(place, 0).offset


def timestamp_of(batch: Batch, index: int, timestamp: int) -> int:
    """See `Delivery.timestamp`."""
    part, place = batch.part(index)
    return part.metadata(place, timestamp).timestamp


def shown(batch: Batch, index: int) -> str:
    """State of the record, in a line."""
    part, place = batch.part(index)
    if not part.ended:
        return f"Delivery({part.name}, on its way)"
    error = part.error_of(place)
    if error is not None:
        return f"Delivery({part.name}, failed: {type(error).__name__})"
    return f"Delivery({part.name}, offset {part.metadata(place, 0).offset})"


def no_attribute(delivery: Delivery, name: str) -> AttributeError:
    """Return the error for an attribute that a handle lacks."""
    text = f"'Delivery' object has no attribute {name!r}"
    if name in DELIVERY_WORDS:
        text += f": write {DELIVERY_WORDS[name]}"
    return AttributeError(text, name=name, obj=delivery)
