"""Groups as the admin client lists, describes, changes and deletes them, on the model."""

from typing import Any

import pytest

from prokurist import OffsetAndMetadata, TopicPartition
from prokurist.admin import (
    ALL,
    GroupKind,
    GroupState,
    KafkaAdmin,
    MemberToRemove,
)
from prokurist.errors import (
    AdminException,
    GroupAuthorizationException,
    GroupIdNotFoundException,
    GroupNotEmptyException,
    GroupSubscribedToTopicException,
    IncompleteListingException,
    TimeoutException,
    TopicAuthorizationException,
    UnknownMemberIdException,
    UnknownTopicOrPartitionException,
    UnsupportedVersionException,
)
from tests.simulation.test_admin_engine import error_of
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")

ORDERS = [TopicPartition("orders", each) for each in range(3)]


@pytest.fixture
def world() -> World:
    """Three brokers, each of which coordinates a group."""
    world = World(nodes=3, topics={"orders": 3})
    for node, group in enumerate(("billing", "audit", "idle"), 1):
        world.control.move_coordinator(group, node)
    return world


@pytest.fixture
def admin(world: World) -> KafkaAdmin:
    """An admin client that knows them."""
    admin = world.admin()
    admin.describe_cluster()
    world.control.forget_requests()
    return admin


