"""Counters of an admin client, and the id of those that it pushes, on the model."""

import pytest

from prokurist.errors import IllegalStateException
from tests.simulation.telemetry import content, fresh, pushes
from tests.simulation.test_admin_engine import error_of
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")


def test_counters_of_an_admin_client() -> None:
    """B640: those that every client has; also after `close`."""
    world = World(nodes=1)
    admin = world.admin()
    admin.list_topics()
    counted = admin.metrics()
    assert counted["prokurist_connections"] >= 1
    assert any(key.startswith("prokurist_node_requests_total") for key in counted)
    admin.close()
    assert admin.metrics()["prokurist_connections"] == 0


def test_the_id_of_pushed_metrics() -> None:
    """B640: a broker gives it, once; without a push there is none."""
    world = fresh(interval=60.0, metrics=["org.apache.kafka.admin."])
    admin = world.admin(enable_metrics_push=True)
    known = admin.client_instance_id(5.0)
    assert admin.client_instance_id(5.0) == known
    world.clock.sleep(95.0)
    told = content(pushes(world)[0])
    assert told.one("org.apache.kafka.admin.client.connection.creation.total") >= 1
    error = error_of(lambda: world.admin().client_instance_id(5.0))
    assert isinstance(error, IllegalStateException)
    assert "enable.metrics.push" in str(error)
