"""Records that end out of order: commits, bounds, rebalances."""

from collections import Counter
from typing import Any

import pytest

from prokurist import ConsumerRecord, EmptyCause, KafkaConsumer, OffsetTracker, TopicPartition
from prokurist.errors import IllegalStateException, WakeupException
from tests.simulation.joining import Notes, grouped
from tests.simulation.reading import A, B, written
from tests.simulation.returning import committed, offsets_of
from tests.simulation.test_stored_offsets import INTERVAL, PROTOCOLS, storing
from tests.simulation.world import World


def tracking(
    world: World, *partitions: TopicPartition, most: int = 1000, uncommitted: int = 10_000
) -> tuple[KafkaConsumer, OffsetTracker]:
    """A consumer that reads partitions, and its tracker."""
    consumer = storing(world)
    tracker = consumer.track_offsets(max_outstanding=most, max_uncommitted=uncommitted)
    consumer.assign(partitions or (A,))
    return consumer, tracker


def tracking_member(
    world: World, protocol: str, listener: object = None, **keys: Any
) -> tuple[KafkaConsumer, OffsetTracker]:
    """The same in a group."""
    if protocol == "classic":
        keys["partition_assignment_strategy"] = "cooperative-sticky"
    consumer = storing(world, group_protocol=protocol, **keys)
    tracker = consumer.track_offsets()
    consumer.subscribe("orders", listener)  # type: ignore[arg-type]
    return consumer, tracker


def told(consumer: KafkaConsumer) -> dict[str, int]:
    """What became of what the tracker was told."""
    name = "prokurist_consumer_records_done_total"
    found = {key: value for key, value in consumer.metrics().items() if key.startswith(name)}
    return {key.split('"')[1]: int(value) for key, value in found.items()}


def test_commits_end_before_the_lowest_outstanding_record() -> None:
    """B288: in any order; automatic ones, those without offsets, and that of close."""
    world = written(10)
    consumer, tracker = tracking(world)
    with consumer:
        records = list(consumer.poll(1.0))
        consumer.poll(INTERVAL)
        for record in records[1:6]:
            assert tracker.done(record)
        consumer.poll(INTERVAL)
        assert set(offsets_of(world)) == {0}
        assert (tracker.outstanding, tracker.held_back) == (5, 5)
        metrics = consumer.metrics()
        assert metrics["prokurist_consumer_records_outstanding"] == 5
        assert metrics["prokurist_consumer_records_held_back"] == 5
        assert tracker.done(records[0])
        consumer.commit_sync()
        assert offsets_of(world)[-1] == 6
        tracker.done(records[6])
        tracker.done(records[8])
    assert offsets_of(world)[-1] == 7


def test_an_iteration_is_tracked_too() -> None:
    """B288: a record is outstanding from the step that hands it out, and may be done in it."""
    world = written(6)
    consumer, tracker = tracking(world)
    with consumer:
        later: list[ConsumerRecord] = []
        for record in consumer.records(idle_timeout=1.0):
            assert tracker.outstanding == len(later) + 1
            if record.offset in (2, 4):
                later.append(record)
            else:
                assert tracker.done(record)
            consumer.commit_sync()
            assert committed(world) == min(
                [*[each.offset for each in later], record.offset + 1]
            )
        assert tracker.done(later[0])
        consumer.commit_sync()
        assert committed(world) == 4


def test_at_the_bound_a_poll_waits_for_a_record_to_be_done() -> None:
    """B289: it returns by its deadline and says why; it goes on as soon as one is done."""
    world = written(10, 10)
    consumer, tracker = tracking(world, A, B, most=4)
    with consumer:
        records = list(consumer.poll(1.0))
        assert len(records) == 4
        began = world.clock.time
        nothing = consumer.poll(3.0)
        assert world.clock.time - began == pytest.approx(3.0)
        assert nothing.why_empty is not None
        assert nothing.why_empty.cause is EmptyCause.OUTSTANDING
        assert "4 records are outstanding" in str(nothing.why_empty)
        began = world.clock.time
        world.at(began + 1.0, lambda: tracker.done(records[2]))
        assert len(consumer.poll(3.0)) == 1
        assert world.clock.time - began == pytest.approx(1.0, abs=0.01)


def test_one_stuck_record_stops_its_own_partition_alone() -> None:
    """B289: the others go on; it goes on itself when the record is done."""
    world = written(10, 10)
    consumer, tracker = tracking(world, A, B, uncommitted=3)
    with consumer:
        got: Counter[TopicPartition] = Counter()
        stuck = None
        for _ in range(20):
            for record in consumer.poll(0.1):
                got[TopicPartition(record.topic, record.partition)] += 1
                if stuck is None and record.partition == 0:
                    stuck = record
                else:
                    tracker.done(record)
        assert got == {A: 3, B: 10}
        assert stuck is not None
        why = consumer.poll(0.1).why_empty
        assert why is not None
        assert why.cause is not EmptyCause.OUTSTANDING  # B is read, and has nothing new.
        began = world.clock.time
        world.at(began + 1.0, lambda: tracker.done(stuck))
        assert [each.offset for each in consumer.poll(3.0)] == [3, 4, 5]
        assert world.clock.time - began == pytest.approx(1.0, abs=0.01)


def test_an_iteration_waits_at_the_bound() -> None:
    """B289: and goes on when a record is done, whichever."""
    world = written(5)
    consumer, tracker = tracking(world, most=2)
    with consumer:
        records = consumer.records()
        first, second = next(records), next(records)
        began = world.clock.time
        world.at(began + 4.0, lambda: tracker.done(second))
        assert next(records).offset == 2
        assert world.clock.time - began == pytest.approx(4.0, abs=0.01)
        assert [each.offset for each in consumer.records(idle_timeout=1.0)] == []
        assert tracker.done(first)


