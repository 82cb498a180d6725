"""Polls in virtual time, without records: their length, their errors, what they set going."""

import math
from collections.abc import Callable
from datetime import timedelta

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.looking_up import ORDERS, asked, filled
from tests.simulation.world import World

A, B, C = ORDERS


@pytest.mark.parametrize("timeout", [0.3, timedelta(milliseconds=300), 0])
def test_a_poll_lasts_as_long_as_it_is_given(timeout: float | timedelta) -> None:
    """B28: with positions to look up on the way, and with nothing to do."""
    world = filled()
    with world.consumer(fetches=False) as consumer:
        consumer.assign(ORDERS)
        length = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        for _ in range(2):
            began = world.clock.time
            assert not consumer.poll(timeout)
            assert world.clock.time == pytest.approx(began + length)


@pytest.mark.parametrize("state", ["frozen", "killed", "unreachable", "no coordinator"])
def test_a_poll_never_times_out(state: str) -> None:
    """B27, B265: for anything missing, an empty list at its time; and it does not spin."""
    world = World()
    with world.consumer(fetches=False) as consumer:
        consumer.assign(A)
        if state == "frozen":
            world.control.freeze()
        elif state == "killed":
            world.control.kill(1)
        elif state == "no coordinator":
            world.control.fail("FindCoordinator", 15, times=None)
        else:
            world.members[0].network.block("10.0.0.1", 9092)
        turns = world.members[0].network.turns
        began = world.clock.time
        assert not consumer.poll(20.0)
        assert world.clock.time == pytest.approx(began + 20.0)
        assert world.members[0].network.turns - turns < 300
        consumer.unsubscribe()


def test_nothing_assigned() -> None:
    """B95: IllegalState, at once, with other work pending."""
    world = World()
    with world.consumer(fetches=False) as consumer:
        with pytest.raises(errors.IllegalStateException, match="nothing to read"):
            consumer.poll(1.0)
        consumer.assign(A)
        consumer.unsubscribe()
        with pytest.raises(errors.IllegalStateException):
            consumer.poll(1.0)


def test_repeated_polls_without_time_make_positions_known() -> None:
    """B93: the look-up outlives the polls, and every short timeout; it is made once."""
    world = filled()
    with world.consumer(fetches=False, default_api_timeout_ms=200) as consumer:
        consumer.assign(ORDERS)
        consumer.seek_to_beginning()
        with world.control.answer_late("ListOffsets", 3.0):
            for _ in range(100):
                assert not consumer.poll(0)
                world.clock.sleep(0.05)
        assert len(asked(world)) == 3
        assert [consumer.position(tp, 0) for tp in ORDERS] == [1, 1, 1]


def test_an_idle_poll_sends_no_request() -> None:
    """B265: with positions known, a poll posts nothing, wakes no thread and turns no loop."""
    world = filled()
    with world.consumer(fetches=False, enable_auto_commit=False) as consumer:
        consumer.assign(ORDERS)
        assert [consumer.position(tp) for tp in ORDERS] == [5, 5, 5]
        consumer.poll(0)
        world.clock.sleep(1.0)
        network = world.members[0].network
        before = network.wakes, network.turns, world.cluster.journal.received
        for _ in range(50):
            consumer.poll(0)
            consumer.poll(0.1)
        after = network.wakes, network.turns, world.cluster.journal.received
        assert after == before


def test_polls_that_wait_for_a_look_up_do_not_fill_the_mailbox() -> None:
    """B265: what was asked once is not asked again, however often one polls."""
    world = World()
    with world.consumer(fetches=False) as consumer:
        consumer.assign(A)
        world.control.freeze()
        mailbox = world.members[0].thread.mailbox
        posted = mailbox.posted
        for _ in range(200):
            consumer.poll(0)
        consumer.poll(0.5)
        assert mailbox.posted == posted + 2  # for the positions, and for records


def test_a_look_up_that_has_run_out_of_time_is_made_again() -> None:
    """B93: a long poll does not stop asking when one look-up has ended unanswered."""
    world = World()
    with world.consumer(
        fetches=False, default_api_timeout_ms=40_000, request_timeout_ms=35_000
    ) as consumer:
        consumer.assign(A)
        world.control.create_topic("later")
        later = TopicPartition("later", 0)
        world.control.delete_topic("later")
        consumer.assign(later)
        world.at(world.clock.time + 100.0, lambda: world.control.create_topic("later"))
        assert not consumer.poll(105.0)
        assert consumer.position(later, timeout=0) == 0


def test_a_wakeup_before_a_poll() -> None:
    """B168: the next poll raises once, also without time; the one after it works."""
    world = World()
    with world.consumer(fetches=False) as consumer:
        consumer.assign(A)
        for timeout in (0, 5.0):
            consumer.wakeup()
            consumer.wakeup()
            with pytest.raises(errors.WakeupException):
                consumer.poll(timeout)
            assert not consumer.poll(0.1)


def test_a_wakeup_ends_the_wait_of_a_poll() -> None:
    """B167: at once; what it has set going goes on."""
    world = filled()
    with world.consumer(fetches=False) as consumer:
        consumer.assign(A)
        began = world.clock.time
        world.at(began + 0.5, consumer.wakeup)
        with pytest.raises(errors.WakeupException):
            consumer.poll(math.inf)
        assert world.clock.time == pytest.approx(began + 0.5)
        assert consumer.position(A, 0) == 5


