"""Serializers of each form, and what they add to a record's headers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from prokurist.errors import ConfigException, SerializationException
from tests.simulation.reading import A, reader
from tests.simulation.world import World

Headers = list[tuple[str, bytes | None]]


def of_object(it: str) -> bytes:
    """A serializer of the object alone."""
    return it.encode()


def of_topic(topic: str, it: str) -> bytes:
    """One that wants the topic."""
    return f"{topic} {it}".encode()


def of_headers(topic: str, headers: Headers, it: str) -> bytes:
    """One that wants the headers, and adds to them."""
    headers.append(("added", it.encode()))
    return f"{topic} {len(headers)} {it}".encode()


class WithMethod:
    """An object, as Java has them."""

    def __init__(self, serialize: Callable[..., bytes]) -> None:
        self.serialize = serialize


@pytest.mark.parametrize("given", [None, {"old": b"1"}, [("old", b"1")], (("old", b"1"),)])
@pytest.mark.parametrize("wrapped", [False, True])
def test_the_forms_of_serializers(given: Any, wrapped: bool) -> None:  # noqa: FBT001
    """B330: of the object, the topic and the object, the topic, the headers and the object."""
    there = 1 if given else 0
    for serializer, value in (
        (of_object, b"it"),
        (of_topic, b"orders it"),
        (of_headers, b"orders %d it" % (there + 1)),
    ):
        if wrapped and serializer is of_object:
            continue
        world = World()
        made = WithMethod(serializer) if wrapped else serializer
        with world.producer(value_serializer=made) as producer:
            producer.send("orders", "it", headers=given, partition=0)
            producer.send("orders", None, headers=given, partition=0)
        with reader(world, A) as consumer:
            first, second = consumer.poll(5.0)
        assert first.value == value
        old = [("old", b"1")] * there
        added = [("added", b"it")] * (serializer is of_headers)
        assert list(first.headers) == old + added
        assert second.value is None
        assert list(second.headers) == old


def test_key_and_value_add_to_the_same_headers() -> None:
    """B330: the key's first; what the caller has given stays as it was."""
    world = World()
    given: Headers = [("old", b"1")]
    with world.producer(key_serializer=of_headers, value_serializer=of_headers) as producer:
        producer.send("orders", "v", key="k", headers=given, partition=0)
    with reader(world, A) as consumer:
        (record,) = consumer.poll(5.0)
    assert (record.key, record.value) == (b"orders 2 k", b"orders 3 v")
    assert list(record.headers) == [("old", b"1"), ("added", b"k"), ("added", b"v")]
    assert given == [("old", b"1")]


def test_what_a_serializer_raises_comes_out_of_send() -> None:
    """B330: and nothing is sent; what is none is refused."""
    world = World()
    with (
        world.producer(value_serializer=lambda _topic, _headers, it: 1 // it) as producer,
        pytest.raises(SerializationException, match="value of a record for orders"),
    ):
        producer.send("orders", 0)
    assert not world.cluster.journal.entries("Produce")
    with pytest.raises(ConfigException, match=r"value.serializer.*serialize\(topic, headers"):
        world.producer(value_serializer=7)


@pytest.mark.parametrize("what", ["key", "value"])
def test_what_a_serializer_returns_is_bytes(what: str) -> None:
    """B330: json.dumps returns a str; the error says whose fault that is; nothing is sent."""
    world = World()
    refused = rf"^{what}_serializer returned str for a record for orders, and has to return"
    keys: dict[str, Any] = {f"{what}_serializer": json.dumps}
    record: dict[str, Any] = {"value": b"v", what: {"id": 1}}
    with world.producer(**keys) as producer:
        for send in (
            lambda: producer.send("orders", **record),
            lambda: producer.send_many("orders", [{"id": 1}], keys=[{"id": 1}]),
        ):
            with pytest.raises(TypeError, match=refused):
                send()
    assert not world.cluster.journal.entries("Produce")
