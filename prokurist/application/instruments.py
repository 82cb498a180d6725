"""Instruments: they watch sends, reads and commits of clients, where a program turns that on.

A client asks for its instrument once, when it is built. Without one nothing is called and
nothing is imported; see `prokurist.otel`.

Thread: the application's; a send ends on the network thread.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from prokurist.application.driving import Steps
from prokurist.config.connection import ConnectionKeys
from prokurist.events.accumulator.implementation import Delivery
from prokurist.events.accumulator.record_metadata import OnDelivery, require_callback
from prokurist.events.cluster import Cluster
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from prokurist.events.accumulator.appending import Headers


class Sent(Protocol):
    """A send that has begun; it is called when a record of it has ended.

    Attributes:
        headers: The record's headers, with the trace context.
    """

    @property
    def headers(self) -> "Headers":
        """See the class."""
        ...

    def heard(self, on_delivery: OnDelivery | None) -> OnDelivery | None:
        """The callback that also ends the span."""
        ...

    def taken(self, count: int) -> None:
        """So many of the records are in batches; each of them ends."""
        ...

    def failed(self, error: BaseException) -> None:
        """Nothing was sent."""
        ...


class SendInstrument(Protocol):
    """Watches the sends of one producer."""

    def begin(
        self, topic: str, value: Any, key: Any, headers: "Headers", partition: int | None
    ) -> Sent:
        """One record is sent."""
        ...

    def begin_many(self, topic: str, headers: "Headers", partition: int | None) -> Sent:
        """Several records are sent in one call."""
        ...


class ReadInstrument(Protocol):
    """Watches the reads and commits of one consumer."""

    def received(self, seconds: float, records: Any) -> None:
        """A poll of so many seconds returns records."""
        ...

    def settled(
        self,
        seconds: float,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        error: BaseException | None,
        *,
        waited: bool = True,
    ) -> None:
        """A commit has ended, after so many seconds.

        Args:
            seconds: How long ago it began.
            offsets: The offsets.
            error: Why it has failed.
            waited: True if a call has waited for it; else its end was noticed later.
        """
        ...

    def acknowledged(
        self,
        seconds: float,
        offsets: Mapping[TopicPartition, Collection[int]],
        error: BaseException | None,
    ) -> None:
        """The `commit_sync` of a share consumer has ended, after so many seconds."""
        ...


@dataclass(frozen=True, slots=True)
class WatchedClient:
    """A client, as its instrument knows it.

    Attributes:
        config: Its configuration.
        client_id: Its `client.id`.
        cluster: What is known of the cluster.
        now: Its clock.
        group: Its group.
    """

    config: ConnectionKeys
    client_id: str
    cluster: Callable[[], Cluster]
    now: Callable[[], float]
    group: str | None = None


class Instrument(Protocol):
    """Makes the instruments of clients."""

    def of_producer(self, client: WatchedClient) -> SendInstrument:
        """That of a producer."""
        ...

    def of_consumer(self, client: WatchedClient) -> ReadInstrument:
        """That of a consumer."""
        ...

    def process(self, record: Any, group: str | None) -> AbstractContextManager[object]:
        """A block in which a record is processed."""
        ...


class Installed:
    """The instrument of this process.

    Attributes:
        current: It; None where nothing is watched.
    """

    def __init__(self) -> None:
        self.current: Instrument | None = None

    def __repr__(self) -> str:
        return f"Installed({self.current!r})"


INSTALLED: Final = Installed()
"""Read by each client when it is built."""


def instrument_of_producer(client: WatchedClient) -> SendInstrument | None:
    """That of a producer that is being built."""
    current = INSTALLED.current
    return None if current is None else current.of_producer(client)


def instrument_of_consumer(client: WatchedClient) -> ReadInstrument | None:
    """That of a consumer that is being built."""
    current = INSTALLED.current
    return None if current is None else current.of_consumer(client)


def watched(
    send: Callable[..., Delivery], instrument: SendInstrument | None
) -> Callable[..., Delivery]:
    """The `send` of an appender, watched where there is an instrument."""
    return send if instrument is None else WatchedSend(send, instrument)


class WatchedSend:
    """A `send` that an instrument watches.

    Args:
        send: The appender's; it returns a delivery, or the steps to one.
        instrument: The instrument.
    """

    def __init__(self, send: Callable[..., Any], instrument: SendInstrument) -> None:
        self._send = send
        self._instrument = instrument

    def __call__(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: "Headers" = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Any:
        """Send a record; see `KafkaProducer.send`."""
        require_callback(on_delivery)
        sent = self._instrument.begin(topic, value, key, headers, partition)
        try:
            made = self._send(
                topic, value, key, sent.headers, partition, timestamp, sent.heard(on_delivery)
            )
        except BaseException as error:
            sent.failed(error)
            raise
        return ending(sent, made) if isinstance(made, GeneratorType) else made

    def __repr__(self) -> str:
        return f"WatchedSend({self._send})"


def ending(sent: Sent, steps: Steps[Any]) -> Steps[Any]:
    """Take the steps of a send, and end its span where they raise."""
    try:
        return (yield from steps)
    except BaseException as error:
        sent.failed(error)
        raise


class Counted(Protocol):
    """Interface of what a call that sends many returns."""

    @property
    def count(self) -> int:
        """Number of records in batches."""
        ...


Many = TypeVar("Many", bound=Counted)


def all_taken(sent: Sent, steps: Steps[Many]) -> Steps[Many]:
    """Take the steps of a call that sends many, and tell how many records will end."""
    deliveries: Many = yield from ending(sent, steps)
    sent.taken(deliveries.count)
    return deliveries
