"""An event loop on virtual time: where it would wait for the system, the world lives on."""

import asyncio
import math
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from prokurist.aio import KafkaConsumer, KafkaProducer
from prokurist.config import ConsumerConfig, ProducerConfig
from prokurist.events.waiter import Waiter
from tests.simulation.world import World

T = TypeVar("T")


class Idle(selectors.SelectSelector):
    """A selector whose waits are the world's."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.waiter = Waiter()

    def select(self, timeout: float | None = None) -> Any:
        """Live until the loop is woken, or the time has come."""
        until = math.inf if timeout is None else self.world.clock.time + max(timeout, 0.0)
        self.world.run(until, self.waiter)
        self.waiter = Waiter()
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that goes by the time of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._idle = Idle(world)
        super().__init__(self._idle)

    def time(self) -> float:
        """The world's time."""
        return self._world.clock.time

    def call_soon_threadsafe(  # type: ignore[override]
        self, *given: Any, **keys: Any
    ) -> asyncio.Handle:
        """Call something, and end the wait."""
        handle = super().call_soon_threadsafe(*given, **keys)
        self._idle.waiter.open()
        return handle


def run(world: World, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time, in debug mode."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(world), debug=True) as runner:
        return runner.run(main)


def consumer(world: World, **keys: Any) -> KafkaConsumer:
    """A consumer of coroutines in a world."""
    config = ConsumerConfig({"bootstrap.servers": world.bootstrap}, **keys)
    member = world.join(config)
    world.start(member)
    return KafkaConsumer.wired(config, world.clock, member.side)


def producer(world: World, **keys: Any) -> KafkaProducer:
    """A producer of coroutines in a world."""
    config = ProducerConfig({"bootstrap.servers": world.bootstrap}, **keys)
    sender = world.join_producer(config)
    world.start(sender)
    return KafkaProducer.wired(config, world.clock, sender.side)
