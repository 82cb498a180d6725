"""Reader of the trace that writes the log: to structlog if in use, else to logging.

Nothing is configured here, no handler is added, and structlog is never imported: an application
that uses it has imported and configured it. Destinations:

- with structlog configured: an event by its name, with its keys, through the application's own
  processors. INFO and above; or the level of logging's `prokurist`.
- else: a sentence to the logger `prokurist.<area>`, the keys as attributes of the record. An
  application without any logging configuration sees warnings and worse on stderr, by Python's
  own rule; a healthy client writes none.

Thread: both, as they emit. Handlers and processors are the application's: their errors do not
reach the core.
"""

import logging
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final

from prokurist.events.trace import EventKind, Level, Trace
from prokurist.logs.storms import Storms

ROOT: Final = logging.getLogger("prokurist")

MOST: Final = 10
"""Items of a collection that a line shows; it says how many more there are."""

LONGEST: Final = 4000
"""Characters of a line before those are written out that cannot be printed: a screen."""

COLLECTIONS: Final = (frozenset, set, list, tuple)
"""Exactly these: a partition is a tuple too, and one item."""

COUNTED: Final = re.compile(r"\{(\w+)\} (?:records|events|metrics|bytes)\b")
"""A number's key with its noun behind it."""

_LOGGERS: Final[dict[str, logging.Logger]] = {}


class Log:
    """Writes a client's log events to structlog or logging; one for each client."""

    __slots__ = ("_storms",)

    def __init__(self) -> None:
        self._storms = Storms()

    def __call__(self, trace: Trace, kind: EventKind, values: Mapping[str, object], /) -> None:
        """Write a line, if its level is enabled and it is not held back."""
        if kind.story is not None:
            seconds = self._storms.lasted(kind, values, trace.now())
            if seconds is None:
                return
            values = {**values, "seconds": seconds}
        if kind.level is Level.RECORDED:
            return
        structlog = sys.modules.get("structlog")
        if structlog is not None and structlog.is_configured():
            if kind.level >= (ROOT.level or Level.INFO):
                _to_structlog(structlog, trace, kind, values)
        elif (logger := logger_of(kind)).isEnabledFor(kind.level):
            _to_logging(logger, trace, kind, values)

    def __repr__(self) -> str:
        return f"Log({self._storms})"


def wants_calls() -> bool:
    """True if a client built now logs single calls."""
    return ROOT.isEnabledFor(Level.DEBUG)


def logger_of(kind: EventKind) -> logging.Logger:
    """The logger of an event kind, for applications that use logging."""
    logger = _LOGGERS.get(kind.area)
    if logger is None:
        logger = _LOGGERS[kind.area] = ROOT.getChild(kind.area)
    return logger


def _to_logging(
    logger: logging.Logger, trace: Trace, kind: EventKind, values: Mapping[str, object]
) -> None:
    keys = {"event": kind.name, **_whose(trace), **_plain(values)}
    whose = " ".join(f"{key}={value}" for key, value in _whose(trace).items())
    # A sentence of what is there: a percent sign in it must not be read as a format.
    logger.log(
        kind.level,
        "[%s] %s",
        whose,
        sentence(kind, values),
        exc_info=_traceback(kind, values),
        extra=keys,
    )


def _to_structlog(
    structlog: Any, trace: Trace, kind: EventKind, values: Mapping[str, object]
) -> None:
    keys = {**_whose(trace), **_plain(values)}
    if (error := _traceback(kind, values)) is not None:
        keys["exc_info"] = error
    try:
        # By the method's name: not every logger that can be configured has a `log`.
        write = getattr(structlog.get_logger(f"prokurist.{kind.area}"), kind.level.name.lower())
        write(kind.name, **keys)
    except Exception as broken:  # noqa: BLE001 - the application's processors
        ROOT.error("structlog raised %r: %s", broken, sentence(kind, values))


def sentence(kind: EventKind, values: Mapping[str, object]) -> str:
    """The line for people: one line, even if a broker's message has several."""
    wording = COUNTED.sub(partial(_in_number, values), kind.text)
    text = wording.format_map({key: _shown(value) for key, value in values.items()})
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}…"
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _in_number(values: Mapping[str, object], found: re.Match[str]) -> str:
    """A key and its noun, which is in the singular behind a 1."""
    is_one = type(values.get(found[1])) is int and values[found[1]] == 1
    return found[0].removesuffix("s") if is_one else found[0]


def _whose(trace: Trace) -> dict[str, object]:
    whose: dict[str, object] = {"client_id": trace.client_id}
    if trace.group is not None:
        whose["group"] = trace.group
    return whose


def _traceback(kind: EventKind, values: Mapping[str, object]) -> BaseException | None:
    error = values.get("error") if kind.traceback else None
    return error if isinstance(error, BaseException) else None


def _plain(values: Mapping[str, object]) -> dict[str, object]:
    """Keys whose values any formatter can write, JSON among them."""
    plain: dict[str, object] = {}
    for key, value in values.items():
        if value is None or isinstance(value, bool | int | float | str):
            plain[key] = value
        elif isinstance(value, Mapping):
            plain[key] = {str(each): value[each] for each in _first(value)}
        elif isinstance(value, Collection) and type(value) in COLLECTIONS:
            plain[key] = [str(each) for each in _first(value)]
        else:
            plain[key] = str(value)
        if isinstance(value, BaseException):
            plain["error_type"] = type(value).__name__
    return plain


def _shown(value: object) -> object:
    """A value as a sentence shows it; numbers are formatted by the sentence."""
    if isinstance(value, str | float | int):
        return value
    if isinstance(value, Mapping):
        shown = [f"{each} at {value[each]}" for each in _first(value)]
    elif isinstance(value, Collection) and type(value) in COLLECTIONS:
        shown = [str(each) for each in _first(value)]
    else:
        return str(value)
    more = len(value) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _first(items: Iterable[Any]) -> list[Any]:
    return sorted(items)[:MOST]
