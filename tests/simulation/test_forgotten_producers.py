"""Producers that are never closed, and that nothing refers to any more."""

import gc
import weakref

import pytest

from prokurist import errors
from prokurist.network_thread.thread import Life
from prokurist.producer.ending_calls import await_end
from tests.simulation.producing import made, values_of
from tests.simulation.world import World


def test_a_forgotten_producer_warns_delivers_and_ends() -> None:
    """B351: nothing lingers; the producer is gone at once, its thread after the last one."""
    world = World()
    producer, sender = made(world, linger_ms=60_000)
    producer.send("orders", b"v", partition=0)
    producer.flush(5.0)
    heard: list[int] = []
    delivery = producer.send(
        "orders",
        b"lingers",
        partition=0,
        on_delivery=lambda at, _: heard.append(at.offset),
    )
    there = weakref.ref(producer)
    del producer
    with pytest.warns(ResourceWarning, match="never closed"):
        gc.collect()
    assert there() is None
    world.clock.sleep(0.1)
    assert sender.thread.life is Life.ENDED
    assert delivery.offset == 2
    assert heard == [2]
    assert values_of(world) == [b"warm", b"v", b"lingers"]


def test_a_forgotten_producer_without_records_ends_at_once() -> None:
    """B351: there is nothing to wait for."""
    world = World()
    producer, sender = made(world, linger_ms=0)
    del producer
    with pytest.warns(ResourceWarning, match="never closed"):
        gc.collect()
    world.clock.sleep(0.001)
    assert sender.thread.life is Life.ENDED


def test_a_forgotten_producer_beside_a_frozen_broker_ends_by_its_deliveries() -> None:
    """B351: at `delivery.timeout.ms`, with a record that tells what it may have come to."""
    world = World()
    producer, sender = made(
        world, linger_ms=0, delivery_timeout_ms=4000, request_timeout_ms=3000
    )
    world.control.freeze()
    delivery = producer.send("orders", b"v", partition=0)
    world.clock.sleep(0.1)
    del producer
    with pytest.warns(ResourceWarning, match="still delivered"):
        gc.collect()
    world.clock.sleep(3.5)
    assert sender.thread.alive
    assert not delivery.done()
    with pytest.raises(errors.IllegalStateException, match="What was sent is still delivered"):
        delivery.result(1.0)
    world.clock.sleep(1.0)
    assert sender.thread.life is Life.ENDED
    error = delivery.exception(0)
    assert isinstance(error, errors.TimeoutException)
    assert error.may_have_happened


def test_the_interpreter_ends_before_a_forgotten_producer_has_delivered() -> None:
    """P51, B351: what is left fails after a moment, and the thread ends."""
    world = World()
    producer, sender = made(world, linger_ms=0)
    world.control.freeze()
    delivery = producer.send("orders", b"v", partition=0)
    del producer
    with pytest.warns(ResourceWarning, match="never closed"):
        gc.collect()
    world.clock.sleep(1.0)
    with pytest.MonkeyPatch.context() as patch:
        # A simulation has no thread whose end could be waited for.
        patch.setattr(sender.thread, "join", lambda _seconds: False)
        await_end(sender.thread, 5.0, last_commit=True)
    world.clock.sleep(0.001)
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
