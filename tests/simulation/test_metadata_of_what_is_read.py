"""Metadata of what is read, in virtual time: asked for unasked, and what comes of errors."""

from itertools import pairwise

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.network_thread.wire.versions import Versions
from prokurist.testing.cluster.journal import Entry
from prokurist.types import TopicPartition
from tests.simulation.direct_requests import Asked, node
from tests.simulation.looking_up import END, ORDERS, TP, look_up
from tests.simulation.world import Member, World

OTHER, MISSING = TopicPartition("other", 0), TopicPartition("missing", 0)


def questions(world: World) -> list[Entry]:
    """The requests for metadata that reached a broker."""
    return world.cluster.journal.entries("Metadata")


def refresh(world: World, seconds: float = 0.1) -> None:
    """Have metadata asked for in the background."""
    world.members[0].side.metadata.request_update()
    world.members[0].network.wake()
    world.clock.sleep(seconds)


def reading(world: World, *partitions: TopicPartition) -> KafkaConsumer:
    """A consumer that knows its positions, and its cluster."""
    consumer = world.consumer(fetches=False, group_id=None, allow_auto_create_topics=False)
    consumer.assign(partitions)
    for tp in partitions:
        consumer.seek(tp, 0)
    refresh(world)
    world.clock.sleep(1.0)
    world.control.forget_requests()
    return consumer


def leads(member: Member, tp: TopicPartition = TP) -> bool:
    """Whether a partition's leader is known."""
    return member.side.metadata.cluster.leader(tp) is not None


@pytest.mark.parametrize("release", ["2.4", "4.3"])
def test_a_recreated_topic(release: str) -> None:
    """B196: by its new id; without ids once several answers in a row say so."""
    world = World()
    member = world.client(cap=Versions.of_kafka(release))
    world.control.set_epoch(TP, 5)
    look_up(world, member)
    world.control.recreate_topic("orders")
    began = world.clock.time
    world.control.append(TP, b"v")
    assert look_up(world, member, timeout=10.0) == {TP: 1}
    assert world.clock.time - began < 2.0
    assert member.side.metadata.cluster.leader_epoch(TP) == 0


def test_an_answer_that_was_overtaken() -> None:
    """B196: an older epoch is ignored, for that partition alone."""
    world = World(nodes=2)
    with reading(world, *ORDERS):
        metadata = world.members[0].side.metadata
        world.control.move_leader(TP)
        refresh(world)
        leader = metadata.cluster.leader(TP)
        world.control.set_epoch(TP, 0)
        world.control.move_leader(ORDERS[1])
        refresh(world)
        assert metadata.cluster.leader_epoch(TP) == 1
        assert metadata.cluster.leader(TP) == leader
        assert metadata.cluster.leader_epoch(ORDERS[1]) == 1


@pytest.mark.parametrize(("code", "kept"), [(5, True), (7, True), (3, False), (29, False)])
def test_what_an_error_leaves_of_a_topic(code: int, *, kept: bool) -> None:
    """B200: one that passes leaves its leaders known; the rest is kept in any case."""
    world = World(topics={"orders": 3, "other": 1})
    with reading(world, TP, OTHER):
        member = world.members[0]
        world.control.fail("Metadata", code, times=1, topic="orders")
        refresh(world, 0.01)
        assert leads(member) is kept
        assert leads(member, OTHER)
        assert member.side.metadata.cluster.topics["orders"].error == code


def test_a_topic_that_is_missing_is_waited_for_quietly() -> None:
    """B195, B265: asked for more and more seldom, and no error; then it is there."""
    world = World()
    with reading(world, TP, MISSING) as consumer:
        turns = world.members[0].network.turns
        assert not consumer.poll(60.0)
        asked = [entry.at for entry in questions(world)]
        assert 55 <= len(asked) <= 80
        assert world.members[0].network.turns - turns < 400
        world.control.create_topic("missing")
        consumer.poll(1.2)
        assert leads(world.members[0], MISSING)
        world.control.forget_requests()
        consumer.poll(30.0)
        assert not questions(world)


