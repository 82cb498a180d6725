"""What holds for each public call alike, in virtual time."""

import math
import threading
from datetime import timedelta
from typing import Any

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.call import Call
from prokurist.network_thread.thread import Life
from tests.every_call import ALL, ANSWERED, TP, WAITING, WITH_DEADLINE, WITH_TIMEOUT, ready
from tests.simulation.world import World

each_with_deadline = pytest.mark.parametrize("name", WITH_DEADLINE)
each_waiting = pytest.mark.parametrize("name", WAITING)


def frozen(**keys: Any) -> tuple[World, KafkaConsumer]:
    """A consumer whose connections stand, and a broker that has just frozen."""
    world = World()
    consumer = world.consumer(fetches=False, enable_auto_commit=False, **keys)
    ready(consumer)
    world.control.freeze()
    return world, consumer


@each_with_deadline
@pytest.mark.parametrize("timeout", [0.5, timedelta(seconds=0.5)], ids=["seconds", "timedelta"])
def test_silence_ends_it_at_its_deadline(name: str, timeout: float | timedelta) -> None:
    """B2, B25: on time, and the text names call, limit, object and key."""
    world, consumer = frozen()
    with consumer:
        began = world.clock.time
        with pytest.raises(errors.TimeoutException) as caught:
            WITH_DEADLINE[name](consumer, timeout)
        assert world.clock.time == pytest.approx(began + 0.5)
        text = str(caught.value)
        assert text.startswith(f"{name} ")
        assert "was given 0.5 s" in text
        assert "default.api.timeout.ms" in text
        assert name == "list_topics" or "orders-" in text or "topic elsewhere" in text
        consumer.unsubscribe()


@each_with_deadline
def test_without_a_timeout_the_default_counts(name: str) -> None:
    """B18: `default.api.timeout.ms` of 200 ms ends each call by 200 ms."""
    world, consumer = frozen(default_api_timeout_ms=200)
    with consumer:
        began = world.clock.time
        with pytest.raises(errors.TimeoutException):
            WITH_DEADLINE[name](consumer, None)
        assert world.clock.time == pytest.approx(began + 0.2)
        consumer.unsubscribe()


@pytest.mark.parametrize("name", WITH_TIMEOUT)
@pytest.mark.parametrize(
    ("timeout", "error"),
    [
        (-1, ValueError),
        (-0.001, ValueError),
        (timedelta(seconds=-1), ValueError),
        (math.nan, ValueError),
        ("1", TypeError),
        (True, TypeError),
    ],
)
def test_a_timeout_that_cannot_be_is_refused_before_anything_happens(
    name: str, timeout: object, error: type[Exception]
) -> None:
    """B16: an argument error; nothing is sent, nothing changes, and it goes on."""
    world = World()
    with world.consumer() as consumer:
        ready(consumer)
        received = world.cluster.journal.received
        with pytest.raises(error, match="timeout"):
            WITH_TIMEOUT[name](consumer, timeout)
        world.clock.sleep(1.0)
        assert world.cluster.journal.received == received
        assert len(consumer.assignment()) == 2
        assert consumer.health().waiting_calls == 0


@each_waiting
def test_an_endless_timeout_waits_for_as_long_as_it_takes(name: str) -> None:
    """B17: each call with an infinite timeout waits, and is ended by a wake-up only."""
    world, consumer = frozen()
    with consumer:
        began = world.clock.time
        world.at(began + 1000.0, consumer.wakeup)
        with pytest.raises(errors.WakeupException):
            WAITING[name](consumer, math.inf)
        assert world.clock.time == pytest.approx(began + 1000.0)
        consumer.unsubscribe()


@each_waiting
def test_a_wakeup_ends_the_wait(name: str) -> None:
    """B167, B169: at once, and nothing of the call is left."""
    world, consumer = frozen()
    with consumer:
        began = world.clock.time
        world.at(began + 0.5, consumer.wakeup)
        with pytest.raises(errors.WakeupException):
            WAITING[name](consumer, 30)
        assert world.clock.time == pytest.approx(began + 0.5)
        consumer.unsubscribe()
        world.clock.sleep(0.01)
        assert consumer.health().waiting_calls == 0
        assert not world.members[0].side.client.waiting


