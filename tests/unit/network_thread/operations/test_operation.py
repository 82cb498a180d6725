"""Operations and promises: work that reads from top to bottom and owns its end."""

from collections.abc import Coroutine
from typing import Any

import pytest

from prokurist.errors import KafkaException
from prokurist.network_thread.operations.operation import (
    Operation,
    Promise,
    Withdrawn,
    all_of,
    begin,
)


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


def test_one_whose_coroutine_the_collector_has_closed_is_over() -> None:
    """Its client is gone, and the others' `finally` say nothing of it."""
    ends, promise = Ends(), Promise[int]()
    work = through(promise)
    operation = ends.start(work)
    promise.on_forsaken = lambda: operation.throw(Withdrawn())
    other = ends.start(through(Promise[int](), promise))
    work.close()
    other.throw(Withdrawn())
    operation.throw(Withdrawn())
    promise.keep(1)
    assert operation.ended
    assert [type(error) for _, error in ends.of] == [Withdrawn]


def test_the_last_to_go_forsakes_a_promise() -> None:
    """A shared look-up stays for those who still wait, and is told when no call does."""
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


def watched() -> tuple[Promise[int], list[bool]]:
    """A promise, and what becomes True once it is forsaken."""
    promise, forsaken = Promise[int](), list[bool]()
    promise.on_forsaken = lambda: forsaken.append(True)
    return promise, forsaken


def test_several_promises_are_one_when_all_are_kept() -> None:
    """Their values come in the order of the promises, not of their ends."""
    ends = Ends()
    first, second, third = Promise[int](), Promise[int](), Promise[int]()
    second.keep(2)
    ends.start(through(all_of([first, second, third])))
    third.keep(3)
    assert not ends.of
    first.keep(1)
    assert ends.of == [([[1, 2, 3]], None)]
    ends.start(through(all_of([])))
    assert ends.of[1] == ([[]], None)


@pytest.mark.parametrize("beforehand", [False, True])
def test_the_first_error_of_several_ends_the_wait_for_the_rest(*, beforehand: bool) -> None:
    """B6: raised at once, and every other promise is forsaken, whenever it was broken."""
    ends, (one, one_forsaken), (two, two_forsaken) = Ends(), watched(), watched()
    error, broken = KafkaException("no"), Promise[int]()
    if beforehand:
        broken.break_(error)
    ends.start(through(all_of([one, broken, two])))
    broken.break_(error)
    assert ends.of == [(None, error)]
    assert (one_forsaken, two_forsaken) == ([True], [True])
    one.break_(KafkaException("too late"))
    assert len(ends.of) == 1


def test_who_is_thrown_out_of_several_forsakes_each() -> None:
    """B24: one that was kept by then, and one that others wait for, are left alone."""
    ends, (one, one_forsaken), (kept, kept_forsaken) = Ends(), watched(), watched()
    shared, shared_forsaken = watched()
    ends.start(through(shared))
    operation = ends.start(through(all_of([one, kept, shared])))
    kept.keep(1)
    operation.throw(Withdrawn())
    assert type(ends.of[0][1]) is Withdrawn
    assert (one_forsaken, kept_forsaken, shared_forsaken) == ([True], [], [])


def test_work_that_was_begun_goes_on_beside_who_waits_for_it() -> None:
    """It keeps its promise with what it comes to, a value or an error."""
    ends, awaited = Ends(), Promise[int]()
    ends.start(
        through(all_of([begin(through(awaited), "one"), begin(through(awaited), "two")]))
    )
    awaited.keep(7)
    assert ends.of == [([[[7], [7]]], None)]
    failing, error = Promise[int](), KafkaException("no")
    ends.start(through(begin(through(failing), "three")))
    failing.break_(error)
    assert ends.of[1] == (None, error)


def test_work_ends_once_no_call_waits_for_it() -> None:
    """B24: being thrown out reaches what the work itself waits for."""
    ends, (inner, inner_forsaken) = Ends(), watched()
    operation = ends.start(through(begin(through(inner), "work")))
    operation.throw(Withdrawn())
    assert inner_forsaken == [True]


def test_a_value_is_there_only_once_it_is_kept() -> None:
    """Looking without waiting is for those who have looked whether it is there."""
    promise = Promise[int]()
    with pytest.raises(AssertionError, match="no value"):
        _ = promise.value
    promise.keep(1)
    assert (promise.value, promise.error) == (1, None)
