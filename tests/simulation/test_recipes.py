"""The recipes of docs/howto for records that fail: dead letters, and retry topics."""

import random
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest

from prokurist import ConsumerRecord, KafkaConsumer, KafkaProducer, TopicPartition, errors
from prokurist.testing.cluster.batches import Record
from tests.documents import names_of
from tests.simulation.producing import log_of
from tests.simulation.world import World

TOPICS: Final = {"orders": 3, "orders.retry.1": 2, "orders.retry.2": 2, "orders.dead": 2}
DELAYS: Final = (10.0, 300.0)
RECORDS: Final = 60
NOT_ENOUGH_REPLICAS: Final = 19
LATE: Final = 0.6
"""Seconds: the fetch that is out comes back first, by `fetch.max.wait.ms`."""


class Killed(BaseException):
    """The process is gone."""


def world_of_orders(records: int = RECORDS, seed: int = 1) -> World:
    """Orders, one a key."""
    world = World(topics=TOPICS, seed=seed)
    for number in range(records):
        world.control.append(
            TopicPartition("orders", number % 3), Record(b"order %d" % number, b"%d" % number)
        )
    return world


def member(world: World, **keys: Any) -> KafkaConsumer:
    """A consumer as the recipes have it."""
    return world.consumer(auto_offset_reset="earliest", group_id="billing", **keys)


def records_of(world: World, topic: str) -> list[ConsumerRecord]:
    """What is in a topic."""
    return [
        each
        for number in range(TOPICS[topic])
        for each in log_of(world, TopicPartition(topic, number))
    ]


def told(record: ConsumerRecord) -> dict[str, str]:
    """The headers, as text."""
    return {name: (value or b"").decode() for name, value in record.headers}


def retry_topics(
    world: World,
    consumer: KafkaConsumer,
    producer: KafkaProducer,
    work: Callable[[ConsumerRecord], None],
    delays: tuple[float, ...] = DELAYS,
) -> Any:
    """The recipe's class, in virtual time."""
    names = names_of("retry_topics.py")
    names["time"] = SimpleNamespace(time=world.clock.now)
    return names["RetryTopics"](consumer, producer, "orders", delays, work)


def test_a_dead_letter_says_why_and_from_where() -> None:
    """Key, value and headers are the record's; those behind it go on."""
    world = world_of_orders(5)
    names = names_of("dead_letters.py")
    world.control.append(
        TopicPartition("orders", 1),
        Record(b"\xff", b"k", headers=(("trace", b"7"), ("none", None))),
    )
    worked: list[bytes] = []
    turns = iter([False] * 4)
    stop = SimpleNamespace(is_set=lambda: next(turns, True))

    def work(record: ConsumerRecord) -> None:
        record.value.decode()
        worked.append(record.value)

    with world.producer() as producer, member(world) as consumer:
        consumer.subscribe("orders")
        names["run"](consumer, names["DeadLetters"](producer, "orders.dead"), work, stop)
    assert len(worked) == 5
    (letter,) = records_of(world, "orders.dead")
    assert (letter.key, letter.value) == (b"k", b"\xff")
    assert letter.headers[:2] == [("trace", b"7"), ("none", None)]
    text = told(letter).pop("failed.error.text")
    assert text.startswith("'utf-8' codec can't decode byte 0xff")
    assert dict(letter.headers[2:]) == {
        "failed.topic": b"orders",
        "failed.partition": b"1",
        "failed.offset": b"2",
        "failed.error.class": b"builtins.UnicodeDecodeError",
        "failed.error.text": text.encode(),
        "failed.attempts": b"1",
    }


def test_a_dead_letter_that_cannot_be_written_ends_the_service() -> None:
    """What was in hand is not committed, and comes again."""
    world = world_of_orders(9)
    names = names_of("dead_letters.py")

    def work(_record: ConsumerRecord) -> None:
        raise ValueError("nothing works")

    with world.producer(delivery_timeout_ms=3000, request_timeout_ms=1000) as producer:
        letters = names["DeadLetters"](producer, "orders.dead")
        never = SimpleNamespace(is_set=lambda: False)

        def service() -> None:
            with member(world) as consumer:
                consumer.subscribe("orders")
                names["run"](consumer, letters, work, never)

        with (
            world.control.fail("Produce", NOT_ENOUGH_REPLICAS, times=None),
            pytest.raises(errors.KafkaException, match=r"orders\.dead"),
        ):
            service()
    assert not records_of(world, "orders.dead")
    with member(world) as consumer:
        consumer.subscribe("orders")
        again: list[ConsumerRecord] = []
        while len(again) < 9:
            again += consumer.poll(30.0)
        assert len(again) == 9


