"""What tests of pushed metrics have in common: clients that push, and what came of it."""

from typing import Any, Final

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition
from prokurist.testing.cluster.telemetry import PushedMetrics
from tests.otlp import Pushed, read
from tests.simulation.world import World

CONSUMER: Final = "org.apache.kafka.consumer."
PRODUCER: Final = "org.apache.kafka.producer."
ORDERS: Final = TopicPartition("orders", 0)


def consumer_in(world: World, **keys: Any) -> KafkaConsumer:
    """A consumer that pushes, and has a connection."""
    consumer = world.consumer(None, enable_metrics_push=True, **keys)
    consumer.assign(ORDERS)
    consumer.position(ORDERS)
    return consumer


def producer_in(world: World, **keys: Any) -> KafkaProducer:
    """A producer that pushes, and has sent a record."""
    producer = world.producer(None, enable_metrics_push=True, linger_ms=0, **keys)
    producer.send("orders", b"v", partition=0)
    producer.flush(5.0)
    return producer


def asked(world: World) -> list[Any]:
    """The questions for the subscription that were on the wire."""
    return list(world.control.requests("GetTelemetrySubscriptions"))


def pushes(world: World) -> list[PushedMetrics]:
    """The pushes that were taken."""
    return world.control.telemetry()


def content(pushed: PushedMetrics) -> Pushed:
    """What is in a push."""
    return read(pushed.compression, pushed.data)


def fresh(**receiver: Any) -> World:
    """A world whose brokers want metrics."""
    world = World()
    world.control.receive_telemetry(**receiver)
    return world
