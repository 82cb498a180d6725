"""Spans of processing: a block around the work on a record, or on several.

Thread: any.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    Span,
    SpanKind,
    get_current_span,
    use_span,
)

from prokurist.events.clock import MonotonicClock
from prokurist.lazy_dataclasses import dataclass
from prokurist.otel.current import CURRENT
from prokurist.otel.propagation import context_of, link_of
from prokurist.otel.reading import MOST_LINKS, place_of
from prokurist.otel.tools import Tools
from prokurist.types import TopicPartition


def process(record: Any, group: str | None = None) -> AbstractContextManager[Span]:
    """Return a block that is a `process` span, and measures it.

    With one record the span continues the trace that its headers hold, and links to it; a span
    that is current where the block begins is linked, too. With several it is a child of the
    current span, with a link to each record's. An exception that leaves the block fails it.

    Without `instrument` the block has a span that records nothing.

    Args:
        record: A record of a client of ours, or of a face in `prokurist.compat`; or what a poll
            has returned, or a list of records.
        group: The consumer's group, as an attribute.

    Returns:
        A context manager of the span.
    """
    at = CURRENT.tools
    if at is None or not at.watches:
        return nothing()
    if hasattr(record, "offset"):
        single = seen(record)
        with at.harmless:
            return one(at, single, group)
    else:
        many = [seen(each) for each in records_in(record)]
        with at.harmless:
            return several(at, many, group)
    return nothing()


def records_in(records: Any) -> Iterable[Any]:
    """Records of a list or a poll; some faces return them by partition."""
    if isinstance(records, Mapping):
        return [each for some in records.values() for each in some]
    given: Iterable[Any] = records
    return given


@dataclass(frozen=True, slots=True)
class Seen:
    """A record of any client.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
        key: Its key.
        value: Its value.
        headers: Its headers.
    """

    topic: str
    partition: int
    offset: int
    key: Any
    value: Any
    headers: Any


def seen(record: Any) -> Seen:
    """A record by attributes, or by methods as confluent-kafka's messages have them."""
    names = ("topic", "partition", "offset", "key", "value", "headers")
    values = (getattr(record, name) for name in names)
    return Seen(*(each() if callable(each) else each for each in values))


@contextmanager
def nothing() -> Iterator[Span]:
    """A block without a span."""
    yield INVALID_SPAN


def one(tools: Tools, record: Seen, group: str | None) -> AbstractContextManager[Span]:
    """The block of one record."""
    made = context_of(tools.propagator, record.headers)
    creation = get_current_span(made).get_span_context()
    around = get_current_span().get_span_context()
    links = [Link(each) for each in (creation, around) if each.is_valid]
    span = tools.tracer.start_span(
        f"process {record.topic}",
        context=made if creation.is_valid else None,
        kind=SpanKind.CONSUMER,
        links=links if creation.is_valid else (),
        attributes=tools.names.of(
            **PROCESS,
            topic=record.topic,
            partition=str(record.partition),
            offset=record.offset,
            group=group,
            key=tools.key_of(record.key),
            tombstone=True if record.value is None else None,
        ),
    )
    return working(tools, span, [record], group)


def several(
    tools: Tools, records: list[Seen], group: str | None
) -> AbstractContextManager[Span]:
    """The block of several records."""
    place = place_of({TopicPartition(each.topic, each.partition) for each in records})
    links = (link_of(tools.propagator, each.headers) for each in records)
    topic = place.get("topic")
    span = tools.tracer.start_span(
        "process" if topic is None else f"process {topic}",
        kind=SpanKind.CONSUMER,
        links=[Link(each) for each in links if each is not None][:MOST_LINKS],
        attributes=tools.names.of(**PROCESS, **place, group=group, count=len(records)),
    )
    return working(tools, span, records, group)


@contextmanager
def working(
    tools: Tools, span: Span, records: Iterable[Seen], group: str | None
) -> Iterator[Span]:
    """Make a span the current one, and measure it."""
    began = MonotonicClock.now()
    place = place_of({TopicPartition(each.topic, each.partition) for each in records})
    said = tools.names.of(**PROCESS, **place, group=group)
    try:
        with use_span(span, record_exception=False, set_status_on_exception=False):
            yield span
    except BaseException as error:
        with tools.harmless:
            said |= tools.fail(span, error)
            if isinstance(error, Exception):
                span.record_exception(error)
        raise
    finally:
        with tools.harmless:
            span.end()
        with tools.harmless:
            tools.process_duration.record(MonotonicClock.now() - began, said)


PROCESS = {"system": "kafka", "operation_name": "process", "operation_type": "process"}
