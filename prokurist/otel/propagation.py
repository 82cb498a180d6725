"""Trace context in the headers of records, by the program's propagator (W3C by default).

Thread: any.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.propagators.textmap import Getter, Setter, TextMapPropagator
from opentelemetry.trace import SpanContext, get_current_span

Pairs = list[tuple[str, bytes | None]]


class HeaderSetter(Setter[Pairs]):
    """Writes a header, in place of one of that name, as a record that is copied has."""

    def set(self, carrier: Pairs, key: str, value: str) -> None:
        """See OpenTelemetry's `Setter`."""
        for index, (name, _) in enumerate(carrier):
            if name == key:
                carrier[index] = key, value.encode()
                return
        carrier.append((key, value.encode()))


class HeaderGetter(Getter[Iterable[tuple[str, bytes | None]]]):
    """Reads headers; a value that is no UTF-8 counts as missing."""

    def get(self, carrier: Iterable[tuple[str, bytes | None]], key: str) -> list[str] | None:
        """See OpenTelemetry's `Getter`."""
        found = [text for name, value in carrier if name == key for text in as_text(value)]
        return found or None

    def keys(self, carrier: Iterable[tuple[str, bytes | None]]) -> list[str]:
        """See OpenTelemetry's `Getter`."""
        return [name for name, _ in carrier]


SETTER = HeaderSetter()
GETTER = HeaderGetter()


def as_text(value: Any) -> Iterator[str]:
    """A header's value as text; nothing where it is none."""
    if isinstance(value, str):
        yield value
    elif value is not None:
        try:
            yield bytes(value).decode()
        except (TypeError, UnicodeDecodeError):
            return


def with_context(propagator: TextMapPropagator, headers: Any, context: Context) -> Any:
    """Headers with the trace context in them; anything else is left as it is."""
    if headers is None:
        pairs: Pairs = []
    elif isinstance(headers, Mapping):
        pairs = list(headers.items())
    else:
        try:
            pairs = [(name, value) for name, value in headers]
        except (TypeError, ValueError):
            # The producer refuses them, with its own words.
            return headers
    propagator.inject(pairs, context=context, setter=SETTER)
    return pairs or None


def context_of(propagator: TextMapPropagator, headers: Any) -> Context:
    """The context in some headers; an empty one where there is none."""
    return propagator.extract(headers or (), context=Context(), getter=GETTER)


def link_of(propagator: TextMapPropagator, headers: Any) -> SpanContext | None:
    """The span context in some headers; None where there is none."""
    if not headers:
        return None
    found = get_current_span(context_of(propagator, headers)).get_span_context()
    return found if found.is_valid else None
