"""The user's own code in a `send`: interceptors, serializers, a partitioner.

Thread: any application thread, inside `send`, outside of every lock; the time that it takes
does not count against `max.block.ms`. Interceptors hear of deliveries on the network thread.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from prokurist.application.driving import Steps
from prokurist.errors import KafkaException
from prokurist.events.accumulator.implementation import Delivery
from prokurist.events.accumulator.record_metadata import OnDelivery, RecordMetadata
from prokurist.events.cluster import Cluster
from prokurist.events.log_events import INTERCEPTOR_RAISED
from prokurist.events.trace import Trace
from prokurist.lazy_dataclasses import dataclass
from prokurist.producer.serializing import Serializers
from prokurist.types import require_int

if TYPE_CHECKING:
    from prokurist.events.accumulator.appending import Headers


@dataclass(frozen=True, slots=True)
class ProducerRecord:
    """A record as an interceptor sees it, before it is serialized.

    Attributes:
        topic: The topic.
        value: The value as it was given.
        key: The key as it was given.
        headers: The headers as they were given.
        partition: The partition, where one was given.
        timestamp: The timestamp, where one was given.
    """

    topic: str
    value: Any = None
    key: Any = None
    headers: "Headers" = None
    partition: int | None = None
    timestamp: int | None = None


class UserCode:
    """Runs the user's own objects on each record.

    An interceptor has any of `on_send(record)`, which returns a record,
    `on_acknowledgement(metadata, error)` and `close()`. What it raises is logged and ignored.

    Args:
        serializers: Of keys and values.
        partitioner: Called with topic, key, value (as bytes) and the cluster; None for Java's
            way.
        interceptors: In the order of the configuration.
        cluster: What is known of the cluster.
        know: Waits until a topic is known; returns why it is not.
        failed: Makes the delivery of a record that was not sent.
        trace: The client's.
    """

    def __init__(
        self,
        serializers: Serializers,
        partitioner: Callable[..., int] | None,
        interceptors: Sequence[object],
        *,
        cluster: Callable[[], Cluster],
        know: Callable[[str], Steps[KafkaException | None]],
        failed: Callable[[str, int, int, KafkaException, OnDelivery | None], Delivery],
        trace: Trace,
    ) -> None:
        self._serializers = serializers
        self._partitioner = partitioner
        self._interceptors = tuple(interceptors)
        self._acknowledged = self._having("on_acknowledgement")
        self._cluster = cluster
        self._know = know
        self._failed = failed
        self._trace = trace

    @property
    def is_there(self) -> bool:
        """True if there is any user code."""
        return bool(
            self._serializers.are_there or self._partitioner is not None or self._interceptors
        )

    def send(
        self,
        send: Callable[..., Delivery],
        topic: str,
        value: Any,
        key: Any,
        headers: "Headers",
        partition: int | None,
        timestamp: int | None,
        on_delivery: OnDelivery | None,
    ) -> Steps[Delivery]:
        """Send what the user's code makes of a record.

        Raises:
            Exception: What the partitioner raises.
            SerializationException: A serializer has raised.
            ValueError: The partitioner has answered a negative number.
        """
        record = self.prepared(ProducerRecord(topic, value, key, headers, partition, timestamp))
        on_delivery = self.heard(on_delivery)
        place = yield from self.partition_of(record)
        if isinstance(place, KafkaException):
            when = -1 if record.timestamp is None else record.timestamp
            return self._failed(record.topic, -1, when, place, on_delivery)
        return send(
            record.topic,
            record.value,
            record.key,
            record.headers,
            place,
            record.timestamp,
            on_delivery,
        )

    def prepared(self, record: ProducerRecord) -> ProducerRecord:
        """A record as interceptors and serializers leave it.

        Raises:
            SerializationException: A serializer has raised.
        """
        record = self._intercepted(record)
        topic, headers = record.topic, record.headers
        pairs: list[tuple[str, bytes | None]] = []
        if self._serializers.want_headers:
            given = headers.items() if isinstance(headers, Mapping) else headers or ()
            headers = pairs = list(given)
        return replace(
            record,
            key=self._serializers.key(topic, pairs, record.key),
            value=self._serializers.value(topic, pairs, record.value),
            headers=headers,
        )

    def heard(self, on_delivery: OnDelivery | None) -> OnDelivery | None:
        """The callback of a record that interceptors hear of, too."""
        return (
            Acknowledged(on_delivery, self._acknowledge) if self._acknowledged else on_delivery
        )

    def partition_of(self, record: ProducerRecord) -> Steps[int | KafkaException | None]:
        """The partition that was given, or that the user's partitioner has chosen.

        Returns:
            None to have one chosen; or why the topic is not known, whose partitions would be
            chosen from.

        Raises:
            Exception: What the partitioner raises.
            TypeError: The topic is no str.
            ValueError: The partitioner has answered a negative number.
        """
        if self._partitioner is None or record.partition is not None:
            return record.partition
        # The network thread takes names on trust, and would end.
        if not isinstance(record.topic, str):
            raise TypeError(f"a topic is a str, not {record.topic!r}")
        error = yield from self._know(record.topic)
        if error is not None:
            return error
        place = self._partitioner(record.topic, record.key, record.value, self._cluster())
        require_int("the partition that partitioner.class returns", place, 31)
        return place

    def _intercepted(self, record: ProducerRecord) -> ProducerRecord:
        for method in self._having("on_send"):
            try:
                record = method(record)
            except Exception as error:  # noqa: BLE001 - whatever a user's object raises
                self._complain(method, error)
        return record

    def _acknowledge(self, metadata: RecordMetadata, error: KafkaException | None) -> None:
        for method in self._acknowledged:
            try:
                method(metadata, error)
            except Exception as raised:  # noqa: BLE001 - as above
                self._complain(method, raised)

    def close(self) -> None:
        """Tell the interceptors that this was all."""
        for method in self._having("close"):
            try:
                method()
            except Exception as error:  # noqa: BLE001 - as above
                self._complain(method, error)

    def _complain(self, method: Callable[..., Any], error: Exception) -> None:
        self._trace.emit(INTERCEPTOR_RAISED, method=repr(method), error=error)

    def _having(self, name: str) -> list[Callable[..., Any]]:
        methods = (getattr(each, name, None) for each in self._interceptors)
        return [method for method in methods if method is not None]

    def __repr__(self) -> str:
        return f"UserCode({self._serializers}, {len(self._interceptors)} interceptors)"


class Acknowledged:
    """Tells interceptors of a delivery, and then the user's callback.

    Args:
        callback: The user's, if there is one.
        acknowledge: Tells the interceptors.
    """

    __slots__ = ("_acknowledge", "_callback")

    def __init__(self, callback: OnDelivery | None, acknowledge: OnDelivery) -> None:
        self._callback = callback
        self._acknowledge = acknowledge

    def __call__(self, metadata: RecordMetadata, error: KafkaException | None) -> None:
        """A record is delivered or has failed."""
        self._acknowledge(metadata, error)
        if self._callback is not None:
            self._callback(metadata, error)
