"""A signal handler that calls a client wherever it may come: no call waits for its own thread.

On one thread a lock that is taken twice stands still for ever: a test that ends has found none.
"""

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Final

import pytest

from prokurist import KafkaConsumer, KafkaProducer, errors
from tests.every_call import ALL, WaitingCall, ready
from tests.simulation.interrupting import at_each_place
from tests.simulation.producing import made
from tests.simulation.world import BUILT, World

POSTING: Final[dict[str, Callable[[KafkaProducer], object]]] = {
    "purge": KafkaProducer.purge,
    "partitions_for": lambda producer: producer.partitions_for("other", 1.0),
    "send": lambda producer: producer.send("other", b"v"),
    "flush": lambda producer: producer.flush(1.0),
    "close": lambda producer: producer.close(1.0),
}
"""Calls that ask the network thread, and wait for it."""

SHARES: Final = 4
"""A world for each place is more than one test has time for."""


def called_at(nth: int, work: Callable[[], object], handler: Callable[[], object]) -> bool:
    """Run something, and call a handler at the nth place: whether it has so many."""
    left = nth

    def at_place() -> None:
        nonlocal left
        left -= 1
        if left == -1:
            handler()

    at_each_place(work, at_place)
    return left < 0


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("inner", POSTING)
@pytest.mark.parametrize("outer", ["purge", "partitions_for", "send"])
def test_a_handler_posts_wherever_it_has_interrupted_a_post(
    outer: str, inner: str, share: int
) -> None:
    """B349: it gets its answer, or is told at once that it cannot wait there."""
    refused: set[str] = set()
    for nth in count(share, SHARES):
        world = World(topics={"orders": 3, "other": 1})
        producer, sender = made(world)
        began = world.clock.time

        def handler(producer: KafkaProducer = producer) -> None:
            try:
                POSTING[inner](producer)
            except errors.IllegalStateException as error:
                refused.add(str(error))

        def work(producer: KafkaProducer = producer) -> None:
            # What is interrupted by a close is refused by a producer that is closed.
            with suppress(*[errors.IllegalStateException] * (inner == "close")):
                POSTING[outer](producer)

        went_on = called_at(nth, work, handler)
        assert world.clock.time - began < 0.5, nth
        producer.close(1.0)
        world.clock.sleep(0.05)
        assert not sender.side.thread.alive, nth
        assert not len(sender.side.thread.mailbox)
        BUILT.clear()
        if not went_on:
            break
    assert nth > 20
    assert all("signal handler cannot wait" in each for each in refused)


def test_a_handler_that_has_interrupted_a_post_is_refused_to_wait() -> None:
    """B349: in the midst of the post, where the network thread could not read what is asked."""
    world = World(topics={"orders": 3, "other": 1})
    producer, sender = made(world)
    refused = 0

    def handler() -> None:
        nonlocal refused
        if not sender.side.thread.mailbox.is_held_here:
            return
        for call in (producer.purge, producer.flush):
            with pytest.raises(
                errors.IllegalStateException, match="signal handler cannot wait"
            ):
                call()
        refused += 1

    producer.send("orders", b"v", partition=0)
    at_each_place(lambda: producer.partitions_for("other", 1.0), handler)
    assert refused
    producer.close(1.0)


@pytest.mark.parametrize("name", ALL)
def test_a_handler_looks_at_a_consumer_wherever_it_has_interrupted_it(name: str) -> None:
    """B350: health, metrics and repr answer in the midst of any call."""
    call: WaitingCall = ALL[name]
    world = World()
    consumer: KafkaConsumer = world.consumer(
        fetches=True, group_id="g", enable_auto_commit=False
    )
    ready(consumer)
    if name == "subscribe":
        consumer.unsubscribe(0)
    places = 0

    def handler() -> None:
        nonlocal places
        places += 1
        assert consumer.health() is not None
        assert consumer.metrics()
        assert repr(consumer)

    def work() -> None:
        try:
            call(consumer, 0.05)
        except errors.TimeoutException:
            return

    at_each_place(work, handler)
    assert places
    consumer.close(0)


def test_a_handler_opens_and_closes_other_clients() -> None:
    """B350: in the midst of another one's beginning and end; they share a list."""

    def lifetime() -> None:
        consumer = World().consumer(fetches=False)
        consumer.close(0)

    places = 0

    def handler() -> None:
        nonlocal places
        places += 1
        if places % 16 == 0:
            lifetime()

    at_each_place(lifetime, handler)
    assert places > 200
