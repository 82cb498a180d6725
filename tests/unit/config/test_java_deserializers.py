"""Kafka's own deserializers under the names of their classes."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import pytest

from prokurist.config import ConsumerConfig
from prokurist.errors import ConfigException

Build = Callable[[Mapping[str, object]], ConsumerConfig]

JAVA = "org.apache.kafka.common.serialization."
MADE: list[tuple[str, bytes, object]] = [
    ("String", "käse".encode(), "käse"),
    ("String", b"\xff", "\N{REPLACEMENT CHARACTER}"),
    ("Boolean", b"\x01", True),
    ("Short", b"\xff\xfe", -2),
    ("Integer", b"\x00\x00\x01\x00", 256),
    ("Long", b"\xff" * 8, -1),
    ("Float", b"\x3f\x80\x00\x00", 1.0),
    ("Double", b"\xbf\xf0" + b"\x00" * 6, -1.0),
    (
        "UUID",
        b"12345678-1234-5678-1234-567812345678",
        UUID("12345678-1234-5678-1234-567812345678"),
    ),
]


@pytest.mark.parametrize(("name", "data", "made"), MADE)
def test_a_class_of_kafkas_makes_what_it_makes_in_java(
    consumer: Build, name: str, data: bytes, made: object
) -> None:
    """So that a property file moves over as it is."""
    config = consumer({"value.deserializer": f"{JAVA}{name}Deserializer"})
    deserialize: Any = config.value_deserializer
    assert deserialize(data) == made


@pytest.mark.parametrize("name", ["Boolean", "Short", "Integer", "Long", "Float", "Double"])
def test_bytes_of_another_length_are_refused(consumer: Build, name: str) -> None:
    """As in Java."""
    config = consumer({"key.deserializer": f"{JAVA}{name}Deserializer"})
    deserialize: Any = config.key_deserializer
    with pytest.raises(Exception, match=r"a boolean|requires a buffer"):
        deserialize(b"123")


@pytest.mark.parametrize("name", ["ByteArray", "Bytes", "ByteBuffer"])
def test_bytes_stay_bytes(consumer: Build, name: str) -> None:
    """Without a function that would be called for each record."""
    config = consumer({"key.deserializer": f"{JAVA}{name}Deserializer"})
    assert config.key_deserializer is None


@pytest.mark.parametrize("name", ["StringDeserializer", f"{JAVA}ListDeserializer", "a.B"])
def test_another_class_is_refused(consumer: Build, name: str) -> None:
    """It cannot be loaded here."""
    with pytest.raises(ConfigException, match="must be a callable"):
        consumer({"key.deserializer": name})
