"""What polls raise in virtual time: errors of the background, one by one."""

import logging
from itertools import pairwise
from typing import Final

import pytest

from prokurist import errors
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.looking_up import ORDERS
from tests.simulation.world import World

A, B, C = ORDERS
REFUSED: Final[dict[str, tuple[ApiName, type[errors.KafkaException]]]] = {
    "no offset": ("OffsetFetch", errors.NoOffsetForPartitionException),
    "truncated": ("OffsetForLeaderEpoch", errors.LogTruncationException),
}
"""Which request tells that a position cannot be told, and the error that polls raise."""


def test_no_commit_and_no_policy() -> None:
    """B76: raised by poll, naming all such partitions, also when one only does poll(0)."""
    world = World()
    with world.consumer(fetches=False, auto_offset_reset="none") as consumer:
        consumer.commit_sync({B: OffsetAndMetadata(2)})
        consumer.assign(ORDERS)
        began = world.clock.time
        with pytest.raises(errors.NoOffsetForPartitionException) as caught:
            consumer.poll(10.0)
        assert caught.value.partitions == (A, C)
        assert world.clock.time - began < 0.1

        def by_polling() -> None:
            for _ in range(10):
                consumer.poll(0)
                world.clock.sleep(0.05)

        for _ in range(2):
            with pytest.raises(errors.NoOffsetForPartitionException, match="orders-0"):
                by_polling()
        assert consumer.position(B, 0) == 2
        consumer.seek(A, 1)
        consumer.seek(C, 1)
        by_polling()


def test_an_error_does_not_name_what_was_sought_since() -> None:
    """B76: a loop that seeks what the error names undoes no seek made before that poll."""
    world = World()
    with world.consumer(fetches=False, auto_offset_reset="none") as consumer:
        consumer.assign(ORDERS)
        consumer.poll(0)
        world.clock.sleep(1.0)
        consumer.seek(A, 7)
        with pytest.raises(errors.NoOffsetForPartitionException) as caught:
            consumer.poll(0)
        assert caught.value.partitions == (B, C)
        assert "orders-0" not in str(caught.value)
        assert consumer.position(A, 0) == 7


def test_without_a_group_and_a_policy_every_poll_says_so() -> None:
    """B76: it needs no network to know, and no poll is swallowed by that."""
    world = World()
    with world.consumer(fetches=False, auto_offset_reset="none", group_id=None) as consumer:
        consumer.assign(A)
        for _ in range(5):
            with pytest.raises(errors.NoOffsetForPartitionException):
                consumer.poll(1.0)
        assert not world.cluster.journal.received


def test_two_errors_are_raised_by_two_polls() -> None:
    """B164: one each, in order; and the good partition is not held up by them (B86)."""
    world = World(topics={"a": 1, "b": 1, "c": 1})
    a, b, c = (TopicPartition(topic, 0) for topic in "abc")
    with world.consumer(fetches=False, auto_offset_reset="none") as consumer:
        consumer.assign([a, b, c])
        consumer.seek_to_end([b, c])
        fault = world.control.deny(topic="b")
        consumer.poll(0)
        world.clock.sleep(1.0)
        assert consumer.position(c, 0) == 0
        raised = []
        for _ in range(2):
            with pytest.raises(errors.KafkaException) as caught:
                consumer.poll(0)
            raised.append(type(caught.value))
        assert sorted(each.__name__ for each in raised) == [
            "NoOffsetForPartitionException",
            "TopicAuthorizationException",
        ]
        fault.undo()
        consumer.seek(a, 1)
        consumer.poll(1.0)
        assert consumer.position(b, 0) == 0


@pytest.mark.parametrize("act", ["assign", "seek", "unsubscribe"])
def test_errors_of_what_is_read_no_more(act: str, caplog: pytest.LogCaptureFixture) -> None:
    """B165, CONTRACT 2.8: dropped; those that unsubscribe finds are logged."""
    world = World()
    with world.consumer(fetches=False, auto_offset_reset="none") as consumer:
        consumer.assign(A)
        consumer.poll(0)
        world.clock.sleep(1.0)
        caplog.set_level(logging.WARNING)
        if act == "assign":
            consumer.assign(B)
        elif act == "unsubscribe":
            consumer.unsubscribe()
            consumer.assign(B)
        else:
            consumer.seek(A, 1)
        consumer.seek(A if act == "seek" else B, 1)
        assert not consumer.poll(1.0)
        assert ("nothing is committed for orders-0" in caplog.text) == (act == "unsubscribe")


def test_an_invalid_topic() -> None:
    """B166: poll raises it; what follows works."""
    world = World()
    with world.consumer(fetches=False, group_id=None) as consumer:
        bad = TopicPartition("no such name!", 0)
        consumer.assign([bad, A])
        with pytest.raises(errors.InvalidTopicException) as caught:
            consumer.poll(1.0)
        assert caught.value.topics == (bad.topic,)
        consumer.unsubscribe()
        consumer.assign(A)
        assert consumer.position(A) == 0


def test_missing_rights_on_the_group() -> None:
    """CONTRACT 4: surfaced by poll; partitions that need no group go on."""
    world = World()
    with world.consumer(fetches=False) as consumer:
        consumer.assign([A, B])
        consumer.seek_to_end(B)
        with world.control.deny(group="g"):
            with pytest.raises(errors.GroupAuthorizationException):
                consumer.poll(1.0)
            world.clock.sleep(0.1)
            assert consumer.position(B, 0) == 0
        consumer.poll(1.0)
        assert consumer.position(A, 0) == 0


@pytest.mark.parametrize("kind", REFUSED)
def test_polls_that_leave_an_error_as_it_is_do_not_have_brokers_asked_without_end(
    kind: str,
) -> None:
    """B394: a back-off that grows lies between; `position` and a seek wait for none."""
    world = World()
    for _ in range(8):
        world.control.append(A, b"v")
    api, expected = REFUSED[kind]
    with world.consumer(fetches=False, auto_offset_reset="none") as consumer:
        consumer.assign([A, B])
        consumer.seek(B, 0)
        if kind == "truncated":
            consumer.seek(A, OffsetAndMetadata(8, "", 0))
            assert consumer.position(A) == 8
            world.control.truncate(A, 6)
            world.members[0].side.metadata.request_update()
            world.members[0].network.wake()
            world.clock.sleep(0.1)
        world.control.forget_requests()
        raised: list[float] = []
        began = world.clock.time
        while world.clock.time - began < 20.0:
            try:
                consumer.poll(1.0)
            except expected:
                raised.append(world.clock.time - began)
        asked = len(world.cluster.journal.entries(api))
        assert raised[0] < 0.1, "the first one is raised at once"
        assert 20 <= len(raised) <= asked <= 30
        assert max(later - at for at, later in pairwise(raised)) < 1.1
        for _ in range(2):
            before = world.clock.time
            with pytest.raises(expected):
                consumer.position(A)
            assert world.clock.time - before < 0.1
        consumer.seek(A, 1)
        before = world.clock.time
        assert consumer.position(A) == 1
        assert world.clock.time == before
