"""The forms of deserializers, told apart by what they take."""

import json
from typing import Any

import pytest

from prokurist import ConsumerRecord
from prokurist.application.deserializing import Deserializers, of_record_and_bytes

HEADERS = [("schema", b"7")]
RECORD = ConsumerRecord("t", 0, 5, b"k", b"v", headers=HEADERS)


class WithHeaders:
    """As Java's Deserializer may ask for them."""

    def deserialize(self, topic: str, headers: object, data: bytes) -> Any:
        """All three."""
        return topic, headers, data


class Both:
    """An object that is callable, too: what it says it does counts."""

    def deserialize(self, topic: str, data: bytes) -> Any:
        """Both."""
        return topic, data

    def __call__(self, _data: bytes) -> None:
        """Not asked."""
        raise AssertionError


def with_default(data: bytes, encoding: str = "utf-8") -> str:
    """One argument is needed."""
    return data.decode(encoding)


@pytest.mark.parametrize(
    ("given", "data", "made"),
    [
        (json.loads, b"[1]", [1]),
        (int, b"7", 7),
        (bytes.decode, b"x", "x"),
        (with_default, b"x", "x"),
        (lambda topic, data: (topic, data), b"x", ("t", b"x")),
        (Both(), b"x", ("t", b"x")),
        (Both().deserialize, b"x", ("t", b"x")),
        (lambda topic, headers, data: (topic, headers, data), b"x", ("t", HEADERS, b"x")),
        (WithHeaders(), b"x", ("t", HEADERS, b"x")),
    ],
)
def test_every_form(given: object, data: bytes, made: object) -> None:
    """Of the bytes, of the topic and the bytes, or an object."""
    assert of_record_and_bytes(given)(RECORD, data) == made


def test_none_are_there() -> None:
    """Then records stay as they come."""
    assert not Deserializers(None, None).are_there
    assert Deserializers(None, int).are_there
    with pytest.raises(TypeError, match="no deserializer"):
        of_record_and_bytes(3)
