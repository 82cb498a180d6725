"""Ctrl-C at each place of a producer's calls: what is left is whole, and can be used."""

from collections.abc import Callable
from itertools import count
from typing import Any, Final

import pytest

from prokurist import Delivery, KafkaProducer, errors
from tests.simulation.interrupting import at_each_place, interrupted_at
from tests.simulation.producing import made, values_of
from tests.simulation.world import BUILT, Sender, World

SMALL: Final = {"linger_ms": 1000, "batch_size": 1000, "buffer_memory": 4000}
"""So that some of eight records begin a batch, others let one grow, and others wait."""


EACH: Final = 16
"""Every so many places a signal handler sends."""


def send_some(producer: KafkaProducer) -> None:
    """More than there is memory for."""
    for _ in range(8):
        producer.send("orders", b"x" * 900, partition=0)


def send_and_wait(producer: KafkaProducer) -> None:
    """One record, and its end."""
    producer.send("orders", b"w", partition=0).result(3.0)


def check_whole(producer: KafkaProducer, sender: Sender, world: World) -> None:
    """A record is sent without being flushed, and no memory is lost or doubled."""
    accumulator = sender.side.accumulator
    producer.send("orders", b"after", partition=0).result(5.0)
    producer.flush(5.0)
    assert accumulator.memory.free == accumulator.memory.total
    assert not accumulator.memory.waiting
    assert not accumulator.flushing
    assert not accumulator.incomplete
    assert values_of(world)[-1] == b"after"


@pytest.mark.parametrize(
    ("work", "largest"),
    [
        (send_some, 1700),
        (send_some, 1 << 20),
        (send_and_wait, 1 << 20),
        (KafkaProducer.flush, 1 << 20),
        (KafkaProducer.purge, 1 << 20),
    ],
)
def test_an_interrupt_anywhere_leaves_a_producer_to_go_on(
    work: Callable[[KafkaProducer], object], largest: int
) -> None:
    """Its memory is all there, nothing lingers less, and no wake is missing."""
    keys: dict[str, Any] = {**SMALL, "max_request_size": largest}
    for nth in count():
        world = World()
        producer, sender = made(world, **keys)
        producer.send("orders", b"before", partition=0)
        went_on = interrupted_at(nth, work, producer)
        check_whole(producer, sender, world)
        producer.close(1.0)
        BUILT.clear()
        if not went_on:
            break
    assert nth > 20


def test_an_interrupt_anywhere_in_a_close_leaves_nothing_open() -> None:
    """Or a producer that can be closed."""
    for nth in count():
        world = World()
        producer, sender = made(world, **SMALL)
        delivery = producer.send("orders", b"v", partition=0)
        went_on = interrupted_at(nth, producer.close, 1.0)
        assert producer.close(1.0) in (0, 1)
        world.clock.sleep(0.05)
        assert not sender.side.thread.alive, nth
        assert delivery.done()
        with pytest.raises(errors.IllegalStateException, match="closed"):
            producer.send("orders", b"v", partition=0)
        BUILT.clear()
        if not went_on:
            break
    assert nth > 20


@pytest.mark.parametrize(
    ("call", "share"),
    [
        *(("send", share) for share in range(EACH)),
        *(("close", share) for share in range(0, EACH, 4)),
        *((call, 0) for call in ("flush", "health", "metrics")),
    ],
)
def test_a_signal_handler_calls_anything_anywhere(call: str, share: int) -> None:
    """It waits for no lock that its own thread holds, and what both sent is all there.

    Where it has interrupted what the network thread needs it is refused to wait. For room in
    `buffer.memory` it may wait until `max.block.ms`: its thread holds some.
    """
    world = World()
    keys: dict[str, Any] = {**SMALL, "buffer_memory": 1 << 26}
    producer, sender = made(world, **keys)
    accumulator = sender.side.accumulator
    sent: dict[bytes, list[Delivery]] = {b"m": [], b"h": []}

    def send(by: bytes) -> None:
        number = b"%d" % len(sent[by])
        sent[by].append(producer.send("orders", by + number * 600, partition=0))

    places = 0
    told: set[str] = set()

    def handler() -> None:
        nonlocal places
        places += 1
        match call:
            case "send":
                # At each place of a send it would have that begin again without end.
                if places % EACH == share:
                    send(b"h")
            case "flush":
                try:
                    producer.flush(1.0)
                except errors.IllegalStateException as refused:
                    told.add(str(refused))
            case "close":
                # Not at the first place: what is half done then is of interest.
                producer.close(1.0) if places == 40 + share else producer.health()
            case _:
                getattr(producer, call)()

    def work() -> None:
        for _ in range(8):
            send(b"m")
        producer.flush(1.0)

    try:
        at_each_place(work, handler)
    except errors.IllegalStateException:
        assert call == "close"
    else:
        producer.flush(5.0)
        assert accumulator.memory.free == accumulator.memory.total
    assert places >= 40
    assert all("signal handler" in each for each in told)
    assert bool(told) == (call == "flush")
    for by, deliveries in sent.items():
        assert [each.result(0).offset for each in deliveries] == sorted(
            number for number, value in enumerate(values_of(world)) if value and value[:1] == by
        )
    producer.close(1.0)