def test_a_record_goes_from_topic_to_topic() -> None:
    """B320: at the times that it is due, with its headers; the others are not held up."""
    world = world_of_orders()
    seen: list[tuple[str, float]] = []
    worked: list[bytes] = []

    def work(record: ConsumerRecord) -> None:
        if record.key == b"7":
            seen.append((record.topic, world.clock.time))
            raise ConnectionError(f"away: {len(seen)}")
        worked.append(record.key)

    with world.producer() as producer, member(world) as consumer:
        service = retry_topics(world, consumer, producer, work)
        while len(worked) < RECORDS - 1 or not seen:
            service.turn()
        began = world.clock.time
        generation = consumer.group_metadata().generation_id
        while not (waiting := service.waiting):
            service.turn()
        (waits,) = waiting
        assert waits.topic == "orders.retry.1"
        assert consumer.paused() == {waits}
        # The member polls, and others' records come at once meanwhile.
        world.control.append(TopicPartition("orders", 1), Record(b"order 99", b"99"))
        while b"99" not in worked:
            service.turn()
        assert world.clock.time < began + 2.0
        while not records_of(world, "orders.dead"):
            service.turn()
        assert consumer.group_metadata().generation_id == generation
        assert not service.waiting
    topics, times = zip(*seen, strict=True)
    assert topics == ("orders", "orders.retry.1", "orders.retry.2")
    assert times[1] - times[0] == pytest.approx(10.0, abs=LATE)
    assert times[2] - times[1] == pytest.approx(300.0, abs=LATE)

    (first,) = records_of(world, "orders.retry.1")
    (second,) = records_of(world, "orders.retry.2")
    (letter,) = records_of(world, "orders.dead")
    for attempts, record in enumerate((first, second, letter), 1):
        assert (record.key, record.value) == (b"7", b"order 7")
        headers = told(record)
        if record is not letter:
            due = times[attempts - 1] + DELAYS[attempts - 1]
            assert float(headers.pop("retry.due")) == pytest.approx(due, abs=0.01)
        assert headers == {
            "failed.topic": "orders",
            "failed.partition": "1",
            "failed.offset": "2",
            "failed.error.class": "builtins.ConnectionError",
            "failed.error.text": f"away: {attempts}",
            "failed.attempts": str(attempts),
        }


def test_what_no_second_try_mends_is_a_dead_letter_at_once() -> None:
    """With any headers: in the topic itself a record comes for the first time."""
    world = world_of_orders(0)
    strange = (("failed.attempts", None), ("retry.due", b"never"), ("own", b"1"))
    world.control.append(TopicPartition("orders", 0), Record(b"x", b"k", headers=strange))

    def work(record: ConsumerRecord) -> None:
        int(record.value)

    with world.producer() as producer, member(world) as consumer:
        service = retry_topics(world, consumer, producer, work)
        while not (letters := records_of(world, "orders.dead")):
            service.turn()
    assert told(letters[0])["failed.attempts"] == "1"
    assert told(letters[0])["own"] == "1"
    assert [name for name, _ in letters[0].headers].count("failed.attempts") == 1
    assert "retry.due" not in told(letters[0])


def test_a_partition_that_waits_goes_to_another_member() -> None:
    """It waits there until the same moment, and the first one forgets it."""
    world = world_of_orders(6)
    tried: list[tuple[str, float]] = []

    def work(record: ConsumerRecord) -> None:
        tried.append((record.topic, world.clock.time))
        if record.topic == "orders":
            raise ConnectionError("away")

    keys = {"partition_assignment_strategy": "cooperative-sticky"}
    with world.producer() as producer, member(world, **keys) as first:
        one = retry_topics(world, first, producer, work)
        while len(one.waiting) < 2:
            one.turn()
        with member(world, **keys) as second:
            other = retry_topics(world, second, producer, work)
            while not other.waiting:
                one.turn()
                other.turn()
            assert len(one.waiting) + len(other.waiting) == 2
            assert not set(one.waiting) & set(other.waiting)
            while len(tried) < 12:
                one.turn()
                other.turn()
    times = [at for _, at in tried]
    assert [topic for topic, _ in tried] == ["orders"] * 6 + ["orders.retry.1"] * 6
    assert times[6] - times[0] == pytest.approx(10.0, abs=LATE)
    assert times[-1] - times[5] == pytest.approx(10.0, abs=LATE)


@pytest.mark.parametrize("seed", range(4))
def test_each_record_is_worked_on_or_a_dead_letter(seed: int) -> None:
    """B319: the service is killed at random moments; none is lost, and none is in both."""
    world = world_of_orders(seed=seed)
    lot = random.Random(seed)  # noqa: S311 - a lot to be drawn again
    fails = {b"%d" % number: lot.choice((0, 0, 0, 1, 2, 3, 4)) for number in range(RECORDS)}
    good = {key for key, failures in fails.items() if failures < 3}
    worked: Counter[bytes] = Counter()
    left = 0

    def work(record: ConsumerRecord) -> None:
        nonlocal left
        attempts = int(dict(record.headers).get("failed.attempts") or b"0")
        if left == 0:
            raise Killed
        left -= 1
        if attempts < fails[record.key]:
            raise ConnectionError("away")
        worked[record.key] += 1

    def are_all_done() -> bool:
        return worked.keys() == good and {
            each.key for each in records_of(world, "orders.dead")
        } == (fails.keys() - good)

    for life in range(8):
        left = lot.randrange(40) if life < 7 else 10_000
        try:
            with (
                world.producer() as producer,
                member(world, auto_commit_interval_ms=50) as consumer,
            ):
                service = retry_topics(world, consumer, producer, work, (0.5, 1.0))
                while not are_all_done():
                    service.turn()
        except Killed:
            continue
    assert are_all_done()
    assert sum(worked.values()) > len(worked)
