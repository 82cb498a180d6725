"""Serializers that need several answers, references of unions, and forks."""

import base64
import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaReference as TheirReference
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirAvroDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirAvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2

from prokurist.errors import (
    SchemaRegistryException,
    SchemaRegistryUnavailableException,
    SerializationException,
)
from prokurist.events.pending import Pending
from prokurist.registry import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Schema,
    SchemaReference,
    SchemaRegistry,
    SchemaType,
)
from prokurist.registry.asking import Answer, Question, Unanswered
from prokurist.testing.schema_registry import EmbeddedSchemaRegistry
from tests.unit.registry.messages import Order
from tests.unit.registry.test_asking import Clock

WITHIN = SerializationContext("orders", MessageField.VALUE, [])


def record(name: str, **fields: Any) -> dict[str, Any]:
    """The schema of a record."""
    named = [{"name": each, "type": kind} for each, kind in fields.items()]
    return {"type": "record", "name": name, "namespace": "shop", "fields": named}


CARD = record("Card", n="int")
CASH = record("Cash", owner=record("Owner", card="Card"), other="Owner")
UNION = ["null", "shop.Card", "shop.Cash", {"type": "map", "values": "shop.Owner"}]
OWNER = {"card": {"n": 1}}


@pytest.fixture
def kept() -> Iterator[EmbeddedSchemaRegistry]:
    """A registry with two schemas, of which one refers to the other."""
    with EmbeddedSchemaRegistry() as registry:
        client = SchemaRegistry(registry.url)
        client.register("card", Schema(json.dumps(CARD)))
        client.register("cash", Schema(json.dumps(CASH), references=refers("card")))
        yield registry


def refers(*subjects: str) -> tuple[SchemaReference, ...]:
    """References to types of the package."""
    return tuple(SchemaReference(f"shop.{each.title()}", each, 1) for each in subjects)


@pytest.mark.parametrize(
    ("tree", "value"),
    [
        (UNION, ("shop.Cash", {"owner": OWNER, "other": OWNER})),
        (UNION, ("shop.Card", {"n": 5})),
        ({"type": "array", "items": "shop.Cash"}, [{"owner": OWNER, "other": OWNER}]),
        ({"type": "map", "values": ["null", "shop.Card"]}, {"a": None, "b": {"n": 4}}),
        ("shop.Card", {"n": 3}),
    ],
)
def test_references_outside_of_a_record(
    kept: EmbeddedSchemaRegistry, tree: Any, value: Any
) -> None:
    """B920: a union of types that it refers to, an array, a map, and a bare name."""
    registry = SchemaRegistry(kept.url)
    schema = Schema(json.dumps(tree), references=refers("cash", "card"))
    written = AvroSerializer(registry, schema).serialize("orders", [], value)
    assert written is not None
    plain = value[1] if isinstance(value, tuple) else value
    assert AvroDeserializer(registry).deserialize("orders", [], written) == plain
    if isinstance(tree, str):
        return  # Theirs does not take it.
    with SchemaRegistryClient({"url": kept.url}) as client:
        references = [
            TheirReference(each.name, each.subject, each.version) for each in schema.references
        ]
        theirs = TheirSchema(schema.text, "AVRO", references)
        assert TheirAvroSerializer(client, theirs)(value, WITHIN) == written
        assert TheirAvroDeserializer(client)(written, WITHIN) == plain


def slow(clock: Clock, kept: EmbeddedSchemaRegistry) -> SchemaRegistry:
    """A client of a registry that takes two seconds for each answer; its timeout is five."""

    def send(url: str, question: Question, seconds: float) -> Answer:
        assert url == "http://registry"
        threading.Event().wait(0.02)  # The caller waits meanwhile.
        clock.sleep(min(2.0, seconds))
        if seconds < 2.0:
            raise Unanswered("timed out")
        status, told = kept.answered(question.method, question.path, None, question.body)
        return Answer(status, json.dumps(told).encode())

    return SchemaRegistry.wired("http://registry", send, clock)


ROOT = Schema('{"$ref": "a"}', SchemaType.JSON, (SchemaReference("a", "a", 1),))


def prepare_json(kept: EmbeddedSchemaRegistry) -> None:
    """Three schemas that `ROOT` refers to, each by another."""
    client = SchemaRegistry(kept.url)
    client.register("c", Schema('{"type": "integer"}', SchemaType.JSON))
    for name, other in (("b", "c"), ("a", "b")):
        references = (SchemaReference(other, other, 1),)
        client.register(name, Schema(f'{{"$ref": "{other}"}}', SchemaType.JSON, references))


