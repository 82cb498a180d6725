"""What a fetch can be answered in place of records, and records that cannot be read."""

import contextlib

import pytest

from prokurist import errors
from prokurist.types import TopicPartition
from tests.simulation.reading import (
    A,
    B,
    C,
    drained,
    fetches,
    holding,
    offsets,
    reader,
    value,
    written,
)
from tests.simulation.world import World

RETRIED = (-1, 3, 5, 6, 9, 56, 74, 75, 78, 100, 103)
"""CONTRACT 4: tried again without an error, most of them with fresh metadata."""


@pytest.mark.parametrize("code", RETRIED)
def test_what_passes_is_tried_again_quietly(code: int) -> None:
    """B106, B107: after a pause; no record is lost, none comes twice."""
    world = written(3, 3)
    with reader(world, A, B) as consumer:
        world.control.fail("Fetch", code, times=3, partition=0)
        assert drained(consumer, 4.0) == {A: [0, 1, 2], B: [0, 1, 2]}
        assert len(fetches(world)) < 25


@pytest.mark.parametrize("code", [3, 6, 9])
def test_a_partition_that_keeps_failing_is_asked_for_seldom(code: int) -> None:
    """B106: with pauses that grow; the others of its broker are read meanwhile."""
    world = written(3, 3)
    with reader(world, A, B) as consumer:
        fault = world.control.fail("Fetch", code, times=None, partition=0)
        assert drained(consumer, 10.0) == {B: [0, 1, 2]}
        assert len([each for _, each in fetches(world) if 0 in each]) <= 16
        fault.undo()
        assert drained(consumer, 4.0) == {A: [0, 1, 2]}


def test_one_in_trouble_holds_up_none_beside_it() -> None:
    """B106: what waits for its pause is left out meanwhile; the rest is read as it comes."""
    world = written(3, 3)
    with reader(world, A, B) as consumer:
        drained(consumer)
        world.control.fail("Fetch", 9, times=None, partition=0)
        for nth in range(3, 60):
            world.clock.sleep(0.03)
            world.control.append(B, value(nth))
            began = world.clock.now()
            assert offsets(consumer.poll(1.0)) == {B: [nth]}
            assert world.clock.now() - began < 0.05


def test_what_was_sought_is_fetched_as_soon_as_its_broker_can_be_asked() -> None:
    """The answer that was parked for the old place is dropped, and is no reason to wait."""
    world = written(3, 3)
    with reader(world, A, B) as consumer:
        drained(consumer)
        consumer.poll(0.1)
        consumer.seek(A, 0)
        world.clock.sleep(0.03)
        world.control.append(A, value(3))
        world.clock.sleep(0.01)
        began = world.clock.now()
        assert offsets(consumer.poll(1.0)) == {A: [0, 1, 2, 3]}
        assert world.clock.now() - began < 0.05


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_takes_no_records_with_it(failing: int) -> None:
    """B108: what is there is returned first, by whichever order they came."""
    world = written(3, 3)
    with reader(world, A, B) as consumer:
        world.control.fail("Fetch", 29, times=1, partition=failing)
        got, raised = dict[TopicPartition, list[int]](), 0
        for _ in range(5):
            try:
                for tp, more in offsets(consumer.poll(1.0)).items():
                    got.setdefault(tp, []).extend(more)
            except errors.TopicAuthorizationException:
                raised += 1
        assert raised == 1
        assert got == {A: [0, 1, 2], B: [0, 1, 2]}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (29, errors.TopicAuthorizationException),
        (2, errors.CorruptRecordException),
        (32000, errors.UnknownServerException),
    ],
)
def test_what_does_not_pass_is_raised_by_poll(
    code: int, kind: type[errors.KafkaException]
) -> None:
    """B108, B103: once for each try; the other partitions go on; later it may be granted."""
    world = written(3, 3)
    with reader(world, A, B) as consumer:
        fault = world.control.fail("Fetch", code, times=None, partition=0)
        raised, got = 0, dict[TopicPartition, list[int]]()
        for _ in range(6):
            try:
                for tp, more in offsets(consumer.poll(0.5)).items():
                    got.setdefault(tp, []).extend(more)
            except kind:
                raised += 1
        assert raised >= 2
        assert got == {B: [0, 1, 2]}
        assert consumer.position(A) == 0
        fault.undo()
        with contextlib.suppress(kind):  # that which was under way
            got.update(offsets(consumer.poll(2.0)))
        got.update(drained(consumer))
        assert got == {A: [0, 1, 2], B: [0, 1, 2]}