@each_waiting
def test_a_wakeup_that_came_before_ends_the_next_wait_once(name: str) -> None:
    """B168, B171, B173: several are one, from any thread; without time to wait, too."""
    world = World()
    with world.consumer() as consumer:
        ready(consumer)
        for _ in range(3):
            other = threading.Thread(target=consumer.wakeup)
            other.start()
            other.join()
        received = world.cluster.journal.received
        with pytest.raises(errors.WakeupException):
            WAITING[name](consumer, 0)
        assert world.cluster.journal.received == received
        WAITING[name](consumer, 5)


@pytest.mark.parametrize("name", ANSWERED)
def test_a_result_that_is_there_is_kept_and_the_wakeup_waits(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B172: the call has ended, and its caller not yet gone on; the next one raises."""
    world = World()
    with world.consumer() as consumer:
        ready(consumer)
        finish = Call.finish

        def finish_and_wake(call: Call, answer: object = None) -> bool:
            ended = finish(call, answer)
            consumer.wakeup()
            return ended

        with monkeypatch.context() as patch:
            patch.setattr(Call, "finish", finish_and_wake)
            ANSWERED[name](consumer, 5)
        received = world.cluster.journal.received
        with pytest.raises(errors.WakeupException, match="before this call"):
            consumer.poll(5)
        assert world.cluster.journal.received == received
        assert not consumer.poll(0.1)


@each_waiting
def test_an_interrupt_unwinds_it(name: str) -> None:
    """B174: KeyboardInterrupt in the wait ends it at once; the client stays usable."""
    world, consumer = frozen()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with consumer:
        began = world.clock.time
        world.at(began + 0.3, interrupt)
        with pytest.raises(KeyboardInterrupt):
            WAITING[name](consumer, 30)
        assert world.clock.time == pytest.approx(began + 0.3)
        world.control.thaw()
        assert TP in consumer.committed(TP, timeout=20)
        consumer.unsubscribe()
        world.clock.sleep(0.01)
        assert consumer.health().waiting_calls == 0


@pytest.mark.parametrize("name", ALL)
def test_a_second_thread_is_refused(name: str) -> None:
    """B175: while a poll waits; the error names both, and the poll is unaffected."""
    world = World()
    with world.consumer() as consumer:
        ready(consumer)
        caught: list[str] = []

        def other() -> None:
            try:
                ALL[name](consumer, 1)
            except errors.ConcurrentModificationException as error:
                caught.append(str(error))

        def meanwhile() -> None:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

        began = world.clock.time
        world.at(began + 0.5, meanwhile)
        assert not consumer.poll(1.0)
        assert world.clock.time == pytest.approx(began + 1.0)
        assert caught
        assert caught[0].startswith(f"{name} while poll of another thread is inside")


@pytest.mark.parametrize("name", ALL)
def test_a_closed_consumer_refuses_it(name: str) -> None:
    """B176: IllegalState that names the call; a second close is none."""
    world = World()
    with world.consumer() as consumer:
        ready(consumer)
    if name == "close":
        ALL[name](consumer, 1)
        return
    with pytest.raises(errors.IllegalStateException, match=f"^{name} of a client that is"):
        ALL[name](consumer, 1)


def test_a_closed_consumer_answers_what_may_come_from_anywhere() -> None:
    """B173, B176: wakeup is harmless, health and repr tell."""
    world = World()
    consumer = world.consumer()
    consumer.wakeup()
    consumer.close()
    consumer.wakeup()
    assert not consumer.health().alive
    assert "ended" in repr(consumer)


def test_a_wakeup_does_not_end_unsubscribe() -> None:
    """B170: it stays for the next call that waits."""
    _, consumer = frozen()
    with consumer:
        consumer.wakeup()
        consumer.unsubscribe()
        assert consumer.assignment() == frozenset()
        with pytest.raises(errors.WakeupException):
            consumer.committed(TP, timeout=1)


@pytest.mark.mortal
@pytest.mark.parametrize("name", WAITING)
def test_a_thread_that_dies_ends_it(name: str) -> None:
    """B267: the waiting call raises at once, the later one too, and close works."""
    world, consumer = frozen()
    nothing: list[None] = []
    world.members[0].side.timer.after(0.5, "a bug", nothing.pop)
    began = world.clock.time
    for _ in range(2):
        with pytest.raises(errors.NetworkThreadDiedException) as caught:
            WAITING[name](consumer, 30)
        assert isinstance(caught.value.__cause__, IndexError)
        assert world.clock.time == pytest.approx(began + 0.5)
    assert world.members[0].thread.life is Life.DEAD
    consumer.close()