@pytest.mark.parametrize("language", ["avro", "protobuf", "json"])
@pytest.mark.parametrize("ahead", [False, True])
def test_a_serializer_waits_for_one_timeout(
    kept: EmbeddedSchemaRegistry,
    language: str,
    ahead: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """B921: however many answers it needs; what came is kept, and the next call goes on."""
    prepare_json(kept)
    clock = Clock()
    registry = slow(clock, kept)
    serializer: Any
    value: Any
    if language == "avro":
        schema = Schema(json.dumps(UNION), references=refers("cash"))
        serializer, value = AvroSerializer(registry, schema), {"n": 5}
    elif language == "json":
        serializer, value = JsonSerializer(registry, ROOT), 7
    else:
        serializer, value = ProtobufSerializer(registry, Order), Order()

    def call() -> object:
        if ahead:
            return serializer.prepare("orders")
        return serializer.serialize("orders", [], value)

    with pytest.raises(SchemaRegistryUnavailableException):
        call()
    assert clock.at <= 105.0
    for _ in range(5):  # What came is kept.
        try:
            call()
        except SchemaRegistryUnavailableException:
            continue
        break
    began = clock.at
    assert serializer.serialize("orders", [], value)
    assert clock.at == began  # It is prepared with all that it refers to.


def test_a_deserializer_that_waits(kept: EmbeddedSchemaRegistry) -> None:
    """B921: of a share consumer, for a schema and what it refers to."""
    prepare_json(kept)
    found = SchemaRegistry(kept.url).register("orders-value", ROOT)
    clock = Clock()
    deserializer = JsonDeserializer(slow(clock, kept))
    data = b"\0" + found.id.to_bytes(4, "big") + b"7"
    with pytest.raises(SchemaRegistryUnavailableException):
        deserializer.deserialize("orders", [], data)
    assert clock.at <= 106.0  # Nothing cuts a wait short on this clock.
    assert deserializer.deserialize("orders", [], data) == 7


@pytest.mark.parametrize("text", ['{"$ref": "#"}', '{"$ref": "http://elsewhere/x"}'])
def test_a_json_schema_that_leads_nowhere(kept: EmbeddedSchemaRegistry, text: str) -> None:
    """B923: without an end, or to what is not there."""
    registry = SchemaRegistry(kept.url)
    with pytest.raises(SerializationException, match="cannot be held against a value"):
        JsonSerializer(registry, text).serialize("orders", [], {})
    found = registry.register("orders-value", Schema(text, SchemaType.JSON))
    data = b"\0" + found.id.to_bytes(4, "big") + b"7"
    with pytest.raises(SerializationException, match="cannot be held against a value"):
        JsonDeserializer(registry).deserialize("orders", [], data)


def test_a_protobuf_schema_that_leads_nowhere(kept: EmbeddedSchemaRegistry) -> None:
    """B923: to a file of Google's that there is not."""
    name = "google/protobuf/no_such.proto"
    file = descriptor_pb2.FileDescriptorProto(name="x.proto", dependency=[name])
    file.message_type.add(name="X")
    text = base64.b64encode(file.SerializeToString()).decode()
    registry = SchemaRegistry(kept.url)
    found = registry.register("orders-value", Schema(text, SchemaType.PROTOBUF))
    data = b"\0" + found.id.to_bytes(4, "big") + b"\0"
    with pytest.raises(SerializationException, match=r"no_such\.proto, which it does not"):
        ProtobufDeserializer(registry).deserialize("orders", [], data)


def test_errors_of_a_registry_that_is_away() -> None:
    """B924: one for each timeout, however often a consumer polls and seeks beyond a record."""
    clock = Clock()
    requests = 0

    def send(url: str, question: Question, seconds: float) -> Answer:
        nonlocal requests
        requests += 1
        raise Unanswered(f"{url} refuses {question.what}, not after {seconds}")

    deserializer = AvroDeserializer(SchemaRegistry.wired("http://registry", send, clock))
    errors = 0
    ended = threading.Event()
    while clock.at < 160.0:
        try:
            deserializer.deserialize_now("orders", [], b"\0\0\0\0\1\4")
        except SchemaRegistryUnavailableException:
            errors += 1
            clock.sleep(0.1)
        except Pending as pending:
            ended.clear()
            pending.work.when_over(ended.set)
            ended.wait(0.01)
            clock.sleep(0.1)
    assert 6 <= errors <= 12
    assert requests <= 20
    # A call that may wait does so once, and not for each record of a share consumer's.
    began = time.monotonic()
    for _ in range(50):
        with pytest.raises(SchemaRegistryUnavailableException):
            deserializer.deserialize("orders", [], b"\0\0\0\0\1\4")
    assert time.monotonic() - began < 20.0
    assert clock.at < 175.0


@pytest.mark.parametrize("status", [401, 403, 422, 302])
def test_a_refusal_is_believed_briefly(kept: EmbeddedSchemaRegistry, status: int) -> None:
    """B924: records of a registry that refuses cost one request in five seconds."""
    kept.asked.clear()
    kept.status = status
    clock = Clock()
    deserializer = AvroDeserializer(slow(clock, kept))
    for _ in range(20):
        with pytest.raises(SchemaRegistryException, match=str(status)):
            deserializer.deserialize("orders", [], b"\0\0\0\0\1\4")
    assert len(kept.asked) == 1
    kept.status = None
    clock.sleep(5.0)
    assert deserializer.deserialize("orders", [], b"\0\0\0\0\1\4") == {"n": 2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_of_a_fork(kept: EmbeddedSchemaRegistry) -> None:
    """B922: it asks with threads of its own, though all of its parent's were busy."""
    asks, goes_on = threading.Semaphore(0), threading.Event()
    parent = os.getpid()

    def token(_config: str) -> str:
        if os.getpid() == parent:
            asks.release()
            goes_on.wait(60)
        return "its-token"

    registry = SchemaRegistry(kept.url, timeout=60.0, bearer=token)
    deserializer = AvroDeserializer(registry)
    wanted = [registry.look_up(number) for number in range(1, 9)]
    asks.acquire(timeout=60)  # A helper holds the lock of the credentials now.
    child = os.fork()
    if child == 0:
        code = 1
        try:
            data = b"\0\0\0\0\1\4"
            code = 0 if deserializer.deserialize("orders", [], data) == {"n": 2} else 2
        finally:
            os._exit(code)
    ended = os.waitpid(child, os.WNOHANG)
    patience = threading.Event()
    for _ in range(300):
        if ended[0]:
            break
        patience.wait(0.1)
        ended = os.waitpid(child, os.WNOHANG)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
    goes_on.set()
    assert ended[0] == child
    assert os.waitstatus_to_exitcode(ended[1]) == 0
    for each in wanted:
        each.wait(each.until, registry.now())
