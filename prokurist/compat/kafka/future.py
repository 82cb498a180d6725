"""kafka-python's futures, over a delivery of ours or a future of the standard library."""

from collections.abc import Callable
from concurrent.futures import Future as StandardFuture
from typing import Any, Self

from prokurist.compat.kafka.errors import as_theirs
from prokurist.compat.kafka.structs import RecordMetadata
from prokurist.compat.waiting import seconds
from prokurist.errors import KafkaException
from prokurist.events.accumulator.implementation import Delivery
from prokurist.types import TopicPartition


class Future:
    """Future of a call; callbacks run on the thread that ends it.

    Args:
        inner: What is waited for.
    """

    __slots__ = ("_inner",)

    def __init__(self, inner: Delivery | StandardFuture[Any]) -> None:
        self._inner = inner

    @property
    def is_done(self) -> bool:
        """True once it has ended."""
        return self._inner.done()

    @property
    def value(self) -> Any:
        """The result; None until there is one."""
        return self._result() if self.succeeded() else None

    @property
    def exception(self) -> BaseException | None:
        """The error; None unless it has failed."""
        if not self._inner.done():
            return None
        return self._failure()

    def succeeded(self) -> bool:
        """Return True if it has ended without an error."""
        return self._inner.done() and self._failure() is None

    def failed(self) -> bool:
        """Return True if it has failed."""
        return self._inner.done() and self._failure() is not None

    def retriable(self) -> bool:
        """Return True if it has failed, and another try may succeed."""
        return bool(getattr(self.exception, "retriable", False))

    def add_callback(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Have a function called with the result, after the arguments given here."""

        def done(_inner: object) -> None:
            if self._failure() is None:
                f(*args, self._result(), **kwargs)

        self._inner.add_done_callback(done)
        return self

    def add_errback(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Have a function called with the error, after the arguments given here."""

        def done(_inner: object) -> None:
            failure = self._failure()
            if failure is not None:
                f(*args, failure, **kwargs)

        self._inner.add_done_callback(done)
        return self

    def add_both(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Have a function called with the result or the error."""
        return self.add_callback(f, *args, **kwargs).add_errback(f, *args, **kwargs)

    def _result(self) -> Any:
        return self._inner.result(0)

    def _failure(self) -> BaseException | None:
        error = self._inner.exception(0)
        return as_theirs(error) if isinstance(error, KafkaException) else error


class FutureRecordMetadata(Future):
    """Future of a record's delivery.

    Args:
        inner: The record's delivery.
        wait: Seconds that `get` waits which is given no timeout.
    """

    __slots__ = ("_wait",)

    _inner: Delivery

    def __init__(self, inner: Delivery, wait: float) -> None:
        super().__init__(inner)
        self._wait = wait

    def get(self, timeout: float | None = None) -> RecordMetadata:
        """Wait until the record is delivered.

        Args:
            timeout: Seconds; None for `delivery_timeout_ms`.

        Raises:
            KafkaError: It has failed; a KafkaTimeoutError if the time is over.
        """
        return self._waited(seconds(timeout, self._wait))

    def _result(self) -> RecordMetadata:
        return self._waited(0)

    def _waited(self, wait: float) -> RecordMetadata:
        try:
            topic, partition, offset, timestamp = self._inner.result(wait)
        except KafkaException as error:
            raise as_theirs(error) from error
        place = TopicPartition(topic, partition)
        return RecordMetadata(topic, partition, place, offset, timestamp)
