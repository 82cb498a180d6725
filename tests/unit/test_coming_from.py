"""docs/coming_from.md: what it says there is here, there is."""

import re
from pathlib import Path

import pytest

from prokurist import KafkaConsumer
from prokurist.config.clients import CONSUMER
from prokurist.config.table import table

PAGE = (Path(__file__).parents[2] / "docs" / "coming_from.md").read_text("utf-8")
OURS = [row.split(" | ")[1] for row in re.findall(r"^\| (.* \| .*) \|$", PAGE, re.MULTILINE)]
CALLS = sorted(set(re.findall(r"`(?:consumer\.)?([a-z]\w+)\(", "\n".join(OURS))))
KEYS = sorted(set(re.findall(r"`([a-z.]+)=[a-z\d]", PAGE)))


@pytest.mark.parametrize("name", CALLS)
def test_each_call_is_one(name: str) -> None:
    """Of the consumer."""
    assert callable(getattr(KafkaConsumer, name))


@pytest.mark.parametrize("name", KEYS)
def test_each_key_is_one(name: str) -> None:
    """Of the consumer's table, by the dotted name."""
    assert name in table(CONSUMER)


def test_the_page_names_many() -> None:
    """The tables are found."""
    assert len(CALLS) > 12
    assert {"max.poll.records", "enable.auto.offset.store"} <= set(KEYS)