def join(world: World, group: str, protocol: str, topic: str = "orders") -> Any:
    """A consumer that has all partitions of a topic."""
    consumer = world.consumer(
        group_id=group,
        group_protocol=protocol,
        client_id=f"{group}-client",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    consumer.subscribe([topic])
    consumer.wait_until_ready(10.0)
    return consumer


def three(world: World, admin: KafkaAdmin) -> None:
    """A group of each protocol, with a member each, and one without members."""
    join(world, "billing", "classic")
    join(world, "audit", "consumer")
    admin.alter_offsets("idle", {ORDERS[0]: 5}).check()
    world.control.forget_requests()


def test_groups_of_all_brokers_are_listed(world: World, admin: KafkaAdmin) -> None:
    """B619: each with its kind, state and coordinator; filtered by kind, state and protocol."""
    three(world, admin)
    found = {each.group_id: each for each in admin.list_groups()}
    assert found.keys() == {"billing", "audit", "idle"}
    assert (found["billing"].kind, found["billing"].coordinator) == (GroupKind.CLASSIC, 1)
    assert (found["audit"].kind, found["audit"].state) == (GroupKind.CONSUMER, "Stable")
    assert [each.group_id for each in admin.list_groups(kinds=["Consumer"])] == ["audit"]
    assert [each.group_id for each in admin.list_groups(states=[GroupState.EMPTY])] == ["idle"]
    assert not admin.list_groups(protocol_types=["connect"])
    assert not admin.list_groups(kinds=[GroupKind.SHARE])


def test_a_list_is_whole_or_an_error(world: World, admin: KafkaAdmin) -> None:
    """B619: a frozen broker is named; with `partial=True` the others' groups are there."""
    three(world, admin)
    world.control.freeze(2)
    error = error_of(lambda: admin.list_groups(timeout=2))
    assert isinstance(error, IncompleteListingException)
    assert list(error.errors) == [2]
    found = admin.list_groups(partial=True, timeout=2)
    assert {each.group_id for each in found} == {"billing", "idle"}
    assert not found.complete
    assert isinstance(found.errors[2], TimeoutException)


def test_filters_that_brokers_lack_are_applied_here(world: World, admin: KafkaAdmin) -> None:
    """B620: without kinds all are classic; without states a list by states is an error."""
    admin.alter_offsets("idle", {ORDERS[0]: 5}).check()
    world.control.offer("ListGroups", 0, 3)
    world.control.disconnect()
    assert [each.group_id for each in admin.list_groups(kinds=["classic"])] == ["idle"]
    assert not admin.list_groups(kinds=["consumer"])
    assert not admin.list_groups(protocol_types=["connect"])
    error = error_of(lambda: admin.list_groups(states=["Empty"]))
    assert isinstance(error, IncompleteListingException)
    refused = next(iter(error.errors.values()))
    assert isinstance(refused, UnsupportedVersionException)
    assert "2.6" in str(refused)


def test_groups_of_each_kind_are_described(world: World, admin: KafkaAdmin) -> None:
    """B621: members with their partitions, whatever the kind; one that is not there fails."""
    three(world, admin)
    found = admin.describe_groups(["billing", "audit", "idle", "nope"], operations=True)
    assert isinstance(found.errors["nope"], GroupIdNotFoundException)
    billing, audit, idle = found["billing"], found["audit"], found["idle"]
    assert (billing.kind, billing.state) == (GroupKind.CLASSIC, "Stable")
    assert (audit.kind, audit.state) == (GroupKind.CONSUMER, "Stable")
    assert (idle.kind, idle.state, idle.members) == (GroupKind.CLASSIC, "Empty", ())
    assert billing.coordinator is not None
    assert billing.coordinator.id == 1
    assert billing.operations
    for group in (billing, audit):
        (member,) = group.members
        assert member.assignment == frozenset(ORDERS)
        assert member.topics == {"orders"}
        assert member.client_id == f"{group.group_id}-client"
    assert billing.members[0].is_classic
    assert audit.members[0].target == frozenset(ORDERS)
    assert audit.epoch == audit.target_epoch
    # After the look-up, two requests to each coordinator.
    for node in (1, 2, 3):
        asked = [
            each
            for each in world.control.requests(node=node)
            if each.api in {"ListGroups", "DescribeGroups", "ConsumerGroupDescribe"}
        ]
        assert len(asked) <= 3 if node == world.control.coordinator("nope") else 2


def test_a_forbidden_group_is_an_error_of_its_own(world: World, admin: KafkaAdmin) -> None:
    """B621: the others are described."""
    three(world, admin)
    world.control.deny(group="audit")
    found = admin.describe_groups(["billing", "audit"])
    assert found["billing"].members
    assert isinstance(found.errors["audit"], GroupAuthorizationException)


def test_a_coordinator_that_moves_is_found_anew(world: World, admin: KafkaAdmin) -> None:
    """B621: between look-up and request: NOT_COORDINATOR, and no error of the call."""
    three(world, admin)
    admin.describe_group("idle")
    world.control.fail("DescribeGroups", 16, times=1)
    assert admin.describe_group("idle").state == "Empty"
    world.control.cut("ListGroups", times=1)
    assert admin.describe_group("idle").state == "Empty"


def test_a_look_begins_no_coordinator(world: World, admin: KafkaAdmin) -> None:
    """B622: in a cluster without groups nothing is looked up, which would create a topic."""
    world.control.lose_coordinators()
    assert isinstance(error_of(lambda: admin.describe_group("nope")), GroupIdNotFoundException)
    assert dict(admin.group_offsets({"nope": ORDERS})["nope"]) == dict.fromkeys(ORDERS)
    assert not world.control.requests("FindCoordinator")
    admin.alter_offsets("new", {ORDERS[0]: 1}).check()
    assert admin.describe_group("new").state == "Empty"


def test_offsets_are_altered_and_fetched(admin: KafkaAdmin) -> None:
    """B623: by an administrator: with metadata, for several groups in one request."""
    admin.alter_offsets(
        "idle", {ORDERS[0]: 5, ORDERS[1]: OffsetAndMetadata(7, "by hand", 3)}
    ).check()
    results = admin.alter_offsets("audit", {ORDERS[2]: 1, TopicPartition("nope", 0): 1})
    assert isinstance(
        results.errors[TopicPartition("nope", 0)], UnknownTopicOrPartitionException
    )
    found = admin.group_offsets({"idle": None, "audit": ORDERS, "none": ORDERS[:1]})
    assert found["idle"][ORDERS[1]] == OffsetAndMetadata(7, "by hand", 3)
    assert found["idle"].keys() == set(ORDERS[:2])
    audit = dict(found["audit"])
    assert audit == {ORDERS[0]: None, ORDERS[1]: None, ORDERS[2]: OffsetAndMetadata(1)}
    assert dict(found["none"]) == {ORDERS[0]: None}
    assert admin.group_offsets(["idle"])["idle"][ORDERS[0]] == OffsetAndMetadata(5)


def test_old_coordinators_are_asked_group_by_group(world: World, admin: KafkaAdmin) -> None:
    """B623: version 7 of OffsetFetch has one group."""
    world.control.offer("OffsetFetch", 1, 7)
    for each in ("a", "b"):
        world.control.move_coordinator(each, 1)
        admin.alter_offsets(each, {ORDERS[0]: 5}).check()
    found = admin.group_offsets(["a", "b"])
    assert found["a"][ORDERS[0]] == found["b"][ORDERS[0]] == OffsetAndMetadata(5)


def test_stable_offsets_are_waited_for(world: World, admin: KafkaAdmin) -> None:
    """B623: while a transaction commits offsets; without `stable` the former ones."""
    admin.alter_offsets("idle", {ORDERS[0]: 5}).check()
    fault = world.control.unstable_offsets("idle", ORDERS[0])
    assert admin.group_offsets(["idle"])["idle"][ORDERS[0]] == OffsetAndMetadata(5)
    late = admin.group_offsets(["idle"], stable=True, timeout=1)
    assert isinstance(late.errors["idle"], TimeoutException)
    world.at(world.clock.time + 1.0, fault.undo)
    found = admin.group_offsets(["idle"], stable=True, timeout=10)
    assert found["idle"][ORDERS[0]] == OffsetAndMetadata(5)


@pytest.mark.parametrize(("group", "protocol"), [("billing", "classic"), ("audit", "consumer")])
def test_a_group_with_members_is_not_altered(
    world: World, admin: KafkaAdmin, group: str, protocol: str
) -> None:
    """B624: GroupNotEmptyException for offsets and group; offsets it reads are not deleted."""
    consumer = join(world, group, protocol)
    consumer.commit_sync({ORDERS[0]: OffsetAndMetadata(3)})
    error = admin.alter_offsets(group, {ORDERS[0]: 1}).errors[ORDERS[0]]
    assert isinstance(error, GroupNotEmptyException)
    assert f"group {group} has members" in str(error)
    assert not error.may_have_happened
    assert isinstance(admin.delete_groups([group]).errors[group], GroupNotEmptyException)
    kept = admin.delete_offsets(group, ORDERS[:1]).errors[ORDERS[0]]
    assert isinstance(kept, GroupSubscribedToTopicException)
    assert admin.group_offsets([group])[group][ORDERS[0]] == OffsetAndMetadata(3)


def test_offsets_and_groups_are_deleted(admin: KafkaAdmin) -> None:
    """B625: one after the other; what is not there is an error of the group's items."""
    admin.alter_offsets("idle", {ORDERS[0]: 5, ORDERS[1]: 5}).check()
    admin.delete_offsets("idle", ORDERS[:1]).check()
    admin.delete_offsets("idle", ORDERS[:1]).check()
    assert list(admin.group_offsets(["idle"])["idle"]) == ORDERS[1:2]
    nope = admin.delete_offsets("nope", ORDERS[:2])
    assert all(isinstance(each, GroupIdNotFoundException) for each in nope.errors.values())
    assert len(nope.errors) == 2
    results = admin.delete_groups(["idle", "nope"])
    assert not results["idle"].earlier_attempt
    assert isinstance(results.errors["nope"], GroupIdNotFoundException)


def test_a_lost_answer_to_a_deletion_of_a_group(world: World, admin: KafkaAdmin) -> None:
    """B601: the repetition finds no such group: this call has deleted it."""
    admin.alter_offsets("idle", {ORDERS[0]: 5}).check()
    world.control.cut("DeleteGroups", times=1, applied=True)
    assert admin.delete_groups(["idle"], timeout=10)["idle"].earlier_attempt
    world.control.cut("DeleteGroups", times=1, applied=True)
    error = admin.delete_groups(["idle"], timeout=10)
    assert error["idle"].earlier_attempt


def test_members_are_removed(world: World, admin: KafkaAdmin) -> None:
    """B626: by name, or all; a member that is alive joins again."""
    consumer = join(world, "billing", "classic")
    (member,) = admin.describe_group("billing").members
    nobody = MemberToRemove("nobody")
    results = admin.remove_members("billing", [nobody, MemberToRemove(member.member_id)])
    assert isinstance(results.errors[nobody], UnknownMemberIdException)
    assert not results[MemberToRemove(member.member_id)].earlier_attempt
    assert not admin.describe_group("billing").members
    consumer.poll(10.0)
    consumer.wait_until_ready(30.0)
    (again,) = admin.describe_group("billing").members
    assert again.member_id != member.member_id
    world.control.cut("LeaveGroup", times=1, applied=True)
    (removed,) = admin.remove_members("billing", ALL, timeout=20).check().values()
    assert removed.earlier_attempt


def test_lag_in_one_call(world: World, admin: KafkaAdmin) -> None:
    """B627: all partitions that a group reads; an error of one is that row's alone."""
    world.control.create_topic("secret", 1)
    for tp in ORDERS:
        for each in range(4):
            world.control.append(tp, b"%d" % each)
    consumer = join(world, "audit", "consumer")
    consumer.commit_sync({ORDERS[0]: OffsetAndMetadata(3)})
    secret = TopicPartition("secret", 0)
    admin.alter_offsets("idle", {ORDERS[1]: 1, secret: 0}).check()
    world.control.fail("ListOffsets", 29, topic="secret")
    lags = admin.lag(newest=True)
    assert lags.keys() == {"audit", "idle"}
    rows = lags["audit"]
    assert rows.keys() == set(ORDERS)
    assert [rows[tp].lag for tp in ORDERS] == [1, 4, 4]
    assert rows[ORDERS[0]].member_id == admin.describe_group("audit").members[0].member_id
    assert rows[ORDERS[0]].newest_at is not None
    assert lags.total("audit") == 9
    idle = lags["idle"]
    assert idle[ORDERS[1]].lag == 3
    assert idle[ORDERS[1]].member_id is None
    assert isinstance(idle.errors[secret], TopicAuthorizationException)
    with pytest.raises(AdminException):
        lags.total("idle")
    only = admin.lag(["audit", "nope"])
    assert isinstance(only.errors["nope"], GroupIdNotFoundException)
    assert only.total("audit") == 9


def test_brokers_without_share_groups(admin: KafkaAdmin) -> None:
    """B636: an error of each item, which names what the broker lacks; nothing is created."""
    admin.alter_offsets("idle", {ORDERS[0]: 5}).check()
    found = admin.share_offsets(["idle"])
    assert isinstance(found.errors["idle"], UnsupportedVersionException)
    assert "DescribeShareGroupOffsets" in str(found.errors["idle"])
    altered = admin.alter_share_offsets("new", dict.fromkeys(ORDERS, 1))
    assert altered.errors.keys() == set(ORDERS)
    deleted = admin.delete_share_offsets("new", ["orders"])
    assert isinstance(deleted.errors["orders"], UnsupportedVersionException)
    assert {each.group_id for each in admin.list_groups()} == {"idle"}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda admin: admin.list_groups(kinds=["connect"]), "'connect' is none of them"),
        (lambda admin: admin.list_groups(states=["Running"]), "CompletingRebalance"),
        (lambda admin: admin.describe_groups("billing"), "given as a collection"),
        (lambda admin: admin.describe_group(3), "named by str, not 3"),
        (lambda admin: admin.alter_offsets("a", {ORDERS[0]: "5"}), "the offset of orders-0"),
        (lambda admin: admin.alter_offsets("a", {ORDERS[0]: -1}), "-1"),
        (lambda admin: admin.alter_offsets("", {ORDERS[0]: 1}), "one is empty"),
        (lambda admin: admin.group_offsets({"a": ["orders"]}), "a TopicPartition"),
        (lambda admin: admin.remove_members("a", ["m"]), "a MemberToRemove"),
        (lambda _admin: MemberToRemove(), "by its id or by its instance id"),
    ],
)
def test_bad_input_about_groups_is_refused(world: World, call: Any, text: str) -> None:
    """B610: before anything is asked."""
    admin = world.admin()
    with pytest.raises((TypeError, ValueError), match=text):
        call(admin)
    assert not world.control.requests()
