"""Spans and metrics of polls and commits.

Thread: the application's.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanKind

from prokurist.application.instruments import WatchedClient
from prokurist.events.clock import epoch_nanoseconds
from prokurist.otel.names import Value
from prokurist.otel.propagation import link_of
from prokurist.otel.tools import Tools, client_values
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.types import OffsetAndMetadata, TopicPartition

MOST_LINKS: Final = 128
"""Links of one span: as many as the SDK keeps by default."""

RECEIVE: Final = {"system": "kafka", "operation_name": "poll", "operation_type": "receive"}


class ReadSpans:
    """Watches the polls and commits of one consumer.

    Args:
        tools: Tracer, meters, names and propagator.
        client: The consumer.
    """

    def __init__(self, tools: Tools, client: WatchedClient) -> None:
        self._tools = tools
        self._cluster = client.cluster
        self._client = client_values(client)
        # Of metrics: the id of a client may be new with each start.
        self._measured = {word: at for word, at in self._client.items() if word != "client"}

    def received(self, seconds: float, records: Any) -> None:
        """See `ReadInstrument`."""
        if not records or not self._tools.watches:
            return
        with self._tools.harmless:
            counts = counts_of(records)
            place = place_of(counts)
            self._span(
                seconds, RECEIVE, place, None, count=len(records), links=self._links(records)
            )
            for tp, number in counts.items():
                said = self._tools.names.of(
                    system="kafka",
                    operation_name="poll",
                    topic=tp.topic,
                    partition=str(tp.partition),
                    **self._measured,
                )
                self._tools.consumed.add(number, said)

    def settled(
        self,
        seconds: float,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        error: BaseException | None,
        *,
        waited: bool = True,
    ) -> None:
        """See `ReadInstrument`."""
        if not self._tools.watches:
            return
        with self._tools.harmless:
            place = place_of(offsets)
            if len(offsets) == 1:
                place["offset"] = next(iter(offsets.values())).offset
            self._span(seconds, SETTLE, place, error, waited=waited)

    def acknowledged(
        self,
        seconds: float,
        offsets: Mapping[TopicPartition, Collection[int]],
        error: BaseException | None,
    ) -> None:
        """See `ReadInstrument`."""
        if not self._tools.watches or not (offsets or error is not None):
            return
        with self._tools.harmless:
            count = sum(map(len, offsets.values()))
            self._span(seconds, ACKNOWLEDGE, place_of(offsets), error, count=count)

    def _links(self, records: Any) -> list[Link]:
        found = []
        for record in records:
            context = link_of(self._tools.propagator, record.headers)
            if context is not None:
                found.append(Link(context))
                if len(found) == MOST_LINKS:
                    break
        return found

    def _span(
        self,
        seconds: float,
        operation: Mapping[str, str],
        place: Mapping[str, Value],
        error: BaseException | None,
        *,
        count: int | None = None,
        links: list[Link] | None = None,
        waited: bool = True,
    ) -> None:
        tools, names = self._tools, self._tools.names
        ended = epoch_nanoseconds()
        topic = place.get("topic")
        name = operation["operation_name"]
        span = tools.tracer.start_span(
            name if topic is None else f"{name} {topic}",
            # What ends in a later call has nothing to do with the span around that.
            context=None if waited else Context(),
            kind=SpanKind.CLIENT,
            attributes=names.of(
                **operation, **self._client, **place, count=count, cluster=self._cluster().id
            ),
            links=links,
            start_time=ended - int(seconds * 1e9),
        )
        said = {} if error is None else tools.fail(span, error)
        span.end(ended)
        if waited:
            measured = {word: at for word, at in place.items() if word != "offset"}
            told = names.of(**operation, **self._measured, **measured)
            tools.duration.record(seconds, told | said)

    def __repr__(self) -> str:
        return f"ReadSpans({self._client})"


SETTLE: Final = {"system": "kafka", "operation_name": "commit", "operation_type": "settle"}
ACKNOWLEDGE: Final = {
    "system": "kafka",
    "operation_name": "acknowledge",
    "operation_type": "settle",
}


def counts_of(records: Any) -> dict[TopicPartition, int]:
    """Numbers of records by partition."""
    if isinstance(records, ConsumerRecords):
        # Without making the records.
        runs = records._runs  # noqa: SLF001 - ours
        return {tp: sum(map(len, each)) for tp, each in runs.items()}
    return {tp: len(records.records(tp)) for tp in records.partitions()}


def place_of(partitions: Collection[TopicPartition]) -> dict[str, Value]:
    """Topic and partition that an operation is about, as far as there is one."""
    place: dict[str, Value] = {}
    topics = {tp.topic for tp in partitions}
    if len(topics) == 1:
        place["topic"] = topics.pop()
        if len(partitions) == 1:
            place["partition"] = str(next(iter(partitions)).partition)
    return place
