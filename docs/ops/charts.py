"""Panels of a Grafana dashboard as one page of SVG: what a look at its data needs, no more.

Thread: any; pure functions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

COLOURS = (
    "#5794f2",
    "#ff9830",
    "#73bf69",
    "#f2495c",
    "#b877d9",
    "#fade2a",
    "#8ab8ff",
    "#c4162a",
)
WIDTH, HEIGHT = 1440, 38
"""Of the page, and of a row of the grid, which has 24 columns."""

HEAD, LEFT, FOOT = 26, 62, 34
"""What a panel keeps for its title, the scale, and time and legend."""

MOST_NAMES = 4
"""Names in a legend; it says how many more there are."""

STYLE = (
    "body{background:#111217;color:#ccccdc;font:12px sans-serif;margin:8px}h1{font-size:18px}"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A series: its name, and its points as seconds and values."""

    name: str
    points: Sequence[tuple[float, float]]


def page(dashboard: Mapping[str, Any], lines: Mapping[str, Sequence[Line]]) -> str:
    """The whole dashboard, panels where Grafana puts them.

    Args:
        dashboard: The JSON.
        lines: What each panel shows, by its title.
    """
    panels = dashboard["panels"]
    begin, end = span([line for each in lines.values() for line in each])
    drawn = "".join(
        row(each) if each["type"] == "row" else panel(each, lines[each["title"]], begin, end)
        for each in panels
    )
    bottom = max(each["gridPos"]["y"] + each["gridPos"]["h"] for each in panels) * HEIGHT
    return (
        f"<!DOCTYPE html><meta charset=utf-8><title>preview</title><style>{STYLE}</style>"
        f"<h1>{escape(str(dashboard['title']))}</h1>"
        f'<svg width="{WIDTH}" height="{bottom}" font-size="11" fill="#ccccdc">{drawn}</svg>\n'
    )


def span(lines: Sequence[Line]) -> tuple[float, float]:
    """The first and the last moment of some lines: all panels have one scale of time."""
    moments = [at for line in lines for at, _ in line.points]
    return min(moments, default=0.0), max(moments, default=1.0)


def row(spec: Mapping[str, Any]) -> str:
    """The head of some panels."""
    y = spec["gridPos"]["y"] * HEIGHT
    return f'<text x="4" y="{y + 25}" font-size="15">▾ {escape(spec["title"])}</text>'


def panel(spec: Mapping[str, Any], lines: Sequence[Line], begin: float, end: float) -> str:
    """One panel in its place."""
    place, column = spec["gridPos"], WIDTH / 24
    left, top = place["x"] * column + 3, place["y"] * HEIGHT + 3
    width, height = place["w"] * column - 6, place["h"] * HEIGHT - 6
    unit = spec["fieldConfig"]["defaults"]["unit"]
    drawn = plot(lines, unit, (width - LEFT - 8, height - HEAD - FOOT), (begin, end))
    return (
        f'<g transform="translate({left:.0f} {top:.0f})">'
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#181b1f" stroke="#2c3038"/>'
        f'<text x="8" y="17" font-weight="bold">{escape(spec["title"])}</text>'
        f'<g transform="translate({LEFT} {HEAD})">{drawn}</g></g>'
    )


def plot(
    lines: Sequence[Line], unit: str, size: tuple[float, float], time: tuple[float, float]
) -> str:
    """Scale, lines and legend."""
    (width, height), (begin, end) = size, time
    values = [value for line in lines for _, value in line.points if math.isfinite(value)]
    if not values:
        return f'<text x="{width / 2 - 24}" y="{height / 2}" fill="#8e8e99">No data</text>'
    low = min(*values, 0.0)
    high = max(*values, low + 1e-6)

    def across(at: float) -> float:
        return width * (at - begin) / max(end - begin, 1.0)

    def up(value: float) -> float:
        return height * (1 - (value - low) / (high - low))

    drawn = []
    for quarter in range(5):
        value = low + (high - low) * quarter / 4
        text = f'<text x="-6" y="{up(value) + 4:.1f}" text-anchor="end">{written(value, unit)}'
        drawn.append(
            f'<path d="M0 {up(value):.1f}H{width:.0f}" stroke="#2c3038"/>{text}</text>'
        )
    for nth, line in enumerate(lines):
        path, pen = "", "M"
        for at, value in line.points:
            if math.isfinite(value):
                path += f"{pen}{across(at):.1f} {up(value):.1f}"
            pen = "L" if math.isfinite(value) else "M"
        drawn.append(
            f'<path d="{path}" fill="none" stroke="{colour(nth)}" stroke-width="1.5"/>'
        )
    drawn.append(f'<text y="{height + 13}">0 s</text>')
    drawn.append(
        f'<text x="{width}" y="{height + 13}" text-anchor="end">{end - begin:.0f} s</text>'
    )
    return "".join(drawn) + legend(lines, height + 27)


def legend(lines: Sequence[Line], y: float) -> str:
    """Names, as many as there is room for."""
    names = "".join(
        f'<tspan dx="8" fill="{colour(nth)}">━ {escape(line.name)}</tspan>'
        for nth, line in enumerate(lines[:MOST_NAMES])
    )
    more = f'<tspan dx="8">and {len(lines) - MOST_NAMES}</tspan>' * (len(lines) > MOST_NAMES)
    return f'<text x="{-LEFT}" y="{y}" font-size="10">{names}{more}</text>'


def colour(nth: int) -> str:
    """Of a line."""
    return COLOURS[nth % len(COLOURS)]


def written(value: float, unit: str) -> str:
    """A value with its unit, as Grafana writes it."""
    match unit:
        case "s":
            return scaled(value * 1e6, (("µs", 1e3), ("ms", 1e3), ("s", 60), ("min", 60)))
        case "bytes" | "Bps":
            text = scaled(value, (("B", 1024), ("KiB", 1024), ("MiB", 1024), ("GiB", 1024)))
            return f"{text}/s" if unit == "Bps" else text
        case "percentunit":
            return f"{value * 100:.3g} %"
        case "reqps":
            return f"{value:.3g} req/s"
        case _:
            return scaled(value, (("", 1e3), ("K", 1e3), ("Mil", 1e3)))


def scaled(value: float, steps: Sequence[tuple[str, float]]) -> str:
    """A value in the largest of some units that leaves it above 1."""
    *smaller, (name, _) = steps
    for smaller_name, size in smaller:
        if abs(value) < size:
            return f"{value:.3g} {smaller_name}".strip()
        value /= size
    return f"{value:.3g} {name}"
