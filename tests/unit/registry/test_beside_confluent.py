"""Our serializers beside confluent-kafka's: the same bytes, and each reads the other's."""

import datetime as dt
import decimal
import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    Schema as TheirSchema,
)
from confluent_kafka.schema_registry import (
    SchemaReference as TheirReference,
)
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    header_schema_id_serializer,
    prefix_schema_id_serializer,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry import avro as their_avro
from confluent_kafka.schema_registry import json_schema as their_json
from confluent_kafka.schema_registry import protobuf as their_protobuf
from confluent_kafka.serialization import MessageField, SerializationContext

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
    record_name,
    topic_name,
    topic_record_name,
)
from prokurist.testing.schema_registry import EmbeddedSchemaRegistry
from tests.unit.registry.messages import First, Line, Money, Order

Headers = list[tuple[str, bytes | None]]

PLACES = {"prefix": prefix_schema_id_serializer, "header": header_schema_id_serializer}
SUBJECTS: dict[str, tuple[Any, Any]] = {
    "topic": (topic_name, topic_subject_name_strategy),
    "record": (record_name, record_subject_name_strategy),
    "topic_record": (topic_record_name, topic_record_subject_name_strategy),
}
PLACE = pytest.mark.parametrize("place", PLACES)
SUBJECT = pytest.mark.parametrize("subject", SUBJECTS)

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"], "default": None},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            },
            {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
            {
                "name": "paid",
                "type": [
                    {
                        "type": "record",
                        "name": "Card",
                        "fields": [{"name": "n", "type": "int"}],
                    },
                    {
                        "type": "record",
                        "name": "Cash",
                        "fields": [{"name": "m", "type": "int"}],
                    },
                ],
            },
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "more", "type": {"type": "map", "values": "double"}},
        ],
    }
)
VALUE = {
    "id": 7,
    "note": "ü",
    "at": dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC),
    "day": dt.date(2026, 1, 2),
    "price": decimal.Decimal("12.34"),
    "key": uuid.UUID(int=5),
    "paid": {"m": 3},
    "tags": ["a", "b"],
    "more": {"x": 0.5},
}
JSON = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["id"],
    }
)


@pytest.fixture
def kept() -> Iterator[EmbeddedSchemaRegistry]:
    """A registry of the test's own."""
    with EmbeddedSchemaRegistry() as registry:
        yield registry


@pytest.fixture
def ours(kept: EmbeddedSchemaRegistry) -> SchemaRegistry:
    """Our client of it."""
    return SchemaRegistry(kept.url, timeout=30.0)


@pytest.fixture
def theirs(kept: EmbeddedSchemaRegistry) -> Iterator[SchemaRegistryClient]:
    """confluent-kafka's client of it."""
    with SchemaRegistryClient({"url": kept.url}) as client:
        yield client


def context(headers: Any, *, is_key: bool = False) -> SerializationContext:
    """Arguments of theirs."""
    field = MessageField.KEY if is_key else MessageField.VALUE
    return SerializationContext("orders", field, headers)


def settings(place: str, subject: str = "topic") -> dict[str, Any]:
    """Their configuration."""
    return {
        "schema.id.serializer": PLACES[place],
        "subject.name.strategy": SUBJECTS[subject][1],
    }


def both(
    our_serializer: Any,
    their_serializer: Callable[..., Any],
    our_deserializer: Any,
    their_deserializer: Callable[..., Any],
    value: Any,
    *,
    is_key: bool = False,
) -> None:
    """The same bytes and headers, read alike both ways."""
    our_headers: Headers = [("a", b"1")]
    their_headers: Headers = [("a", b"1")]
    mine = our_serializer.serialize("orders", our_headers, value)
    other = their_serializer(value, context(their_headers, is_key=is_key))
    assert mine == other
    assert our_headers == their_headers
    read = our_deserializer.deserialize("orders", their_headers, other)
    read_by_them = their_deserializer(mine, context(our_headers, is_key=is_key))
    assert read == read_by_them == value


@PLACE
@SUBJECT
@pytest.mark.parametrize("is_key", [False, True])
def test_avro(
    kept: EmbeddedSchemaRegistry,
    ours: SchemaRegistry,
    theirs: SchemaRegistryClient,
    place: Any,
    subject: str,
    *,
    is_key: bool,
) -> None:
    """B887, B891: logical types, unions and collections; under each subject."""
    mine = AvroSerializer(ours, ORDER, is_key=is_key, place=place, subject=SUBJECTS[subject][0])
    both(
        mine,
        their_avro.AvroSerializer(theirs, ORDER, conf=settings(place, subject)),
        AvroDeserializer(ours, is_key=is_key),
        their_avro.AvroDeserializer(theirs),
        VALUE,
        is_key=is_key,
    )
    part = "key" if is_key else "value"
    name = {"topic": f"orders-{part}", "record": "shop.Order"}.get(subject, "orders-shop.Order")
    assert list(kept.subjects) == [name]


