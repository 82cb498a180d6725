"""Two real threads over loopback: the embedded broker, and other people's clients."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import confluent_kafka
import pytest

from prokurist.testing.broker import EmbeddedBroker


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
