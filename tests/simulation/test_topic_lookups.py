"""Look-ups of topics in virtual time: the snapshot first, then a question of the call's own."""

from typing import cast

import pytest

from prokurist import errors
from prokurist.events.application_events import ListTopics, LookUpTopic, Withdraw
from prokurist.network_thread.wire.versions import Versions
from prokurist.testing.cluster.journal import Entry
from prokurist.types import Node, PartitionInfo
from tests.simulation.looking_up import END, ORDERS, idle, look_up
from tests.simulation.world import Member, World


def partitions_for(
    world: World, member: Member, topic: str = "orders", timeout: float = 5.0
) -> list[PartitionInfo]:
    """Look a topic up, as `partitions_for` does."""
    answer = world.ask(member, LookUpTopic(world.call("partitions_for", timeout), topic))
    return cast("list[PartitionInfo]", answer)


def list_topics(
    world: World, member: Member, *names: str, timeout: float = 5.0
) -> dict[str, list[PartitionInfo]]:
    """List all topics, or those that are named, as `list_topics` does."""
    asked = frozenset(names) or None
    answer = world.ask(member, ListTopics(world.call("list_topics", timeout), asked))
    return cast("dict[str, list[PartitionInfo]]", answer)


def questions(world: World) -> list[Entry]:
    """The requests for metadata that reached a broker."""
    return world.cluster.journal.entries("Metadata")


def test_where_the_partitions_of_a_topic_are() -> None:
    """B195: in order, with leaders, replicas, epochs and the topic's id; one request."""
    world = World(nodes=2)
    orders = world.cluster.state.topics["orders"]
    orders.partitions[1].elect(2)
    member = world.client()
    one, two = (Node(number, f"10.0.0.{number}", 9092) for number in (1, 2))
    assert partitions_for(world, member) == [
        PartitionInfo("orders", 0, one, (one, two), (one, two), (), 0, orders.id),
        PartitionInfo("orders", 1, two, (two, one), (two, one), (), 1, orders.id),
        PartitionInfo("orders", 2, one, (one, two), (one, two), (), 0, orders.id),
    ]
    assert len(questions(world)) == 1
    assert idle(member)


@pytest.mark.parametrize("release", ["2.4", "2.8", "3.9", "4.3"])
def test_older_protocols_answer_the_same(release: str) -> None:
    """Capped to what an older Kafka speaks, the answers are the same."""
    world = World(topics={"a": 1, "b": 2})
    member = world.client(cap=Versions.of_kafka(release))
    found = partitions_for(world, member, "b")
    assert [each.partition for each in found] == [0, 1]
    told = world.cluster.state.topics["b"].id if release != "2.4" else None
    assert [each.topic_id for each in found] == [told, told]
    assert {name: len(found) for name, found in list_topics(world, member).items()} == {
        "a": 1,
        "b": 2,
    }


def test_what_the_snapshot_knows_is_answered_from_it() -> None:
    """B9, B21: even without any time, and without a request."""
    world = World()
    member = world.client()
    look_up(world, member)
    received = world.cluster.journal.received
    call = world.call("partitions_for", 0.0)
    member.thread.mailbox.post(LookUpTopic(call, "orders"))
    world.clock.sleep(0.01)
    assert len(call.result()) == 3
    assert world.cluster.journal.received == received


def test_what_the_snapshot_has_an_error_for_is_asked() -> None:
    """B201: an old refusal is no answer."""
    world = World()
    member = world.client()
    world.control.fail("Metadata", 29, times=1)
    with pytest.raises(errors.TopicAuthorizationException):
        look_up(world, member)
    assert member.side.metadata.cluster.topics["orders"].error == 29
    assert len(partitions_for(world, member)) == 3


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("operation", ["partitions_for", "list_topics"])
def test_without_time_nothing_is_sent(operation: str, *, warm: bool) -> None:
    """B9, B10: TimeoutException without a wait, and no request, even on a warm connection."""
    world = World(topics={"orders": 1, "payments": 1})
    member = world.client()
    if warm:
        partitions_for(world, member)
    received = world.cluster.journal.received
    call = world.call(operation, 0.0)
    member.thread.mailbox.post(
        ListTopics(call) if operation == "list_topics" else LookUpTopic(call, "payments")
    )
    world.clock.sleep(1.0)
    with pytest.raises(errors.TimeoutException, match="timeout 0"):
        call.result()
    assert world.cluster.journal.received == received
    assert idle(member)


