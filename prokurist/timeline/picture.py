"""One call as an SVG: a lane for each thread, time from left to right.

It stands alone (no script, no font, nothing fetched) and follows the reader's light or dark
scheme. Bars are waits and requests, ticks are turns of the loop.

Thread: any; pure functions. The same story gives the same picture.
"""

import math
from collections.abc import Iterator
from html import escape
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.timeline.spans import Span, Story

WIDTH: Final = 960
LEFT: Final = 132
RIGHT: Final = 36
ROW: Final = 30
GAP: Final = 8
TOP: Final = 88
LETTER: Final = 6.7
"""The width of a letter, as far as one can know it without a font."""

LINES: Final = 4
"""Most rows of attempts and waits; beyond that, the latest share the last row."""

STYLE: Final = """\
  text { font: 12.5px ui-sans-serif, system-ui, -apple-system, "Segoe UI", sans-serif; }
  .card { fill: #ffffff; stroke: #d0d7de; }
  .lane { fill: #f3f5f8; }
  .ink { fill: #1f2328; } .dim { fill: #59636e; } .title { font-size: 16px; font-weight: 600; }
  .name { font-weight: 600; }
  .grid { stroke: #d8dee4; } .hair { stroke: #59636e; fill: none; }
  .call { fill: #cfe3fb; stroke: #2f6fbe; } .open { fill: #ffe3a8; stroke: #b07a00; }
  .well { fill: #c9ecd0; stroke: #2a7d3f; } .lost { fill: #fbd2cf; stroke: #c03a31; }
  .wait { fill: #e4e8ed; stroke: #818b98; stroke-dasharray: 4 3; }
  .tick { stroke: #7a55c2; stroke-width: 1.6; } .dot { fill: #7a55c2; }
  .due { stroke: #c03a31; stroke-width: 1.6; stroke-dasharray: 6 4; } .late { fill: #c03a31; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d; }
    .lane { fill: #161c24; }
    .ink { fill: #f0f3f6; } .dim { fill: #9aa5b1; }
    .grid { stroke: #2a313a; } .hair { stroke: #9aa5b1; }
    .call { fill: #173a63; stroke: #6cb0ff; } .open { fill: #57430d; stroke: #e3b341; }
    .well { fill: #143d22; stroke: #56d074; } .lost { fill: #571d1a; stroke: #ff8078; }
    .wait { fill: #262d36; stroke: #818b98; }
    .tick { stroke: #b79bf2; } .dot { fill: #b79bf2; }
    .due { stroke: #ff8078; } .late { fill: #ff8078; }
  }"""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps seconds to horizontal places in the picture."""

    start: float
    seconds: float

    def x(self, at: float) -> float:
        """The place of an instant."""
        share = (at - self.start) / self.seconds
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def document(story: Story, title: str | None) -> str:
    """The SVG of a call."""
    length = max(story.end - story.start, 1e-6)
    scale = Scale(story.start - 0.01 * length, length * 1.06)
    rows = _rows([*story.attempts, *story.waits])
    upper = TOP
    lower = upper + ROW + 4 * GAP
    bottom = lower + (len(rows) + 1) * (ROW + GAP) + GAP
    height = bottom + 66
    body = [
        f'<rect class="card" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="10"/>',
        _text(24, 34, title or f"{story.name}: where the time went", "ink title"),
        _text(24, 56, _summary(story), "dim"),
        *_lane("application", upper, ROW + 2 * GAP),
        *_lane("network", lower, bottom - lower - GAP),
        *_axis(story, scale, upper, bottom),
        *_call(story, scale, upper + GAP),
        *_work(story, rows, scale, lower + GAP),
        *_turns(story, scale, lower + GAP + len(rows) * (ROW + GAP)),
        *_handed(story, scale, upper + GAP + ROW, lower + GAP),
        *_deadline(story, scale, upper, bottom),
        *_legend(height - 18),
    ]
    label = escape(f"{story.name}: {_summary(story)}", quote=True)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-label="{label}">'
    )
    return "\n".join([head, f"<style>\n{STYLE}\n</style>", *body, "</svg>\n"])


def _summary(story: Story) -> str:
    given = "" if math.isinf(story.timeout) else f"given {_seconds(story.timeout)}, "
    requests = "1 request" if len(story.attempts) == 1 else f"{len(story.attempts)} requests"
    return f"{given}{story.outcome} after {story.end - story.start:.4f} s, {requests} written"


def _lane(name: str, y: float, height: float) -> Iterator[str]:
    yield f'<rect class="lane" x="12" y="{y}" width="{WIDTH - 24}" height="{height}" rx="6"/>'
    yield _text(24, y + 22, name, "ink name")
    yield _text(24, y + 38, "thread", "dim")


def _axis(story: Story, scale: Scale, top: float, bottom: float) -> Iterator[str]:
    step = _step(story.end - story.start)
    for number in range(int((story.end - story.start) / step + 1e-9) + 1):
        x = scale.x(story.start + number * step)
        yield _line("grid", x, top, x, bottom)
        yield _text(x, bottom + 17, _seconds(number * step), "dim", anchor="middle")


def _step(seconds: float) -> float:
    """A round length of time, about an eighth of the whole."""
    size = 10.0 ** math.floor(math.log10(max(seconds, 1e-6) / 8))
    return next(
        size * each for each in (1, 2, 2.5, 5, 10) if size * each * 8 >= seconds * 0.999
    )


def _call(story: Story, scale: Scale, y: float) -> Iterator[str]:
    waited = sum(span.end - span.start for span in story.held)
    told = f"waits {waited:.3f} s of it for the network thread" if story.held else ""
    yield from _bar(Span(story.name, story.start, story.end), scale, y, "call", told)


def _rows(spans: list[Span]) -> list[list[Span]]:
    """Arrange bars in rows without overlap."""
    rows: list[list[Span]] = []
    for span in sorted(spans, key=lambda each: each.start):
        free = [row for row in rows if row[-1].end <= span.start]
        if free:
            free[0].append(span)
        elif len(rows) < LINES:
            rows.append([span])
        else:
            rows[-1].append(span)
    return rows or [[]]


def _work(story: Story, rows: list[list[Span]], scale: Scale, y: float) -> Iterator[str]:
    for number, row in enumerate(rows):
        for span in row:
            if span in story.waits:
                kind, name, outcome = "wait", f"waits for {span.name}", ""
            else:
                kind, name = _kind(span), span.name
                outcome = span.outcome or "unanswered"
            told = Span(name, span.start, span.end, span.outcome)
            yield from _bar(told, scale, y + number * (ROW + GAP), kind, outcome)


def _kind(attempt: Span) -> str:
    if attempt.outcome is None:
        return "open"
    return "well" if attempt.outcome == "answered" else "lost"


def _bar(span: Span, scale: Scale, y: float, kind: str, outcome: str) -> Iterator[str]:
    start, end = scale.x(span.start), scale.x(span.end)
    width = max(3.0, end - start)
    whole = f"{span.name}: {outcome}" if outcome else span.name
    tip = f"{whole}, {span.end - span.start:.6f} s"
    yield (
        f'<rect class="{kind}" x="{start}" y="{y}" width="{width:.1f}" height="{ROW}" rx="4">'
        f"<title>{escape(tip)}</title></rect>"
    )
    room = width - 16
    short = span.name.partition(" (")[0]
    said = f"{short}: {outcome}" if outcome else short
    for label in (whole, said, span.name, short, outcome):
        if label and len(label) * LETTER <= room:
            yield _text(start + 8, y + 20, label, "ink")
            return


def _turns(story: Story, scale: Scale, y: float) -> Iterator[str]:
    """Wake-ups of the loop as ticks, happenings on connections as dots with a tip."""
    yield _text(24, y + 20, "wake-ups", "dim")
    for entry in story.around:
        if entry.thread != "network":
            continue
        x = scale.x(entry.at)
        if entry.event == "loop_woke":
            yield _line("tick", x, y + 6, x, y + ROW - 6, entry.text)
        else:
            tip = f"<title>{escape(entry.text)}</title>"
            yield f'<circle class="dot" cx="{x}" cy="{y + 15}" r="3.6">{tip}</circle>'


def _handed(story: Story, scale: Scale, y: float, to: float) -> Iterator[str]:
    """From the one thread to the other, and the answer back."""
    for posted, taken in story.handed:
        x, there = scale.x(posted), scale.x(taken)
        yield (
            f'<path class="hair" d="M{x} {y} C{x} {y + 14} {there} {to - 14} {there} {to - 2} '
            f'm-4 -6 l4 6 l4 -6"/>'
        )
    if story.ended_by == "network":
        x = scale.x(story.end)
        yield f'<path class="hair" d="M{x} {to} V{y + 2} m-4 6 l4 -6 l4 6"/>'


def _deadline(story: Story, scale: Scale, top: float, bottom: float) -> Iterator[str]:
    at = story.start + story.timeout
    late = story.end - at
    if late < -0.06 * (story.end - story.start):
        return  # Far off: the call had its answer long before.
    x = scale.x(at)
    yield _line("due", x, top - 8, x, bottom)
    said = (
        f"deadline; its caller was gone {late * 1000:.1f} ms later" if late > 0 else "deadline"
    )
    yield _text(WIDTH - 24, top - 14, said, "late", anchor="end")


def _legend(y: float) -> Iterator[str]:
    x = 24.0
    for kind, name in (
        ("call", "the call"),
        ("well", "answered"),
        ("open", "unanswered"),
        ("lost", "failed"),
        ("wait", "waiting"),
    ):
        yield f'<rect class="{kind}" x="{x}" y="{y - 10}" width="14" height="12" rx="3"/>'
        yield _text(x + 20, y, name, "dim")
        x += 44 + len(name) * LETTER
    yield _line("tick", x + 6, y - 11, x + 6, y + 3)
    yield _text(x + 16, y, "turn of the loop", "dim")
    x += 28 + 16 * LETTER
    yield f'<circle class="dot" cx="{x + 8}" cy="{y - 4}" r="3.6"/>'
    yield _text(x + 18, y, "a connection, the cluster, the group", "dim")


def _line(kind: str, x: float, y: float, to_x: float, to_y: float, tip: str = "") -> str:
    inner = f"<title>{escape(tip)}</title>" if tip else ""
    return f'<line class="{kind}" x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}">{inner}</line>'


def _text(x: float, y: float, text: str, kind: str, *, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _seconds(span: float) -> str:
    return f"{span:.6f}".rstrip("0").rstrip(".") + " s"
