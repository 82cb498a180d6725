"""How much is logged at INFO: docs/howto/operations.md has these figures."""

import logging
from collections.abc import Callable

import pytest

from tests.simulation.joining import grouped
from tests.simulation.world import World

MINUTES = 3
STARTING, HEALTHY, OUTAGE, AFTER = 10, 0, 20, 30
"""The most lines of a minute: the first, any other, any of an outage, the one behind it."""


def lines(
    world: World, caplog: pytest.LogCaptureFixture, turn: Callable[[], object]
) -> list[int]:
    """The lines of each of a few minutes."""
    counted = []
    for _ in range(MINUTES):
        before, ends = len(caplog.records), world.clock.time + 60
        while world.clock.time < ends:
            turn()
        counted.append(len(caplog.records) - before)
    return counted


def test_little_is_logged_and_an_outage_does_not_flood(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A consumer and a producer of three brokers, which all fall silent and come back."""
    caplog.set_level(logging.INFO)
    world = grouped(partitions=6, nodes=3)
    with world.producer() as producer, world.consumer() as consumer:
        consumer.subscribe("orders")

        def turn() -> None:
            producer.send("orders", b"x")
            consumer.poll(0)
            world.clock.sleep(1.0)

        first, *others = lines(world, caplog, turn)
        assert 0 < first <= STARTING
        assert max(others) == HEALTHY
        world.control.freeze()
        silent = lines(world, caplog, turn)
        assert min(silent) > 0
        assert max(silent) <= OUTAGE
        world.control.thaw()
        first, *others = lines(world, caplog, turn)
        assert first <= AFTER
        assert max(others) <= 1
