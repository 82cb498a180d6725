"""The user's own code in a `send`: interceptors, serializers, a partitioner.

Thread: any application thread, inside `send`, outside of every lock; the time that it takes
does not count against `max.block.ms`. Interceptors hear of deliveries on the network thread.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prokurist.errors import KafkaException
from prokurist.events.accumulator.implementation import Delivery
from prokurist.events.accumulator.record_metadata import OnDelivery, RecordMetadata
from prokurist.events.cluster import Cluster
from prokurist.events.log_events import INTERCEPTOR_RAISED
from prokurist.events.trace import Trace
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
    """What the user's own objects do with each record.

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
        know: Callable[[str], KafkaException | None],
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
        """Whether there is any."""
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
    ) -> Delivery:
        """Send what the user's code makes of a record.

        Raises:
            Exception: What the partitioner raises.
            SerializationException: A serializer has raised.
            ValueError: The partitioner has answered a negative number.
        """
        record = self._intercepted(
            ProducerRecord(topic, value, key, headers, partition, timestamp)
        )
        topic, partition = record.topic, record.partition
        headers = record.headers
        pairs: list[tuple[str, bytes | None]] = []
        if self._serializers.want_headers:
            given = headers.items() if isinstance(headers, Mapping) else headers or ()
            headers = pairs = list(given)
        key = self._serializers.key(topic, pairs, record.key)
        value = self._serializers.value(topic, pairs, record.value)
        if self._acknowledged:
            on_delivery = Acknowledged(on_delivery, self._acknowledge)
        if self._partitioner is not None and partition is None:
            error = self._know(topic)
            if error is not None:
                when = -1 if record.timestamp is None else record.timestamp
                return self._failed(topic, -1, when, error, on_delivery)
            partition = self._partitioner(topic, key, value, self._cluster())
            require_int("the partition that partitioner.class returns", partition)
        return send(topic, value, key, headers, partition, record.timestamp, on_delivery)

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