@pytest.mark.parametrize("timeout", [0.05, 0.2, 0.35, 0.5, 0.65, 0.8])
def test_a_missing_topic_is_waited_for_after_a_call_about_it(timeout: float) -> None:
    """B195: also after one that left during its own pause, before it asked again."""
    world = World()
    with reading(world, TP, MISSING) as consumer:
        with pytest.raises(errors.TimeoutException):
            consumer.end_offsets([MISSING], timeout=timeout)
        world.control.forget_requests()
        consumer.poll(5.0)
        assert questions(world)
        world.control.create_topic("missing")
        consumer.poll(1.2)
        assert leads(world.members[0], MISSING)


def test_a_partition_without_a_leader_is_waited_for() -> None:
    """B195: its leader is known soon after there is one, without a call."""
    world = World(nodes=2, topics={})
    world.control.create_topic("orders", 2, replication=1)
    with reading(world, TP, ORDERS[1]) as consumer:
        leader = world.control.leader(TP)[0]
        world.control.kill(leader)
        consumer.poll(10.0)
        assert not leads(world.members[0])
        world.control.restart(leader)
        consumer.poll(1.2)
        assert leads(world.members[0])


def test_a_leader_that_is_not_among_the_brokers_is_waited_for() -> None:
    """B195: between a broker's end and the election; the next answer is asked for soon."""
    world = World(nodes=2)
    with reading(world, TP) as consumer:
        leader = world.control.leader(TP)[0]
        world.cluster.state.broker(leader).registered = False
        refresh(world)
        world.control.move_leader(TP)
        consumer.poll(0.5)
        assert leads(world.members[0])
        world.cluster.state.broker(leader).registered = True


def test_a_name_that_cannot_be_asked_for_spoils_nothing() -> None:
    """B200: it is no topic; the metadata of others is there, and not asked for on and on."""
    world = World()
    with reading(world, TP, TopicPartition("\ud800", 0)) as consumer:
        assert leads(world.members[0])
        assert not consumer.poll(30.0)
        assert not questions(world)


def test_answers_that_say_the_same_are_asked_for_more_and_more_seldom() -> None:
    """B197: regardless of the requests for them; something new makes it quick again."""
    world = World(nodes=2)
    with reading(world, TP):
        for _ in range(500):
            refresh(world, 0.01)
        asked = [entry.at for entry in questions(world)]
        gaps = [later - earlier for earlier, later in pairwise(asked)]
        assert len(asked) < 12
        assert gaps[0] < 0.15
        assert 0.75 < gaps[-1] <= 1.05
        world.control.move_leader(TP)
        refresh(world, 1.1)
        world.control.forget_requests()
        refresh(world, 0.01)
        assert len(questions(world)) == 1


def test_another_topic_is_asked_for_at_once() -> None:
    """B197: the backoff of answers that stay the same does not delay others."""
    world = World(topics={"orders": 3, "other": 1})
    with reading(world, TP, MISSING):
        world.clock.sleep(20.0)
        began = world.clock.time
        assert look_up(world, world.members[0], {OTHER: END}) == {OTHER: 0}
        assert world.clock.time - began < 0.05


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (29, errors.TopicAuthorizationException),
        (17, errors.InvalidTopicException),
        (32000, errors.UnknownServerException),
    ],
)
def test_an_error_that_belongs_to_no_call(
    code: int, error: type[errors.KafkaException]
) -> None:
    """B199, B200, B201, CONTRACT 2.8: raised by a poll, once; when it is mended all goes on."""
    world = World(topics={"orders": 3, "other": 1})
    with reading(world, TP, OTHER) as consumer:
        with world.control.fail("Metadata", code, times=None, topic="orders"):
            refresh(world)
            refresh(world, 2.0)
            with pytest.raises(error) as caught:
                consumer.poll(1.0)
            assert getattr(caught.value, "topics", ("orders",)) == ("orders",)
            assert not consumer.poll(1.0)
        refresh(world, 2.0)
        assert not consumer.poll(1.0)
        assert leads(world.members[0])


@pytest.mark.parametrize("code", [29, 17, -1])
def test_an_error_that_is_over_before_a_poll(code: int) -> None:
    """B491: no poll raises it; but that of another topic, which is refused still."""
    world = World(topics={"orders": 3, "other": 1})
    with reading(world, TP, OTHER) as consumer:
        with world.control.fail("Metadata", code, times=None, topic="orders"):
            refresh(world, 5.0)
            world.control.fail("Metadata", 29, times=None, topic="other")
            refresh(world, 5.0)
        refresh(world, 5.0)
        with pytest.raises(errors.TopicAuthorizationException) as refused:
            consumer.poll(1.0)
        assert refused.value.topics == ("other",)
        assert not consumer.poll(1.0)


