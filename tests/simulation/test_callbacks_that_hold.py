"""Waits that end while a delivery callback holds the network thread."""

import threading

import pytest

from prokurist import KafkaProducer, RecordMetadata, errors
from prokurist.events.clock import Deadline
from prokurist.producer.flushing import out_of_time
from prokurist.testing.broker import EmbeddedBroker
from tests.simulation.producing import made
from tests.simulation.world import World


def test_flush_names_the_callback_and_is_sure_of_what_has_ended() -> None:
    """B445: nothing may have happened where the only batch that was sent has been answered."""
    world = World()
    producer, sender = made(world)
    accumulator = sender.side.accumulator
    told: list[errors.TimeoutException] = []

    def callback(_record: RecordMetadata, _error: errors.KafkaException | None) -> None:
        producer.send("orders", b"w", partition=0)
        now = world.clock.time
        left = accumulator.snapshot()
        told.append(out_of_time(accumulator, left, now, Deadline(now + 0.3), now + 0.3))

    producer.send("orders", b"v", partition=0, on_delivery=callback)
    producer.flush(5.0)
    assert "a delivery callback of orders-0" in str(told[0])
    assert "It may have happened" not in str(told[0])
    assert not told[0].may_have_happened
    assert accumulator.callback_wait(world.clock.time) is None
    producer.close(1.0)


def test_flush_says_what_waits_for_callbacks_alone() -> None:
    """B532: a record that is delivered is not on the way, though its callback runs."""
    world = World()
    producer, sender = made(world)
    accumulator = sender.side.accumulator
    texts: list[str] = []

    def callback(_record: RecordMetadata, _error: errors.KafkaException | None) -> None:
        now = world.clock.time
        left = accumulator.snapshot()
        texts.append(str(out_of_time(accumulator, left, now, Deadline(now + 0.3), now + 0.3)))
        producer.send("orders", b"later", partition=0)
        left = accumulator.snapshot()
        texts.append(str(out_of_time(accumulator, left, now, Deadline(now + 0.3), now + 0.3)))

    producer.send_many("orders", [b"v", b"w"], partition=0)
    producer.send("orders", b"x", partition=0, on_delivery=callback)
    producer.flush(5.0)
    assert "on the way" not in texts[0]
    assert " 3 records wait for callbacks; flush withdraws nothing" in texts[0]
    assert "1 record (" in texts[1]
    assert " in 1 partition is on the way, and 3 records wait for callbacks;" in texts[1]
    producer.close(1.0)


def test_each_wait_names_the_callback() -> None:
    """B445: `flush`, `result`, `purge` and `partitions_for`, by threads of their own."""
    inside, go_on = threading.Event(), threading.Event()

    def callback(_record: RecordMetadata, _error: errors.KafkaException | None) -> None:
        inside.set()
        go_on.wait(60.0)

    with (
        EmbeddedBroker(1, {"orders": 1}) as broker,
        KafkaProducer(bootstrap_servers=broker.bootstrap) as producer,
    ):
        producer.send("orders", b"v", on_delivery=callback)
        assert inside.wait(30.0)
        delivery = producer.send("orders", b"w")
        try:
            for call in (
                lambda: producer.flush(0.05),
                lambda: delivery.result(0.05),
                lambda: producer.purge(0.05),
                lambda: producer.partitions_for("other", 0.05),
            ):
                with pytest.raises(errors.TimeoutException) as late:
                    call()
                assert "a delivery callback of orders-0" in str(late.value)
                assert "It may have happened" not in str(late.value)
        finally:
            go_on.set()
