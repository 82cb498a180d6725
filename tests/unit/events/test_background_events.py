"""What the network thread has to tell a poll."""

from collections.abc import Callable

import pytest

from prokurist.errors import KafkaException, NetworkThreadDiedException
from prokurist.events.background_events import (
    BackgroundError,
    BackgroundEvents,
    Step,
    StepKind,
)
from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.events.positions import PositionRequest
from prokurist.types import TopicPartition

A, B = (PositionRequest(TopicPartition("orders", number), number, None) for number in range(2))


def everything(_: object) -> bool:
    """The user still wants it."""
    return True


def error(text: str, *about: PositionRequest) -> BackgroundError:
    """An error about some positions."""
    return BackgroundError(KafkaException(text), frozenset(about))


def test_errors_are_taken_one_by_one_in_order() -> None:
    """B164: and then there are none."""
    events = BackgroundEvents()
    events.post(error("first", A))
    events.post(error("second"))
    assert [str(events.take(everything)) for _ in range(3)] == ["first", "second", "None"]


def test_what_is_no_longer_wanted_is_dropped() -> None:
    """CONTRACT 2.8: unless the error is about nothing in particular."""
    events = BackgroundEvents()
    events.post(error("dropped", A))
    events.post(error("kept", A, B))
    events.post(error("always"))
    assert str(events.take(B.__eq__)) == "kept"
    assert str(events.take(B.__eq__)) == "always"


def test_an_error_is_narrowed_to_what_is_still_wanted() -> None:
    """Where it can be; and raised as it was posted while all of it is wanted."""
    events = BackgroundEvents()

    def narrow(partitions: frozenset[TopicPartition]) -> KafkaException:
        return KafkaException(f"about {sorted(partitions)}")

    both = BackgroundError(KafkaException("about both"), frozenset({A, B}), narrow)
    events.post(both)
    assert events.take(everything) is both.error
    events.post(both)
    assert str(events.take(B.__eq__)) == f"about {[B.partition]}"


def test_of_one_cause_there_is_one_error() -> None:
    """The newest; others keep their place."""
    events = BackgroundEvents()
    events.post(error("old", A))
    events.post(error("other", B))
    events.post(error("new", A))
    assert repr(events) == "BackgroundEvents(open, 2 errors)"
    assert [str(events.take(everything)) for _ in range(2)] == ["other", "new"]


def test_any_event_ends_the_wait_of_a_poll() -> None:
    """An error, a nudge, the end of the thread: each opens its waiter, from then on no more."""
    events = BackgroundEvents()
    ways: list[Callable[[], None]] = [
        lambda: events.post(error("e")),
        events.nudge,
        lambda: events.close(KafkaException("over")),
    ]
    for come in ways:
        watched, gone = Call("poll", 0.0, NEVER), Call("poll", 0.0, NEVER)
        events.watch(gone)
        events.watch(watched)
        come()
        assert watched.waiter.is_open
        assert not gone.waiter.is_open
        events.watch(None)
        come()


def test_once_closed_every_look_says_why() -> None:
    """The first reason counts, and does not grow with every look."""
    events = BackgroundEvents()
    events.check_open()
    died = NetworkThreadDiedException("died")
    events.close(died)
    events.close(KafkaException("later"))
    depths = []
    for _ in range(3):
        with pytest.raises(NetworkThreadDiedException) as caught:
            events.check_open()
        depths.append(len(caught.traceback))
    assert len(set(depths)) == 1


def test_a_fatal_error_is_raised_again_and_again_before_all_others() -> None:
    """B164, B143: until it is forgiven; then the others come."""
    events = BackgroundEvents()
    events.post(error("another"))
    events.fail(KafkaException("fatal"))
    assert [str(events.take(everything)) for _ in range(3)] == ["fatal"] * 3
    assert str(events.forgive()) == "fatal"
    assert str(events.take(everything)) == "another"
    assert events.take(everything) is None


def test_steps_are_taken_in_order_until_they_are_called_off() -> None:
    """B149: a step not taken by then is never made."""
    events = BackgroundEvents()
    first, second = Step(StepKind.REVOKED), Step(StepKind.REVOKED)
    assert first != second
    call = Call("poll", 0.0, NEVER)
    events.watch(call)
    events.post_step(first)
    assert not call.is_open, "a poll that waits makes it"
    events.post_step(second)
    assert events.take_step() is first
    events.call_off()
    assert events.take_step() is None


def test_the_same_words_about_nothing_in_particular_are_one_error() -> None:
    """B144: a refusal that comes with every heartbeat does not pile up."""
    events = BackgroundEvents()
    events.post(error("same"))
    events.post(error("other"))
    events.post(error("same"))
    assert len(events) == 2
