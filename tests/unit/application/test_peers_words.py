"""An AttributeError on a client names our word for a peer's call."""

import re
from collections.abc import Mapping

import pytest

from prokurist import ConfigException, KafkaConsumer, KafkaProducer
from prokurist.application.peers_words import CONSUMER_WORDS, PRODUCER_WORDS

TABLES = [(KafkaConsumer, CONSUMER_WORDS), (KafkaProducer, PRODUCER_WORDS)]
EACH = [(kind, name, words[name]) for kind, words in TABLES for name in words]
KEYS = {"bootstrap_servers": "localhost:1"}


@pytest.mark.parametrize(("kind", "name", "ours"), EACH)
def test_a_peers_call_is_told_ours(kind: type, name: str, ours: str) -> None:
    """B336: with the call to write, on an object that is in use."""
    with kind(**KEYS) as client:
        with pytest.raises(AttributeError) as raised:
            getattr(client, name)
        assert str(raised.value) == (
            f"{kind.__name__!r} object has no attribute {name!r}: write {ours}"
        )
        assert not hasattr(client, name)


@pytest.mark.parametrize(("kind", "words"), TABLES)
def test_what_is_told_exists(kind: type, words: Mapping[str, str]) -> None:
    """B336: each call that the table names is one of a client's."""
    for text in words.values():
        for call in re.findall(r"(?<![\w.])([a-z_]+)\(", text):
            assert hasattr(kind, call) or hasattr(KafkaConsumer, call), call


def test_javas_spelling_and_anything_else() -> None:
    """B336: Java's call has ours; what no client has is an AttributeError as any."""
    with KafkaConsumer(bootstrap_servers="localhost:1") as consumer:
        with pytest.raises(AttributeError, match=r"'commitSync': write commit_sync$"):
            getattr(consumer, "commitSync")  # noqa: B009 - to a type checker it is not there
        with pytest.raises(AttributeError, match=r"has no attribute 'comit'$"):
            getattr(consumer, "comit")  # noqa: B009
    with pytest.raises(ConfigException, match="topics are given to subscribe"):
        KafkaConsumer("orders", bootstrap_servers="localhost:1")  # type: ignore[arg-type]
