"""The end of every simulated test: its worlds come to rest, and nothing is left."""

from collections.abc import Iterator
from typing import Any

import pytest

from prokurist.admin.admin import KafkaAdmin
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.network_thread.wire.versions import Versions
from prokurist.producer.producer import KafkaProducer
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
    """Every client that a test builds is closed for it."""
    built: list[KafkaConsumer | KafkaProducer | KafkaAdmin] = []
    build, build_producer, build_admin = World.consumer, World.producer, World.admin

    def building(self: World, cap: Versions | None = None, **keys: Any) -> KafkaConsumer:
        consumer = build(self, cap, **keys)
        built.append(consumer)
        return consumer

    def producing(self: World, cap: Versions | None = None, **keys: Any) -> KafkaProducer:
        producer = build_producer(self, cap, **keys)
        built.append(producer)
        return producer

    def administering(self: World, cap: Versions | None = None, **keys: Any) -> KafkaAdmin:
        admin = build_admin(self, cap, **keys)
        built.append(admin)
        return admin

    monkeypatch.setattr(World, "admin", administering)
    monkeypatch.setattr(World, "consumer", building)
    monkeypatch.setattr(World, "producer", producing)
    yield
    for client in built:
        client.close()