def test_two_errors_are_raised_by_two_polls() -> None:
    """B164, B200: one each; a poll that waits is ended by the first."""
    world = World(topics={"orders": 3, "other": 1})
    with reading(world, TP, OTHER) as consumer:
        world.control.fail("Metadata", 29, times=None, topic="orders")
        world.control.fail("Metadata", 17, times=None, topic="other")
        metadata, network = world.members[0].side.metadata, world.members[0].network
        world.at(world.clock.time + 1.0, metadata.request_update)
        world.at(world.clock.time + 1.0, network.wake)
        began = world.clock.time
        with pytest.raises(errors.InvalidTopicException) as invalid:
            consumer.poll(30.0)
        assert world.clock.time - began < 1.1
        with pytest.raises(errors.TopicAuthorizationException) as refused:
            consumer.poll(30.0)
        assert (invalid.value.topics, refused.value.topics) == (("other",), ("orders",))
        assert not consumer.poll(1.0)


def test_a_question_that_fails_as_a_whole() -> None:
    """B199: where no call waits for it a poll raises it; what was known is kept."""
    world = World()
    with reading(world, TP) as consumer:
        world.control.fail("Metadata", -1, times=1, whole=True)
        refresh(world)
        with pytest.raises(errors.UnknownServerException):
            consumer.poll(1.0)
        assert not consumer.poll(1.0)
        assert leads(world.members[0])


def test_what_a_call_asks_about_is_told_to_that_call_alone() -> None:
    """CONTRACT 2.8: no poll raises it once more."""
    world = World(topics={"orders": 1, "secret": 1})
    secret = TopicPartition("secret", 0)
    with world.consumer(fetches=False, group_id=None) as consumer:
        consumer.assign([TP, secret])
        consumer.seek(TP, 0)
        with world.control.deny(topic="secret"):
            with pytest.raises(errors.TopicAuthorizationException):
                consumer.position(secret)
            consumer.seek(secret, 0)
            assert not consumer.poll(1.0)


def test_an_error_of_what_is_read_no_more() -> None:
    """CONTRACT 2.8: dropped with the assignment that it belongs to."""
    world = World(topics={"orders": 3, "other": 1})
    with reading(world, TP, OTHER) as consumer:
        with world.control.fail("Metadata", 29, times=1, topic="orders"):
            refresh(world)
        consumer.assign(OTHER)
        assert not consumer.poll(1.0)
        consumer.assign([TP, OTHER])
        consumer.seek(TP, 0)
        assert not consumer.poll(1.0)


def test_nothing_read_nothing_asked() -> None:
    """B198: without an assignment the topics are forgotten with the next answer."""
    world = World()
    with reading(world, TP) as consumer:
        assert world.members[0].side.metadata.cluster.topics
        consumer.unsubscribe()
        refresh(world)
        assert not world.members[0].side.metadata.cluster.topics
        (entry,) = questions(world)
        assert not entry.body.topics


def test_brokers_that_leave_take_their_connections_along() -> None:
    """B203: what the client keeps of nodes does not grow; what is yet to be answered stays."""
    world = World(nodes=3)
    with reading(world, *ORDERS):
        member = world.members[0]
        connections = member.side.client._connections
        for number in (2, 3):
            Asked(world, member, node(world, number))
        world.clock.sleep(0.1)
        assert {number for number, _ in connections if number > 0} >= {2, 3}
        world.control.hold("FindCoordinator", node=3)
        Asked(world, member, node(world, 3))
        world.clock.sleep(0.1)
        for number in (2, 3):
            world.cluster.state.miss(number)
        refresh(world)
        assert 2 not in {number for number, _ in connections}
        assert 3 in {number for number, _ in connections}
        world.control.heal()
        refresh(world, 3.0)
        refresh(world, 3.0)
        assert 3 not in {number for number, _ in connections}
        for number in (2, 3):
            world.control.restart(number)