def test_a_topic_that_is_not_there_has_no_partitions() -> None:
    """B195: empty, after three answers with a backoff between them, and no TimeoutException."""
    world = World()
    member = world.client()
    began = world.clock.time
    assert partitions_for(world, member, "nothing", timeout=60.0) == []
    assert 0.24 <= world.clock.time - began <= 0.4
    assert len(questions(world)) == 3
    assert idle(member)


def test_unknown_is_an_answer_where_time_runs_out() -> None:
    """B195: a deadline within the retries ends them, and not the answer."""
    world = World()
    member = world.client()
    began = world.clock.time
    assert partitions_for(world, member, "nothing", timeout=0.15) == []
    assert world.clock.time - began < 0.15


def test_a_topic_that_a_broker_does_not_know_yet() -> None:
    """B195: two brokers that lag behind do not make it unknown."""
    world = World()
    member = world.client()
    world.control.fail("Metadata", 3, times=2)
    assert len(partitions_for(world, member)) == 3


@pytest.mark.parametrize("allowed", [True, False])
def test_asking_may_make_a_topic(*, allowed: bool) -> None:
    """allow.auto.create.topics: where the broker makes it, the second answer has it."""
    world = World()
    world.cluster.state.auto_create = True
    member = world.client(allow_auto_create_topics=allowed)
    assert len(partitions_for(world, member, "new")) == int(allowed)
    assert ("new" in world.cluster.state.topics) is allowed


@pytest.mark.parametrize(
    ("topic", "code", "error"),
    [
        ("no such name!", 0, errors.InvalidTopicException),
        ("", 0, errors.InvalidTopicException),
        ("\ud800", 0, errors.InvalidTopicException),
        ("x" * 40_000, 0, errors.InvalidTopicException),
        ("orders", 17, errors.InvalidTopicException),
        ("orders", 29, errors.TopicAuthorizationException),
        ("orders", -1, errors.UnknownServerException),
        ("orders", 32000, errors.UnknownServerException),
    ],
)
def test_what_no_patience_mends_is_raised_at_once(
    topic: str, code: int, error: type[errors.KafkaException]
) -> None:
    """B6, B199, B201: the error with the topic; once it is mended the next call succeeds."""
    world = World()
    member = world.client()
    fault = world.control.fail("Metadata", code, times=None) if code else None
    began = world.clock.time
    with pytest.raises(error) as caught:
        partitions_for(world, member, topic, timeout=60.0)
    assert world.clock.time - began < 0.1
    assert getattr(caught.value, "topics", (topic,)) == (topic,)
    assert len(questions(world)) <= 1
    assert idle(member)
    if fault is not None:
        fault.undo()
    assert len(partitions_for(world, member)) == 3


def test_a_partition_without_a_leader_is_a_partition() -> None:
    """LEADER_NOT_AVAILABLE of a partition is no error: its leader is None."""
    world = World(nodes=2, topics={})
    world.control.create_topic("orders", 2, replication=1)
    world.control.kill(1)
    member = world.client()
    first, second = partitions_for(world, member)
    assert (first.leader, first.offline_replicas) == (None, (Node(1, "", -1),))
    assert second.leader is not None
    assert [each.leader for each in list_topics(world, member)["orders"]] == [
        None,
        second.leader,
    ]


def test_a_topic_whose_leaders_are_being_elected() -> None:
    """B4: said of the topic as a whole it is retried, until the deadline with its cause."""
    world = World()
    member = world.client()
    world.control.fail("Metadata", 5, times=2)
    assert len(partitions_for(world, member)) == 3
    world.control.fail("Metadata", 5, times=None)
    for ask in (partitions_for, list_topics):
        with pytest.raises(errors.TimeoutException) as caught:
            ask(world, member, timeout=2.0)
        assert type(caught.value.last_error) is errors.LeaderNotAvailableException
        assert len(caught.value.attempts) > 3


