"""The end of a consumer in virtual time: last commit, callbacks, interrupts, budget."""

import math
from datetime import timedelta

import pytest

from prokurist import errors
from prokurist.network_thread.thread import Life
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.joining import Notes
from tests.simulation.reading import holding, reader, written
from tests.simulation.returning import TP, commits, committed, offsets_of, reading, returns
from tests.simulation.world import World


def test_close_commits_what_was_returned() -> None:
    """B178: all of it, the last batch too; once, and before anything else ends."""
    world = World()
    consumer = reading(world)
    returns(consumer, 10)
    began = world.clock.time
    consumer.close()
    assert offsets_of(world) == [10]
    assert committed(world) == 10
    assert world.clock.time - began < 0.1
    consumer.close()
    assert offsets_of(world) == [10]


def test_without_time_the_last_commit_is_written_and_not_waited_for() -> None:
    """B179: where the connection is warm; close is immediate."""
    world = World()
    consumer = reading(world)
    consumer.committed(TP)
    began = world.clock.time
    consumer.close(0)
    assert world.clock.time == began
    world.clock.sleep(1.0)
    assert committed(world) == 3


def test_without_time_and_known_brokers_nothing_is_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B179: immediate all the same, and the log says what was not committed."""
    world = World()
    consumer = reading(world)
    began = world.clock.time
    consumer.close(0)
    assert world.clock.time == began
    world.clock.sleep(1.0)
    assert not commits(world)
    assert "before the last offsets were known to be committed" in caplog.text


@pytest.mark.parametrize(("timeout", "ends"), [(8.0, 7.0), (2.0, 1.5), (math.inf, 29.0)])
def test_a_silent_coordinator_takes_its_share_and_no_more(
    timeout: float, ends: float, caplog: pytest.LogCaptureFixture
) -> None:
    """B180, B182: late is logged and not raised; what the end itself needs is kept."""
    world = World()
    consumer = reading(world)
    consumer.committed(TP)
    world.control.hold("OffsetCommit")
    began = world.clock.time
    consumer.close(timeout)
    assert world.clock.time - began == pytest.approx(ends, abs=0.01)
    assert offsets_of(world) == [3]
    assert "before the last offsets were known to be committed" in caplog.text


def test_all_brokers_dead_and_something_to_commit() -> None:
    """B181, B42: no coordinator is found; the search ends with close."""
    world = World(nodes=3)
    consumer = reading(world)
    for node in (1, 2, 3):
        world.control.kill(node)
    began = world.clock.time
    consumer.close(4.0)
    assert world.clock.time - began <= 4.0
    assert world.members[0].thread.life is Life.ENDED


@pytest.mark.parametrize("auto", [True, False], ids=["auto-commit", "leave alone"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_where_every_broker_refuses_close_ends_as_soon_as_that_is_known(
    protocol: str, *, auto: bool
) -> None:
    """B181: within a few back-offs of the default 30 s, and without an exception."""
    world = World(nodes=3)
    consumer = world.consumer(fetches=False, group_protocol=protocol, enable_auto_commit=auto)
    consumer.subscribe(TP.topic)
    while not consumer.assignment():
        consumer.poll(0.1)
    consumer.poll(1.0)
    for node in (1, 2, 3):
        world.control.kill(node)
    consumer.poll(0.1)
    began = world.clock.time
    consumer.close()
    assert world.clock.time - began < 5.0
    assert world.members[0].thread.life is Life.ENDED


def test_a_broker_that_is_silent_among_others_that_refuse_is_waited_for() -> None:
    """B180, B181: it may answer yet; once it does, the last offsets are committed."""
    world = World(nodes=2)
    consumer = reading(world)
    consumer.committed(TP)
    coordinator = world.control.coordinator("g")
    assert coordinator is not None
    world.control.kill(3 - coordinator)
    frozen = world.control.freeze(coordinator)
    world.at(world.clock.time + 4.0, frozen.undo)
    began = world.clock.time
    consumer.close(8.0)
    assert 4.0 <= world.clock.time - began < 5.0
    assert committed(world) == 3


@pytest.mark.parametrize("what", ["auto", "async"])
def test_a_look_up_that_comes_too_late_is_not_waited_for(what: str) -> None:
    """B181: its next attempt lies 30 s away, and the budget is 8 s."""
    world = World()
    world.control.fail("FindCoordinator", 15, times=None)
    consumer = reading(
        world,
        enable_auto_commit=what == "auto",
        retry_backoff_ms=30_000,
        retry_backoff_max_ms=30_000,
    )
    told: list[object] = []
    if what == "async":
        consumer.commit_async(None, lambda _, error: told.append(type(error)))
    world.clock.sleep(0.5)
    began = world.clock.time
    consumer.close(8.0)
    assert world.clock.time - began < 0.1
    assert told == [errors.RetriableCommitFailedException] * (what == "async")


@pytest.mark.parametrize("code", [12, 22, 25, 29, 30])
def test_a_refused_last_commit_is_logged_and_all_is_closed(
    code: int, caplog: pytest.LogCaptureFixture
) -> None:
    """B178: for any reason, since the user has asked for no commit."""
    world = World()
    consumer = reading(world)
    world.control.fail("OffsetCommit", code, times=1)
    consumer.close()
    assert "closed without committing the last offsets" in caplog.text
    assert world.members[0].thread.life is Life.ENDED
    assert not world.members[0].network.open


def test_a_close_that_raises_keeps_no_records() -> None:
    """What was fetched and not returned goes, regardless of how the close ends."""
    world = written(9, size=1000)
    consumer = reader(world, max_poll_records=1, group_id="g", enable_auto_commit=True)
    assert len(list(consumer.poll(1.0))) == 1
    assert holding(world)
    consumer.commit_async(None, lambda *_: 1 / 0)
    with pytest.raises(errors.KafkaException, match="ZeroDivisionError"):
        consumer.close()
    assert not holding(world)


def test_a_snapshot_under_way_is_overtaken_by_the_last_commit() -> None:
    """B178: the older try is not made again behind the newer offsets."""
    world = World()
    consumer = reading(world)
    consumer.committed(TP)
    world.control.fail("OffsetCommit", 14, times=1)
    world.clock.sleep(5.0)
    consumer.poll(0.01)
    returns(consumer, 10)
    consumer.close()
    assert offsets_of(world) == [3, 10]
    assert committed(world) == 10


def test_what_unsubscribing_commits_is_waited_for() -> None:
    """B61, B178: nothing is assigned any more, and the old positions arrive all the same."""
    world = World()
    consumer = reading(world)
    world.control.coordinator_loading("g", seconds=2.0)
    consumer.unsubscribe()
    consumer.close()
    assert committed(world) == 3


def test_a_wakeup_changes_nothing() -> None:
    """B170, B186: one before close and one during it; the commit is done."""
    world = World()
    consumer = reading(world)
    consumer.committed(TP)
    world.control.answer_late("OffsetCommit", 1.0, times=1)
    consumer.wakeup()
    world.at(world.clock.time + 0.5, consumer.wakeup)
    consumer.close()
    assert committed(world) == 3
    consumer.wakeup()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("when", ["before", "inside", "during"])
def test_a_wakeup_ends_no_commit_of_the_listener_in_close(when: str, protocol: str) -> None:
    """B170, B186: as in Java, whose `close` turns wake-ups off for its callbacks, too."""
    world = World()

    def revoked(_partitions: frozenset[TopicPartition]) -> None:
        if when == "inside":
            consumer.wakeup()
        consumer.commit_sync({TP: OffsetAndMetadata(2)}, timeout=5.0)

    consumer = world.consumer(fetches=False, group_protocol=protocol, enable_auto_commit=False)
    consumer.subscribe(TP.topic, on_revoked=revoked)
    while not consumer.assignment():
        consumer.poll(0.1)
    if when == "before":
        consumer.wakeup()
    if when == "during":
        world.control.answer_late("OffsetCommit", 1.0, times=1)
        world.at(world.clock.time + 0.5, consumer.wakeup)
    consumer.close()
    assert committed(world) == 2


def interrupt() -> None:
    """What Ctrl-C does."""
    raise KeyboardInterrupt("ctrl-c")


@pytest.mark.parametrize("auto", ["true", "false"], ids=["last commit", "others"])
def test_an_interrupt_ends_the_waiting_and_is_raised_at_the_end(auto: str) -> None:
    """B187: in either phase; callbacks run, everything is released, no more waiting."""
    world = World()
    consumer = reading(world, enable_auto_commit=auto)
    consumer.committed(TP)
    told: list[object] = []
    world.control.freeze()
    consumer.commit_async({TP: OffsetAndMetadata(1)}, lambda _, error: told.append(error))
    began = world.clock.time
    world.at(began + 0.5, interrupt)
    with pytest.raises(KeyboardInterrupt, match="ctrl-c"):
        consumer.close(20.0)
    assert world.clock.time - began == pytest.approx(0.5, abs=0.01)
    assert [type(each) for each in told] == [errors.RetriableCommitFailedException]
    assert world.members[0].thread.life is Life.ENDED
    assert not world.members[0].network.open
    with pytest.raises(errors.IllegalStateException, match="closed"):
        consumer.poll(0)


def test_an_interrupt_in_the_callback_of_unsubscribe_tells_it_once() -> None:
    """B409: the close that follows calls the listener no more."""
    world = World()
    consumer = world.consumer()
    told: list[object] = []

    def revoked(partitions: object) -> None:
        told.append(partitions)
        interrupt()

    consumer.subscribe(TP.topic, Notes(revoked=revoked))
    while not consumer.assignment():
        consumer.poll(0.1)
    with pytest.raises(KeyboardInterrupt):
        consumer.unsubscribe()
    consumer.close()
    assert len(told) == 1
    assert world.members[0].thread.life is Life.ENDED


def test_an_interrupt_outranks_an_earlier_failure(caplog: pytest.LogCaptureFixture) -> None:
    """B187: the failure is logged."""
    world = World()
    consumer = world.consumer()
    consumer.subscribe(TP.topic, Notes(revoked=lambda _: 1 / 0))
    while not consumer.assignment():
        consumer.poll(0.1)
    consumer.commit_async({TP: OffsetAndMetadata(1)}, lambda *_: interrupt())
    with pytest.raises(KeyboardInterrupt):
        consumer.close()
    assert "interrupted while closing" in caplog.text


@pytest.mark.parametrize("kind", [ZeroDivisionError, errors.WakeupException])
def test_leaving_by_an_exception_commits_nothing(kind: type[Exception]) -> None:
    """CONTRACT §5: what was returned last may not have been worked on; a wake-up is one."""
    world = World()
    consumer = reading(world)
    returns(consumer, 10)
    with pytest.raises(kind) as caught, consumer:
        raise kind
    assert not commits(world)
    assert not hasattr(caught.value, "__notes__")
    assert world.members[0].thread.life is Life.ENDED


def test_leaving_in_order_commits() -> None:
    """B177, B178: the end of the block is `close`."""
    world = World()
    with reading(world) as consumer:
        returns(consumer, 10)
    assert committed(world) == 10


def test_an_error_of_close_is_a_note_on_the_exception_that_left() -> None:
    """CONTRACT §5: never in its place."""
    world = World()

    def bad(*_: object) -> None:
        raise RuntimeError("a callback's")

    consumer = reading(world)
    consumer.commit_async({TP: OffsetAndMetadata(1)}, bad)
    with pytest.raises(ZeroDivisionError) as caught, consumer:
        raise ZeroDivisionError
    (note,) = caught.value.__notes__
    assert "closing the consumer failed" in note
    assert "a callback's" in note
    assert world.members[0].thread.life is Life.ENDED


def test_an_interrupt_while_leaving_by_an_exception_is_raised() -> None:
    """B187: it is no error of close."""
    world = World()
    consumer = reading(world)
    consumer.committed(TP)
    world.control.freeze()
    consumer.commit_async({TP: OffsetAndMetadata(1)})
    world.at(world.clock.time + 0.5, interrupt)
    with pytest.raises(KeyboardInterrupt) as caught, consumer:
        raise ZeroDivisionError
    assert type(caught.value.__context__) is ZeroDivisionError


def test_the_old_spelling_of_the_timeout() -> None:
    """ADR 6: bounded, deprecated, and never together with the new one."""
    world = World()
    consumer = world.consumer()
    consumer.committed(TP)
    world.control.freeze()
    consumer.commit_async({TP: OffsetAndMetadata(1)})
    with pytest.raises(TypeError, match="not both"):
        consumer.close(1, timeout_ms=1000)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="milliseconds"):
        consumer.close(timeout_ms=timedelta(seconds=1))  # type: ignore[call-overload]
    began = world.clock.time
    with pytest.warns(DeprecationWarning, match=r"close\(timeout_ms") as told:
        consumer.close(timeout_ms=500)
    assert told[0].filename == __file__
    assert began < world.clock.time <= began + 0.5


def test_a_callback_of_close_may_close() -> None:
    """CONTRACT §6.5: what runs inside a call may make calls; it is closed once."""
    world = World()
    consumer = world.consumer()
    seen: list[object] = []
    consumer.commit_async({TP: OffsetAndMetadata(1)}, lambda *_: seen.append(consumer.close()))
    consumer.close()
    assert seen == [None]
    assert world.members[0].thread.life is Life.ENDED


def test_leaving_by_an_exception_waits_for_no_snapshot() -> None:
    """CONTRACT §5: what is under way is left to itself; the exception comes at once."""
    world = World()
    consumer = reading(world)
    consumer.committed(TP)
    world.control.hold("OffsetCommit")
    consumer.poll(5.5)
    began = world.clock.time
    with pytest.raises(ZeroDivisionError), consumer:
        raise ZeroDivisionError
    assert world.clock.time - began < 0.01
    assert offsets_of(world) == [3]


@pytest.mark.mortal
def test_close_with_positions_after_the_thread_has_died(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B267: it returns, and the log says what was not committed."""
    world = World()
    consumer = reading(world)
    nothing: list[None] = []
    world.members[0].side.timer.after(0.0, "a bug", nothing.pop)
    world.members[0].network.wake()
    world.clock.sleep(0.1)
    consumer.close()
    assert "closed without committing the last offsets" in caplog.text
