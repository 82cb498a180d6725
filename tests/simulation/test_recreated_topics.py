"""Topics that are deleted and created again while a consumer reads them.

What was read of the old one says nothing about the new one, even under the same name: it is not
committed unasked any more, and the new one is read from where its policy says.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from tests.simulation.joining import INTERVAL, Notes, grouped
from tests.simulation.reading import offsets, value
from tests.simulation.world import World

A = TopicPartition("orders", 0)
OLD, NEW = list(range(8)), list(range(12))
COMMITS = {"enable_auto_commit": True, "auto_commit_interval_ms": 500}
AT_THE_END = {"enable_auto_commit": True, "auto_commit_interval_ms": 3_600_000}
BY_NAME, BY_ID = 9, 10
"""The newest version of OffsetCommit before it names topics by their ids, and the first."""


def old(**keys: Any) -> World:
    """A world with a topic of one partition and eight records."""
    return grouped(partitions=1, records=len(OLD), **keys)


def recreate(world: World, records: int = len(NEW)) -> None:
    """Delete the topic, make it again, and write records."""
    world.control.recreate_topic("orders")
    write(world, records)


def write(world: World, records: int = len(NEW)) -> None:
    """Write records."""
    for nth in range(records):
        world.control.append(A, value(nth))


def read(consumer: KafkaConsumer, seconds: float = 3 * INTERVAL) -> list[int]:
    """What is returned in a while."""
    found: list[int] = []
    for _ in range(round(seconds / 0.1)):
        found += offsets(consumer.poll(0.1)).get(A, [])
    return found


def reader(world: World, way: str, newest: int = BY_ID, **keys: Any) -> KafkaConsumer:
    """A consumer of the topic: by hand, or as a member by one of the protocols."""
    keys.setdefault("auto_offset_reset", "earliest")
    if way != "by hand":
        keys["group_protocol"] = way
    world.control.offer("OffsetCommit", 2, newest)
    consumer = world.consumer(**keys)
    if way == "by hand":
        consumer.assign(A)
    else:
        consumer.subscribe("orders", Notes())
    return consumer


def committed(world: World) -> int | None:
    """What the group has committed of the topic that there is."""
    kept = world.control.committed("g").get(A)
    return None if kept is None else kept.offset


WAYS = pytest.mark.parametrize("way", ["by hand", "classic", "consumer"])
BOTH = pytest.mark.parametrize("newest", [BY_NAME, BY_ID], ids=["by name", "by id"])


@WAYS
@BOTH
@pytest.mark.parametrize("keys", [COMMITS, AT_THE_END], ids=["often", "at the end"])
def test_the_new_one_is_read_from_its_beginning(
    way: str, newest: int, keys: dict[str, Any]
) -> None:
    """B196: neither the interval's commit nor the one before a revocation skips what is new."""
    world = old()
    with reader(world, way, newest, **keys) as consumer:
        assert read(consumer) == OLD
        recreate(world)
        assert read(consumer) == NEW
    assert committed(world) == len(NEW)


@WAYS
@BOTH
@pytest.mark.parametrize("pause", [0.2, 5.0, 30.0])
def test_one_that_is_away_for_a_while(way: str, newest: int, pause: float) -> None:
    """B196: nor does a commit that was refused as long as there was none, and tried again."""
    world = old()
    with reader(world, way, newest, **COMMITS) as consumer:
        assert read(consumer) == OLD
        write(world, 1)
        consumer.poll(0.1)
        world.control.delete_topic("orders")
        read(consumer, pause)
        world.control.create_topic("orders", 1)
        assert committed(world) is None
        write(world)
        assert read(consumer, 8 * INTERVAL) == NEW
        assert committed(world) == len(NEW)


@WAYS
def test_where_a_policy_says(way: str) -> None:
    """B196: with `latest` what is written from then on; the new topic's end is its own."""
    world = old()
    with reader(world, way, auto_offset_reset="latest", **COMMITS) as consumer:
        assert read(consumer) == []
        write(world, 2)
        assert read(consumer) == [8, 9]
        recreate(world, 3)
        assert read(consumer) == []
        write(world, 1)
        assert read(consumer) == [3]


def test_without_a_policy() -> None:
    """B196: the user hears of it, and seeks; what he reads then is committed."""
    world = old()
    with reader(world, "by hand", auto_offset_reset="none", **COMMITS) as consumer:
        consumer.seek(A, 0)
        assert read(consumer) == OLD
        recreate(world)
        with pytest.raises(errors.LogTruncationException, match="created again") as caught:
            read(consumer)
        assert caught.value.offsets == {A: len(OLD)}
        with pytest.raises(errors.NoOffsetForPartitionException):
            read(consumer)
        assert committed(world) is None
        consumer.seek(A, 2)
        assert read(consumer) == NEW[2:]
        assert committed(world) == len(NEW)


