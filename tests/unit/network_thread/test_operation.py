"""Operations and promises: work that reads from top to bottom and owns its end."""

from collections.abc import Coroutine
from typing import Any

import pytest

from prokurist.errors import KafkaException
from prokurist.network_thread.operation import Operation, Promise, Withdrawn


class Ends:
    """What operations came to."""

    def __init__(self) -> None:
        self.of: list[tuple[Any, KafkaException | None]] = []

    def start(self, work: Coroutine[Any, Any, Any]) -> Operation[Any]:
        """Start one whose end is kept here."""
        return Operation(work, "work", lambda value, error: self.of.append((value, error)))


async def through(*promises: Promise[Any]) -> list[Any]:
    """Await them in turn."""
    return [await promise for promise in promises]


def test_it_runs_as_far_as_its_first_wait_and_goes_on_when_that_is_kept() -> None:
    """Kept promises step it; one kept beforehand is no wait at all."""
    ends = Ends()
    first, second, third = Promise[int](), Promise[int](), Promise[int]()
    second.keep(2)
    operation = ends.start(through(first, second, third))
    assert not ends.of
    first.keep(1)
    assert "waiting for Promise(1 waiting)" in repr(operation)
    third.keep(3)
    assert ends.of == [([1, 2, 3], None)]
    assert repr(operation) == "Operation(work, ended)"


def test_a_broken_promise_raises_where_it_is_awaited() -> None:
    """And what the operation does not catch is its end."""
    ends, promise = Ends(), Promise[int]()
    ends.start(through(promise))
    error = KafkaException("no")
    promise.break_(error)
    promise.keep(1)
    assert ends.of == [(None, error)]


def test_an_operation_that_is_thrown_at_cleans_up_after_itself() -> None:
    """B24: expiry and withdrawal come in at the wait, and `finally` runs."""
    ends, promise, cleaned = Ends(), Promise[int](), []

    async def work() -> None:
        try:
            await promise
        finally:
            cleaned.append(True)

    operation = ends.start(work())
    operation.throw(Withdrawn())
    assert cleaned == [True]
    assert type(ends.of[0][1]) is Withdrawn
    operation.throw(Withdrawn())
    promise.keep(1)
    assert len(ends.of) == 1


def test_the_last_to_go_forsakes_a_promise() -> None:
    """A shared look-up stays for those who still wait, and is told when nobody does."""
    ends, promise, forsaken = Ends(), Promise[int](), []
    promise.on_forsaken = lambda: forsaken.append(True)
    one, two = ends.start(through(promise)), ends.start(through(promise))
    one.throw(Withdrawn())
    assert not forsaken
    two.throw(Withdrawn())
    assert forsaken == [True]


def test_a_waiter_that_throws_another_out_of_the_same_promise() -> None:
    """The second's step still comes, for a wait that is over: it changes nothing."""
    ends, shared, other = Ends(), Promise[int](), Promise[int]()
    victims: list[Operation[Any]] = []

    async def first() -> None:
        await shared
        victims[0].throw(Withdrawn())

    async def second() -> str:
        try:
            await shared
        except Withdrawn:
            return f"thrown out, then {await other}"
        return "stepped"

    ends.start(first())
    victims.append(ends.start(second()))
    shared.keep(1)
    assert ends.of == [(None, None)]
    other.keep(7)
    assert ends.of[1] == ("thrown out, then 7", None)


def test_a_bug_goes_through() -> None:
    """What is no KafkaException is ours: it reaches the loop, which ends loudly."""

    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Ends().start(work())


def test_an_error_that_many_raise_keeps_one_traceback() -> None:
    """A shared failure does not grow with each waiter."""
    ends, promise = Ends(), Promise[int]()
    for _ in range(20):
        ends.start(through(promise))
    error = KafkaException("no")
    promise.break_(error)
    depth, trace = 0, error.__traceback__
    while trace is not None:
        depth, trace = depth + 1, trace.tb_next
    assert len(ends.of) == 20
    assert depth < 10
