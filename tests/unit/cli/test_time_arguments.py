"""Times, durations and beginnings, as they are written on a command line."""

import pytest

from prokurist.cli.errors import Misused
from prokurist.cli.start_offset import StartOffset
from prokurist.cli.time_arguments import milliseconds, span


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1700000000123", 1700000000123),
        ("1970-01-01T00:00:01.5", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-02", 86_400_000),
    ],
)
def test_a_moment_is_in_utc_unless_it_says(text: str, meant: int) -> None:
    """Not in the zone of whichever machine it is typed on."""
    assert milliseconds(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [("90s", 90_000), ("1d12h", 129_600_000), ("PT1H30M", 5_400_000), ("P2D", 172_800_000)],
)
def test_a_span_is_short_or_iso(text: str, meant: int) -> None:
    """Both are read by the same rule."""
    assert span(text) == meant


@pytest.mark.parametrize("text", ["", "P", "PT", "soon", "-5m", "5", "1m1h"])
def test_what_is_no_span_is_refused(text: str) -> None:
    """Days before hours before minutes, each with its letter."""
    with pytest.raises(Misused, match="no duration"):
        span(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("beginning", StartOffset(edge="earliest")),
        ("END", StartOffset(edge="latest")),
        ("42", StartOffset(offset=42)),
        ("-3", StartOffset(offset=-3)),
        ("s@1700000000123", StartOffset(moment=1700000000123)),
    ],
)
def test_a_beginning_has_kcat_s_forms(text: str, meant: StartOffset) -> None:
    """Words, offsets, so many before the end, a time."""
    assert StartOffset.of(text) == meant


@pytest.mark.parametrize("text", ["", "start", "s@", "s@yesterday", "4.2", "--3"])
def test_another_beginning_is_refused(text: str) -> None:
    """With the forms that there are."""
    with pytest.raises(Misused, match="write"):
        StartOffset.of(text)
