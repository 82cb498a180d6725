"""Members that are given partitions before the names of their topics are known."""

import pytest

from prokurist.errors import TimeoutException
from prokurist.records.why_empty import EmptyCause
from prokurist.types import MembershipState
from tests.simulation.joining import INTERVAL, ORDERS, grouped, settle


def test_it_is_not_ready_before_it_knows_what_it_was_given() -> None:
    """B416: metadata of a broker that is far away come later than the group's answer."""
    world = grouped()
    with world.consumer(None, group_protocol="consumer", enable_auto_commit=False) as consumer:
        consumer.committed(ORDERS[:1], timeout=5.0)
        held = world.control.hold("Metadata")
        consumer.subscribe("orders")
        settle(consumer, seconds=INTERVAL)
        why = consumer.poll(1.0).why_empty
        assert why is not None
        assert why.cause is EmptyCause.JOINING
        place = consumer.health().membership
        assert place is not None
        assert place.state is MembershipState.RECONCILING
        with pytest.raises(TimeoutException, match="the member is reconciling"):
            consumer.wait_until_ready(1.0)
        held.undo()
        assert consumer.wait_until_ready(10.0) == frozenset(ORDERS)
        place = consumer.health().membership
        assert place is not None
        assert place.state is MembershipState.STABLE
