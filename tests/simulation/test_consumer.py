"""The public consumer in virtual time: the same class that users build."""

import math
import os
import pickle
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import cast

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.network_thread.thread import Life
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
OFFSETS = {TP: OffsetAndMetadata(7, "done")}


def test_what_is_committed_is_read_back() -> None:
    """B33, B66, B67: for one partition or several, always a mapping; None where nothing is."""
    world = World()
    with world.consumer() as consumer:
        consumer.commit_sync(OFFSETS)
        assert consumer.committed(TP) == OFFSETS
        other = TopicPartition("orders", 1)
        assert consumer.committed([other, TP, other]) == {other: None, **OFFSETS}


def test_nothing_asked_is_nothing_sent() -> None:
    """B14, B15: empty in, empty out, and no request."""
    world = World()
    with world.consumer() as consumer:
        assert consumer.committed([], timeout=0) == {}
        consumer.commit_sync({})
        assert not world.cluster.journal.received


@pytest.mark.parametrize("timeout", [0.2, timedelta(milliseconds=200), None])
def test_a_call_ends_at_its_deadline(timeout: float | timedelta | None) -> None:
    """B18: seconds, a timedelta, or what `default.api.timeout.ms` says."""
    world = World()
    with world.consumer(default_api_timeout_ms=200) as consumer:
        consumer.committed(TP)
        world.control.freeze()
        began = world.clock.time
        with pytest.raises(errors.TimeoutException, match="committed for orders-0") as caught:
            consumer.committed(TP, timeout)
        assert world.clock.time == pytest.approx(began + 0.2)
        assert caught.value.config_key == "default.api.timeout.ms"
        assert pickle.loads(pickle.dumps(caught.value)).attempts == caught.value.attempts


def test_timeout_zero_gets_one_turn() -> None:
    """B13: the commit goes out, the caller does not wait for its answer."""
    world = World()
    with world.consumer() as consumer:
        consumer.committed(TP)
        began = world.clock.time
        with pytest.raises(errors.TimeoutException) as caught:
            consumer.commit_sync(OFFSETS, timeout=0)
        assert world.clock.time == began
        assert caught.value.may_have_happened
        assert consumer.committed(TP) == OFFSETS


def test_an_endless_timeout_waits_for_as_long_as_it_takes() -> None:
    """B17: infinite does not overflow."""
    world = World()
    with world.consumer() as consumer:
        world.control.answer_late("OffsetFetch", 25.0, times=1)
        assert consumer.committed(TP, math.inf) == {TP: None}


@pytest.mark.parametrize(
    ("call", "error"),
    [
        pytest.param(lambda c: c.committed(TP, -1), ValueError, id="timeout below zero"),
        pytest.param(lambda c: c.committed(TP, "2"), TypeError, id="timeout as text"),
        pytest.param(lambda c: c.committed("orders"), TypeError, id="a topic"),
        pytest.param(lambda c: c.committed(("orders", 0)), TypeError, id="a plain tuple"),
        pytest.param(lambda c: c.committed(TopicPartition("", 0)), ValueError, id="no name"),
        pytest.param(lambda c: c.committed(TopicPartition("a", -1)), ValueError, id="negative"),
        pytest.param(
            lambda c: c.committed(TopicPartition("a", cast("int", "0"))), TypeError, id="digits"
        ),
        pytest.param(lambda c: c.commit_sync({TP: 7}), TypeError, id="a bare offset"),
        pytest.param(lambda c: c.commit_sync([TP]), TypeError, id="no mapping"),
        pytest.param(lambda c: c.commit_sync(OFFSETS, math.nan), ValueError, id="NaN"),
        pytest.param(lambda c: c.close(-1), ValueError, id="closing in the past"),
    ],
)
def test_bad_arguments_are_refused_before_anything_happens(
    call: Callable[[KafkaConsumer], object], error: type[Exception]
) -> None:
    """B16, B63: an argument error, nothing sent, and the consumer stays usable."""
    world = World()
    with world.consumer() as consumer:
        with pytest.raises(error):
            call(consumer)
        assert not world.cluster.journal.received
        assert consumer.committed(TP) == {TP: None}


def test_a_wakeup_before_a_call_ends_the_next_one_once() -> None:
    """B168, B171: sticky, one exception for several, and then it is over."""
    world = World()
    with world.consumer() as consumer:
        consumer.wakeup()
        consumer.wakeup()
        with pytest.raises(errors.WakeupException):
            consumer.committed(TP)
        assert not world.cluster.journal.received
        assert consumer.committed(TP) == {TP: None}


def test_a_wakeup_ends_the_present_wait() -> None:
    """B169: commit_sync and committed are ended, and what they wanted is withdrawn."""
    world = World()
    with world.consumer() as consumer:
        consumer.committed(TP)
        world.control.freeze()
        began = world.clock.time
        world.at(began + 0.5, consumer.wakeup)
        with pytest.raises(errors.WakeupException):
            consumer.commit_sync(OFFSETS, timeout=30)
        assert world.clock.time == pytest.approx(began + 0.5)
        world.clock.sleep(0.01)
        assert consumer.health().waiting_calls == 0


def test_a_wakeup_never_ends_close() -> None:
    """B170, B186: close is unaffected by one before it and by one during it."""
    world = World()
    consumer = world.consumer()
    consumer.committed(TP)
    consumer.wakeup()
    consumer.close()
    assert not consumer.health().alive
    consumer.wakeup()


