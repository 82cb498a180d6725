"""`read_range` in virtual time: its ends, its deadlines, and what it leaves alone."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.records.consumer_records import ConsumerRecords
from tests.simulation.reading import A, B, fetches, holding, offsets, reader, written
from tests.simulation.world import World


def ranger(world: World, **keys: Any) -> KafkaConsumer:
    """A consumer to which nothing is assigned."""
    keys.setdefault("auto_offset_reset", "earliest")
    return world.consumer(None, enable_auto_commit=False, **keys)


def read(consumer: KafkaConsumer, start: int, end: int, **keys: Any) -> list[int]:
    """The offsets of a range, in the order they came."""
    got: list[int] = []
    gather(got, consumer.read_range(A, start, end, **keys))
    return got


def gather(got: list[int], steps: Iterator[ConsumerRecords]) -> None:
    """Take all steps, and note each offset when it comes."""
    for records in steps:
        got.extend(record.offset for record in records)


@pytest.mark.parametrize(("start", "end"), [(0, 20), (0, 1), (19, 20), (3, 17), (7, 7)])
def test_a_range_is_what_lies_between_its_ends(start: int, end: int) -> None:
    """From the first offset to before the second, with records before and after."""
    with ranger(written(20)) as consumer:
        assert read(consumer, start, end) == list(range(start, end))
        assert consumer.assignment() == frozenset()


def test_a_range_that_ends_inside_a_batch_is_cut_there() -> None:
    """Both ends may lie in the middle of a batch, of the same one too."""
    world = World()
    world.control.append(A, *(b"%d" % nth for nth in range(10)))
    world.control.append(A, *(b"%d" % nth for nth in range(10)))
    with ranger(world) as consumer:
        assert read(consumer, 3, 17) == list(range(3, 17))
        assert read(consumer, 4, 6) == [4, 5]


def test_a_step_is_what_a_fetch_has_brought() -> None:
    """However many records `max.poll.records` says, and as columns too."""
    with ranger(written(20), max_poll_records=3) as consumer:
        (records,) = consumer.read_range(A, 0, 20)
        assert offsets(records) == {A: list(range(20))}
        (column,) = {columns.topic for columns in records.columns()}
        assert column == "orders"


def test_nothing_is_fetched_beyond_the_end() -> None:
    """Once the end is in hand, and not before it has been asked for."""
    world = written(40, size=100)
    with ranger(world, max_partition_fetch_bytes=1000) as consumer:
        steps = consumer.read_range(A, 0, 10)
        world.clock.sleep(1.0)
        assert not fetches(world)
        assert sum(map(len, steps)) == 10
        world.clock.sleep(1.0)
        assert max(asked[0] for _, asked in fetches(world)) < 10
        assert holding(world) == 0


@pytest.mark.parametrize("end", range(5, 13))
def test_while_the_last_step_is_worked_on_nothing_is_fetched(end: int) -> None:
    """Wherever the range ends in what a fetch brings: at its last record, or before it."""
    world = written(40, size=100)
    with ranger(world, max_partition_fetch_bytes=1000) as consumer:
        got: list[int] = []
        for records in consumer.read_range(A, 0, end):
            got += offsets(records)[A]
            world.clock.sleep(1.0)
        assert got == list(range(end))
        assert max(asked[0] for _, asked in fetches(world)) < end


def test_while_a_step_is_worked_on_the_next_is_fetched() -> None:
    """So that work as slow as the network overlaps with it."""
    world = written(40, size=100)
    with ranger(world, max_partition_fetch_bytes=1000) as consumer:
        steps = consumer.read_range(A, 0, 40)
        next(steps)
        before = len(fetches(world))
        world.clock.sleep(1.0)
        assert len(fetches(world)) > before
        began = world.clock.time
        assert next(steps)
        assert world.clock.time == began


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_the_end_may_be_a_marker_or_an_aborted_record(level: str) -> None:
    """The range is over when the position has come to its end, also without records there."""
    world = written(2)
    world.control.append(A, b"aborted", b"aborted", producer=9)
    world.control.end_transaction(A, 9, committed=False)
    start, end = world.control.offsets(A)
    assert (start, end) == (0, 5)
    aborted = [] if level == "read_committed" else [2, 3]
    with ranger(world, isolation_level=level) as consumer:
        began = world.clock.time
        assert read(consumer, 0, 5) == [0, 1, *aborted]
        assert read(consumer, 0, 4) == [0, 1, *aborted]
        assert read(consumer, 4, 5) == []
        assert world.clock.time - began < 0.5


def test_what_a_range_waits_for_is_said() -> None:
    """A transaction that is open, or an end that the log does not have yet."""
    world = written(2)
    with ranger(world) as consumer:
        with pytest.raises(errors.TimeoutException) as caught:
            read(consumer, 0, 4, timeout=2.0)
        (note,) = caught.value.__notes__
        come = "It had come to offset 2 of the range orders-0 from 0 to 4"
        assert note == f"{come}: no records were added to orders-0."
    world.control.append(A, b"open", b"open", producer=9)
    with ranger(world, isolation_level="read_committed") as consumer:
        with pytest.raises(errors.TimeoutException) as caught:
            read(consumer, 0, 4, timeout=2.0)
        assert "transactions that are open hold back 2 offsets" in caught.value.__notes__[0]


def test_what_is_damaged_beyond_the_end_is_not_met() -> None:
    """Nothing is decoded that was not asked for; before the end it is an error."""
    world = World()
    for _ in range(2):
        world.control.append(A, b"one", b"two")
    world.control.damage(A, 2)
    with ranger(world) as consumer:
        assert read(consumer, 0, 2) == [0, 1]
        got: list[int] = []
        with pytest.raises(errors.CorruptRecordException):
            gather(got, consumer.read_range(A, 0, 3))
        assert got == [0, 1]


@pytest.mark.parametrize("policy", ["earliest", "latest", "none"])
def test_an_offset_that_is_not_in_the_log_is_an_error(policy: str) -> None:
    """Under any policy; the error tells where the log begins and ends."""
    world = written(10)
    world.control.delete_records(A, 4)
    with ranger(world, auto_offset_reset=policy) as consumer:
        for start, end in ((2, 8), (11, 12)):
            with pytest.raises(errors.OffsetOutOfRangeException) as caught:
                read(consumer, start, end)
            assert (caught.value.log_start, caught.value.log_end) == (4, 10)
            assert caught.value.offsets == {A: start}
            assert f"orders-0 from {start} to {end}" in str(caught.value)
            assert "from 4 to 10" in str(caught.value)
        assert read(consumer, 4, 10) == list(range(4, 10))


@pytest.mark.parametrize("policy", ["earliest", "none"])
def test_a_log_that_is_cut_back_meanwhile_is_an_error(policy: str) -> None:
    """Nothing of the other log is read as if it were of this one."""
    world = written(40, nodes=3, size=100)
    with ranger(world, auto_offset_reset=policy, max_partition_fetch_bytes=1000) as consumer:
        steps = consumer.read_range(A, 0, 60, stall_timeout=10.0)
        got = [each.offset for each in next(steps)]
        world.clock.sleep(0.5)
        world.control.truncate(A, 4)
        for _ in range(40):
            world.control.append(A, b"other")
        world.clock.sleep(1.0)
        with pytest.raises(errors.LogTruncationException):
            gather(got, steps)
        assert got == list(range(len(got)))


@pytest.mark.parametrize("policy", ["earliest", "none"])
@pytest.mark.parametrize("pause", [0.0, 30.0], ids=["at once", "later"])
def test_a_topic_recreated_meanwhile_is_an_error(policy: str, pause: float) -> None:
    """Under any policy: what has the same offsets now was not asked for."""
    world, got = written(20, size=100), list[int]()
    keys = {"auto_offset_reset": policy, "max_partition_fetch_bytes": 1000}
    with ranger(world, **keys) as consumer:
        steps = consumer.read_range(A, 0, 20)
        got += offsets(next(steps))[A]
        world.control.recreate_topic("orders")
        world.control.append(A, *(b"%d" % nth for nth in range(40)))
        world.clock.sleep(pause)
        with pytest.raises(errors.LogTruncationException, match="created again"):
            gather(got, steps)
        assert got == list(range(len(got)))
        assert len(got) < 20
        assert consumer.assignment() == frozenset()


def test_a_leader_that_moves_is_followed() -> None:
    """Each record comes once."""
    world = written(40, nodes=3, size=100)
    with ranger(world, max_partition_fetch_bytes=1000) as consumer:
        got: list[int] = []
        for records in consumer.read_range(A, 0, 40):
            got.extend(each.offset for each in records)
            if len(got) < 30:
                world.control.move_leader(A)
        assert got == list(range(40))


def test_what_is_not_written_yet_is_waited_for() -> None:
    """An end beyond that of the log is come to when it is written."""
    world = written(3)
    with ranger(world) as consumer:
        began = world.clock.time
        for nth in range(3):
            world.at(began + 1.0 + nth, lambda: world.control.append(A, b"late"))
        assert read(consumer, 0, 6) == list(range(6))
        assert world.clock.time - began == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize("bound", ["timeout", "stall_timeout", "default"])
def test_a_broker_that_freezes_ends_it_at_its_deadline(bound: str) -> None:
    """The error says how far it had come, and which broker it waited for since when."""
    world = written(40, size=100)
    keys: dict[str, Any] = {} if bound == "default" else {bound: 4.0}
    with ranger(world, max_partition_fetch_bytes=1000, default_api_timeout_ms=4000) as consumer:
        began = world.clock.time
        steps = consumer.read_range(A, 0, 50, **keys)
        got = [each.offset for each in next(steps)]
        world.clock.sleep(1.0)
        world.control.freeze()
        frozen = world.clock.time
        with pytest.raises(errors.TimeoutException) as caught:
            gather(got, steps)
        due = began if bound == "timeout" else frozen
        assert world.clock.time == pytest.approx(due + 4.0, abs=0.1)
        error = caught.value
        assert (error.operation, error.partitions) == ("read_range", (A,))
        assert [each.request for each in error.attempts] == ["Fetch"]
        assert error.attempts[0].node in str(error)
        (note,) = error.__notes__
        come = f"It had come to offset {len(got)} of the range orders-0 from 0 to 50: no broker"
        assert note.startswith(come)
        assert got == list(range(40))
        world.control.thaw()
        assert read(consumer, 20, 40) == list(range(20, 40))


def test_a_cluster_that_is_not_there_is_named() -> None:
    """Before anything is known the error tells what was waited for, and what was met."""
    world = written(3)
    world.control.kill(1)
    with ranger(world) as consumer:
        began = world.clock.time
        with pytest.raises(errors.TimeoutException) as caught:
            read(consumer, 0, 3, timeout=3.0)
        assert world.clock.time == pytest.approx(began + 3.0, abs=0.01)
        assert [each.reason for each in caught.value.waits] == ["a leader of orders-0"]
        assert caught.value.last_error is not None


def test_a_refusal_ends_it_at_once() -> None:
    """What no patience mends is not waited for."""
    world = written(3)
    with ranger(world) as consumer:
        world.control.deny(topic="orders")
        began = world.clock.time
        with pytest.raises(errors.TopicAuthorizationException):
            read(consumer, 0, 3)
        assert world.clock.time - began < 1.0


def test_time_that_the_caller_takes_counts() -> None:
    """A deadline of the whole runs on between the steps."""
    world = written(40, size=100)
    with ranger(world, max_partition_fetch_bytes=1000) as consumer:
        steps = consumer.read_range(A, 0, 40, 2.0)
        next(steps)
        world.clock.sleep(3.0)
        with pytest.raises(errors.TimeoutException):
            next(steps)
        assert consumer.assignment() == frozenset()


def test_no_time_is_enough_for_what_is_there() -> None:
    """Timeout 0 waits for nothing, and what has come is handed out."""
    world = written(3)
    with ranger(world) as consumer:
        with pytest.raises(errors.TimeoutException):
            read(consumer, 0, 3, stall_timeout=0)
        assert read(consumer, 3, 3, timeout=0, stall_timeout=0) == []


def test_stopping_in_between_leaves_nothing() -> None:
    """Nothing of it is fetched or held any more, and the next range begins at once."""
    world = written(40, 5, size=100)
    with ranger(world, max_partition_fetch_bytes=1000) as consumer:
        for _ in consumer.read_range(A, 0, 40):
            break
        assert consumer.assignment() == frozenset()
        before = len(fetches(world))
        world.clock.sleep(10.0)
        assert len(fetches(world)) <= before + 1
        assert holding(world) == 0
        began = world.clock.time
        assert sum(map(len, consumer.read_range(B, 0, 5))) == 5
        assert world.clock.time - began < 0.6


@pytest.mark.parametrize(
    "meddling",
    [
        lambda consumer: consumer.poll(1.0),
        lambda consumer: consumer.seek(A, 0),
        lambda consumer: consumer.assign(B),
        lambda consumer: consumer.unsubscribe(),
    ],
    ids=["poll", "seek", "assign", "unsubscribe"],
)
def test_moving_the_position_meanwhile_is_an_error(
    meddling: Callable[[KafkaConsumer], object],
) -> None:
    """No record is left out in silence."""
    world = written(40, 3, size=100)
    with ranger(world, max_partition_fetch_bytes=1000) as consumer:
        steps = consumer.read_range(A, 0, 40)
        next(steps)
        meddling(consumer)
        with pytest.raises(errors.IllegalStateException, match="cannot go on"):
            next(steps)


def test_other_calls_may_be_made_in_between() -> None:
    """Look-ups, say, which move nothing."""
    world = written(40, size=100)
    with ranger(world, max_partition_fetch_bytes=1000) as consumer:
        steps = consumer.read_range(A, 0, 40)
        got = len(next(steps))
        assert consumer.end_offsets(A) == {A: 40}
        assert consumer.position(A) == got
        assert got + sum(map(len, steps)) == 40


def test_a_consumer_that_reads_reads_no_range() -> None:
    """Neither by assignment nor by subscription; nothing of it is lost."""
    world = written(3)
    with reader(world, A) as consumer, pytest.raises(errors.IllegalStateException):
        read(consumer, 0, 3)
    with world.consumer(enable_auto_commit=False) as consumer:
        consumer.subscribe("orders")
        with pytest.raises(errors.IllegalStateException):
            read(consumer, 0, 3)
        assert consumer.subscription() == {"orders"}


def test_reading_a_range_commits_nothing() -> None:
    """Neither `commit_sync` nor the automatic commit has anything to say of it."""
    world = written(40, size=100)
    with world.consumer(max_partition_fetch_bytes=1000) as consumer:
        for _ in consumer.read_range(A, 0, 40):
            consumer.commit_sync()
            world.clock.sleep(6.0)
        assert consumer.committed(A) == {A: None}
    assert not world.control.committed("g")


def test_a_wake_up_ends_it() -> None:
    """What was yielded stands, and the range can be gone on with by another."""
    world = written(3)
    with ranger(world) as consumer:
        world.at(world.clock.time + 1.0, consumer.wakeup)
        got: list[int] = []
        with pytest.raises(errors.WakeupException):
            gather(got, consumer.read_range(A, 0, 4))
        assert got == [0, 1, 2]
        assert read(consumer, 0, 3) == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ((A, -1, 3), ValueError),
        ((A, 4, 3), ValueError),
        ((A, 0, 3.5), TypeError),
        ((A, True, 3), TypeError),
        ((A, 0, 3, -1.0), ValueError),
        ((A, 0, 3, "soon"), TypeError),
        (("orders", 0, 3), TypeError),
    ],
)
def test_arguments_are_checked_before_anything_happens(
    arguments: tuple[Any, ...], kind: type[Exception]
) -> None:
    """By the call itself, and not by the first step."""
    world = written(3)
    with ranger(world) as consumer:
        with pytest.raises(kind):
            consumer.read_range(*arguments)
        assert not fetches(world)


def test_a_closed_consumer_reads_no_range() -> None:
    """It says so at once; and so does a step whose consumer was closed since."""
    world = written(40, size=100)
    consumer = ranger(world, max_partition_fetch_bytes=1000)
    steps = consumer.read_range(A, 0, 40)
    next(steps)
    consumer.close()
    with pytest.raises(errors.IllegalStateException, match="closed"):
        next(steps)
    with pytest.raises(errors.IllegalStateException, match="closed"):
        consumer.read_range(A, 0, 3)


def test_who_reads_at_full_speed_asks_the_network_thread_for_nothing() -> None:
    """A step that finds its records posts nothing, and none waits long enough to ask why."""
    world = written(40, size=100)
    with ranger(world, max_partition_fetch_bytes=1000) as consumer:
        steps = consumer.read_range(A, 0, 40)
        next(steps)
        posted = world.members[0].thread.mailbox.posted
        assert sum(map(len, steps)) > 20
        assert world.members[0].thread.mailbox.posted == posted
