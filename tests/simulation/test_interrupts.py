"""Ctrl-C at any place of a call: the next call works, and nothing goes on."""

import threading
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.network_thread.thread import Life
from prokurist.records.consumer_records import ConsumerRecord, ConsumerRecords
from prokurist.types import OffsetAndMetadata
from tests.every_call import ALL, TP, UNKNOWN, WITH_DEADLINE, WaitingCall, ready
from tests.simulation.interrupting import at_each_place, interrupted_at
from tests.simulation.joining import Notes
from tests.simulation.reading import A, B, drained, reader, written
from tests.simulation.world import BUILT, World

SOON = 0.05
SHARES = 4
"""A world for each place of a call is more than one test has time for."""
each_share = pytest.mark.parametrize("share", range(SHARES))
AT_7 = {TP: OffsetAndMetadata(7)}

CALLS: dict[str, WaitingCall] = {
    **{name: call for name, call in ALL.items() if name not in ("close", "subscribe")},
    "commit_async": lambda c, _: c.commit_async(AT_7),
    "known position": lambda c, t: c.position(TP, t),
    "at once": lambda c, _: c.commit_sync(AT_7, 0),
}


def used(*, auto: bool = False) -> tuple[World, KafkaConsumer]:
    """A consumer whose connections stand."""
    world = World()
    consumer = world.consumer(fetches=False, enable_auto_commit=auto, auto_commit_interval_ms=0)
    ready(consumer)
    return world, consumer


def ask(consumer: KafkaConsumer, call: WaitingCall) -> None:
    """Call, and do not mind that the time is over."""
    try:
        call(consumer, SOON)
    except errors.TimeoutException:
        return


@pytest.mark.parametrize("auto", [False, True], ids=["", "auto-commit"])
@pytest.mark.parametrize("silent", [False, True], ids=["answered", "unanswered"])
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_anywhere_in_a_call_leaves_a_client_that_works(
    name: str, *, silent: bool, auto: bool
) -> None:
    """B174, B175: the guard is open to any thread; no work is done for the call any more."""
    world, consumer = used(auto=auto)
    with consumer:
        for nth in count():
            consumer.unsubscribe()  # So that nothing is known of it, and nothing asked for.
            consumer.assign([TP, UNKNOWN])
            consumer.seek(TP, 1)
            consumer.seek_to_beginning(UNKNOWN)
            fault = world.control.freeze() if silent else None
            if not interrupted_at(nth, ask, consumer, CALLS[name]):
                break
            consumer.resume(consumer.paused())
            consumer.assign([TP, UNKNOWN])
            world.clock.sleep(0.01)
            calls = world.members[0].side.calls
            if name in WITH_DEADLINE and name != "position":
                assert not any(each.operation == name for each in calls._running), nth
            if fault is not None:
                fault.undo()
            # As if nothing had been: positions are looked up, commits come back.
            consumer.seek(TP, 7)
            consumer.commit_sync(AT_7, 5.0)
            assert not consumer.poll(SOON)
            assert consumer.position(UNKNOWN, 0) == 0
            consumer.current_lag(TP)
            world.clock.sleep(0.1)
            assert consumer.current_lag(TP) == 0
            assert not len(consumer._commits)
            assert not any(each.is_open for each, _ in consumer._auto._under_way)
        assert nth > 5
        world.control.thaw()


@each_share
@pytest.mark.parametrize("silent", [False, True], ids=["answered", "unanswered"])
def test_an_interrupt_anywhere_in_a_close_leaves_a_client_that_can_be_closed(
    share: int, *, silent: bool
) -> None:
    """B174, B179: by another close, which ends the thread; or it is closed already."""
    for nth in count(share, SHARES):
        world, consumer = used(auto=True)
        if silent:
            world.control.freeze()
        went_on = interrupted_at(nth, consumer.close, 1.0)
        consumer.close(1.0)
        world.clock.sleep(0.01)  # An interrupt takes the waiting out, and not the end.
        assert world.members[0].thread.life is Life.ENDED, nth
        assert not len(world.members[0].side.calls)
        BUILT.clear()  # It is at rest; there are hundreds of them.
        if not went_on:
            break
    assert nth > 100


@each_share
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_an_interrupt_anywhere_in_a_close_leaves_the_group(protocol: str, share: int) -> None:
    """B187: the member is gone at once, and not when its session ends."""
    for nth in count(share, SHARES):
        world = World()
        consumer = world.consumer(
            fetches=False, group_protocol=protocol, enable_auto_commit=True
        )
        consumer.subscribe(TP.topic, Notes())
        while not consumer.assignment():
            consumer.poll(0.1)
        went_on = interrupted_at(nth, consumer.close, 1.0)
        consumer.close(1.0)
        world.clock.sleep(0.01)
        assert not world.control.describe_group("g").members, nth
        BUILT.clear()
        if not went_on:
            break
    assert nth > 100


def read(records: Iterator[ConsumerRecord], seen: list[int]) -> None:
    """Three records, whose offsets are noted one by one."""
    seen.extend(record.offset for record in islice(records, 3))