def test_all_topics_that_are_refused_are_in_one_error() -> None:
    """B108: it names each, and is raised once for all of their partitions."""
    world = World(topics={"a": 2, "b": 1})
    wanted = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)]
    with reader(world, *wanted) as consumer:
        world.control.fail("Fetch", 29, times=1)
        with pytest.raises(errors.TopicAuthorizationException, match="a, b") as caught:
            consumer.poll(1.0)
        assert caught.value.topics == ("a", "b")
        assert not consumer.poll(1.0)


@pytest.mark.parametrize(("policy", "after"), [("earliest", [4, 5, 6]), ("latest", [])])
def test_out_of_range_with_a_policy(policy: str, after: list[int]) -> None:
    """B101: reading goes on where the policy says."""
    world = written(7)
    world.control.delete_records(A, 4)
    with reader(world, auto_offset_reset=policy) as consumer:
        consumer.seek(A, 1)
        assert drained(consumer).get(A, []) == after
        assert consumer.position(A) == 7


def test_out_of_range_without_a_policy() -> None:
    """B101: raised with the offset, until a seek."""
    world = written(6)
    with reader(world, auto_offset_reset="none") as consumer:
        consumer.seek(A, 40)
        for _ in range(2):
            with pytest.raises(errors.OffsetOutOfRangeException, match="seek") as caught:
                consumer.poll(5.0)
            assert caught.value.offsets == {A: 40}
            assert consumer.position(A) == 40
        consumer.seek(A, 3)
        assert drained(consumer) == {A: [3, 4, 5]}


def test_records_before_a_deleted_stretch_come_first() -> None:
    """B101: an error takes its place behind what was fetched before it."""
    world = written(4)
    with reader(world, auto_offset_reset="none", max_poll_records=1) as consumer:
        consumer.seek(A, 0)
        assert offsets(consumer.poll(1.0)) == {A: [0]}
        world.control.fail("Fetch", 1, times=1)
        world.clock.sleep(1.0)
        assert [offsets(consumer.poll(1.0)) for _ in range(3)] == [{A: [n]} for n in (1, 2, 3)]
        with pytest.raises(errors.OffsetOutOfRangeException):
            consumer.poll(1.0)


def test_a_stale_out_of_range_is_ignored() -> None:
    """B101: the user has sought elsewhere while it was under way."""
    world = written(6)
    with reader(world, auto_offset_reset="none") as consumer:
        consumer.seek(A, 40)
        with world.control.answer_late("Fetch", 1.0):
            consumer.poll(0.5)
            consumer.seek(A, 2)
            assert offsets(consumer.poll(5.0)) == {A: [2, 3, 4, 5]}


def test_a_deserializer_that_fails() -> None:
    """B102: records before it first; then it is raised until one seeks past it."""
    world = World()
    world.control.append(A, b"0", b"1")
    world.control.append(A, b"2", b"x", b"4")
    with reader(world, value_deserializer=int) as consumer:
        assert [each.value for each in consumer.poll(1.0)] == [0, 1, 2]
        for _ in range(2):
            with pytest.raises(errors.RecordDeserializationException, match="seek to 4") as why:
                consumer.poll(1.0)
            assert (why.value.partition, why.value.offset, why.value.value) == (A, 3, b"x")
            assert consumer.position(A) == 3
        consumer.seek(A, 4)
        assert [each.value for each in consumer.poll(1.0)] == [4]


def test_a_failing_deserializer_does_not_stop_other_partitions() -> None:
    """B102: they have their turns."""
    world = written(0, 3)
    world.control.append(A, b"x")
    with reader(world, A, B, value_deserializer=int) as consumer:
        got, raised = dict[TopicPartition, list[int]](), 0
        for _ in range(5):
            try:
                for tp, more in offsets(consumer.poll(0.3)).items():
                    got.setdefault(tp, []).extend(more)
            except errors.RecordDeserializationException:
                raised += 1
        assert raised >= 2
        assert got == {B: [0, 1, 2]}


