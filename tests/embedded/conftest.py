"""Two real threads over loopback: the embedded broker, and other people's clients."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import confluent_kafka
import pytest

from prokurist.cli.entry import main
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.batches import Record
from prokurist.types import TopicPartition
from tests.embedded.commands import Command, Ended


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """Three brokers and a topic; what goes wrong in them fails the test."""
    with EmbeddedBroker(3, {"orders": 3}) as serving:
        yield serving


@pytest.fixture
def quiet() -> logging.Logger:
    """A logger that says nothing: librdkafka writes to stderr without one."""
    logger = logging.getLogger("tests.embedded.librdkafka")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


@pytest.fixture
def librdkafka(
    broker: EmbeddedBroker, quiet: logging.Logger
) -> Iterator[Callable[..., confluent_kafka.Consumer]]:
    """Consumers of confluent-kafka's, closed at the end."""
    with ExitStack() as stack:

        def make(**settings: Any) -> confluent_kafka.Consumer:
            config = {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "billing",
                "enable.auto.commit": False,
                **settings,
            }
            consumer = confluent_kafka.Consumer(config, logger=quiet)
            stack.enter_context(closing(consumer))
            return consumer

        yield make


@pytest.fixture
def kafka() -> Iterator[EmbeddedBroker]:
    """Two brokers; five records in two partitions."""
    with EmbeddedBroker(2, {"orders": 2, "empty": 1}) as serving:
        for partition, values in enumerate(([b"a", b"b", b"c"], [b"d", b"e"])):
            tp = TopicPartition("orders", partition)
            for number, value in enumerate(values):
                stamp = 1_700_000_000_000 + number * 60_000
                serving.append(tp, Record(value, b"k%d" % number, timestamp=stamp))
        yield serving


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Run a command in this process, to its end."""

    def ended(*arguments: object) -> Ended:
        began = time.monotonic()
        code = main([str(each) for each in arguments])
        told = capfdbinary.readouterr()
        return Ended(code, told.out, told.err.decode(), time.monotonic() - began)

    return ended


@pytest.fixture
def at(kafka: EmbeddedBroker, run: Command) -> Command:
    """The same, against the brokers."""
    return lambda *words: run(*words, "-b", kafka.bootstrap)
