"""The values of `-o`."""

import pytest

from prokurist.cli.errors import Misused
from prokurist.cli.start_offset import StartOffset, range_of

NOW = 1_700_000_000_000


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prokurist.cli.start_offset.epoch_milliseconds", lambda: NOW)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("beginning", StartOffset(edge="earliest")),
        ("END", StartOffset(edge="latest")),
        ("stored", StartOffset(stored=True)),
        ("42", StartOffset(offset=42)),
        ("-5", StartOffset(offset=-5)),
        ("s@1700000000001", StartOffset(moment=1_700_000_000_001)),
        ("s@2023-11-14T22:13:20", StartOffset(moment=NOW)),
        ("s@-1h", StartOffset(moment=NOW - 3_600_000)),
        ("-1d12h", StartOffset(moment=NOW - 36 * 3_600_000)),
        ("-90s", StartOffset(moment=NOW - 90_000)),
    ],
)
def test_where_reading_begins(text: str, start: StartOffset) -> None:
    """Ends of the log, offsets, times, spans before now, where a group is."""
    assert StartOffset.of(text) == start


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((), (StartOffset(edge="earliest"), None)),
        (("e@-1h",), (StartOffset(edge="earliest"), NOW - 3_600_000)),
        (("e@-1h", "s@-2h"), (StartOffset(moment=NOW - 7_200_000), NOW - 3_600_000)),
        (("5", "e@2023-11-14T22:13:20"), (StartOffset(offset=5), NOW)),
    ],
)
def test_a_range_has_a_beginning_and_an_end(
    texts: tuple[str, ...], expected: tuple[StartOffset, int | None]
) -> None:
    """In any order, either of them left out."""
    assert range_of(texts, "beginning") == expected


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("soon",), "-o soon: write beginning, end, stored"),
        (("s@soon",), "no moment"),
        (("-soon",), "no duration"),
        (("e@-",), "no duration"),
        (("1", "2"), "-o 1 and -o 2 say the same"),
        (("e@1", "e@2"), "-o e@1 and -o e@2 say the same"),
    ],
)
def test_what_is_none_of_the_forms_is_refused(texts: tuple[str, ...], said: str) -> None:
    """With the forms that there are."""
    with pytest.raises(Misused, match=said):
        range_of(texts, "beginning")
