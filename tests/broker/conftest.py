"""Clients that are not ours, and quiet: what they see is what any client sees."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest

from prokurist.events.clock import Clock, Deadline, MonotonicClock
from prokurist.testing.kafka import (
    DEFAULT_VERSION,
    DockerUnavailable,
    KafkaUnavailable,
    is_required,
)
from prokurist.testing.kafka.jars import cached_jars, find_maven
from prokurist.testing.kafka.java import find_java
from prokurist.testing.kafka.ladder import ask_docker

Producing = Callable[..., confluent_kafka.Producer]
Consuming = Callable[..., confluent_kafka.Consumer]


@pytest.fixture
def clock() -> Clock:
    """The real clock: these tests wait for a real broker."""
    return MonotonicClock()


@pytest.fixture
def eventually(clock: Clock) -> Callable[[Callable[[], Any]], Any]:
    """Ask until the answer is true, for as long as a slow machine may need."""

    def ask(question: Callable[[], Any], within: float = 25.0) -> Any:
        deadline = Deadline.after(clock.now(), within)
        while not (answer := question()):
            assert not deadline.expired(clock.now()), f"never true: {question}"
            clock.sleep(0.05)
        return answer

    return ask


@pytest.fixture(scope="session")
def startable() -> None:
    """Skip where no Kafka can be started, as the plugin's fixtures do for their tests."""
    try:
        ask_docker()
    except DockerUnavailable as docker:
        try:
            find_java(DEFAULT_VERSION)
            if cached_jars(DEFAULT_VERSION) is None:
                find_maven()
        except KafkaUnavailable as jars:
            missing = KafkaUnavailable.from_rungs([("docker", docker), ("jars", jars)])
            if is_required():
                raise missing from None
            pytest.skip(missing.reason)


@pytest.fixture
def quiet() -> logging.Logger:
    """A log that goes nowhere: librdkafka reports each broken connection on stderr."""
    logger = logging.getLogger("prokurist.tests.librdkafka")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger


@pytest.fixture
def producer_of(quiet: logging.Logger) -> Producing:
    """Make a producer for a `bootstrap.servers`."""

    def make(bootstrap: str, **config: Any) -> confluent_kafka.Producer:
        named = {name.replace("_", "."): value for name, value in config.items()}
        return confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 0} | named, logger=quiet
        )

    return make


@pytest.fixture
def consumer_of(quiet: logging.Logger) -> Iterator[Consuming]:
    """Make a consumer for a `bootstrap.servers`; it is closed after the test."""
    made: list[confluent_kafka.Consumer] = []

    def make(bootstrap: str, group: str, **config: Any) -> confluent_kafka.Consumer:
        named = {name.replace("_", "."): value for name, value in config.items()}
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
            }
            | named,
            logger=quiet,
        )
        made.append(consumer)
        return consumer

    yield make
    for consumer in made:
        consumer.close()
    made.clear()
