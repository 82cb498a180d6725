"""Producers that are never closed, and that nothing refers to any more."""

import gc
import weakref

import pytest

from prokurist import errors
from prokurist.network_thread.thread import Life
from tests.simulation.producing import made
from tests.simulation.world import World


def test_a_forgotten_producer_warns_and_ends() -> None:
    """Its thread ends, and what was on its way has failed."""
    world = World()
    producer, sender = made(world, linger_ms=1000)
    producer.send("orders", b"v", partition=0).result(5.0)
    delivery = producer.send("orders", b"lingers", partition=0)
    there = weakref.ref(producer)
    del producer
    with pytest.warns(ResourceWarning, match="never closed"):
        gc.collect()
    assert there() is None
    world.clock.sleep(0.01)
    assert sender.thread.life is Life.ENDED
    assert isinstance(delivery.exception(0), errors.KafkaException)


def test_a_producer_whose_send_is_kept_is_kept() -> None:
    """As every object is by its methods; a closed one is gone without the collector."""
    world = World()
    producer = world.producer()
    send, there = producer.send, weakref.ref(producer)
    del producer
    gc.collect()
    send("orders", b"v", partition=0).result(5.0)
    again = there()
    assert again is not None
    again.close()
    gc.disable()
    try:
        del again, send
        assert there() is None
    finally:
        gc.enable()
