"""OpenTelemetry over loopback: the faces, share consumers, and a program without it."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain

import pytest

import prokurist.otel
from prokurist import KafkaProducer, KafkaShareConsumer
from prokurist.compat import aiokafka, confluent_kafka, kafka
from prokurist.testing.broker import EmbeddedBroker
from tests.spans import Told, context_of, instrumented, of


@pytest.fixture
def told() -> Iterator[Told]:
    """Clients that are built in the test are watched."""
    with instrumented() as told:
        yield told


def require_one_trace(told: Told) -> None:
    """The record was processed in the trace of the request that has sent it."""
    (sent,) = told.spans("send orders")
    (worked,) = told.spans("process orders")
    assert sent.parent == context_of(told.span("request"))
    assert worked.parent is not None
    assert worked.parent.span_id == context_of(sent).span_id
    links = chain.from_iterable(each.links for each in told.spans("poll orders"))
    assert [each.context.span_id for each in links] == [worked.parent.span_id]
    committed = told.spans("commit orders")[0]
    assert committed.parent == context_of(worked)
    assert of(committed)["messaging.consumer.group.name"] == "g"


def test_confluent_kafkas_face(broker: EmbeddedBroker, told: Told) -> None:
    """B866: a message's context is that of `produce`, also where its topic comes later."""
    tracer = told.provider.get_tracer("test")
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
    broker.freeze()  # So that another thread sends it, once the topic is known.
    with tracer.start_as_current_span("request"):
        producer.produce("orders", b"v", b"k", partition=0)
    broker.thaw()
    assert producer.flush(30.0) == 0
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe(["orders"])
        while (message := consumer.poll(1.0)) is None:
            pass
        with prokurist.otel.process(message, "g"):
            consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()
        producer.close()
    require_one_trace(told)


def test_kafka_pythons_face(broker: EmbeddedBroker, told: Told) -> None:
    """B866: its producer and its consumer."""
    tracer = told.provider.get_tracer("test")
    producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap)
    with tracer.start_as_current_span("request"):
        producer.send("orders", b"v", key=b"k", partition=0).get(30.0)
    producer.close()
    consumer = kafka.KafkaConsumer(
        "orders",
        bootstrap_servers=broker.bootstrap,
        group_id="g",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    try:
        with prokurist.otel.process(next(consumer), "g"):
            consumer.commit()
    finally:
        consumer.close()
    require_one_trace(told)


def test_aiokafkas_face(broker: EmbeddedBroker, told: Told) -> None:
    """B866: its producer and its consumer."""
    tracer = told.provider.get_tracer("test")

    async def main() -> None:
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            with tracer.start_as_current_span("request"):
                await producer.send_and_wait("orders", b"v", key=b"k", partition=0)
        async with aiokafka.AIOKafkaConsumer(
            "orders",
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            with prokurist.otel.process(await consumer.getone(), "g"):
                await consumer.commit()

    asyncio.run(main())
    require_one_trace(told)


def test_share_consumers(told: Told) -> None:
    """B860, B861: polls with links, and acknowledgements that are waited for."""
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        broker.configure_share_groups(from_earliest=True)
        with (
            KafkaProducer(bootstrap_servers=broker.bootstrap) as producer,
            KafkaShareConsumer(bootstrap_servers=broker.bootstrap, group_id="g") as consumer,
        ):
            consumer.subscribe("orders")
            producer.send("orders", b"v").result(30.0)
            while not (records := consumer.poll(1.0)):
                pass
            records.accept()
            consumer.commit_sync(30.0)
    assert len(told.span("poll orders").links) == 1
    acknowledged = told.span("acknowledge orders")
    assert of(acknowledged)["messaging.operation.type"] == "settle"
    assert of(acknowledged)["messaging.batch.message_count"] == 1


OFF = """
import sys
from prokurist import KafkaConsumer, KafkaProducer
with KafkaProducer(bootstrap_servers=sys.argv[1]) as producer:
    producer.send("orders", b"v").result(30.0)
    print(type(producer.send.__self__).__name__)
with KafkaConsumer(bootstrap_servers=sys.argv[1], group_id="g") as consumer:
    consumer.subscribe("orders")
    consumer.poll(0.1)
print([name for name in sys.modules if "opentelemetry" in name or name == "prokurist.otel"])
"""


def test_a_program_without_it(broker: EmbeddedBroker) -> None:
    """B864: nothing of it is imported, and `send` is the appender's own."""
    run = subprocess.run(
        [sys.executable, "-c", OFF, broker.bootstrap],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert run.stdout.split("\n")[:2] == ["Sender", "[]"]
