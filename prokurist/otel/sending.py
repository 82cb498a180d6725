"""Spans and metrics of sends: from the call until the delivery has ended.

Thread: `begin` is the application's; a delivery ends on the network thread.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import Span, SpanKind, set_span_in_context

from prokurist.application.instruments import WatchedClient
from prokurist.errors import KafkaException
from prokurist.events.accumulator.record_metadata import OnDelivery, RecordMetadata
from prokurist.otel.names import Value
from prokurist.otel.propagation import with_context
from prokurist.otel.tools import Tools, client_values

if TYPE_CHECKING:
    from prokurist.events.accumulator.appending import Headers

SEND = {"system": "kafka", "operation_name": "send", "operation_type": "send"}


class SendSpans:
    """Watches the sends of one producer.

    Args:
        tools: Tracer, meters, names and propagator.
        client: The producer.

    Attributes:
        tools: See above.
        now: The producer's clock.
    """

    def __init__(self, tools: Tools, client: WatchedClient) -> None:
        self.tools: Tools = tools
        self.now: Callable[[], float] = client.now
        self._cluster = client.cluster
        self._client = client_values(client)
        # Of metrics: per topic and partition, so that none is made for a record.
        self._measured: dict[tuple[str, int], dict[str, Value]] = {}
        # Of spans: per topic, with the id of the cluster that was known then.
        self._begun: dict[str, tuple[str | None, dict[str, Value]]] = {}

    def begin(
        self, topic: str, value: Any, key: Any, headers: "Headers", partition: int | None
    ) -> "RecordSent":
        """See `SendInstrument`."""
        tools = self.tools
        if not tools.is_on:
            return RecordSent(self, None, headers)
        span = tools.tracer.start_span(
            f"send {topic}", kind=SpanKind.PRODUCER, attributes=self._attributes(topic)
        )
        if span.is_recording():
            more = tools.names.of(
                key=tools.key_of(key),
                tombstone=True if value is None else None,
                partition=None if partition is None else str(partition),
            )
            if more:
                span.set_attributes(more)
        return RecordSent(
            self,
            span,
            with_context(tools.propagator, headers, set_span_in_context(span)),
        )

    def begin_many(
        self, topic: str, headers: "Headers", partition: int | None
    ) -> "RecordsSent":
        """See `SendInstrument`."""
        tools = self.tools
        if not tools.is_on:
            return RecordsSent(self, None, headers)
        span = tools.tracer.start_span(
            f"send {topic}", kind=SpanKind.PRODUCER, attributes=self._attributes(topic)
        )
        if partition is not None:
            span.set_attributes(tools.names.of(partition=str(partition)))
        context = set_span_in_context(span)
        return RecordsSent(self, span, with_context(tools.propagator, headers, context))

    def _attributes(self, topic: str) -> dict[str, Value]:
        cluster = self._cluster().id
        known, made = self._begun.get(topic, (None, None))
        if made is None or known != cluster:
            made = self.tools.names.of(**SEND, **self._client, topic=topic, cluster=cluster)
            if len(self._begun) < MOST_MEASURED:
                self._begun[topic] = cluster, made
        return made

    def measured(self, topic: str, partition: int) -> dict[str, Value]:
        """The attributes of metrics for one partition."""
        found = self._measured.get((topic, partition))
        if found is None:
            number = str(partition) if partition >= 0 else None
            server = {"server": self._client["server"], "port": self._client["port"]}
            found = self.tools.names.of(**SEND, **server, topic=topic, partition=number)
            if len(self._measured) < MOST_MEASURED:
                self._measured[topic, partition] = found
        return found

    def place(self, metadata: RecordMetadata) -> dict[str, Value]:
        """The attributes of a delivered record's place."""
        return self.tools.names.of(
            partition=str(metadata.partition),
            offset=metadata.offset,
            cluster=self._cluster().id,
        )

    def count(
        self,
        metadata: RecordMetadata,
        error: KafkaException | None,
        span: Span,
        number: int = 1,
    ) -> None:
        """Count records that have ended."""
        said = self.measured(metadata.topic, metadata.partition)
        if error is not None:
            said = {**said, **self.tools.fail(span, error)}
        self.tools.sent.add(number, said)

    def measure(
        self,
        seconds: float,
        metadata: RecordMetadata | None,
        error: BaseException | None,
        span: Span,
    ) -> None:
        """Measure a send that has ended, and end its span."""
        if metadata is not None:
            said = self.measured(metadata.topic, metadata.partition)
            if error is not None:
                said = {**said, **self.tools.fail(span, error)}
            self.tools.duration.record(seconds, said)
        elif error is not None:
            self.tools.fail(span, error)
        span.end()

    def __repr__(self) -> str:
        return f"SendSpans({self._client})"


