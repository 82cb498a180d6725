"""Clients of ours that are ready, and others, quiet: what they see is what any client sees."""

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import confluent_kafka
import pytest

from prokurist import KafkaConsumer
from prokurist.application.open_clients import Named, OpenClients
from prokurist.consumer.commit_queue import CommitQueue
from prokurist.consumer.consumer_counters import CountedConsumer
from prokurist.events.call import Call
from prokurist.events.clock import Clock, Deadline, MonotonicClock
from prokurist.producer.producer_counters import CountedProducer
from prokurist.testing.kafka import (
    DEFAULT_VERSION,
    AdminFailed,
    DockerUnavailable,
    KafkaUnavailable,
    RealKafka,
    is_required,
)
from prokurist.testing.kafka.jars import cached_jars, find_maven
from prokurist.testing.kafka.java import find_java
from prokurist.testing.kafka.ladder import ask_docker
from tests.broker import secured_run
from tests.every_call import ready
from tests.oracles.watching import Watch

Asking = Callable[[Callable[[], Any]], Any]
Ours = Callable[..., KafkaConsumer]
Producing = Callable[..., confluent_kafka.Producer]
Consuming = Callable[..., confluent_kafka.Consumer]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what says nothing over SASL_SSL, where the run is over it."""
    for each in items:
        why = secured_run.LEFT_OUT.get(getattr(each, "originalname", each.name))
        if why is not None and secured_run.is_wanted():
            each.add_marker(pytest.mark.skip(reason=f"not over SASL_SSL: it {why}"))


@pytest.fixture(scope="session", autouse=True)
def security() -> Iterator[None]:
    """Run over SASL_SSL, where that is asked for; see `secured_run`."""
    if not secured_run.is_wanted():
        yield
        return
    with secured_run.secured():
        yield


@pytest.fixture(autouse=True)
def thrift_is_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No client of a test asks without a pause, also when its brokers fail."""
    watch = Watch()
    add, remove, later = OpenClients.add, OpenClients.remove, CommitQueue.later

    def committed(self: CommitQueue, *arguments: Any) -> Call:
        watch.committed(self._caller)
        return later(self, *arguments)

    def added(self: OpenClients[Named], client: Named) -> str:
        if isinstance(client, CountedConsumer | CountedProducer):
            watch.opened(client)
        return add(self, client)

    def removed(self: OpenClients[Named], client: Named) -> None:
        if isinstance(client, CountedConsumer | CountedProducer):
            watch.closed(client)
        remove(self, client)

    monkeypatch.setattr(OpenClients, "add", added)
    monkeypatch.setattr(OpenClients, "remove", removed)
    monkeypatch.setattr(CommitQueue, "later", committed)
    yield
    watch.end()
    assert not watch.wrongs, "\n".join(watch.wrongs)


@pytest.fixture
def clock() -> Clock:
    """The real clock: these tests wait for a real broker."""
    return MonotonicClock()


@pytest.fixture
def eventually(clock: Clock) -> Asking:
    """Ask until the answer is true, for as long as a slow machine may need."""

    def ask(question: Callable[[], Any], within: float = 60.0) -> Any:
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


@pytest.fixture(scope="session")
def orders(prokurist_kafka: RealKafka) -> RealKafka:
    """The shared Kafka, with the topic that `tests.every_call` asks about."""
    try:
        prokurist_kafka.create_topic("orders", partitions=3)
    except AdminFailed as error:
        if error.code != "TOPIC_ALREADY_EXISTS":
            raise
    return prokurist_kafka


@pytest.fixture
def ours(orders: RealKafka) -> Iterator[Ours]:
    """Make a consumer of ours, ready for every call, in a group of its own."""
    with ExitStack() as stack:

        def make(**keys: Any) -> KafkaConsumer:
            consumer = KafkaConsumer(
                {
                    "bootstrap.servers": orders.bootstrap,
                    "group.id": f"g-{secrets.token_hex(6)}",
                    # What is counted here is what a test itself asks for.
                    "enable.auto.commit": False,
                },
                **keys,
            )
            stack.callback(consumer.close)
            ready(consumer)
            return consumer

        yield make
        orders.heal()


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
