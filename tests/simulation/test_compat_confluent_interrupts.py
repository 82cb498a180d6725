"""Interrupts and errors of callbacks in confluent-kafka's face: no message is lost."""

from contextlib import suppress
from itertools import count

from prokurist.compat.confluent_kafka import Consumer, Message, TopicPartition
from tests.simulation.interrupting import interrupted_at
from tests.simulation.joining import grouped
from tests.simulation.reading import written
from tests.simulation.returning import committed
from tests.simulation.test_compat_confluent_kafka import assigned, consumer_in
from tests.simulation.world import BUILT


def test_an_interrupt_takes_nothing_from_consume() -> None:
    """B454: what it had collected comes again, and no commit covers it."""
    for nth in count(0, 17):
        world = written(3)
        consumer = assigned(
            world, group_id="g", enable_auto_commit=True, auto_commit_interval_ms=100
        )
        had: list[Message] = []

        def take(consumer: Consumer, most: int, had: list[Message]) -> None:
            # One step, in which no interrupt comes between the call's end and the list.
            had.extend(consumer.consume(most, 0.5))

        take(consumer, 1, had)
        went_on = interrupted_at(nth, take, consumer, 9, had)
        if went_on and nth % 2:
            take(consumer, 9, had)
        got = {each.offset() for each in had}
        assert got == {0, 1, 2} or not (went_on and nth % 2), (nth, got)
        consumer.close()
        at = committed(world)
        assert at is None or set(range(at)) <= got, (nth, at, got)
        BUILT.clear()
        if not went_on:
            break
    assert nth > 100


def test_an_interrupt_takes_nothing_from_poll() -> None:
    """B525: the message that the caller has not got comes again, and no commit covers it."""
    for nth in count(0, 3):
        world = written(3)
        consumer = assigned(
            world, group_id="g", enable_auto_commit=True, auto_commit_interval_ms=100
        )
        got: list[Message | None] = []

        def take(consumer: Consumer, got: list[Message | None]) -> None:
            for _ in range(3):
                got.append(consumer.poll(0.5))  # noqa: PERF401 - each is got by itself

        went_on = interrupted_at(nth, take, consumer, got)
        if went_on and nth % 2:
            take(consumer, got)
            assert {each.offset() for each in got if each is not None} == {0, 1, 2}, nth
        consumer.close()
        offsets = {each.offset() for each in got if each is not None}
        assert set(range(committed(world) or 0)) <= offsets, nth
        BUILT.clear()
        if not went_on:
            break
    assert nth > 100


def test_a_callback_that_raises_takes_nothing_from_consume() -> None:
    """B454: the messages before a rebalance are returned, and it is in the next call."""
    world = grouped(partitions=2, records=5)
    keys = {"group_id": "g", "enable_auto_commit": True}
    raised = 0

    def on_revoke(_consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        nonlocal raised
        raised += 1
        if raised == 1:
            raise LookupError("mine")

    got: list[tuple[int | None, int | None]] = []

    def take(consumer: Consumer, most: int, wait: float) -> None:
        with suppress(LookupError):
            got.extend((m.partition(), m.offset()) for m in consumer.consume(most, wait))

    consumer = consumer_in(world, **keys)
    consumer.subscribe(["orders"], on_revoke=on_revoke)
    take(consumer, 1, 20.0)
    with consumer_in(world, **keys) as other:
        other.subscribe(["orders"])
        world.at(world.clock.time + 1.0, lambda: other.poll(0))
        for _ in range(20):
            take(consumer, 50, 4.0)
            take(other, 50, 0.2)
    consumer.close()
    assert raised
    assert set(got) == {(partition, offset) for partition in (0, 1) for offset in range(5)}
