"""docs/logging.md is what the table says."""

from docs.generate.log_events import document
from prokurist.events.call_log_events import KINDS


def test_every_event_is_on_the_page() -> None:
    """Of all areas: one that is not in the page's list of titles would be left out."""
    page = document()
    missing = [each.name for each in KINDS if f"### `{each.name}`" not in page]
    assert not missing
