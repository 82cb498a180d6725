"""Readers of a trace for tests: they log, check or keep its events."""

from collections.abc import Mapping
from functools import cache

from prokurist.events.trace import EventKind, Trace
from prokurist.logs.log import Log


def logged() -> Trace:
    """One that the log reads, as that of a client which was built while it was at DEBUG."""
    trace = Trace("test", "g")
    trace.read_by(Log(), fine=True)
    return trace


def check(_trace: Trace, kind: EventKind, values: Mapping[str, object], /) -> None:
    """A reader that sees that what is told is what the table says."""
    keys = keys_of(kind)
    missing = keys - values.keys() - ({"seconds"} if kind.story else set())
    assert not missing, (kind.name, missing)
    assert values.keys() <= keys, (kind.name, values.keys() - keys)


@cache
def keys_of(kind: EventKind) -> frozenset[str]:
    """The keys of a kind of event, taken out of its sentence once."""
    return frozenset(kind.keys)


class Told:
    """A reader that keeps what was told."""

    def __init__(self) -> None:
        self.entries: list[tuple[EventKind, dict[str, object]]] = []

    def __call__(self, _trace: Trace, kind: EventKind, values: Mapping[str, object], /) -> None:
        """See `trace.Reader`."""
        self.entries.append((kind, dict(values)))

    @property
    def names(self) -> list[str]:
        """What was told, by name."""
        return [kind.name for kind, _ in self.entries]
