"""A producer that nothing refers to any more: its thread ends, and what can send keeps it."""

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from prokurist import KafkaProducer
from prokurist.testing.broker import EmbeddedBroker


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """One with the topic `t`."""
    with EmbeddedBroker() as started:
        started.create_topic("t")
        yield started


@pytest.fixture
def before() -> frozenset[threading.Thread]:
    """What there was before the test: of clients that others have open, or are closing."""
    return frozenset(threading.enumerate())


def threads(before: frozenset[threading.Thread]) -> list[threading.Thread]:
    """The network threads of this test's producers."""
    return [
        each
        for each in threading.enumerate()
        if each.name.endswith("-network") and each not in before
    ]


def forget(holder: list[Any]) -> None:
    """Let go of what it holds, and of what only a collection finds."""
    holder.clear()
    gc.collect()


@pytest.mark.parametrize(
    "keys", [{}, {"value_serializer": bytes}], ids=["native", "serialized"]
)
def test_a_producer_that_is_forgotten_ends_its_thread(
    broker: EmbeddedBroker, before: frozenset[threading.Thread], keys: dict[str, object]
) -> None:
    """CONTRACT, rule 11, B351: a ResourceWarning; what was sent is delivered, all is closed."""
    holder = [
        KafkaProducer({"bootstrap.servers": broker.bootstrap, "linger.ms": 60_000, **keys})
    ]
    delivery = holder[0].send("t", b"v")
    holder[0].flush(20.0)
    last = holder[0].send("t", b"lingers")
    (thread,) = threads(before)
    with pytest.warns(ResourceWarning, match="never closed"):
        forget(holder)
    thread.join(20.0)
    assert not thread.is_alive()
    assert (delivery.offset, last.offset) == (0, 1)


def test_its_send_alone_keeps_it(
    broker: EmbeddedBroker, before: frozenset[threading.Thread]
) -> None:
    """As any bound method keeps its object."""
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    holder, seen = [producer.send], weakref.ref(producer)
    del producer
    gc.collect()
    assert holder[0]("t", b"b").result(20.0).offset == 0
    assert seen() is not None
    with pytest.warns(ResourceWarning, match="never closed"):
        forget(holder)
    assert seen() is None
    for thread in threads(before):
        thread.join(20.0)