class WithTopic:
    """A deserializer as an object."""

    def deserialize(self, topic: str, data: bytes) -> str:
        """Both in one."""
        return f"{topic}:{data.decode()}"


@pytest.mark.parametrize(
    "deserializer", [WithTopic(), lambda topic, data: f"{topic}:{data.decode()}"]
)
def test_the_forms_of_deserializers(deserializer: object) -> None:
    """Null is not shown to any of them."""
    world = World()
    world.control.append(A, b"v")
    with reader(
        world, value_deserializer=deserializer, key_deserializer=bytes.decode
    ) as consumer:
        [record] = consumer.poll(1.0)
        assert (record.key, record.value) == (None, "orders:v")


def test_a_damaged_batch() -> None:
    """B103: those before it first; the position stays; seeking past it goes on."""
    world = written(4)
    world.control.damage(A, 2)
    with reader(world) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0, 1]}
        for _ in range(2):
            with pytest.raises(errors.CorruptRecordException, match=r"orders-0 .*offset 2"):
                consumer.poll(1.0)
            assert consumer.position(A) == 2
        consumer.seek(A, 3)
        assert drained(consumer) == {A: [3]}


def test_a_leader_that_moves() -> None:
    """B106: nothing is lost, nothing comes twice, and no pause is made where it is told."""
    world = written(4, nodes=3)
    with reader(world, max_poll_records=1) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0]}
        world.control.move_leader(A)
        world.control.append(A, b"new")
        assert drained(consumer) == {A: [1, 2, 3, 4]}


def test_a_broker_that_is_killed_and_comes_back() -> None:
    """B106: its partitions are read from their new leader; the session is started again."""
    world = written(4, 4, 4, nodes=3)
    with reader(world, A, B, C, max_poll_records=2) as consumer:
        seen: dict[TopicPartition, list[int]] = {}
        for nth in range(12):
            if nth == 2:
                world.control.kill(1)
            if nth == 6:
                world.control.restart(1)
            for number in range(3):
                tp = TopicPartition("orders", number)
                world.control.append(tp, b"more")
            for tp, more in offsets(consumer.poll(2.0)).items():
                seen.setdefault(tp, []).extend(more)
        for tp, more in drained(consumer, 3.0).items():
            seen.setdefault(tp, []).extend(more)
        assert seen == {tp: list(range(16)) for tp in (A, B, C)}


def test_a_log_that_was_cut_back_under_what_is_buffered() -> None:
    """B91: only what was returned counts; of the new log nothing is left out."""
    world = written(6, nodes=3)
    with reader(world, max_poll_records=2) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0, 1]}
        world.clock.sleep(0.2)
        world.control.truncate(A, 4)
        for _ in range(3):
            world.control.append(A, b"other")
        world.clock.sleep(1.0)
        values = [each.value for _ in range(5) for each in consumer.poll(1.0)]
        assert [each[-1:] for each in values] == [b"2", b"3", b"r", b"r", b"r"]


@pytest.mark.parametrize("policy", ["earliest", "none"])
def test_a_leader_that_moves_before_anything_is_returned(policy: str) -> None:
    """B91: after a seek without an epoch what was fetched has one, and the position none."""
    world = written(6, nodes=3)
    with reader(world, max_poll_records=2, auto_offset_reset=policy) as consumer:
        consumer.seek(A, 1)
        consumer.poll(0)
        world.clock.sleep(0.2)
        assert holding(world)
        world.control.move_leader(A)
        world.clock.sleep(1.0)
        assert drained(consumer) == {A: [1, 2, 3, 4, 5]}


def test_a_log_truncated_before_a_position_that_cannot_be_checked() -> None:
    """B91, B101: without a policy the user hears that it is not in the log."""
    world = written(6, nodes=3)
    with reader(world, auto_offset_reset="none") as consumer:
        consumer.seek(A, 5)
        consumer.poll(0)
        world.clock.sleep(0.2)
        assert holding(world)
        world.control.truncate(A, 3)
        world.clock.sleep(1.0)
        with pytest.raises(errors.OffsetOutOfRangeException):
            consumer.poll(5.0)
        consumer.seek(A, 2)
        assert drained(consumer) == {A: [2]}
