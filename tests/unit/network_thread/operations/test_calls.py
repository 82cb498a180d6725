"""The table of what is being worked on: whichever end comes first, and nothing after it."""

import math

import pytest

from prokurist.errors import KafkaException, TimeoutException
from prokurist.events.call import Call, Stand
from prokurist.events.clock import Deadline
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.operation import Promise, Withdrawn
from prokurist.network_thread.operations.timer import Timer


class Bench:
    """A table, its Timer, and a promise that operations wait for."""

    def __init__(self) -> None:
        self.timer = Timer(10.0)
        self.calls = Calls(self.timer)
        self.promise = Promise[str]()
        self.thrown: list[str] = []

    def call(self, timeout: float) -> Call:
        """A call that begins now."""
        return Call("work", self.timer.now, Deadline.after(self.timer.now, timeout))

    async def wait(self) -> str:
        """Wait, and note how the wait ended otherwise."""
        try:
            return await self.promise
        except KafkaException as error:
            self.thrown.append(type(error).__name__)
            raise

    def turn(self, now: float) -> None:
        """Let the Timer do what is due."""
        self.timer.now = now
        self.timer.fire(self.timer.mark())

    def at_rest(self) -> bool:
        """Whether nothing is left of any call."""
        return not len(self.calls) and self.timer.top() is None


async def at_once(outcome: BaseException | str) -> str:
    """An operation without a wait."""
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def test_an_answer_ends_it() -> None:
    """And its entry for the deadline is gone."""
    bench = Bench()
    call = bench.call(5.0)
    bench.calls.start(call, bench.wait())
    assert bench.calls.oldest() is call
    bench.promise.keep("yes")
    assert call.result() == "yes"
    assert bench.at_rest()


def test_an_operation_that_ends_at_once_leaves_nothing() -> None:
    """B21: answered from what is known, without a turn; an error alike."""
    bench = Bench()
    good, bad = bench.call(5.0), bench.call(0.0)
    bench.calls.start(good, at_once("known"))
    bench.calls.start(bad, at_once(KafkaException("no")))
    assert good.result() == "known"
    with pytest.raises(KafkaException, match="no"):
        bad.result()
    assert bench.at_rest()


def test_a_caller_who_has_left_is_not_worked_for() -> None:
    """B24: the event lay in the mailbox for too long."""
    bench = Bench()
    call = bench.call(5.0)
    call.leave(10.0)
    bench.calls.start(call, bench.wait())
    assert bench.at_rest()
    assert not bench.thrown


def test_the_deadline_ends_it() -> None:
    """B20: each at its own, with the report of a TimeoutException."""
    bench = Bench()
    soon, later = bench.call(1.0), bench.call(2.0)
    bench.calls.start(later, bench.wait())
    bench.calls.start(soon, bench.wait())
    bench.turn(10.999)
    assert [call.is_open for call in (soon, later)] == [True, True]
    bench.turn(11.0)
    assert [call.is_open for call in (soon, later)] == [False, True]
    with pytest.raises(TimeoutException):
        soon.result()
    bench.turn(12.0)
    assert bench.thrown == ["Expired", "Expired"]
    assert bench.at_rest()


def test_a_call_without_a_deadline_waits_for_ever() -> None:
    """It costs the Timer nothing, and ends with the client at the latest."""
    bench = Bench()
    call = bench.call(math.inf)
    bench.calls.start(call, bench.wait())
    assert bench.timer.top() is None
    bench.turn(1e12)
    assert call.is_open
    bench.calls.fail(KafkaException("closed"))
    with pytest.raises(KafkaException, match="closed"):
        call.result()
    assert bench.at_rest()


def test_a_withdrawal_ends_it_once() -> None:
    """B24: and one for a call that is not worked on any more changes nothing."""
    bench = Bench()
    call = bench.call(5.0)
    bench.calls.start(call, bench.wait())
    call.leave(10.5, KeyboardInterrupt())
    bench.calls.withdraw(call)
    bench.calls.withdraw(call)
    assert bench.thrown == ["Withdrawn"]
    assert call.stand is Stand.LEFT
    assert bench.at_rest()


def test_a_bug_in_one_clean_up_leaves_no_call_waiting() -> None:
    """B267: every call has its end before the first operation is thrown at."""
    bench = Bench()

    async def clumsy() -> str:
        try:
            return await bench.promise
        finally:
            raise ZeroDivisionError

    calls = [bench.call(5.0) for _ in range(3)]
    bench.calls.start(calls[0], bench.wait())
    bench.calls.start(calls[1], clumsy())
    bench.calls.start(calls[2], bench.wait())
    with pytest.raises(ZeroDivisionError):
        bench.calls.fail(KafkaException("closed"))
    assert not any(call.is_open for call in calls)
    bench.calls.fail(KafkaException("closed"))
    assert bench.thrown == ["Withdrawn", "Withdrawn"]
    assert not len(bench.calls)


def test_an_operation_that_a_bug_has_ended_is_not_thrown_at() -> None:
    """B267: the loop's own end does not stumble over what ended it."""
    bench = Bench()

    async def clumsy() -> str:
        await bench.promise
        raise ZeroDivisionError

    call = bench.call(5.0)
    bench.calls.start(call, clumsy())
    with pytest.raises(ZeroDivisionError):
        bench.promise.keep("yes")
    bench.calls.fail(KafkaException("died"))
    with pytest.raises(KafkaException, match="died"):
        call.result()


def test_withdrawn_is_never_what_a_caller_gets() -> None:
    """An operation whose request was refused its claim ends as a timeout."""
    bench = Bench()
    call = bench.call(5.0)
    bench.calls.start(call, at_once(Withdrawn("gone")))
    with pytest.raises(TimeoutException):
        call.result()
