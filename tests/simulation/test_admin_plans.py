"""Plans of offsets and moves by the admin client, on the model."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from prokurist import OffsetAndMetadata, TopicPartition
from prokurist.admin import (
    ConfigResource,
    KafkaAdmin,
    OffsetChange,
    OffsetSpec,
    ReassignmentPlan,
    Shift,
)
from prokurist.errors import IllegalStateException, UnknownTopicOrPartitionException
from tests.simulation.test_admin_engine import error_of
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")

ORDERS = [TopicPartition("orders", each) for each in range(3)]


def text(value: str) -> Any:
    """A text in place of a number."""
    return value


@pytest.fixture
def world() -> World:
    """Three brokers, and four records in each of three partitions."""
    world = World(nodes=3, topics={"orders": 3})
    for tp in ORDERS:
        for each in range(4):
            world.control.append(tp, b"%d" % each)
    return world


@pytest.fixture
def admin(world: World) -> KafkaAdmin:
    """An admin client that knows them, and a group with two offsets."""
    admin = world.admin()
    admin.alter_offsets("billing", {ORDERS[0]: 3, ORDERS[1]: 1}).check()
    world.control.forget_requests()
    return admin


def test_offsets_are_planned_and_altered(world: World, admin: KafkaAdmin) -> None:
    """B638: to the start, the end, by a shift, a time, or by partition; within the log."""
    earliest = admin.plan_offsets("billing", OffsetSpec.EARLIEST)
    assert earliest[ORDERS[0]] == OffsetChange(3, 0, 0, 4)
    assert earliest[ORDERS[0]].skipped == -3
    assert earliest.keys() == set(ORDERS[:2])
    assert admin.plan_offsets("billing", OffsetSpec.LATEST)[ORDERS[1]].after == 4
    shifted = admin.plan_offsets("billing", Shift(-2), partitions=ORDERS)
    assert shifted[ORDERS[0]] == OffsetChange(3, 1, 0, 4)
    assert shifted[ORDERS[1]] == OffsetChange(1, 0, 0, 4, clamped=True)
    assert shifted[ORDERS[2]] == OffsetChange(None, 0, 0, 4, clamped=True)
    exact = admin.plan_offsets("billing", {ORDERS[2]: 2, ORDERS[0]: 9})
    assert exact[ORDERS[0]] == OffsetChange(3, 4, 0, 4, clamped=True)
    assert exact[ORDERS[2]].after == 2
    # The model's records are of its own time, long before the present.
    assert admin.plan_offsets("billing", timedelta(hours=1))[ORDERS[0]].after == 4
    first = admin.plan_offsets("billing", datetime(1970, 1, 1, tzinfo=UTC))
    assert first[ORDERS[0]].after == 0
    assert not world.control.requests("OffsetCommit")
    admin.alter_offsets(exact.group, exact.offsets).check()
    assert admin.group_offsets(["billing"])["billing"][ORDERS[0]] == OffsetAndMetadata(4)


def test_a_plan_has_an_error_for_each_partition(admin: KafkaAdmin) -> None:
    """B638: a partition that is not there has no plan; the others have."""
    missing = TopicPartition("missing", 0)
    plan = admin.plan_offsets("billing", {ORDERS[0]: 1, missing: 1})
    assert isinstance(plan.errors[missing], UnknownTopicOrPartitionException)
    assert plan[ORDERS[0]].after == 1


def test_a_throttled_reassignment(world: World, admin: KafkaAdmin) -> None:
    """B639: the throttle is set before, and removed once nothing is copied."""
    admin.create_topic("one", 4, 2, wait=True)
    before = {
        TopicPartition("one", each.index): tuple(each.replicas)
        for each in world.cluster.state.topics["one"].partitions
    }
    plan = admin.plan_reassignment(["one"], [1, 2])
    assert all(set(each) <= {1, 2} for each in plan.after.values())
    assert plan.before.items() <= before.items()
    assert plan.copies
    admin.start_reassignment(plan, throttle=1000).check()
    topic = ConfigResource.topic("one")
    broker = ConfigResource.broker(1)
    rate = "leader.replication.throttled.rate"
    assert "IncrementalAlterConfigs" in {str(each.api) for each in world.control.requests()}
    requests = [str(each.api) for each in world.control.requests()]
    first = requests.index("IncrementalAlterConfigs")
    assert first < requests.index("AlterPartitionReassignments")
    progress = admin.verify_reassignment(plan)
    assert set(progress.done) == plan.after.keys()
    assert progress.throttle_removed
    assert not progress.differing
    entries = admin.describe_configs([topic, broker])
    assert entries[topic]["leader.replication.throttled.replicas"].value == ""
    assert rate not in entries[broker] or entries[broker][rate].value is None
    back = admin.verify_reassignment(plan.undone())
    assert back.differing.keys() == plan.after.keys()


def test_a_plan_wants_live_brokers(admin: KafkaAdmin) -> None:
    """B639: one that is not live is refused, and nothing is moved."""
    error = error_of(lambda: admin.plan_reassignment(["orders"], [1, 7]))
    assert isinstance(error, IllegalStateException)
    assert "broker 7 is not live" in str(error)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda admin: admin.plan_offsets("a", "earliest"), "an OffsetSpec"),
        (lambda admin: admin.plan_offsets("a", OffsetSpec.MAX_TIMESTAMP), "not to MAX"),
        (lambda admin: admin.plan_offsets("a", datetime(2026, 1, 1)), "time zone"),  # noqa: DTZ001
        (lambda admin: admin.plan_offsets("a", {ORDERS[0]: -1}), "-1"),
        (
            lambda admin: admin.plan_offsets("a", {ORDERS[0]: 1}, partitions=ORDERS),
            "no offset of orders-1",
        ),
        (lambda _: Shift(text("1")), "by is an int"),
        (lambda admin: admin.start_reassignment({}), "a ReassignmentPlan"),
        (
            lambda admin: admin.start_reassignment(ReassignmentPlan({}, {}), throttle=0),
            "at least 1",
        ),
        (lambda admin: admin.plan_reassignment(["a"], ["1"]), "a broker's id"),
    ],
)
def test_bad_input_about_plans_is_refused(world: World, call: Any, text: str) -> None:
    """B610: before anything is asked."""
    admin = world.admin()
    with pytest.raises((TypeError, ValueError), match=text):
        call(admin)
    assert not world.control.requests()
