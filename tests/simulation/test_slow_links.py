"""Links on which a large answer takes longer than an answer may."""

from typing import Any, Final

import pytest

from prokurist.testing.cluster.cluster import Cluster
from prokurist.testing.cluster.faults import Fate, RuleKind
from prokurist.testing.cluster.wire import Request, Values
from prokurist.types import TopicPartition
from tests.simulation.reading import offsets, reader, written
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
KEYS: Final[dict[str, Any]] = {
    "request_timeout_ms": 5000,
    "max_partition_fetch_bytes": 6_000_000,
}


def slow(monkeypatch: pytest.MonkeyPatch, world: World, rate: float) -> None:
    """Have each answer to a Fetch come as late as so many bytes a second make it."""
    world.control.answer_late("Fetch", 0.0)
    encode = Cluster.encode

    def encoded(cluster: Cluster, request: Request, answer: Values, fate: Fate) -> bytes:
        frame = encode(cluster, request, answer, fate)
        if late := fate.get(RuleKind.LATE):
            late.seconds = len(frame) / rate
        return frame

    monkeypatch.setattr(Cluster, "encode", encoded)


def asked(world: World) -> list[int]:
    """For how many bytes each fetch has asked."""
    return [entry.body.max_bytes for entry in world.cluster.journal.entries("Fetch")]


def test_a_backlog_comes_over_a_link_that_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """B414: 6 MB at 100 kB/s, of which half a megabyte comes in the time of an answer."""
    world = written(600, size=10_000)
    slow(monkeypatch, world, rate=100_000)
    found: list[int] = []
    began = world.clock.time
    with reader(world, TP, **KEYS) as consumer:
        while len(found) < 600:
            found += offsets(consumer.poll(1.0)).get(TP, [])
            # Twice as long as the bytes alone would take.
            assert world.clock.time - began < 120.0, asked(world)
    assert found == list(range(600))


def test_a_broker_that_did_not_answer_is_asked_for_all_again() -> None:
    """B414: it was frozen, and no link was slow."""
    world = written(4000, size=10_000)
    with reader(world, TP, **KEYS) as consumer:
        found = offsets(consumer.poll(1.0))[TP]
        with world.control.freeze(1):
            began = world.clock.time
            while world.clock.time - began < 60.0:
                found += offsets(consumer.poll(1.0)).get(TP, [])
        assert min(asked(world)) < KEYS["max_partition_fetch_bytes"]
        silent = len(asked(world))
        while len(found) < 4000:
            found += offsets(consumer.poll(1.0)).get(TP, [])
    assert found == list(range(4000))
    assert max(asked(world)[silent:]) == KEYS["max_partition_fetch_bytes"]
    assert len(asked(world)) - silent < 20
