"""`on_event`: the user's function that is told inside of poll what the log is told."""

import logging
import threading
from collections.abc import Callable
from functools import partial

import pytest

from prokurist import KafkaConsumer, LogEvent, TopicPartition
from prokurist.errors import (
    ConfigException,
    ConfigWarning,
    IllegalStateException,
    KafkaException,
    WakeupException,
)
from prokurist.events.group_log_events import PARTITIONS_LOST
from prokurist.events.log_event_queue import MOST
from tests.simulation.reading import A, reader, written
from tests.simulation.returning import TP, reading
from tests.simulation.test_stored_offsets import PROTOCOLS
from tests.simulation.world import World


class Told:
    """Keeps what it is told, and does what a test wants."""

    def __init__(self, does: Callable[[LogEvent], object] | None = None) -> None:
        self.events: list[LogEvent] = []
        self.threads: set[int] = set()
        self.does = does

    def __call__(self, event: LogEvent) -> None:
        """One more."""
        self.events.append(event)
        self.threads.add(threading.get_ident())
        if self.does is not None:
            self.does(event)

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [each.name for each in self.events]

    def named(self, name: str) -> list[LogEvent]:
        """Those of one name."""
        return [each for each in self.events if each.name == name]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_rebalance_is_told(protocol: str) -> None:
    """B323: by name, with the keys as objects, to the thread that polls; and in close."""
    world, told = written(3), Told()
    consumer = world.consumer(group_protocol=protocol, on_event=told, client_id="mine")
    consumer.subscribe("orders")
    assert told.events == []
    consumer.poll(10.0)
    (event,) = told.named("partitions_assigned")
    assert event.values == {"partitions": consumer.assignment(), "count": 3}
    assert (event.level, event.client_id, event.group) == (logging.INFO, "mine", "g")
    assert str(event) == event.text == "partitions assigned: orders-0, orders-1, orders-2"
    assert "partitions_revoked" not in told.names
    consumer.close()
    assert len(told.named("partitions_revoked")) == 1
    assert told.threads == {threading.get_ident()}


def test_it_is_told_what_the_log_writes(caplog: pytest.LogCaptureFixture) -> None:
    """B323: the same lines, each problem as often: no more and no less, whatever levels."""
    world, told = World(), Told()
    consumer = world.consumer(on_event=told)
    consumer.assign(TP)
    consumer.seek(TP, 0)
    logging.getLogger("prokurist").setLevel(logging.INFO)
    try:
        consumer.poll(1.0)
        world.control.kill(1)
        consumer.poll(200.0)
        world.control.restart(1)
        consumer.poll(30.0)
    finally:
        logging.getLogger("prokurist").setLevel(logging.NOTSET)
    lines = [each.getMessage().partition("] ")[2] for each in caplog.records]
    assert [each.text for each in told.events] == lines
    assert {"cluster_unreachable", "cluster_reachable", "broker_unreachable"} <= {*told.names}
    for event in told.named("broker_unreachable"):
        assert isinstance(event.values["error"], KafkaException)
        assert event.level == logging.WARNING
    before = len(told.events)
    logging.getLogger("prokurist").setLevel(logging.CRITICAL)
    try:
        world.control.kill(1)
        consumer.poll(20.0)
    finally:
        logging.getLogger("prokurist").setLevel(logging.NOTSET)
    assert "cluster_unreachable" in told.names[before:]
    consumer.close(0)


def test_an_event_ends_the_wait_of_a_poll() -> None:
    """B323: it is told when it happens; and the poll waits on for as long as it was given."""
    world, at = World(), list[float]()
    consumer = reading(
        world, on_event=lambda _: at.append(world.clock.time), enable_auto_commit=False
    )
    consumer.poll(1.0)
    at.clear()
    began = world.clock.time
    trace = world.members[-1].side.trace
    lost = partial(trace.emit, PARTITIONS_LOST, partitions=frozenset({TP}), count=1)
    world.at(began + 3.3, lost)
    assert not consumer.poll(10.0)
    assert world.clock.time - began == pytest.approx(10.0, abs=0.01)
    assert [each - began for each in at] == pytest.approx([3.3], abs=0.001)
    consumer.close()


