"""docs/config.md and the TypedDicts have every key."""

from typing import get_type_hints

import pytest

from docs.generate.configuration import document
from prokurist.config import ConsumerConfig, typed
from prokurist.config.clients import CONSUMER, PRODUCER
from prokurist.config.key import Effect
from prokurist.config.kip19 import DEPRECATED, REPLACEMENTS
from prokurist.config.table import Client, table


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
