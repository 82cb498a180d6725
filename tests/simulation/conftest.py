"""The end of every simulated test: its worlds come to rest, and nothing is left."""

from collections.abc import Iterator
from typing import Any

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.network_thread.wire.versions import Versions
from tests.simulation.classic_members import part
from tests.simulation.quiescence import check_at_rest
from tests.simulation.world import BUILT, World


@pytest.fixture(autouse=True)
def _at_rest(request: pytest.FixtureRequest) -> Iterator[None]:
    BUILT.clear()
    yield
    worlds = list(BUILT)
    BUILT.clear()
    part(worlds)
    mortal = request.node.get_closest_marker("mortal") is not None
    for world in worlds:
        check_at_rest(world, mortal=mortal)


@pytest.fixture
def closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every consumer that a test builds is closed for it."""
    built: list[KafkaConsumer] = []
    build = World.consumer

    def building(self: World, cap: Versions | None = None, **keys: Any) -> KafkaConsumer:
        built.append(build(self, cap, **keys))
        return built[-1]

    monkeypatch.setattr(World, "consumer", building)
    yield
    for consumer in built:
        consumer.close()
