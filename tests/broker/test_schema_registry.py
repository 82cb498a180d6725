"""Serializers of confluent-kafka's, and of ours, with a registry on loopback and a real Kafka.

Both ways in which a record says which schema it has: in front of its bytes, and in a header.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    header_schema_id_serializer,
    prefix_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition
from prokurist.errors import RecordDeserializationException
from prokurist.registry import (
    AvroDeserializer as OurDeserializer,
)
from prokurist.registry import (
    AvroSerializer as OurSerializer,
)
from prokurist.registry import (
    ProtobufDeserializer,
    ProtobufSerializer,
    SchemaRegistry,
)
from prokurist.testing.kafka import RealKafka
from prokurist.testing.schema_registry import EmbeddedSchemaRegistry
from tests.broker.conftest import Consuming, Producing
from tests.unit.registry.messages import Order

pytestmark = pytest.mark.kafka

SCHEMA: Final = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": "string"}],
    }
)
ORDERS: Final = [{"id": number, "note": f"order {number}"} for number in range(3)]
PLACES: Final = pytest.mark.parametrize(
    "place", [prefix_schema_id_serializer, header_schema_id_serializer]
)
Place = Callable[..., bytes]


@pytest.fixture
def schemas() -> Iterator[EmbeddedSchemaRegistry]:
    """A registry of the test's own."""
    with EmbeddedSchemaRegistry() as kept:
        yield kept


def new_topic(kafka: RealKafka) -> str:
    """A topic of the test's own, with one partition."""
    topic = f"avro-{secrets.token_hex(4)}"
    kafka.create_topic(topic, partitions=1)
    return topic


def avro_serializer(schemas: EmbeddedSchemaRegistry, place: Place) -> Any:
    """Theirs, for our producer, as docs/howto/callbacks.md has it."""
    client = SchemaRegistryClient({"url": schemas.url})
    avro = AvroSerializer(client, SCHEMA, conf={"schema.id.serializer": place})
    return lambda topic, headers, it: avro(
        it, SerializationContext(topic, MessageField.VALUE, headers)
    )


def avro_deserializer(schemas: EmbeddedSchemaRegistry) -> Any:
    """The same for our consumer."""
    avro = AvroDeserializer(SchemaRegistryClient({"url": schemas.url}))
    return lambda topic, headers, data: avro(
        data, SerializationContext(topic, MessageField.VALUE, headers)
    )


def read(kafka: RealKafka, topic: str, schemas: EmbeddedSchemaRegistry) -> list[Any]:
    """Our consumer, at the beginning of a topic."""
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=f"g-{secrets.token_hex(4)}",
        auto_offset_reset="earliest",
        value_deserializer=avro_deserializer(schemas),
    ) as consumer:
        consumer.subscribe(topic)
        records = [consumer.next(20.0) for _ in ORDERS]
        return [None if record is None else record.value for record in records]


@PLACES
def test_ours_to_ours(orders: RealKafka, schemas: EmbeddedSchemaRegistry, place: Place) -> None:
    """B330: the schema is registered once under the topic's name, and read by its id."""
    topic = new_topic(orders)
    with KafkaProducer(
        bootstrap_servers=orders.bootstrap, value_serializer=avro_serializer(schemas, place)
    ) as producer:
        for order in ORDERS:
            producer.send(topic, order, headers=[("trace", b"1")])
    assert schemas.subjects == {f"{topic}-value": [1]}
    assert read(orders, topic, schemas) == ORDERS
    with KafkaConsumer(bootstrap_servers=orders.bootstrap, group_id=topic) as consumer:
        consumer.assign(TopicPartition(topic, 0))
        consumer.seek_to_beginning()
        record = consumer.next(10.0)
    assert record is not None
    names = [name for name, _ in record.headers]
    if place is header_schema_id_serializer:
        assert names == ["trace", "__value_schema_id"]
    else:
        assert names == ["trace"]
        assert record.value[:5] == b"\0\0\0\0\1"


@PLACES
def test_theirs_to_ours(
    orders: RealKafka, schemas: EmbeddedSchemaRegistry, place: Place, producer_of: Producing
) -> None:
    """B330: what their producer has written."""
    topic = new_topic(orders)
    serializer = avro_serializer(schemas, place)
    producer = producer_of(orders.bootstrap)
    for order in ORDERS:
        headers: list[tuple[str, str | bytes | None]] = [("trace", b"1")]
        value = serializer(topic, headers, order)
        producer.produce(topic, value, headers=headers)
    assert producer.flush(30.0) == 0
    del producer
    assert read(orders, topic, schemas) == ORDERS


@PLACES
def test_ours_to_theirs(
    orders: RealKafka, schemas: EmbeddedSchemaRegistry, place: Place, consumer_of: Consuming
) -> None:
    """B330: what our producer has written is what their consumer reads."""
    topic = new_topic(orders)
    with KafkaProducer(
        bootstrap_servers=orders.bootstrap, value_serializer=avro_serializer(schemas, place)
    ) as producer:
        for order in ORDERS:
            producer.send(topic, order, key=b"k")
    consumer = consumer_of(orders.bootstrap, topic)
    consumer.subscribe([topic])
    deserializer = avro_deserializer(schemas)
    got: list[Any] = []
    for _ in range(60):
        message = consumer.poll(1.0)
        if message is not None:
            got.append(deserializer(topic, message.headers(), message.value()))
        if len(got) == len(ORDERS):
            break
    assert got == ORDERS


