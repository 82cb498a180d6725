"""docs/coming_from.md: what it says there is here, there is."""

import re
from pathlib import Path

import pytest

from prokurist import Delivery, KafkaConsumer, KafkaProducer
from prokurist.config.clients import CONSUMER, PRODUCER
from prokurist.config.table import table

PAGE = (Path(__file__).parents[2] / "docs" / "coming_from.md").read_text("utf-8")
OURS = [row.split(" | ")[1] for row in re.findall(r"^\| (.* \| .*) \|$", PAGE, re.MULTILINE)]
CALLED = re.compile(r"`(?:await )?(?:(?:consumer|producer)\.)?([a-z]\w+)\(")
CALLS = sorted(set(CALLED.findall("\n".join(OURS))))
KEYS = sorted(set(re.findall(r"`([a-z.]+)=[a-z\d]", PAGE)))


@pytest.mark.parametrize("name", CALLS)
def test_each_call_is_one(name: str) -> None:
    """Of a client, or of what `send` returns."""
    owners = (KafkaConsumer, KafkaProducer, Delivery)
    assert any(callable(getattr(each, name, None)) for each in owners)


@pytest.mark.parametrize("name", KEYS)
def test_each_key_is_one(name: str) -> None:
    """Of a client's table, by the dotted name."""
    assert name in table(CONSUMER) or name in table(PRODUCER)


def test_the_page_names_many() -> None:
    """The tables are found."""
    assert len(CALLS) > 16
    assert {"send", "flush", "purge", "health", "poll"} <= set(CALLS)
    assert {"enable.auto.offset.store", "acks"} <= set(KEYS)