MOST_MEASURED = 10_000
"""Partitions whose attributes are kept."""


class RecordSent:
    """The send of one record; it is its own delivery callback."""

    __slots__ = ("_began", "_callback", "_of", "_span", "headers")

    def __init__(self, of: SendSpans, span: Span | None, headers: "Headers") -> None:
        self._of = of
        self._span = span
        self.headers: Headers = headers
        self._began = of.now()
        self._callback: OnDelivery | None = None

    def heard(self, on_delivery: OnDelivery | None) -> OnDelivery | None:
        """See `Sent`."""
        if self._span is None:
            return on_delivery
        self._callback = on_delivery
        return self

    def taken(self, count: int) -> None:
        """See `Sent`; a single record is told by its callback."""

    def failed(self, error: BaseException) -> None:
        """See `Sent`."""
        span, self._span = self._span, None
        if span is not None:
            self._of.measure(0.0, None, error, span)

    def __call__(self, metadata: RecordMetadata, error: KafkaException | None) -> None:
        """The record is delivered or has failed."""
        span, of = self._span, self._of
        self._span = None
        try:
            if span is not None:
                if span.is_recording() and metadata.offset >= 0:
                    span.set_attributes(of.place(metadata))
                of.count(metadata, error, span)
                of.measure(of.now() - self._began, metadata, error, span)
        finally:
            if self._callback is not None:
                self._callback(metadata, error)


class RecordsSent:
    """The send of several records in one call: one span, and all of them bear its context."""

    def __init__(self, of: SendSpans, span: Span | None, headers: "Headers") -> None:
        self._of = of
        self._span = span
        self.headers: Headers = headers
        self._began = of.now()
        self._callback: OnDelivery | None = None
        # `taken` is the application's, deliveries the network thread's.
        self._lock = threading.Lock()
        self._expected: int | None = None
        self._ended = 0
        # By partition and class of error: the last record of each, and how many there were.
        self._told: dict[
            tuple[int, type | None], tuple[RecordMetadata, KafkaException | None, int]
        ] = {}

    def heard(self, on_delivery: OnDelivery | None) -> OnDelivery | None:
        """See `Sent`."""
        if self._span is None:
            return on_delivery
        self._callback = on_delivery
        return self

    def taken(self, count: int) -> None:
        """See `Sent`."""
        span = self._span
        if span is None:
            return
        span.set_attributes(self._of.tools.names.of(count=count))
        with self._lock:
            self._expected = count
            is_over = self._ended >= count
        if is_over:
            self._end(span)

    def failed(self, error: BaseException) -> None:
        """See `Sent`."""
        span, self._span = self._span, None
        if span is not None:
            self._of.measure(0.0, None, error, span)

    def __call__(self, metadata: RecordMetadata, error: KafkaException | None) -> None:
        """A record is delivered or has failed."""
        span = self._span
        try:
            if span is not None:
                self._note(metadata, error, span)
        finally:
            if self._callback is not None:
                self._callback(metadata, error)

    def _note(self, metadata: RecordMetadata, error: KafkaException | None, span: Span) -> None:
        kind = metadata.partition, None if error is None else type(error)
        with self._lock:
            *_, number = self._told.get(kind, (None, None, 0))
            self._told[kind] = metadata, error, number + 1
            self._ended += 1
            is_over = self._ended == self._expected
        if is_over:
            self._end(span)

    def _end(self, span: Span) -> None:
        self._span = None
        told = tuple(self._told.values())
        for metadata, error, number in told:
            self._of.count(metadata, error, span, number)
        # Records of one call may go to several partitions.
        place = RecordMetadata(told[0][0].topic, -1, -1, -1) if told else None
        failed = next((error for _, error, _ in told if error is not None), None)
        self._of.measure(self._of.now() - self._began, place, failed, span)
