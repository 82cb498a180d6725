"""The end of every simulated test: its worlds come to rest, and nothing is left."""

from collections.abc import Iterator

import pytest

from tests.simulation.classic_members import part
from tests.simulation.rest import check_at_rest
from tests.simulation.world import BUILT


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