def test_what_is_paused_stays_paused() -> None:
    """B196: what the user has said of it is as true of the new one."""
    world = old()
    with reader(world, "by hand", metadata_max_age_ms=1000, **COMMITS) as consumer:
        assert read(consumer) == OLD
        consumer.pause(A)
        recreate(world)
        assert read(consumer) == []
        assert consumer.paused() == {A}
        consumer.resume(A)
        assert read(consumer) == NEW


def test_it_is_not_read_and_the_group_wants_it_back() -> None:
    """B196: nothing has told us, and the commit by id is refused."""
    world = old()
    with reader(world, "consumer", **AT_THE_END) as consumer:
        assert read(consumer) == OLD
        consumer.pause(A)  # No fetch meets that the topic is another one.
        read(consumer, 2.0)
        recreate(world)
        world.clock.sleep(2 * INTERVAL)
        assert read(consumer) == NEW


def test_the_coordinator_knows_it_first() -> None:
    """B196: a commit by id is refused, even if the name is known; it delays no other."""
    world = old()
    with reader(world, "consumer", **AT_THE_END) as consumer:
        assert read(consumer) == OLD
        refused = len(world.cluster.journal.entries("OffsetCommit"))
        held = world.control.hold("Metadata")
        recreate(world)
        world.control.hold("Fetch")
        read(consumer)
        assert len(world.cluster.journal.entries("OffsetCommit")) == refused + 1
        assert committed(world) is None
        held.undo()
        world.control.heal()
        assert read(consumer) == NEW


def test_a_broker_that_lags_names_the_former_one_after_the_group_has_given_the_new() -> None:
    """B196: metadata are asked for again, after back-offs, until they name the new one."""
    world = old(nodes=2)
    with reader(world, "consumer", **COMMITS) as consumer:
        assert read(consumer) == OLD
        recreate(world)
        assert read(consumer) == NEW
        world.control.append(A, b"x")
        assert offsets(consumer.poll(2.0)) == {A: [len(NEW)]}
        metadata = world.members[0].side.metadata
        take, lags = metadata._take, True
        former = UUID(int=7)

        def lagging(answer: Any) -> None:
            topics = tuple(replace(each, topic_id=former) for each in answer.topics)
            take(replace(answer, topics=topics) if lags else answer)

        metadata._take = lagging  # type: ignore[method-assign]
        before = len(world.cluster.journal.entries("Metadata"))
        metadata.request_update()
        world.control.append(A, b"y")
        consumer.poll(3.0)
        assert 3 <= len(world.cluster.journal.entries("Metadata")) - before <= 15
        lags = False
        world.control.append(A, b"z")
        assert offsets(consumer.poll(3.0))


@BOTH
def test_the_metadata_know_it_first(newest: int) -> None:
    """B196: what is held by the old id is not read any more, until the group gives the new."""
    world = old()
    with reader(world, "consumer", newest, **COMMITS) as consumer:
        assert read(consumer) == OLD
        held = world.control.hold("ConsumerGroupHeartbeat")
        recreate(world)
        assert read(consumer) == []
        assert committed(world) is None
        held.undo()
        assert read(consumer) == NEW


def test_a_commit_that_is_asked_for() -> None:
    """B196: how far the old one was read cannot be committed: that is said at once."""
    world = old()
    with reader(world, "by hand", enable_auto_commit=False) as consumer:
        assert read(consumer) == OLD
        consumer.commit_sync()
        recreate(world)
        began = world.clock.time
        with pytest.raises(
            errors.CommitFailedException, match="orders was deleted and created"
        ):
            consumer.commit_sync()
        assert world.clock.time - began < 1.0
        assert committed(world) is None
        assert read(consumer) == NEW
        consumer.commit_sync()
        assert committed(world) == len(NEW)


def test_a_commit_that_is_asked_for_and_not_waited_for() -> None:
    """B196, B48: the callback hears that the topic's id is not known."""
    world = old()
    heard: list[Exception | None] = []
    with reader(world, "by hand", enable_auto_commit=False) as consumer:
        assert read(consumer) == OLD
        recreate(world)
        consumer.commit_async(callback=lambda _, error: heard.append(error))
        consumer.commit_sync({})
        (error,) = heard
        assert isinstance(error, errors.RetriableCommitFailedException)
        assert isinstance(error.__cause__, errors.UnknownTopicIdException)
        assert committed(world) is None


def test_offsets_that_the_user_has_named() -> None:
    """B196: they are of the topic that the name stands for."""
    world = old()
    with reader(world, "by hand", enable_auto_commit=False) as consumer:
        assert read(consumer) == OLD
        recreate(world)
        consumer.commit_sync({A: OffsetAndMetadata(3)})
        assert committed(world) == 3


