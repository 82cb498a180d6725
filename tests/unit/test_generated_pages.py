"""Generated pages and modules are current."""

import pytest

from docs.generate.__main__ import PAGES, ROOT


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_current(name: str) -> None:
    """A change of a table that is not written out fails here, with the command."""
    current = PAGES[name]() == (ROOT / name).read_text(encoding="utf-8")
    assert current, f"{name} is not what its table says: make generated"
