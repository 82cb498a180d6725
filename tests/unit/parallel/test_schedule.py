"""The schedule of records in hand: who may run, who waits, and what goes with a partition."""

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from prokurist import ConsumerRecord, TopicPartition
from prokurist.errors import IllegalStateException
from prokurist.parallel import DeadLetters, Order, Retries
from prokurist.parallel.schedule import Schedule, Work

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)


def record(offset: int, key: bytes | None = None, tp: TopicPartition = A) -> ConsumerRecord:
    """A record of ten bytes beside its key."""
    return ConsumerRecord(tp.topic, tp.partition, offset, key, b"0123456789")


def taken(schedule: Schedule, now: float = 0.0) -> list[Work]:
    """All that may run now."""
    found = []
    while (work := schedule.take(now)) is not None:
        found.append(work)
    return found


def offsets(works: list[Work]) -> list[tuple[int, int]]:
    """Their places."""
    return [(each.partition.partition, each.record.offset) for each in works]


@pytest.mark.parametrize(
    ("order", "first"),
    [
        (Order.KEY, [(0, 0), (0, 1), (0, 3), (0, 4), (1, 0)]),
        (Order.PARTITION, [(0, 0), (1, 0)]),
        (Order.NONE, [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0)]),
    ],
)
def test_orders(order: Order, first: list[tuple[int, int]]) -> None:
    """B868: those of one key, or of one partition, or none; without a key, none."""
    schedule = Schedule(order)
    keys = (b"x", b"y", b"x", None, None)
    schedule.add(record(offset, key) for offset, key in enumerate(keys))
    schedule.add([record(0, b"x", B)])
    works = taken(schedule)
    assert offsets(works) == first
    for work in works:
        schedule.finish(work, "done", 0.1)
    rest = taken(schedule)
    while rest:
        first += offsets(rest)
        for work in rest:
            schedule.finish(work, "done", 0.1)
        rest = taken(schedule)
    assert sorted(first) == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0)]
    assert schedule.in_hand == schedule.counters.bytes == 0
    assert not schedule._lanes


def test_lanes_take_turns() -> None:
    """B868: a key with many records does not hold up the others."""
    schedule = Schedule(Order.KEY)
    schedule.add([*(record(offset, b"x") for offset in range(5)), record(5, b"y")])
    work = schedule.take(0.0)
    assert work is not None
    schedule.finish(work, "done", 0.0)
    assert offsets(taken(schedule)) == [(0, 5), (0, 1)]


def test_another_attempt_waits_without_holding_up_other_keys() -> None:
    """B869: those behind it wait; it is the next of its key when it is due."""
    schedule = Schedule(Order.KEY)
    schedule.add(record(offset, key) for offset, key in enumerate((b"x", b"x", b"y")))
    failing, _ = taken(schedule)
    schedule.again(failing, 10.0, 0.1)
    assert schedule.next_due == 10.0
    assert not taken(schedule, 9.9)
    assert taken(schedule, 10.0) == [failing]
    assert not schedule._due
    schedule.finish(failing, "done", 0.1)
    assert offsets(taken(schedule, 10.0)) == [(0, 1)]


def test_what_goes_with_a_partition() -> None:
    """B872, B873: what has not begun is forgotten; what runs counts until it is given up."""
    schedule = Schedule(Order.KEY)
    schedule.add(record(offset, b"%d" % (offset % 3)) for offset in range(6))
    schedule.add([record(0, b"b", B)])
    one, two, three, other = taken(schedule)
    schedule.again(one, 5.0, 0.1)
    schedule.finish(two, "done", 0.1)
    schedule.drop([A])
    assert schedule.running([A]) == 1
    assert schedule.next_due is None
    assert schedule.lose([A]) == [three]
    assert not schedule.lose([A])
    assert schedule.running([A]) == 0
    schedule.again(three, 5.0, 0.1)
    assert schedule.counters.results.children["given_up"].number == 1
    schedule.finish(other, "done", 0.1)
    assert schedule.in_hand == schedule.counters.bytes == 0
    assert not taken(schedule, 100.0)
    assert not schedule._lanes