def test_all_topics_that_the_user_may_see() -> None:
    """The list has what is there and may be seen, by name, and asks once."""
    world = World(topics={"b": 2, "a": 1, "secret": 1, "going": 1})
    member = world.client()
    world.control.deny(topic="secret")
    world.control.fail("Metadata", 3, times=1, topic="going")
    found = list_topics(world, member)
    assert list(found) == ["a", "b"]
    assert [each.partition for each in found["b"]] == [0, 1]
    (entry,) = questions(world)
    assert entry.body.topics is None
    assert idle(member)


def test_a_cluster_without_topics_has_an_empty_list() -> None:
    """No topic is an answer, not an error."""
    world = World(topics={})
    assert list_topics(world, world.client()) == {}


def test_a_topic_in_the_list_that_nothing_can_be_said_of() -> None:
    """B6: an error that no patience mends is raised, with no list that lacks it."""
    world = World(topics={"a": 1, "b": 1})
    member = world.client()
    world.control.fail("Metadata", -1, times=None, topic="b")
    with pytest.raises(errors.UnknownServerException):
        list_topics(world, member)


def test_several_topics_are_asked_for_at_once() -> None:
    """B465: one request names them all and no others, whatever the snapshot knows."""
    world = World(topics={"orders": 3, "bills": 2, "other": 1})
    member = world.client()
    look_up(world, member)
    world.control.recreate_topic("orders", 4)
    world.control.forget_requests()
    found = list_topics(world, member, "orders", "bills")
    assert {name: len(infos) for name, infos in found.items()} == {"bills": 2, "orders": 4}
    assert found["orders"][0].topic_id == world.cluster.state.topics["orders"].id
    (entry,) = questions(world)
    assert sorted(each.name for each in entry.body.topics) == ["bills", "orders"]
    assert idle(member)


def test_of_several_topics_those_that_do_not_exist_are_left_out() -> None:
    """B465: asked for three times, the others once; a deadline ends that as well."""
    world = World(topics={"orders": 1})
    member = world.client()
    began = world.clock.time
    assert list(list_topics(world, member, "orders", "gone", "nothing")) == ["orders"]
    assert 0.24 <= world.clock.time - began <= 0.4
    assert [len(each.body.topics) for each in questions(world)] == [3, 2, 2]
    assert list(list_topics(world, member, "orders", "gone", timeout=0.15)) == ["orders"]
    world.cluster.state.auto_create = True
    assert list(list_topics(world, member, "new")) == []
    assert "new" not in world.cluster.state.topics
    world.control.fail("Metadata", 3, times=2, topic="orders")
    assert list(list_topics(world, member, "orders")) == ["orders"]
    world.control.fail("Metadata", 5, times=1, topic="orders")
    assert list(list_topics(world, member, "orders", "gone")) == ["orders"]


def test_of_several_topics_one_is_refused() -> None:
    """B465: the error names it, and not the others."""
    world = World(topics={"orders": 1, "secret": 1})
    member = world.client()
    world.control.deny(topic="secret")
    with pytest.raises(errors.TopicAuthorizationException) as caught:
        list_topics(world, member, "orders", "secret")
    assert caught.value.topics == ("secret",)
    with pytest.raises(errors.InvalidTopicException):
        list_topics(world, member, "orders", "x" * 40_000)


def test_no_interest_is_left_behind() -> None:
    """B198: neither look-up changes what the client knows or will ask for."""
    world = World(topics={"orders": 3, "payments": 1})
    member = world.client(metadata_max_age_ms=10_000)
    look_up(world, member)
    before = member.side.metadata.cluster
    partitions_for(world, member, "payments")
    list_topics(world, member)
    assert member.side.metadata.cluster is before
    world.control.forget_requests()
    world.clock.sleep(11.0)
    assert [len(entry.body.topics) for entry in questions(world)] == [0]