@PLACE
def test_avro_with_references(
    ours: SchemaRegistry, theirs: SchemaRegistryClient, place: Any
) -> None:
    """B888: a type that another subject has, and one that that one refers to."""
    money = Schema(
        '{"type": "record", "name": "shop.Money", "fields": [{"name": "c", "type": "long"}]}'
    )
    fields = '"fields": [{"name": "p", "type": "shop.Money"}]'
    item = f'{{"type": "record", "name": "shop.Item", {fields}}}'
    fields = '"fields": [{"name": "i", "type": "shop.Item"}]'
    order = f'{{"type": "record", "name": "Bill", "namespace": "shop", {fields}}}'
    ours.register("money", money)
    references = (SchemaReference("shop.Money", "money", 1),)
    ours.register("item", Schema(item, references=references))
    both(
        AvroSerializer(
            ours,
            Schema(order, references=(SchemaReference("shop.Item", "item", 1),)),
            place=place,
            subject=record_name,
        ),
        their_avro.AvroSerializer(
            theirs,
            TheirSchema(order, "AVRO", [TheirReference("shop.Item", "item", 1)]),
            conf=settings(place, "record"),
        ),
        AvroDeserializer(ours),
        their_avro.AvroDeserializer(theirs),
        {"i": {"p": {"c": 2**40}}},
    )


def test_a_readers_schema(ours: SchemaRegistry, theirs: SchemaRegistryClient) -> None:
    """B888: fields that are new have their default, and others are left out."""
    reader = json.dumps(
        {
            "type": "record",
            "name": "Order",
            "namespace": "shop",
            "fields": [
                {"name": "id", "type": "double"},
                {"name": "new", "type": "string", "default": "none yet"},
            ],
        }
    )
    headers: Headers = []
    data = AvroSerializer(ours, ORDER).serialize("orders", headers, VALUE)
    assert data is not None
    mine = AvroDeserializer(ours, reader).deserialize("orders", headers, data)
    other = their_avro.AvroDeserializer(theirs, reader)(data, context(headers))
    assert mine == other == {"id": 7.0, "new": "none yet"}


@PLACE
@SUBJECT
@pytest.mark.parametrize(
    "message",
    [First(a=1), Order(id=7, price=Money(cents=5)), Line(text="ü"), Order()],
    ids=["first", "second", "inner", "empty"],
)
def test_protobuf(
    ours: SchemaRegistry, theirs: SchemaRegistryClient, place: Any, subject: str, message: Any
) -> None:
    """B887, B888, B891: with the message's place, and a file that it imports."""
    kind = type(message)
    their_settings = {**settings(place, subject), "use.deprecated.format": False}
    mine = ProtobufSerializer(ours, kind, place=place, subject=SUBJECTS[subject][0])
    both(
        mine,
        their_protobuf.ProtobufSerializer(kind, theirs, their_settings),
        ProtobufDeserializer(ours, kind),
        their_protobuf.ProtobufDeserializer(kind, {"use.deprecated.format": False}, theirs),
        message,
    )
    headers: Headers = []
    data = mine.serialize("orders", headers, message)
    assert data is not None
    # Without the class: by what the registry tells.
    read = ProtobufDeserializer(ours).deserialize("orders", headers, data)
    assert read.DESCRIPTOR.full_name == kind.DESCRIPTOR.full_name
    assert read.SerializeToString() == message.SerializeToString()


@PLACE
@SUBJECT
def test_json(
    ours: SchemaRegistry, theirs: SchemaRegistryClient, place: Any, subject: str
) -> None:
    """B887, B891: with the schema's title as its name."""
    both(
        JsonSerializer(ours, JSON, place=place, subject=SUBJECTS[subject][0]),
        their_json.JSONSerializer(JSON, theirs, conf=settings(place, subject)),
        JsonDeserializer(ours),
        their_json.JSONDeserializer(None, schema_registry_client=theirs),
        {"id": 7, "note": "ü \U0001f600", "rest": [1.5, None, {"x": True}]},
    )


def test_json_with_references(ours: SchemaRegistry, theirs: SchemaRegistryClient) -> None:
    """B888: an address that another subject has; nothing is read from the network."""
    money = '{"$id": "http://shop.example/money.json", "type": "integer"}'
    order = '{"title": "O", "properties": {"p": {"$ref": "http://shop.example/money.json"}}}'
    ours.register("money", Schema(money, SchemaType.JSON))
    place = "http://shop.example/money.json", "money", 1
    mine = JsonSerializer(ours, Schema(order, SchemaType.JSON, (SchemaReference(*place),)))
    their_schema = TheirSchema(order, "JSON", [TheirReference(*place)])
    both(
        mine,
        their_json.JSONSerializer(their_schema, theirs),
        JsonDeserializer(ours),
        their_json.JSONDeserializer(None, schema_registry_client=theirs),
        {"p": 5},
    )
    with pytest.raises(Exception, match="not of type 'integer'"):
        mine.serialize("orders", [], {"p": "x"})


def test_the_latest_version(ours: SchemaRegistry, theirs: SchemaRegistryClient) -> None:
    """B891: `use_latest` writes by what the subject has, whatever is given."""
    newer = json.dumps(
        {
            "type": "record",
            "name": "Order",
            "namespace": "shop",
            "fields": [{"name": "id", "type": "long"}],
        }
    )
    ours.register("orders-value", Schema(ORDER))
    ours.register("orders-value", Schema(newer))
    conf = {"use.latest.version": True, "auto.register.schemas": False}
    both(
        AvroSerializer(ours, use_latest=True),
        their_avro.AvroSerializer(theirs, ORDER, conf=conf),
        AvroDeserializer(ours),
        their_avro.AvroDeserializer(theirs),
        {"id": 7},
    )