def test_a_wakeup_goes_before_all_else() -> None:
    """B168: what is pending besides, callbacks and errors, stays for the next poll."""
    world = World()
    with world.consumer(fetches=False, auto_offset_reset="none") as consumer:
        consumer.assign(A)
        heard: list[object] = []
        consumer.commit_async({B: OffsetAndMetadata(1)}, lambda *_: heard.append(1))
        consumer.poll(0)
        world.clock.sleep(1.0)
        consumer.wakeup()
        with pytest.raises(errors.WakeupException):
            consumer.poll(0)
        assert not heard
        with pytest.raises(errors.NoOffsetForPartitionException):
            consumer.poll(0)
        assert heard == [1]


def test_callbacks_of_commits_run_first() -> None:
    """CONTRACT 6.1: before anything else a poll does; they may change what is read."""
    world = World()
    with world.consumer(fetches=False, auto_offset_reset="none") as consumer:
        consumer.assign(A)
        consumer.seek(A, 5)
        heard: list[object] = []

        def callback(_offsets: object, error: object) -> None:
            heard.append(error)
            consumer.assign(B)
            consumer.seek(B, 1)

        consumer.commit_async(callback=callback)
        world.clock.sleep(1.0)
        consumer.assign([A, C])
        assert not heard
        assert not consumer.poll(1.0)
        assert heard == [None]


@pytest.mark.mortal
def test_the_thread_dies_while_a_poll_waits() -> None:
    """CONTRACT 2.7: raised at once with the cause, and by every later call."""
    world = World()
    consumer = world.consumer(fetches=False)
    consumer.assign(A)
    consumer.poll(1.0)
    side = world.members[0].side
    nothing: list[None] = []

    def bug() -> None:
        side.timer.after(0.0, "a bug", nothing.pop)
        world.members[0].network.wake()

    began = world.clock.time
    world.at(began + 0.5, bug)
    with pytest.raises(errors.NetworkThreadDiedException) as caught:
        consumer.poll(60.0)
    assert type(caught.value.__cause__) is IndexError
    assert world.clock.time == pytest.approx(began + 0.5)
    with pytest.raises(errors.NetworkThreadDiedException):
        consumer.poll(0)
    consumer.unsubscribe()
    consumer.close()


@pytest.mark.mortal
@pytest.mark.parametrize("after", [1.0, 50.0])
def test_the_thread_dies_with_look_ups_under_way(after: float) -> None:
    """CONTRACT 2.7: a position that waits for a look-up, old or new, hears of it."""
    world = World()
    consumer = world.consumer(fetches=False, default_api_timeout_ms=30_000)
    consumer.assign(A)
    world.control.freeze()
    consumer.poll(1.0)
    side = world.members[0].side
    nothing: list[None] = []
    side.timer.after(after, "a bug", nothing.pop)
    with pytest.raises(errors.NetworkThreadDiedException):
        consumer.position(A, timeout=60.0)
    assert repr(side.lookups) == "PositionsManager(0 being looked up)"
    consumer.assign(B)
    # As if the event of a poll had been in the mailbox when the thread died.
    consumer._positions.ask_missing()
    consumer.unsubscribe()
    consumer.close()


def test_an_interrupt_leaves_the_client_closable() -> None:
    """CONTRACT 2.11: KeyboardInterrupt in a poll's wait ends it at once."""
    world = World()
    with world.consumer(fetches=False) as consumer:
        consumer.assign(A)

        def interrupt() -> None:
            raise KeyboardInterrupt

        world.at(world.clock.time + 0.3, interrupt)
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(30.0)
        assert not consumer.poll(0.1)


def test_milliseconds_are_deprecated() -> None:
    """ADR 6: poll(timeout_ms=...) warns, and is bounded like any other."""
    world = World()
    with world.consumer(fetches=False) as consumer:
        consumer.assign(A)
        began = world.clock.time
        with pytest.warns(DeprecationWarning, match="takes seconds") as warned:
            assert not consumer.poll(timeout_ms=250)
        assert warned[0].filename == __file__
        assert world.clock.time == pytest.approx(began + 0.25)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        pytest.param(lambda c: c.poll(), TypeError, id="none"),
        pytest.param(lambda c: c.poll(None), TypeError, id="None"),
        pytest.param(lambda c: c.poll(1, timeout_ms=1), TypeError, id="both"),
        pytest.param(lambda c: c.poll("1"), TypeError, id="text"),
        pytest.param(lambda c: c.poll(-1), ValueError, id="negative"),
        pytest.param(lambda c: c.poll(math.nan), ValueError, id="NaN"),
        pytest.param(lambda c: c.poll(timeout_ms=-1), ValueError, id="negative ms"),
        pytest.param(lambda c: c.poll(timeout_ms="1"), TypeError, id="ms as text"),
        pytest.param(
            lambda c: c.poll(timeout_ms=timedelta(seconds=1)), TypeError, id="ms as timedelta"
        ),
        pytest.param(lambda c: c.unsubscribe(-1), ValueError, id="unsubscribe"),
        pytest.param(lambda c: c.position("orders"), TypeError, id="a topic"),
        pytest.param(lambda c: c.position(A, -1), ValueError, id="position"),
    ],
)
def test_bad_arguments(call: Callable[[KafkaConsumer], object], error: type[Exception]) -> None:
    """B16: refused before anything happens."""
    world = World()
    with world.consumer(fetches=False) as consumer:
        consumer.assign(A)
        with pytest.raises(error):
            call(consumer)
        assert not world.cluster.journal.received
        assert consumer.assignment() == {A}