def test_the_next_broker_is_asked() -> None:
    """CONTRACT 4: disconnected, the question goes to another broker after a backoff."""
    world = World(nodes=3)
    member = world.client()
    partitions_for(world, member)
    world.control.cut("Metadata", times=1)
    world.control.forget_requests()
    assert len(partitions_for(world, member)) == 3
    first, second = questions(world)
    assert first.node != second.node
    assert 0.08 <= second.at - first.at <= 0.13


def test_an_answer_that_names_no_broker_is_none() -> None:
    """CONTRACT 4: an empty list of brokers is asked again, until there is one."""
    world = World()
    member = world.client()
    world.cluster.state.broker(1).registered = False
    call = world.call("partitions_for", 10.0)
    member.thread.mailbox.post(LookUpTopic(call, "orders"))
    world.clock.sleep(1.0)
    assert call.is_open
    world.cluster.state.broker(1).registered = True
    world.clock.wait(call.waiter, call.deadline.at)
    assert len(call.result()) == 3


THROTTLES = "which throttles this client, as it is over a quota"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("frozen", "retry backoff"),
        ("killed", "retry backoff"),
        ("unreachable", "a connection to bootstrap broker (10.0.0.1:9092)"),
        ("throttled", f"bootstrap broker (10.0.0.1:9092), {THROTTLES}"),
    ],
)
@pytest.mark.parametrize("operation", ["partitions_for", "list_topics"])
def test_who_cannot_be_answered_hears_so_in_time(
    operation: str, state: str, reason: str
) -> None:
    """B1, B5, B265: at the deadline, with where the time went, and without spinning."""
    world = World()
    member = world.client()
    if state == "frozen":
        look_up(world, member)
        world.control.freeze()
    elif state == "killed":
        world.control.kill(1, missed=False)
    elif state == "unreachable":
        member.network.block("10.0.0.1", 9092)
    else:
        world.control.throttle("Metadata", 120.0, times=1)
        partitions_for(world, member)
    turns, began = member.network.turns, world.clock.time
    call = world.call(operation, 60.0)
    event = ListTopics(call) if operation == "list_topics" else LookUpTopic(call, "payments")
    with pytest.raises(errors.TimeoutException) as caught:
        world.ask(member, event)
    assert world.clock.time == pytest.approx(began + 60.0)
    assert member.network.turns - turns < 1000
    assert reason in {each.reason for each in caught.value.waits}
    world.clock.sleep(0.01)
    assert not len(member.side.calls)
    assert not member.side.client.waiting


def test_what_is_forsaken_is_forgotten() -> None:
    """B24: a caller who leaves takes his question along."""
    world = World()
    member = world.client()
    member.network.block("10.0.0.1", 9092)
    calls = [world.call("partitions_for", 60.0), world.call("list_topics", 60.0)]
    member.thread.mailbox.post(LookUpTopic(calls[0], "orders"))
    member.thread.mailbox.post(ListTopics(calls[1]))
    world.clock.sleep(0.5)
    assert member.side.client.waiting == 2
    for call in calls:
        call.leave(world.clock.time, KeyboardInterrupt())
        member.thread.mailbox.post(Withdraw(call))
    world.clock.sleep(0.01)
    assert idle(member)


def test_without_a_group_everything_can_be_looked_up() -> None:
    """B51: only what needs a group is refused to those who have none."""
    world = World()
    member = world.client(group_id=None)
    assert len(partitions_for(world, member)) == 3
    assert look_up(world, member, {ORDERS[2]: END}) == {ORDERS[2]: 0}
    assert list(list_topics(world, member)) == ["orders"]


def test_a_call_that_ends_by_its_time_says_nothing_against_a_broker() -> None:
    """Its answers are late, and no other address is asked for that."""
    world = World(nodes=1)
    member = world.client()
    assert partitions_for(world, member)
    before = set(member.side.client._connections)
    with world.control.answer_late("Metadata", 0.5):
        for _ in range(3):
            with pytest.raises(errors.TimeoutException):
                list_topics(world, member, timeout=0.1)
    assert set(list_topics(world, member)) == {"orders"}
    assert set(member.side.client._connections) == before