def test_a_failed_commit_and_throttling_are_told() -> None:
    """B323: what has happened between two polls, by the next; it says how old it is."""
    world, told = World(), Told()
    consumer = reading(world, on_event=told)
    world.control.fail("OffsetCommit", 30)
    world.clock.sleep(5.0)
    consumer.poll(0)
    world.clock.sleep(2.0)
    consumer.poll(0)
    (event,) = told.named("auto_commit_failed")
    assert isinstance(event.values["error"], KafkaException)
    world.control.throttle(None, 0.3)
    consumer.committed(TP)
    world.clock.sleep(7.0)
    assert "broker_throttled" not in told.names
    consumer.poll(0)
    (event,) = told.named("broker_throttled")
    assert event.age == pytest.approx(7.0, abs=0.5)
    consumer.close()


def test_an_iteration_is_told_between_two_records() -> None:
    """B323: not when all that one fetch brought is worked on."""
    world, told = written(20), Told()
    consumer = reader(world, A, on_event=told)
    seen = 0
    for record in consumer.records(idle_timeout=1.0):
        if record.offset == 4:
            told.events.clear()
            consumer._caller.trace.emit(PARTITIONS_LOST, partitions=frozenset({A}), count=1)
            world.clock.sleep(0.1)
        elif record.offset == 5:
            assert told.names == ["partitions_lost"]
        seen += 1
    assert seen == 20
    consumer.close()


def test_the_oldest_are_dropped_and_counted() -> None:
    """B324: of what comes between two polls a bounded number is kept, the newest."""
    world, told = World(), Told()
    consumer = reading(world, on_event=told)
    consumer.poll(0)
    told.events.clear()
    for number in range(MOST + 10):
        consumer._caller.trace.emit(PARTITIONS_LOST, partitions=frozenset(), count=number)
    consumer.poll(0)
    assert [each.values["count"] for each in told.named("partitions_lost")] == [
        *range(10, MOST + 10)
    ]
    assert told.names[-1] == "events_dropped"
    assert told.events[-1].values == {"count": 10}
    assert consumer.metrics()["prokurist_consumer_log_events_dropped_total"] == 10
    consumer.poll(0)
    assert len(told.named("events_dropped")) == 1
    consumer.close()


def test_what_it_raises_comes_out_of_the_poll() -> None:
    """B325: as the cause, once for each event; those behind it are told by the next poll."""
    world, told = World(), Told()
    consumer = reading(world, on_event=told, enable_auto_commit=False)
    consumer.poll(1.0)
    told.events.clear()
    told.does = lambda event: 1 // (event.values["count"] - 1)  # type: ignore[operator]
    for number in range(3):
        consumer._caller.trace.emit(PARTITIONS_LOST, partitions=frozenset(), count=number)
    with pytest.raises(KafkaException, match="on_event raised ZeroDivisionError") as raised:
        consumer.poll(5.0)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert [each.values["count"] for each in told.events] == [0, 1]
    assert not consumer.poll(0)
    assert [each.values["count"] for each in told.events] == [0, 1, 2]
    consumer.close()


def test_what_it_raises_in_close_is_raised_when_all_is_closed() -> None:
    """B325: it is told of all that is left; the others are logged."""
    world, told = World(), Told()
    consumer = reading(world, on_event=told, enable_auto_commit=False)
    consumer.poll(1.0)
    told.events.clear()
    told.does = lambda _: 1 // 0
    for number in range(3):
        consumer._caller.trace.emit(PARTITIONS_LOST, partitions=frozenset(), count=number)
    with pytest.raises(KafkaException, match="on_event raised ZeroDivisionError"):
        consumer.close()
    assert len(told.events) == 3
    assert consumer._caller.closed


def test_it_may_call_the_consumer_as_a_listener_may() -> None:
    """B325: look-ups, seeks and commits; no poll, close or unsubscribe; a wake-up passes."""
    world, told = written(3), Told()
    consumer = reader(world, A, on_event=told)
    consumer.poll(1.0)

    def calls(_: LogEvent) -> None:
        told.does = None
        consumer.commit_sync()
        assert consumer.committed(A)
        consumer.seek(A, 1)
        for refused in (consumer.unsubscribe, consumer.close, lambda: consumer.poll(0)):
            with pytest.raises(IllegalStateException, match="inside on_event"):
                refused()

    told.does = calls
    consumer._caller.trace.emit(PARTITIONS_LOST, partitions=frozenset(), count=0)
    assert [each.offset for each in consumer.poll(1.0)] == [1, 2]
    assert "partitions_lost" in told.names

    def woken(_: LogEvent) -> None:
        told.does = None
        consumer.wakeup()
        consumer.end_offsets(A)

    told.does = woken
    consumer._caller.trace.emit(PARTITIONS_LOST, partitions=frozenset(), count=0)
    with pytest.raises(WakeupException):
        consumer.poll(1.0)
    consumer.close()