def test_a_key_whose_partition_comes_back_waits_for_its_old_record() -> None:
    """B876: so that two records of one key never run at once."""
    schedule = Schedule(Order.KEY)
    schedule.add([record(0, b"x")])
    (old,) = taken(schedule)
    schedule.drop([A])
    schedule.lose([A])
    schedule.add([record(0, b"x"), record(1, b"y")])
    (free,) = taken(schedule)
    assert free.record.offset == 1
    schedule.finish(old, "given_up", 30.0)
    (again,) = taken(schedule)
    assert again.record.offset == 0
    assert again is not old


def test_keys_that_are_objects() -> None:
    """B868: a deserializer may have made them, also such as have no hash."""
    schedule = Schedule(Order.KEY)
    made = [record(offset).with_values([offset % 2], None) for offset in range(4)]
    schedule.add(made)
    assert offsets(taken(schedule)) == [(0, 0), (0, 1)]


@pytest.mark.parametrize("seed", range(200))
def test_random_schedules(seed: int) -> None:
    """B868, B869, B876: at most one record of a lane runs, in order, and none is forgotten."""
    random = Random(seed)  # noqa: S311 - no secret
    order = random.choice(list(Order))
    schedule, now, next_offset = Schedule(order), 0.0, {A: 0, B: 0}
    running: list[Work] = []
    ended: dict[object, list[int]] = {}
    owed: set[tuple[TopicPartition, int]] = set()
    for _ in range(300):
        now += random.random()
        step = random.random()
        tp = random.choice((A, B))
        if step < 0.3:
            for _ in range(random.randrange(4)):
                schedule.add([record(next_offset[tp], b"%d" % random.randrange(3), tp)])
                owed.add((tp, next_offset[tp]))
                next_offset[tp] += 1
        elif step < 0.6 and (work := schedule.take(now)) is not None:
            lane = (work.partition, work.lane.key)
            assert lane not in [(each.partition, each.lane.key) for each in running]
            running.append(work)
        elif step < 0.95 and running:
            work = running.pop(random.randrange(len(running)))
            if random.random() < 0.3:
                schedule.again(work, now + random.random() * 5, 0.1)
                continue
            if not work.is_lost:
                owed.discard((work.partition, work.record.offset))
                ended.setdefault((work.partition, work.lane.key), []).append(work.record.offset)
            schedule.finish(work, "done", 0.1)
        elif step > 0.97:
            schedule.drop([tp])
            schedule.lose([tp])
            owed = {each for each in owed if each[0] != tp}
    while schedule.in_hand:
        now += 10.0
        running += taken(schedule, now)
        for work in running:
            if not work.is_lost:
                owed.discard((work.partition, work.record.offset))
            schedule.finish(work, "done", 0.1)
        running.clear()
    assert not owed
    assert schedule.counters.bytes == 0
    assert not schedule._lanes
    assert all(first < second for each in ended.values() for first, second in pairwise(each))


def test_pauses_between_attempts() -> None:
    """B869: doubled, up to the longest, with jitter; none after the last, or a hopeless one."""
    retries = Retries(5, 1.0, 3.0, hopeless=(ValueError,), random=lambda: 0.5)
    error = OSError()
    assert [retries.pause(failures, error) for failures in range(1, 6)] == [1, 2, 3, 3, None]
    assert retries.pause(1, ValueError()) is None
    spread = {Retries(3, 1.0).pause(1, error) for _ in range(50)}
    assert all(each is not None and 0.8 <= each <= 1.2 for each in spread)
    assert len(spread) > 1


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"attempts": 0}, ValueError, "at least 1"),
        ({"attempts": 1.5}, TypeError, "an int"),
        ({"first": -1.0}, ValueError, "from 0 on"),
        ({"most": "60"}, TypeError, "number of seconds"),
        ({"hopeless": ValueError}, TypeError, "tuple of exceptions"),
    ],
)
def test_retries_that_are_none(given: Any, error: type[Exception], text: str) -> None:
    """B869: errors name the value and the rule."""
    with pytest.raises(error, match=text):
        Retries(**given)


def test_a_dead_letter_does_not_go_where_it_came_from() -> None:
    """B871: it would be read again without end."""

    class Nowhere:
        def send(self, *_: object, **__: object) -> None:
            raise AssertionError("sent")

    with pytest.raises(IllegalStateException, match="orders"):
        DeadLetters(Nowhere(), "orders").send(record(0), OSError(), 1)