@WAYS
@pytest.mark.parametrize("gone", [True, False], ids=["deleted", "created again"])
def test_the_end_of_a_consumer(way: str, gone: bool) -> None:  # noqa: FBT001 - a parameter
    """B196: `close` commits nothing of the old one, waits for nothing, and raises nothing."""
    world = old()
    consumer = reader(world, way, **AT_THE_END)
    assert read(consumer) == OLD
    if gone:
        world.control.delete_topic("orders")
    else:
        recreate(world)
    began = world.clock.time
    consumer.close(10.0)
    assert world.clock.time - began < 2.0
    assert committed(world) is None


def test_other_topics_are_committed_all_the_same() -> None:
    """B196: what is gone takes nothing else along."""
    world = old(other=1)
    other = TopicPartition("other", 0)
    world.control.append(other, b"v")
    with reader(world, "by hand", **COMMITS) as consumer:
        consumer.assign([A, other])
        read(consumer)
        world.control.delete_topic("orders")
        world.control.append(other, b"v")
        read(consumer)
        assert world.control.committed("g")[other].offset == 2


def test_it_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """An operator sees which topic it was."""
    world = old()
    with reader(world, "classic", **COMMITS) as consumer:
        read(consumer)
        recreate(world)
        read(consumer)
    told = [each for each in caplog.messages if "created again" in each]
    assert len(told) == 1
    assert "orders" in told[0]


def commits(world: World) -> int:
    """How often a commit was asked for."""
    return len(world.cluster.journal.entries("OffsetCommit"))


@BOTH
def test_what_is_gone_is_not_committed_again_and_again(newest: int) -> None:
    """B196: while it is known to be gone; by the interval, for any caller."""
    world = old()
    with reader(world, "by hand", newest, **COMMITS) as consumer:
        assert read(consumer) == OLD
        world.control.delete_topic("orders")
        before = commits(world)
        read(consumer, 30.0)
        assert commits(world) <= before + 1


def test_a_commit_by_name_that_is_refused_is_not_tried_again() -> None:
    """B196: the topic may be there the next moment, and another one."""
    world = old()
    with reader(world, "by hand", BY_NAME, **COMMITS) as consumer:
        assert read(consumer) == OLD
        world.control.hold("Metadata")
        world.control.delete_topic("orders")
        before = commits(world)
        while commits(world) == before:
            consumer.poll(0.1)
        world.control.create_topic("orders")
        world.clock.sleep(5.0)
        assert committed(world) is None
        world.control.heal()


def test_a_commit_that_is_tried_again_for_another_reason() -> None:
    """B196: not with what is of the old topic, once that is known to be gone."""
    world = old()
    with reader(world, "by hand", BY_NAME, **COMMITS) as consumer:
        assert read(consumer) == OLD
        loading = world.control.fail("OffsetCommit", 14, times=None)
        read(consumer, 2.0)
        recreate(world)
        assert read(consumer, 2.0) == NEW
        loading.undo()
        world.clock.sleep(5.0)
        assert committed(world) == len(NEW)


def test_a_poll_that_waits() -> None:
    """B114, B196: it returns what is new as soon as there is some."""
    world = old()
    with reader(world, "by hand", **AT_THE_END) as consumer:
        assert read(consumer) == OLD
        began = world.clock.time
        world.at(began + 3.0, lambda: recreate(world))
        assert offsets(consumer.poll(60.0)) == {A: NEW}
        assert world.clock.time - began < 6.0


def test_a_look_up_that_is_on_its_way() -> None:
    """B90, B196: it is of the old one; no call waits for it, and a seek's place stays."""
    world = old(nodes=2)
    with reader(world, "by hand", **COMMITS) as consumer:
        read(consumer)
        leader = world.control.leader(A)[0]
        world.control.freeze(leader)
        consumer.seek_to_end(A)
        consumer.poll(0.1)
        recreate(world)
        world.control.move_leader(A, 3 - leader)
        refresh(world)
        assert not consumer.poll(5.0)
        assert consumer.position(A) == len(NEW)
        world.control.thaw()


def refresh(world: World) -> None:
    """Have the client learn what there is by now."""
    world.members[0].side.metadata.request_update()
    world.members[0].network.wake()


def test_a_look_up_that_is_under_way_when_its_topic_is_created_again() -> None:
    """B196: its answer is dropped, and the new topic's position is looked up, and read."""
    world = old()
    world.control.set_epoch(A, 4)
    with reader(world, "by hand", auto_offset_reset="latest") as consumer:
        assert read(consumer) == []
        recreate(world, 3)
        consumer.seek_to_end(A)
        assert read(consumer) == []
        write(world, 1)
        assert read(consumer) == [3]