@pytest.mark.parametrize("timeout", [0, 2.0])
def test_a_poll_ends_though_the_callback_causes_events(timeout: float) -> None:
    """B325: what is told of what it does itself is told while the poll has time."""
    world = World()
    told = Told()
    consumer = reading(world, on_event=told)

    def again(_: LogEvent) -> None:
        world.clock.sleep(0.5)
        consumer._caller.trace.emit(PARTITIONS_LOST, partitions=frozenset(), count=0)

    consumer.poll(0)
    told.events.clear()
    told.does = again
    consumer._caller.trace.emit(PARTITIONS_LOST, partitions=frozenset(), count=0)
    began = world.clock.time
    assert not consumer.poll(timeout)
    assert world.clock.time - began == pytest.approx(timeout + 0.5 * (not timeout), abs=0.01)
    told.does = None
    consumer.close()


def test_statistics_come_at_their_interval() -> None:
    """B326: what `metrics()` returns; while a poll waits, and once where none came in time."""
    world, at = World(), list[float]()

    def note(event: LogEvent) -> None:
        if event.name == "statistics":
            at.append(world.clock.time)

    told = Told(note)
    consumer = reading(world, on_event=told, statistics_interval_ms=2_000)
    began = world.clock.time
    consumer.poll(7.0)
    statistics = told.named("statistics")
    assert [each - began for each in at] == pytest.approx([2.0, 4.0, 6.0], abs=0.01)
    assert len(statistics) == 3
    last = statistics[-1]
    assert (last.level, last.group) == (0, "g")
    assert last.values["metrics"].keys() == consumer.metrics().keys()  # type: ignore[attr-defined]
    world.clock.sleep(20.0)
    consumer.poll(0)
    consumer.poll(0)
    assert len(told.named("statistics")) == 4
    consumer.close()


def test_statistics_come_between_records_of_an_iteration() -> None:
    """B326: when their time has come."""
    world, told = written(30), Told()
    consumer = reader(world, A, on_event=told, statistics_interval_ms=1_000)
    at: list[int] = []
    for record in consumer.records(idle_timeout=0.1):
        world.clock.sleep(0.3)
        if len(told.named("statistics")) > len(at):
            at.append(record.offset)
    assert len(at) in (7, 8)
    consumer.close()


def test_an_interval_without_a_callback_is_noted() -> None:
    """B326: it has no effect; what is no callable is refused."""
    with pytest.warns(ConfigWarning, match="statistics.interval.ms .*on_event"):
        World().consumer(statistics_interval_ms=1_000).close()
    with pytest.raises(ConfigException, match=r"on.event"):
        World().consumer(on_event="print")


def test_seek_in_on_assigned_needs_no_assign_with_offsets() -> None:
    """B329: nothing of what is assigned is read, or looked up, before it has returned."""
    world = written(9, 9, 9)
    for protocol in PROTOCOLS:
        got: dict[int, int] = {}
        with world.consumer(group_protocol=protocol, group_id=protocol) as consumer:
            consumer.subscribe("orders", on_assigned=from_four(consumer))
            for _ in range(20):
                for record in consumer.poll(1.0):
                    got.setdefault(record.partition, record.offset)
        assert got == {0: 4, 1: 5, 2: 6}
        assert not world.cluster.journal.entries("ListOffsets")


def from_four(consumer: KafkaConsumer) -> Callable[[frozenset[TopicPartition]], None]:
    """What seeks to offset 4 of the first partition, 5 of the next, and so on."""

    def assigned(partitions: frozenset[TopicPartition]) -> None:
        for tp in partitions:
            consumer.seek(tp, 4 + tp.partition)

    return assigned
