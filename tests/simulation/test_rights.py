"""What a user may not do: by name, at once, on a connection that stays."""

import re
from contextlib import ExitStack

import pytest

from prokurist import OffsetAndMetadata, TopicPartition, errors
from tests.simulation.joining import grouped, heartbeats, member, settle
from tests.simulation.world import World

OPEN, SECRET = TopicPartition("open", 0), TopicPartition("secret", 0)
BOTH = {tp: OffsetAndMetadata(1) for tp in (OPEN, SECRET)}


def test_a_topic_that_may_not_be_read() -> None:
    """B258, B260, S49: every call names it, at once, and the connection is kept."""
    world = World(topics={"open": 1, "secret": 1})
    with world.consumer(group_id="g") as consumer:
        consumer.commit_sync({OPEN: OffsetAndMetadata(1)}, timeout=5.0)
        network = world.members[-1].network
        consumer.assign([SECRET])
        consumer.seek_to_end()
        with world.control.deny(topic="secret"):
            connects = network.connects
            for call in (
                lambda: consumer.position(SECRET, 60.0),
                lambda: consumer.commit_sync(BOTH, timeout=60.0),
                lambda: consumer.end_offsets(SECRET, timeout=60.0),
                lambda: consumer.poll(60.0),
            ):
                began = world.clock.time
                with pytest.raises(errors.TopicAuthorizationException) as refused:
                    call()
                assert refused.value.topics == ("secret",)
                assert world.clock.time - began < 1.0
            assert network.connects == connects
        assert consumer.position(SECRET, 5.0) == 0
        consumer.commit_sync(BOTH, timeout=5.0)


def test_a_group_that_may_not_be_used() -> None:
    """B258, B260: commits and what was committed name it; seek and read need no right in it."""
    world = World(topics={"open": 1, "secret": 1})
    with world.control.deny(group="g"), world.consumer(group_id="g") as consumer:
        consumer.assign([OPEN])
        consumer.seek_to_beginning()
        assert consumer.position(OPEN, 5.0) == 0
        assert not consumer.poll(1.0)
        for call in (
            lambda: consumer.commit_sync(BOTH, timeout=60.0),
            lambda: consumer.committed(OPEN, timeout=60.0),
        ):
            began = world.clock.time
            with pytest.raises(errors.GroupAuthorizationException) as refused:
                call()
            assert refused.value.group_id == "g"
            assert world.clock.time - began < 1.0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_pattern_of_topics_that_may_not_be_seen(protocol: str) -> None:
    """B259: the member is in, has nothing, and no poll raises; allowed, it gets them."""
    world = grouped(secret=2)
    with ExitStack() as stack:
        denied = stack.enter_context(world.control.deny(topic="secret"))
        consumer = stack.enter_context(
            member(
                world, re.compile("sec.*"), metadata_max_age_ms=5000, group_protocol=protocol
            )
        )
        settle(consumer, seconds=10.0)
        assert not consumer.assignment()
        assert not consumer.subscription()
        denied.undo()
        settle(consumer, seconds=30.0)
        assert len(consumer.assignment()) == 2


@pytest.mark.parametrize("subscribed", [False, True])
def test_a_consumer_without_any_rights(subscribed: bool) -> None:  # noqa: FBT001
    """B264: it is made and closed without an error, in time."""
    world = World(topics={"open": 1, "secret": 1})
    with world.control.deny(topic="open"), world.control.deny(group="g"):
        consumer = world.consumer(group_id="g")
        if subscribed:
            consumer.subscribe("open")
        began = world.clock.time
        consumer.close(2.0)
        assert world.clock.time - began <= 2.0


def test_what_is_fetched_may_be_seen_and_not_read() -> None:
    """B386: with DESCRIBE alone poll says that the right to read is missing."""
    world = World(topics={"open": 1, "secret": 1})
    with world.consumer() as consumer:
        consumer.assign([SECRET])
        consumer.seek_to_beginning()
        assert consumer.position(SECRET, 5.0) == 0
        world.control.fail("Fetch", 29, times=1)
        with pytest.raises(errors.TopicAuthorizationException, match="right to read") as told:
            consumer.poll(5.0)
        assert told.value.topics == ("secret",)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_lost_its_right_for_a_while(protocol: str) -> None:
    """B387: granted again, it leaves, and joins again within a second."""
    world = grouped()
    with member(world, group_protocol=protocol) as consumer:
        settle(consumer, seconds=10.0)
        assert len(consumer.assignment()) == 4
        with world.control.deny(group="g"), pytest.raises(errors.GroupAuthorizationException):
            settle(consumer, seconds=10.0)
        consumer.unsubscribe()
        if protocol == "classic":
            assert len(world.cluster.journal.entries("LeaveGroup")) == 1
        else:
            assert heartbeats(world)[-1].member_epoch == -1
        consumer.subscribe("orders")
        settle(consumer, seconds=1.0)
        assert len(consumer.assignment()) == 4