@each_share
@pytest.mark.parametrize("keys", [{}, {"value_deserializer": bytes}], ids=["raw", "made"])
def test_an_interrupt_anywhere_in_an_iteration_leaves_another_to_go_on(
    share: int, keys: dict[str, Any]
) -> None:
    """B34, B174: only a record that was on its way out is missing, and it does not count."""
    for nth in count(share, SHARES):
        world = written(3)
        with reader(world, **keys) as consumer:
            seen: list[int] = []
            records = iter(consumer)
            went_on = interrupted_at(nth, read, records, seen)
            counted = consumer._committable.snapshot().offsets
            assert not counted or counted[A].offset <= len(seen), nth
            seen += [each.offset for each in consumer.records(idle_timeout=0.1)]
            assert seen in ([0, 1, 2], [0, 1], [0, 2], [1, 2]), nth
        BUILT.clear()
        if not went_on:
            break
    assert nth > 100


def keep(consumer: KafkaConsumer, got: list[ConsumerRecords]) -> None:
    """Poll; what comes is his in one step, as it is a user's who assigns it."""
    got[:] = (consumer.poll(1.0),)


@each_share
def test_an_interrupt_anywhere_in_a_poll_loses_no_record(share: int) -> None:
    """B34, B174: what its user was not given does not count, and comes with the next poll."""
    for nth in count(share, SHARES):
        world = written(3, 2)
        with reader(world, A, B, max_poll_records=4, value_deserializer=bytes) as consumer:
            got: list[ConsumerRecords] = []
            went_on = interrupted_at(nth, keep, consumer, got)
            done = sum(len(each) for each in got)
            assert consumer.position(A, 1.0) + consumer.position(B, 1.0) == done, nth
            more = drained(consumer, 0.1)
            assert done + sum(map(len, more.values())) == 5, nth
        BUILT.clear()
        if not went_on:
            break
    assert nth > 100


def step(consumer: KafkaConsumer, got: list[ConsumerRecord | None]) -> None:
    """Three steps, each of which notes its record."""
    for _ in range(3):
        got.append(consumer.next(1.0))  # noqa: PERF401 - each is its user's by itself


@each_share
def test_an_interrupt_anywhere_in_next_loses_no_record(share: int) -> None:
    """B526: also of records that this step was lent; and no event's callback goes on."""
    for nth in count(share, SHARES):
        world = written(2, 1)
        events: list[object] = []
        keys = {"value_deserializer": bytes, "on_event": events.append}
        with reader(world, A, B, **keys) as consumer:
            got: list[ConsumerRecord | None] = []
            went_on = interrupted_at(nth, step, consumer, got)
            while (record := consumer.next(0.1)) is not None:
                got.append(record)
            assert len([each for each in got if each is not None]) == 3, nth
        assert events, nth
        BUILT.clear()
        if not went_on:
            break
    assert nth > 100


def outcomes(work: Callable[[], object], meanwhile: Callable[[], object]) -> list[str]:
    """What comes of something that is tried at each place of a call; runs are one."""
    seen: list[str] = []

    def attempt() -> None:
        try:
            meanwhile()
            outcome = "done"
        except errors.IllegalStateException as error:
            outcome = type(error).__name__
        if seen[-1:] != [outcome]:
            seen.append(outcome)

    at_each_place(work, attempt)
    return seen


def test_a_handler_is_refused_wherever_it_interrupts_a_call() -> None:
    """B175: from the step that goes in to the one that goes out, and nowhere else."""
    _, consumer = used()
    with consumer:
        seen = outcomes(lambda: consumer.commit_sync(AT_7), consumer.paused)
        assert seen == ["done", "IllegalStateException", "done"]


def test_a_second_thread_is_refused_wherever_the_first_one_is() -> None:
    """B175: likewise."""
    _, consumer = used()

    def elsewhere() -> None:
        caught: list[BaseException] = []

        def other() -> None:
            try:
                consumer.paused()
            except errors.KafkaException as error:
                caught.append(error)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        if caught:
            raise caught[0]

    with consumer:
        seen = outcomes(lambda: consumer.commit_sync(AT_7), elsewhere)
        assert seen == ["done", "ConcurrentModificationException", "done"]


def test_an_interrupt_anywhere_in_a_callback_leaves_a_client_that_works() -> None:
    """B41, B174: whether the callback's own call is inside by then or not."""
    world, consumer = used()
    refused: list[BaseException] = []

    def nested(_offsets: object, _error: object) -> None:
        consumer.commit_sync(AT_7, SOON)

    def elsewhere() -> None:
        try:
            consumer.paused()
        except errors.KafkaException as error:
            refused.append(error)

    with consumer:
        for nth in range(10_000):
            consumer.commit_async(AT_7, nested)
            world.clock.sleep(SOON)
            went_on = interrupted_at(nth, consumer.poll, 0)
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            assert not refused, nth
            consumer.commit_sync(AT_7, 5.0)
            consumer.commit_async(AT_7, lambda _offsets, _error: consumer.paused())
            world.clock.sleep(SOON)
            consumer.poll(0)
            seen = outcomes(lambda: consumer.commit_sync(AT_7), consumer.paused)
            assert seen == ["done", "IllegalStateException", "done"], nth
            if not went_on:
                break
        assert nth > 100