def test_a_registry_that_has_gone_stops_the_partition(
    orders: RealKafka, schemas: EmbeddedSchemaRegistry
) -> None:
    """B330: the error has the record's place; with the registry back, reading goes on."""
    topic = new_topic(orders)
    with KafkaProducer(
        bootstrap_servers=orders.bootstrap,
        value_serializer=avro_serializer(schemas, prefix_schema_id_serializer),
    ) as producer:
        producer.send(topic, ORDERS[0])
    kept, schemas.schemas = schemas.schemas, []
    with KafkaConsumer(
        bootstrap_servers=orders.bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        value_deserializer=avro_deserializer(schemas),
    ) as consumer:
        consumer.subscribe(topic)
        with pytest.raises(RecordDeserializationException, match="not found") as raised:
            consumer.next(20.0)
        assert raised.value.offset == 0
        schemas.schemas = kept
        record = consumer.next(10.0)
        assert record is not None
        assert record.value == ORDERS[0]


OUR_PLACES: Final = {
    "prefix": prefix_schema_id_serializer,
    "header": header_schema_id_serializer,
}


@pytest.mark.parametrize("place", OUR_PLACES)
def test_our_serializers_and_theirs(
    orders: RealKafka,
    schemas: EmbeddedSchemaRegistry,
    place: Any,
    producer_of: Producing,
) -> None:
    """B887: what ours has written theirs reads, and the other way round."""
    topic, ours = new_topic(orders), SchemaRegistry(schemas.url, timeout=30.0)
    with KafkaProducer(
        bootstrap_servers=orders.bootstrap,
        value_serializer=OurSerializer(ours, SCHEMA, place=place),
    ) as producer:
        for order in ORDERS:
            producer.send(topic, order)
    assert read(orders, topic, schemas) == ORDERS
    other = new_topic(orders)
    serializer = avro_serializer(schemas, OUR_PLACES[place])
    theirs = producer_of(orders.bootstrap)
    for order in ORDERS:
        headers: list[tuple[str, str | bytes | None]] = []
        theirs.produce(other, serializer(other, headers, order), headers=headers)
    assert theirs.flush(60.0) == 0
    with KafkaConsumer(
        bootstrap_servers=orders.bootstrap,
        group_id=other,
        auto_offset_reset="earliest",
        value_deserializer=OurDeserializer(ours),
    ) as consumer:
        consumer.subscribe(other)
        records = [consumer.next(60.0) for _ in ORDERS]
    assert [record and record.value for record in records] == ORDERS


def test_avro_in_and_protobuf_out(orders: RealKafka, schemas: EmbeddedSchemaRegistry) -> None:
    """B887, B888: with a file that the message's imports."""
    source, target = new_topic(orders), new_topic(orders)
    registry = SchemaRegistry(schemas.url, timeout=30.0)
    with KafkaProducer(
        bootstrap_servers=orders.bootstrap, value_serializer=OurSerializer(registry, SCHEMA)
    ) as producer:
        for order in ORDERS:
            producer.send(source, order)
    reading: dict[str, Any] = {
        "bootstrap_servers": orders.bootstrap,
        "auto_offset_reset": "earliest",
    }
    with (
        KafkaConsumer(
            **reading, group_id=source, value_deserializer=OurDeserializer(registry)
        ) as consumer,
        KafkaProducer(
            bootstrap_servers=orders.bootstrap,
            value_serializer=ProtobufSerializer(registry, Order),
        ) as copier,
    ):
        consumer.subscribe(source)
        for _ in ORDERS:
            record = consumer.next(60.0)
            assert record is not None
            copier.send(target, Order(id=record.value["id"]))
    with KafkaConsumer(
        **reading, group_id=target, value_deserializer=ProtobufDeserializer(registry, Order)
    ) as consumer:
        consumer.subscribe(target)
        found = [consumer.next(60.0) for _ in ORDERS]
    assert [record and record.value.id for record in found] == [0, 1, 2]


def test_a_silent_registry_delays_no_poll(
    orders: RealKafka, schemas: EmbeddedSchemaRegistry
) -> None:
    """B880, B881: polls end by their deadline; then the record fails, and a seek goes on."""
    topic = new_topic(orders)
    with KafkaProducer(
        bootstrap_servers=orders.bootstrap,
        value_serializer=OurSerializer(SchemaRegistry(schemas.url, timeout=30.0), SCHEMA),
    ) as producer:
        for order in ORDERS:
            producer.send(topic, order)
    schemas.is_silent = True
    with KafkaConsumer(
        bootstrap_servers=orders.bootstrap,
        auto_offset_reset="earliest",
        value_deserializer=OurDeserializer(SchemaRegistry(schemas.url, timeout=4.0)),
    ) as consumer:
        consumer.assign(TopicPartition(topic, 0))
        longest = 0.0

        def polled() -> None:
            nonlocal longest
            while True:
                began = time.monotonic()
                assert not consumer.poll(0.5)
                longest = max(longest, time.monotonic() - began)

        with pytest.raises(RecordDeserializationException, match=r"schema 1 .*in time") as why:
            polled()
        assert (why.value.partition, why.value.offset) == (TopicPartition(topic, 0), 0)
        # The wait for the registry alone would be eight times as long.
        assert longest < 3.0
        schemas.is_silent = False
        consumer.seek(TopicPartition(topic, 0), 1)
        record = consumer.next(60.0)
        assert record is not None
        assert (record.offset, record.value) == (1, ORDERS[1])
