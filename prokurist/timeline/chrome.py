"""A recording in the form that chrome://tracing and Perfetto read.

Thread: any; pure functions.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from prokurist.timeline.entry import Entry
from prokurist.timeline.spans import stories_of

PROCESS: Final = 1
THREADS: Final = {"application": 1, "network": 2}


def document(entries: Sequence[Entry]) -> str:
    """The JSON of Chrome's trace event format."""
    events = [*_threads(), *_calls(entries), *map(_instant, entries)]
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, indent=1)


def _threads() -> Iterator[dict[str, Any]]:
    for name, number in THREADS.items():
        yield {
            "name": "thread_name",
            "ph": "M",
            "pid": PROCESS,
            "tid": number,
            "args": {"name": f"{name} thread"},
        }


def _calls(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    for story in stories_of(entries):
        name = f"{story.name} #{story.call}"
        yield from _span("application", name, story.call, story.start, story.end, story.outcome)
        for span in (*story.waits, *story.attempts):
            outcome = span.outcome or ""
            yield from _span("network", span.name, story.call, span.start, span.end, outcome)


def _span(
    thread: str, name: str, call: int, start: float, end: float, outcome: str
) -> Iterator[dict[str, Any]]:
    """An asynchronous one: those of several calls overlap on one thread."""
    both = {
        "name": name,
        "cat": thread,
        "id": call,
        "pid": PROCESS,
        "tid": THREADS[thread],
    }
    yield {**both, "ph": "b", "ts": _microseconds(start), "args": {"outcome": outcome}}
    yield {**both, "ph": "e", "ts": _microseconds(end)}


def _instant(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.event,
        "ph": "i",
        "s": "t",
        "pid": PROCESS,
        "tid": THREADS[entry.thread],
        "ts": _microseconds(entry.at),
        "args": {"text": entry.text, "call": entry.call},
    }


def _microseconds(seconds: float) -> float:
    return round(seconds * 1e6, 3)
