"""Producers of a chaos run: ours, and the faces over it, each used as its own programs do.

Thread: any that sends. A delivery's end is told on the producer's own thread, and by
confluent-kafka's face on the one that polls.
Invariants: errors are raised as ours, so that one journal and one judge do for all of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from prokurist import KafkaProducer
from prokurist.compat import confluent_kafka, kafka
from prokurist.errors import IllegalStateException, KafkaException, TimeoutException
from prokurist.events.accumulator.implementation import Delivery
from prokurist.events.accumulator.record_metadata import RecordMetadata


class Ending(NamedTuple):
    """The end of a delivery.

    Attributes:
        partition: Where the record is, or would have gone.
        offset: Its offset; None if the delivery has failed.
        error: Name of the error; None if there is none.
        maybe: It has failed, and may be in the log all the same.
        took: Seconds, where the client itself has measured them.
    """

    partition: int
    offset: int | None = None
    error: str | None = None
    maybe: bool = False
    took: float | None = None


Ended = Callable[[Ending], None]
"""Is told how a delivery has ended, once."""


class Sender(ABC):
    """A producer under one client's names.

    Args:
        keys: Its configuration.

    Attributes:
        tells_in_poll: Whether the end of a delivery is told to who polls, and to nobody before.
    """

    tells_in_poll: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, keys: Mapping[str, Any]) -> None: ...

    @abstractmethod
    def send(self, topic: str, value: bytes, key: bytes | None, ended: Ended) -> Any:
        """Send a record: its delivery, where there is one.

        Raises:
            IllegalStateException: The producer is closed, and `ended` is not told.
        """

    def partition_of(self, delivery: Any) -> int | None:
        """The partition of a delivery, where the client has told it by now."""
        return None if delivery is None else int(delivery.partition)

    @abstractmethod
    def result(self, delivery: Any, timeout: float) -> int | None:
        """Wait for a delivery: its offset, where the client has told it."""

    @abstractmethod
    def flush(self, timeout: float) -> None:
        """Wait for all of them."""

    @abstractmethod
    def purge(self) -> None:
        """Give up what is not on the wire, where the client can."""

    @abstractmethod
    def partitions_for(self, topic: str, timeout: float) -> object:
        """Look up a topic's partitions."""

    @abstractmethod
    def close(self, timeout: float) -> None:
        """Flush, and close."""


class CoreSender(Sender):
    """Our producer."""

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self._producer = KafkaProducer(dict(keys))

    def send(self, topic: str, value: bytes, key: bytes | None, ended: Ended) -> Delivery:
        """See `Sender`."""

        def told(metadata: RecordMetadata, error: KafkaException | None) -> None:
            ended(ending_of(metadata, error))

        return self._producer.send(topic, value, key, on_delivery=told)

    def result(self, delivery: Delivery, timeout: float) -> int | None:
        """See `Sender`."""
        return delivery.result(timeout).offset

    def flush(self, timeout: float) -> None:
        """See `Sender`."""
        self._producer.flush(timeout)

    def purge(self) -> None:
        """See `Sender`."""
        self._producer.purge()

    def partitions_for(self, topic: str, timeout: float) -> object:
        """See `Sender`."""
        return self._producer.partitions_for(topic, timeout)

    def close(self, timeout: float) -> None:
        """See `Sender`."""
        self._producer.close(timeout)


class ConfluentSender(Sender):
    """confluent-kafka's producer; it polls behind each message."""

    tells_in_poll = True

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self._face = confluent_kafka.Producer(**keys)

    def send(self, topic: str, value: bytes, key: bytes | None, ended: Ended) -> None:
        """See `Sender`."""

        def told(error: Any, message: Any) -> None:
            if error is None:
                ended(Ending(message.partition(), message.offset(), took=message.latency()))
                return
            # What has been purged was not sent; of other errors it does not say.
            maybe = error.code() != confluent_kafka.KafkaError._PURGE_QUEUE
            ended(
                Ending(
                    message.partition(),
                    error=error.name(),
                    maybe=maybe,
                    took=message.latency(),
                )
            )

        with ours():
            try:
                self._face.produce(topic, value, key, on_delivery=told)
            except BufferError:
                ended(Ending(-1, error="BufferError"))
            self._face.poll(0)

    def result(self, delivery: None, timeout: float) -> None:
        """See `Sender`: programs flush, to wait for a message."""
        del delivery
        self.flush(timeout)

    def flush(self, timeout: float) -> None:
        """See `Sender`."""
        with ours():
            if left := self._face.flush(timeout):
                raise TimeoutException(f"{left} messages are left")

    def purge(self) -> None:
        """See `Sender`."""
        with ours():
            self._face.purge()

    def partitions_for(self, topic: str, timeout: float) -> object:
        """See `Sender`."""
        with ours():
            return self._face.list_topics(topic, timeout)

    def close(self, timeout: float) -> None:
        """See `Sender`."""
        self._face.close(timeout)


class KafkaPythonSender(Sender):
    """kafka-python's producer."""

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self._face = kafka.KafkaProducer(**keys)

    def send(self, topic: str, value: bytes, key: bytes | None, ended: Ended) -> Any:
        """See `Sender`."""
        try:
            with ours():
                future = self._face.send(topic, value, key)
        except IllegalStateException:
            raise
        except KafkaException as error:
            ended(Ending(-1, error=type(error).__name__, maybe=error.may_have_happened))
            return None
        delivery = future._inner

        def written(metadata: Any) -> None:
            ended(Ending(metadata.partition, metadata.offset))

        def failed(error: BaseException) -> None:
            failure = delivery.exception(0)
            maybe = failure is not None and failure.may_have_happened
            ended(Ending(delivery.partition, error=type(error).__name__, maybe=maybe))

        future.add_callback(written).add_errback(failed)
        return future

    def partition_of(self, delivery: Any) -> int | None:
        """See `Sender`."""
        return super().partition_of(None if delivery is None else delivery._inner)

    def result(self, delivery: Any, timeout: float) -> int | None:
        """See `Sender`."""
        if delivery is None:
            return None
        with ours():
            offset: int = delivery.get(timeout).offset
            return offset

    def flush(self, timeout: float) -> None:
        """See `Sender`."""
        with ours():
            self._face.flush(timeout)

    def purge(self) -> None:
        """See `Sender`: it cannot."""

    def partitions_for(self, topic: str, timeout: float) -> object:
        """See `Sender`; its time is `max_block_ms`."""
        del timeout
        with ours():
            return self._face.partitions_for(topic)

    def close(self, timeout: float) -> None:
        """See `Sender`."""
        self._face.close(timeout)


def ending_of(metadata: RecordMetadata, error: KafkaException | None) -> Ending:
    """The end of a delivery of ours."""
    if error is None:
        return Ending(metadata.partition, metadata.offset)
    name, maybe = type(error).__name__, error.may_have_happened
    return Ending(metadata.partition, error=name, maybe=maybe)


@contextmanager
def ours() -> Iterator[None]:
    """Raise a face's errors as those of ours that caused them.

    Raises:
        IllegalStateException: The producer is closed.
        KafkaException: Any other error of the client.
    """
    try:
        yield
    except RuntimeError as error:
        raise IllegalStateException(str(error)) from error
    except (confluent_kafka.KafkaException, kafka.errors.KafkaError) as error:
        if isinstance(error.__cause__, KafkaException):
            raise error.__cause__ from None
        raise
