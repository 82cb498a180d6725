"""Bad items among good ones, and the time of a call of several steps."""

from typing import Any
from uuid import UUID

import pytest

from prokurist import TopicPartition
from prokurist.admin import KafkaAdmin, NewTopic, QuotaEntity
from prokurist.errors import TimeoutException
from prokurist.testing.cluster.apis import ApiName
from tests.simulation.test_admin_groups import admin, join, world
from tests.simulation.world import World

__all__ = ["admin", "world"]

pytestmark = pytest.mark.usefixtures("closed_at_the_end")


@pytest.mark.parametrize("bad", ["x" * 40_000, "\ud800"])
def test_a_value_that_cannot_be_written_fails_its_item_alone(
    world: World, admin: KafkaAdmin, bad: str
) -> None:
    """B840: of five topics one has a value that no request can carry; four are created."""
    topics = {f"t{each}": NewTopic(1) for each in range(5)}
    topics["t3"] = NewTopic(1, configs={"retention.ms": bad})
    results = admin.create_topics(topics, timeout=10)
    assert results.errors.keys() == {"t3"}
    assert not results.errors["t3"].may_have_happened
    assert {"t0", "t1", "t2", "t4"} <= world.cluster.state.topics.keys()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda admin: admin.delete_topics(["a", "\ud800"]), r"UTF-8: '\\ud800'"),
        (lambda admin: admin.describe_topics(["x" * 40_000]), "32767 bytes at most"),
        (lambda admin: admin.delete_topics([UUID(int=0)]), "the id of no topic"),
        (lambda admin: admin.list_offsets({TopicPartition("\ud800", 0): 0}), "UTF-8"),
        (
            lambda admin: admin.alter_quotas({QuotaEntity(user="a"): {"k": float("nan")}}),
            "a finite number",
        ),
    ],
)
def test_what_no_request_can_carry_is_refused(
    world: World, admin: KafkaAdmin, call: Any, text: str
) -> None:
    """B841: an id of zeros, a name that is no UTF-8, a quota that is no number: no request."""
    with pytest.raises(ValueError, match=text):
        call(admin)
    assert not world.control.requests()


def test_the_time_of_lag_is_the_whole_one(world: World, admin: KafkaAdmin) -> None:
    """B842: its first question has taken all time: the group has an error that names it."""
    join(world, "audit", "consumer")
    world.control.drop("ListGroups", times=None)
    lags = admin.lag(["audit"], timeout=3)
    assert isinstance(lags.errors["audit"], TimeoutException)
    assert "was given 3 s" in str(lags.errors["audit"])


def test_a_later_step_of_lag_names_the_whole_time(world: World, admin: KafkaAdmin) -> None:
    """B842: the look-up of the logs has no time left: its rows name what the call was given."""
    join(world, "audit", "consumer")
    world.control.drop("OffsetFetch", times=None)
    lags = admin.lag(["audit"], timeout=3)
    assert "was given 3 s" in str(lags.errors["audit"])


def test_a_topic_that_is_not_described_is_no_lag_of_0(world: World, admin: KafkaAdmin) -> None:
    """B843: nothing is known of a topic that members subscribe to: its row has the error."""
    consumer = world.consumer(group_id="audit", group_protocol="classic")
    consumer.subscribe(["orders", "secret"])
    consumer.poll(5.0)
    # It is not assigned yet, and this user may not look at it.
    world.control.create_topic("secret", 1)
    world.control.fail("Metadata", 29, topic="secret", times=None)
    lags = admin.lag(["audit"], timeout=10)
    assert TopicPartition("secret", 0) in lags["audit"].errors


def test_a_change_without_an_answer_keeps_no_question_waiting(
    world: World, admin: KafkaAdmin
) -> None:
    """B844: brokers work on one request of a connection at a time; changes have their own."""
    world.control.delay("CreateTopics", 60)
    for each in range(3):
        results = admin.create_topics({f"late{each}": NewTopic(1)}, timeout=1)
        assert results.errors
    began = world.clock.time
    assert "orders" in admin.list_topics(timeout=3)
    assert len(admin.list_groups(timeout=3).errors) == 0
    assert world.clock.time - began < 1


def test_a_silent_coordinator_holds_up_its_own_groups(world: World, admin: KafkaAdmin) -> None:
    """B845: kinds are looked up at each coordinator by itself: the other groups are there."""
    for group in ("billing", "audit", "idle"):
        admin.alter_offsets(group, {TopicPartition("orders", 0): 1}).check()
    world.control.drop("ListGroups", node=2, times=None)
    results = admin.describe_groups(["billing", "audit", "idle"], timeout=4)
    assert results.errors.keys() == {"audit"}
    assert results.succeeded.keys() == {"billing", "idle"}


@pytest.mark.parametrize("api", ["ListGroups", "OffsetFetch", "FindCoordinator"])
def test_a_silent_coordinator_keeps_no_other_lag(
    world: World, admin: KafkaAdmin, api: ApiName
) -> None:
    """B658: its groups have their own errors by the deadline; the others have their rows."""
    for group in ("billing", "audit", "idle"):
        admin.alter_offsets(group, {TopicPartition("orders", 0): 1}).check()
    began = world.clock.time
    world.control.drop(api, node=2, times=None)
    lags = admin.lag(["billing", "audit", "idle"], timeout=4)
    assert world.clock.time - began <= 4 + 0.1
    if api == "FindCoordinator":
        assert not lags.errors  # Another broker tells the coordinators.
        return
    assert lags.succeeded.keys() == {"billing", "idle"}
    assert lags.total("billing") == 0
    assert isinstance(lags.errors["audit"], TimeoutException)
    assert "was given 4 s" in str(lags.errors["audit"])


def test_a_silent_leader_keeps_no_other_lag(world: World, admin: KafkaAdmin) -> None:
    """B658: its partitions have their own errors; the group's other rows stand."""
    tps = [TopicPartition("orders", each) for each in range(3)]
    admin.alter_offsets("billing", dict.fromkeys(tps, 1)).check()
    world.control.drop("ListOffsets", node=2, times=None)
    lags = admin.lag(["billing"], timeout=4)["billing"]
    assert lags.succeeded
    assert lags.errors
    for error in lags.errors.values():
        assert isinstance(error, TimeoutException)
        assert "was given 4 s" in str(error)


def test_a_coordinator_that_recovers_is_waited_for(world: World, admin: KafkaAdmin) -> None:
    """B658: a group whose answer comes late in the call's time has its lag."""
    admin.alter_offsets("audit", {TopicPartition("orders", 0): 1}).check()
    world.control.drop("ListGroups", node=2, times=1)
    assert admin.lag(["audit"], timeout=40).total("audit") == 0
