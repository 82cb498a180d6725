"""docs/logging.md is what the table says."""

from pathlib import Path

from prokurist.events.call_log_events import KINDS
from prokurist.logs.logging_page import document

ROOT = Path(__file__).parents[3]


def test_the_page_is_current() -> None:
    """A change of the table that is not written out fails here, with the command."""
    current = document() == (ROOT / "docs" / "logging.md").read_text(encoding="utf-8")
    assert current, "refresh it: python -m prokurist.logs > docs/logging.md"


def test_every_event_is_on_the_page() -> None:
    """Of all areas: one that is not in the page's list of titles would be left out."""
    page = document()
    missing = [each.name for each in KINDS if f"### `{each.name}`" not in page]
    assert not missing
