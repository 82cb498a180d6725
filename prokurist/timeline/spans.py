"""Conversion of entries to time spans: the waits of a call, and the work under way for it.

Thread: any; pure functions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.timeline.entry import Entry

ENDS: Final = frozenset({"call_finished", "call_abandoned"})


@dataclass(slots=True)
class Span:
    """A stretch of time; one that has not ended has no outcome."""

    name: str
    start: float
    end: float
    outcome: str | None = None


@dataclass(slots=True)
class Story:
    """A call from its beginning to its end.

    Attributes:
        call: Its number.
        name: The public call.
        timeout: Seconds that it was given.
        start: When it began.
        end: When its caller had its result.
        outcome: How it ended.
        ended_by: The thread that ended it, or None if it has not.
        attempts: Requests that were written for it.
        waits: Its waits while none of its requests was on the wire.
        held: While its caller waited.
        handed: When something was posted for it, and when it was taken up.
        around: Everything else that happened meanwhile, to no call in particular.
    """

    call: int
    name: str
    timeout: float
    start: float
    end: float
    outcome: str = "under way"
    ended_by: str | None = None
    attempts: list[Span] = field(default_factory=list)
    waits: list[Span] = field(default_factory=list)
    held: list[Span] = field(default_factory=list)
    handed: list[tuple[float, float]] = field(default_factory=list)
    around: list[Entry] = field(default_factory=list)


def stories_of(entries: Sequence[Entry]) -> list[Story]:
    """All calls with a recorded beginning, in order."""
    by_call: dict[int, list[Entry]] = {}
    for entry in entries:
        if entry.call is not None:
            by_call.setdefault(entry.call, []).append(entry)
    return [
        _story(call, own)
        for call, own in sorted(by_call.items())
        if own[0].event == "call_began"
    ]


def story_of(entries: Sequence[Entry], call: int | None) -> Story:
    """One call, with the happenings during it.

    Raises:
        ValueError: It was not recorded, or none was.
    """
    told = stories_of(entries)
    chosen = [each for each in told if call in (None, each.call)]
    if not chosen:
        known = ", ".join(f"{each.call} ({each.name})" for each in told[-10:])
        what = "no call" if call is None else f"no beginning of a call {call}"
        raise ValueError(f"{what} was recorded; there are: {known or 'none'}")
    story = max(chosen, key=lambda each: each.end - each.start)
    story.around = [
        each for each in entries if each.call is None and story.start <= each.at <= story.end
    ]
    return story


def _story(call: int, own: Sequence[Entry]) -> Story:
    first = own[0]
    # What comes late for it, such as an answer to a call that has ended, is not its end.
    end = max(each.at for each in own if each.event != "late_answer_dropped")
    timeout = first.keys["timeout"]
    assert isinstance(timeout, float)  # noqa: S101 - the table says so
    story = Story(call, str(first.keys["operation"]), timeout, first.at, end)
    for entry in own:
        if entry.event in ENDS and story.ended_by is None:
            story.outcome = str(entry.keys["outcome"])
            story.ended_by = entry.thread
    story.attempts = _attempts(own, end)
    story.waits = list(
        _between(own, "call_waiting", ENDS | {"attempt_began", "call_waiting"}, end)
    )
    story.held = list(_between(own, "caller_waiting", frozenset({"caller_woke"}), end))
    posted = [each.at for each in own if each.event == "call_posted"]
    taken = [each.at for each in own if each.event == "call_received"]
    story.handed = list(zip(posted, taken, strict=False))
    return story


def _attempts(own: Sequence[Entry], end: float) -> list[Span]:
    spans: dict[object, Span] = {}
    for entry in own:
        number = entry.keys.get("attempt")
        if entry.event == "attempt_began":
            name = f"{entry.keys['request']} to {entry.keys['node']}"
            spans[number] = Span(name, entry.at, end)
        elif entry.event == "attempt_ended" and number in spans:
            span = spans[number]
            # Twice for one attempt: when its answer came, and when that was judged.
            span.end = entry.at if span.outcome is None else span.end
            span.outcome = str(entry.keys["outcome"])
    return list(spans.values())


def _between(
    own: Sequence[Entry], begins: str, ends: frozenset[str], end: float
) -> Iterable[Span]:
    for index, entry in enumerate(own):
        if entry.event == begins:
            until = next((each.at for each in own[index + 1 :] if each.event in ends), end)
            yield Span(str(entry.keys.get("reason", entry.text)), entry.at, until)
