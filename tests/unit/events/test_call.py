"""The Call: three questions, each settled once."""

import threading
from collections.abc import Callable

import pytest

from prokurist.errors import (
    KafkaException,
    NotCoordinatorException,
    TimeoutException,
    WakeupException,
)
from prokurist.events.call import Call, Stand
from prokurist.events.clock import Deadline
from prokurist.types import TopicPartition

NODE = "broker 1 (127.0.0.1:9092)"


def call(timeout: float = 2.0) -> Call:
    """A commit that began at 100."""
    return Call(
        "commit_sync",
        100.0,
        Deadline.after(100.0, timeout),
        partitions=[TopicPartition("orders", 0)],
    )


def test_an_answer_ends_it_and_opens_the_gate() -> None:
    """The caller passes and finds the answer."""
    it = call()
    assert repr(it) == "Call(commit_sync, open, 0 attempts)"
    assert it.finish(42)
    assert it.waiter.wait(0)
    assert not it.is_open
    assert it.result() == 42
    assert it.stand is Stand.FINISHED


def test_an_error_ends_it() -> None:
    """B6: a fatal error is raised as it is."""
    it = call()
    error = KafkaException("no")
    assert it.fail(error)
    with pytest.raises(KafkaException) as caught:
        it.result()
    assert caught.value is error


@pytest.mark.parametrize("first", ["finish", "fail", "expire", "leave"])
@pytest.mark.parametrize("second", ["finish", "fail", "expire", "leave"])
def test_whichever_end_comes_first_counts(first: str, second: str) -> None:
    """B19: the later end hears False and changes nothing."""
    ends: dict[str, Callable[[Call, str], bool]] = {
        "finish": lambda it, value: it.finish(value),
        "fail": lambda it, value: it.fail(KafkaException(value)),
        "expire": lambda it, _value: it.expire(102.0),
        "leave": lambda it, value: it.leave(102.0, WakeupException(value)),
    }
    it, alone = call(), call()
    assert ends[first](alone, "first")
    assert ends[first](it, "first")
    assert not ends[second](it, "second")
    assert outcome(it) == outcome(alone)


def test_an_error_is_raised_once() -> None:
    """B269: its traceback leads to the holder of the call, so the call lets go of it."""
    it = call()
    it.fail(KafkaException("no"))
    with pytest.raises(KafkaException, match="no"):
        it.result()
    with pytest.raises(AssertionError, match="has been raised"):
        it.result()


def outcome(it: Call) -> str:
    """The result as text, error or not."""
    try:
        return f"answered {it.result()}"
    except KafkaException as error:
        return repr(error)


@pytest.mark.parametrize("end", ["finish", "expire", "leave"])
def test_nothing_may_be_written_once_it_has_ended(end: str) -> None:
    """B24: the claim before writing hears no."""
    it = call()
    assert it.claim("OffsetCommit", NODE, 100.1, effect=True) is not None
    if end == "finish":
        it.finish(1)
    elif end == "expire":
        it.expire(102.0)
    else:
        it.leave(102.0)
    assert it.claim("OffsetCommit", NODE, 102.1, effect=True) is None


def test_the_ledger_tells_what_was_tried_and_what_is_open() -> None:
    """B5: attempts, waits and the last error, counted from the call's beginning."""
    it = call()
    it.wait_begins("the group's coordinator", 100.0)
    first = it.claim("OffsetCommit", NODE, 100.2, effect=True)
    assert first is not None
    error = NotCoordinatorException("moved")
    it.ended(first, 100.3, "NOT_COORDINATOR", error, undone=True)
    it.wait_begins("retry backoff", 100.3)
    it.wait_ends(100.4)
    it.wait_ends(100.45)
    it.claim("OffsetCommit", NODE, 100.5, effect=True)
    assert it.leave(102.0)
    with pytest.raises(TimeoutException) as caught:
        it.result()
    late = caught.value
    assert late.timeout == pytest.approx(2.0)
    assert late.elapsed == pytest.approx(2.0)
    assert [(a.outcome, round(a.started, 3)) for a in late.attempts] == [
        ("NOT_COORDINATOR", 0.2),
        ("unanswered", 0.5),
    ]
    assert late.attempts[1].ended is None
    assert [(w.reason, round(w.ended - w.started, 3)) for w in late.waits] == [
        ("the group's coordinator", 0.2),
        ("retry backoff", 0.1),
    ]
    assert late.last_error is error
    assert late.may_have_happened
    assert late.partitions == (TopicPartition("orders", 0),)


@pytest.mark.parametrize(
    ("effect", "ending", "maybe"),
    [
        (True, None, True),
        (True, "disconnected", True),
        (True, "NOT_COORDINATOR", False),
        (True, "answered in part", True),
        (False, None, False),
        (False, "disconnected", False),
    ],
)
def test_what_may_have_happened(*, effect: bool, ending: str | None, maybe: bool) -> None:
    """True only for an attempt with an effect whose fate is not known."""
    it = call()
    attempt = it.claim("OffsetCommit", NODE, 100.1, effect=effect)
    assert attempt is not None
    if ending is not None:
        it.ended(attempt, 100.2, ending, undone=ending == "NOT_COORDINATOR")
    it.expire(102.0)
    with pytest.raises(TimeoutException) as caught:
        it.result()
    assert caught.value.may_have_happened is maybe


@pytest.mark.parametrize("end", ["expire", "leave"])
def test_the_wait_it_is_in_is_part_of_the_report(end: str) -> None:
    """B1: on either thread's end of the call, the text says what it was waiting for."""
    it = call()
    it.wait_begins("the group's coordinator", 100.0)
    assert it.expire(102.0) if end == "expire" else it.leave(102.0)
    with pytest.raises(TimeoutException, match="it waited 2 s for the group's coordinator"):
        it.result()


def test_a_late_ending_does_not_change_the_report() -> None:
    """What is said when the caller leaves stays said."""
    it = call()
    attempt = it.claim("OffsetCommit", NODE, 100.1, effect=True)
    assert attempt is not None
    it.leave(102.0)
    it.ended(attempt, 103.0, "answered")
    it.wait_begins("retry backoff", 102.0)
    it.wait_ends(103.0)
    with pytest.raises(TimeoutException, match="unanswered") as caught:
        it.result()
    assert caught.value.may_have_happened


def test_a_result_before_the_end_is_a_bug_of_ours() -> None:
    """What is not there is not read."""
    with pytest.raises(AssertionError, match="no result yet"):
        call().result()


def test_one_writer_and_one_leaver() -> None:
    """The race that claim exists for: a claim that is granted is in the report."""
    for _ in range(200):
        it = call()
        start = threading.Barrier(2)
        granted: list[object] = []

        def write(
            it: Call = it, start: threading.Barrier = start, into: list[object] = granted
        ) -> None:
            start.wait()
            into.append(it.claim("OffsetCommit", NODE, 101.9, effect=True))

        writer = threading.Thread(target=write)
        writer.start()
        start.wait()
        it.leave(102.0)
        writer.join()
        with pytest.raises(TimeoutException) as caught:
            it.result()
        assert caught.value.may_have_happened is (granted[0] is not None)
        assert len(caught.value.attempts) == (granted[0] is not None)


def test_a_call_is_waited_for_again_and_for_less_long() -> None:
    """With an answer of its own; what it stands for is the same."""
    it = call()
    again, sooner = it.again(), it.again(Deadline(100.5))
    assert (again.deadline, sooner.deadline) == (it.deadline, Deadline(100.5))
    assert (sooner.operation, sooner.began) == (it.operation, it.began)
    assert sooner.finish()
    assert it.is_open
    assert again.is_open