def test_an_interrupt_unwinds_and_leaves_the_client_closable() -> None:
    """B174: KeyboardInterrupt in a wait ends at once; nothing of the call is left."""
    world = World()
    consumer = world.consumer()
    consumer.committed(TP)
    world.control.freeze()

    def interrupt() -> None:
        raise KeyboardInterrupt

    world.at(world.clock.time + 0.3, interrupt)
    with pytest.raises(KeyboardInterrupt):
        consumer.committed(TP, timeout=30)
    world.clock.sleep(0.01)
    assert consumer.health().waiting_calls == 0
    consumer.close()


def test_a_second_thread_is_refused_and_the_first_unaffected() -> None:
    """B175: the error names both calls."""
    world = World()
    with world.consumer() as consumer:
        caught: list[BaseException] = []

        def other() -> None:
            try:
                consumer.committed(TP)
            except errors.ConcurrentModificationException as error:
                caught.append(error)

        def meanwhile() -> None:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

        world.at(world.clock.time + 0.0005, meanwhile)
        consumer.commit_sync(OFFSETS)
        assert "committed while commit_sync of another thread" in str(caught[0])


def test_a_signal_handler_that_calls_is_told_to_use_wakeup() -> None:
    """CONTRACT, rule 1: inside a call of the same thread only wakeup() may be called."""
    world = World()
    with world.consumer() as consumer:
        caught: list[str] = []

        def handler() -> None:
            with pytest.raises(errors.IllegalStateException, match="wakeup") as refused:
                consumer.committed(TP)
            assert not isinstance(refused.value, errors.ConcurrentModificationException)
            caught.append(str(refused.value))

        world.at(world.clock.time + 0.0005, handler)
        consumer.commit_sync(OFFSETS)
        assert "committed inside commit_sync of the same thread" in caught[0]


def test_closing_twice_is_closing_once() -> None:
    """B176, B177: a second close does nothing; any call afterwards is refused."""
    world = World()
    with world.consumer() as consumer:
        consumer.committed(TP)
    consumer.close()
    with pytest.raises(errors.IllegalStateException, match="closed"):
        consumer.committed(TP)
    assert repr(consumer).endswith("ended)")
    assert world.members[0].network.open == 0


@pytest.mark.parametrize("timeout", [0, 0.5, 100, math.inf])
def test_close_ends_in_time_with_the_broker_frozen(timeout: float) -> None:
    """B179, B181, B182: by the timeout, and by `request.timeout.ms` at the latest."""
    world = World()
    consumer = world.consumer(request_timeout_ms=2000)
    consumer.committed(TP)
    world.control.freeze()
    began = world.clock.time
    consumer.close(timeout)
    assert world.clock.time <= began + min(timeout, 2.0)
    world.clock.sleep(0.01)
    assert world.members[0].thread.life is Life.ENDED


@pytest.mark.parametrize(("timeout", "most"), [(0.0, 0.02), (0.01, 0.0275), (0.2, 0.2)])
def test_close_does_not_wait_for_a_thread_that_gets_no_turn(
    timeout: float, most: float
) -> None:
    """B181: in a busy process the caller goes in time, and the thread ends behind him."""
    world = World()
    consumer = world.consumer()
    consumer.committed(TP)
    thread = world.members[0].thread
    thread.life = Life.NEW  # The world runs no turns of it.
    world.control.freeze()
    consumer.commit_async(OFFSETS)
    began = world.clock.time
    consumer.close(timeout)
    assert world.clock.time == pytest.approx(began + most)
    thread.life = Life.RUNNING


@pytest.mark.mortal
def test_close_after_the_thread_has_died_returns() -> None:
    """B267: close still works, and says nothing more."""
    world = World()
    consumer = world.consumer()
    consumer.committed(TP)
    side = world.members[0].side
    nothing: list[None] = []
    side.timer.after(0.0, "a bug", nothing.pop)
    with pytest.raises(errors.NetworkThreadDiedException):
        consumer.committed(TP)
    health = consumer.health()
    assert not health.alive
    assert health.died_of is not None
    assert "IndexError" in health.died_of
    consumer.close()


def test_a_copy_in_a_child_process_is_refused() -> None:
    """CONTRACT, rule 1: a forked copy raises ForkedClientError at once, and closes nothing."""
    world = World()
    with world.consumer() as consumer:
        consumer._caller.process = os.getpid() + 1
        with pytest.raises(errors.ForkedClientError, match="after the fork"):
            consumer.committed(TP)
        consumer._caller.process = os.getpid()
        assert consumer.committed(TP) == {TP: None}


def test_health_is_a_snapshot() -> None:
    """For a liveness probe: alive, its turns, whom it knows, what it works on."""
    world = World()
    with world.consumer() as consumer:
        assert consumer.health().coordinator is None
        consumer.committed(TP)
        health = consumer.health()
        assert health.alive
        assert health.turns > 0
        assert health.coordinator == "broker 1 (10.0.0.1:9092)"
        assert health.waiting_calls == 0
        assert health.next_due is not None
        assert health.died_of is None


def test_an_unclosed_consumer_warns_and_ends() -> None:
    """CONTRACT, rule 11: collection gives a ResourceWarning, and its thread ends."""
    world = World()
    consumer = world.consumer()
    consumer.committed(TP)
    member = world.members[0]
    with pytest.warns(ResourceWarning, match="never closed"):
        consumer.__del__()
    world.clock.sleep(0.01)
    assert member.thread.life is Life.ENDED


@pytest.mark.filterwarnings("error::ResourceWarning")
def test_an_unclosed_consumer_ends_where_warnings_are_errors() -> None:
    """CONTRACT, rule 11: under `python -W error` its thread ends all the same."""
    world = World()
    consumer = world.consumer()
    consumer.committed(TP)
    member = world.members[0]
    with pytest.raises(ResourceWarning, match="never closed"):
        consumer.__del__()
    world.clock.sleep(0.01)
    assert member.thread.life is Life.ENDED
