"""What is generated is current."""

from pathlib import Path

import pytest

from prokurist.spark.__main__ import main

PAGE = Path(__file__).parents[3] / "docs" / "spark_options.md"


def test_the_page_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    """A change of the table that is not written out fails here, with the command."""
    assert main(["docs"]) == 0
    current = capsys.readouterr().out == PAGE.read_text(encoding="utf-8")
    assert current, "refresh it: python -m prokurist.spark docs > docs/spark_options.md"


@pytest.mark.parametrize("arguments", [[], ["poem"], ["docs", "docs"]])
def test_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """Anything but the one known page is answered with the usage."""
    assert main(arguments) == 2
    assert "usage: python -m prokurist.spark docs" in capsys.readouterr().err