def test_told_twice() -> None:
    """B290: counted, and nothing else."""
    world = written(5)
    consumer, tracker = tracking(world)
    with consumer:
        records = list(consumer.poll(1.0))
        assert [tracker.done(records[1]) for _ in range(3)] == [True, False, False]
        assert told(consumer) == {"counted": 1, "twice": 2, "given_up": 0}
        assert (tracker.outstanding, tracker.held_back) == (4, 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_over_a_rebalance(protocol: str) -> None:
    """B291: what is done is committed before a partition goes; the rest is ignored."""
    world = grouped(partitions=2, records=6)
    consumer, tracker = tracking_member(world, protocol)
    with consumer:
        records: list[ConsumerRecord] = []
        while len(records) < 12:
            records += consumer.poll(1.0)
        for record in records:
            if record.offset in (0, 1, 4):
                tracker.done(record)
        other, tracker_of_other = tracking_member(world, protocol)
        with other:
            again: list[ConsumerRecord] = []
            for _ in range(100):
                consumer.poll(0.1)
                again += other.poll(0.1)
            (kept,), (gone,) = consumer.assignment(), other.assignment()
            assert [each.offset for each in again] == [2, 3, 4, 5]
            assert tracker.outstanding == 3
            for record in records:
                is_kept = record.partition == kept.partition
                wanted = is_kept and record.offset in (2, 3, 5)
                assert tracker.done(record) is wanted
            assert told(consumer) == {"counted": 9, "twice": 3, "given_up": 6}
            consumer.commit_sync()
            assert (committed(world, kept), committed(world, gone)) == (6, 2)
            for record in again:
                tracker_of_other.done(record)
            other.commit_sync()
            assert committed(world, gone) == 6


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_listener_waits_for_work_in_hand(protocol: str) -> None:
    """B291: what ends while it waits is committed before the partition goes."""

    def ends(partitions: frozenset[TopicPartition]) -> None:
        for record in records:
            if TopicPartition(record.topic, record.partition) in partitions:
                at = world.clock.time + 0.2 * (6 - record.offset)
                world.at(at, lambda record=record: tracker.done(record))  # type: ignore[misc]
        waited.append(tracker.wait(5.0, partitions))

    world = grouped(partitions=2, records=6)
    waited: list[bool] = []
    records: list[ConsumerRecord] = []
    consumer, tracker = tracking_member(world, protocol, Notes(revoked=ends))
    with consumer:
        while len(records) < 12:
            records += consumer.poll(1.0)
        other, _ = tracking_member(world, protocol)
        with other:
            for _ in range(100):
                consumer.poll(0.1)
                assert not other.poll(0.1)
            assert len(other.assignment()) == 1
            assert waited[0]
    assert waited == [True, True] if protocol == "consumer" else all(waited)
    assert committed(world, A) == committed(world, B) == 6


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_lost_partition_begins_from_what_was_committed(protocol: str) -> None:
    """B291: what was outstanding is not; the same records are, when they come again."""
    world = grouped(partitions=1, records=6)
    consumer, tracker = tracking_member(world, protocol, max_poll_interval_ms=10_000)
    with consumer:
        records = list(consumer.poll(5.0))
        tracker.done(records[0])
        consumer.commit_sync()
        world.clock.sleep(30.0)
        assert tracker.outstanding == 0
        assert not tracker.done(records[1])
        again: list[ConsumerRecord] = []
        while not again:
            again += consumer.poll(5.0)
        assert [each.offset for each in again] == [1, 2, 3, 4, 5]
        # The work was done all the same, be it the earlier delivery's.
        assert tracker.done(records[2])
        assert not tracker.done(again[1])
        assert told(consumer) == {"counted": 2, "twice": 1, "given_up": 1}


def test_waiting_for_what_is_outstanding() -> None:
    """B292: it ends when the last is done, at its deadline, or by a wake-up."""
    world = written(3)
    consumer, tracker = tracking(world)
    with consumer:
        assert tracker.wait(0)
        records = list(consumer.poll(1.0))
        began = world.clock.time
        assert not tracker.wait(2.0)
        assert world.clock.time - began == pytest.approx(2.0)
        assert tracker.wait(2.0, B)
        world.at(world.clock.time + 1.0, consumer.wakeup)
        with pytest.raises(WakeupException):
            tracker.wait(2.0)
        began = world.clock.time
        for record in records:
            world.at(began + 1.0 + record.offset, lambda each=record: tracker.done(each))  # type: ignore[misc]
        assert tracker.wait(10.0)
        assert world.clock.time - began == pytest.approx(3.0)


def test_a_tracker_is_refused() -> None:
    """B285: where all that is returned counts as done, after assign, and a second one."""
    world = written(3)
    plain, assigned = world.consumer(), storing(world, A)
    with plain, pytest.raises(IllegalStateException, match=r"enable.auto.offset.store=false"):
        plain.track_offsets()
    with assigned, pytest.raises(IllegalStateException, match="before subscribe and assign"):
        assigned.track_offsets()
    consumer, tracker = tracking(world)
    with consumer:
        for bounds in ({"max_outstanding": 0}, {"max_uncommitted": -1}):
            with pytest.raises(ValueError, match="at least 1"):
                consumer.track_offsets(**bounds)
        with pytest.raises(TypeError, match="max_outstanding is an int"):
            consumer.track_offsets(max_outstanding=True)
        with pytest.raises(IllegalStateException, match="was called before"):
            consumer.track_offsets()
        with pytest.raises(IllegalStateException, match=r"tell it with done\(record\)"):
            consumer.store_offsets({A: 1})
        assert repr(tracker) == "OffsetTracker(0 outstanding, 0 held back)"
