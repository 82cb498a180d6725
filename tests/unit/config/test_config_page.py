"""What is generated is current."""

from pathlib import Path
from typing import get_type_hints

import pytest

from prokurist.config import ConsumerConfig, typed
from prokurist.config.__main__ import main
from prokurist.config.clients import CONSUMER, PRODUCER
from prokurist.config.config_page import document
from prokurist.config.key import Effect
from prokurist.config.kip19 import DEPRECATED, REPLACEMENTS
from prokurist.config.table import Client, table

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("page", "path"), [("docs", "docs/config.md"), ("typed", "prokurist/config/typed.py")]
)
def test_generated_files_are_current(
    capsys: pytest.CaptureFixture[str], page: str, path: str
) -> None:
    """A change of the table that is not written out fails here, with the command."""
    assert main([page]) == 0
    current = capsys.readouterr().out == (ROOT / path).read_text(encoding="utf-8")
    assert current, f"refresh it: python -m prokurist.config {page} > {path}"


@pytest.mark.parametrize("arguments", [[], ["poem"], ["docs", "typed"]])
def test_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """Anything but one known page is answered with the usage."""
    assert main(arguments) == 2
    assert "docs | typed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("client", "dotted", "keywords"),
    [
        (CONSUMER, typed.ConsumerConfigDict, typed.ConsumerKeywords),
        (PRODUCER, typed.ProducerConfigDict, typed.ProducerKeywords),
    ],
    ids=["consumer", "producer"],
)
def test_typed_keys(client: Client, dotted: type, keywords: type) -> None:
    """The TypedDicts hold every key that can be given, in both spellings."""
    rows = [
        row for row in table(client).values() if row.key.status.effect is not Effect.REFUSED
    ]
    assert get_type_hints(dotted).keys() == {row.name for row in rows}
    assert get_type_hints(keywords).keys() == {row.field for row in rows}


def test_a_typed_mapping_is_a_configuration() -> None:
    """A dictionary of the dotted TypedDict can be handed over as it is."""
    keys: typed.ConsumerConfigDict = {"bootstrap.servers": "kafka1:9092", "group.id": "g"}
    assert ConsumerConfig(keys).group_id == "g"


def test_the_page_has_the_keys_of_both_clients() -> None:
    """And what became of those from before KIP-19."""
    page = document()
    headings = {line for line in page.splitlines() if line.startswith("#")}
    keys = table(CONSUMER).keys() | table(PRODUCER).keys()
    assert {f"### `{name}`" for name in keys} <= headings
    assert all(f"| `{old}` | " in page for old in DEPRECATED)
    assert DEPRECATED.keys() == REPLACEMENTS.keys()
