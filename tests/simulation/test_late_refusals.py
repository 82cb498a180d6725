"""Refusals of commits that come when their callers have left: what they say of the member."""

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from tests.simulation.joining import Notes, grouped, member, settle
from tests.simulation.world import World

A = TopicPartition("orders", 0)
ALL = [0, 1, 2, 3]
LATE = 1.5
"""Seconds until the answer comes: before the next heartbeat, of one each three seconds."""

protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def abandoned(world: World, consumer: KafkaConsumer, code: int, *, late: float = LATE) -> None:
    """Have a commit's deadline pass before its refusal comes."""
    world.control.fail("OffsetCommit", code, times=1, whole=True)
    world.control.answer_late("OffsetCommit", late, times=1)
    with pytest.raises(errors.TimeoutException):
        consumer.commit_sync({A: OffsetAndMetadata(1)}, timeout=0.2)


def beats(world: World) -> int:
    """How many heartbeats there were."""
    entries = world.cluster.journal.entries
    return len(entries("Heartbeat")) + len(entries("ConsumerGroupHeartbeat"))


def just_after_a_heartbeat(world: World, consumer: KafkaConsumer) -> int:
    """Poll until there was one, and return how many there were."""
    before = beats(world)
    while beats(world) == before:
        consumer.poll(0.05)
    consumer.poll(0.05)
    return beats(world)


@protocols
def test_a_late_refusal_says_of_the_member_what_a_timely_one_does(protocol: str) -> None:
    """B400: before the next heartbeat is told the same."""
    world, notes = grouped(records=100), Notes()
    keys = {"group_protocol": protocol, "max_poll_records": 10}
    with member(world, listener=notes, **keys) as consumer:
        settle(consumer, seconds=5.0)
        before = just_after_a_heartbeat(world, consumer)
        abandoned(world, consumer, 25)
        assert notes.heard == [("assigned", ALL)]
        world.clock.sleep(LATE)
        assert beats(world) == before
        assert not consumer.poll(0.0)
        assert notes.heard == [("assigned", ALL), ("lost", ALL)]


def test_a_late_refusal_of_an_earlier_generation_says_nothing() -> None:
    """B400: the member has joined again meanwhile."""
    world, notes = grouped(), Notes()
    with member(world, listener=notes, group_protocol="classic") as consumer:
        settle(consumer, seconds=5.0)
        abandoned(world, consumer, 25, late=4.0)
        consumer.enforce_rebalance()
        settle(consumer, seconds=1.0)
        now = consumer.group_metadata()
        heard = list(notes.heard)
        assert heard[-1] == ("assigned", ALL)
        settle(consumer, seconds=10.0)
        assert consumer.group_metadata() == now
        assert notes.heard == heard


@protocols
def test_a_late_refusal_of_a_former_coordinator_says_nothing(protocol: str) -> None:
    """B400: it has lost the group, and with it the member."""
    world, notes = grouped(nodes=2), Notes()
    with member(world, listener=notes, group_protocol=protocol) as consumer:
        settle(consumer, seconds=5.0)
        just_after_a_heartbeat(world, consumer)
        abandoned(world, consumer, 25)
        former = world.control.coordinator("g") or 1
        world.control.move_coordinator("g", 3 - former)
        coordinator = world.members[0].side.coordinator
        assert coordinator is not None
        node = world.members[0].side.metadata.cluster.nodes[former]
        coordinator.forget(node, errors.DisconnectException("a lane of it was lost"))
        consumer.committed(A)
        settle(consumer, seconds=10.0)
        assert notes.heard == [("assigned", ALL)]
