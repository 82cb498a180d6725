"""The Timer: the earliest first, cancelled ones never, new ones a turn later."""

import math
from random import Random

from prokurist.network_thread.operations.operation import Operation, Withdrawn
from prokurist.network_thread.operations.timer import Timer


def fire(timer: Timer, now: float) -> None:
    """A turn in which nothing was set before."""
    timer.now = now
    timer.fire(timer.mark())


def test_entries_fire_in_the_order_of_their_time() -> None:
    """Ties go to the one that was set first; what is not due stays."""
    timer, seen = Timer(0.0), list[object]()
    for at, name in [(3.0, "c"), (1.0, "a"), (2.0, "b1"), (2.0, "b2"), (9.0, "later")]:
        timer.at(at, name, lambda name=name: seen.append(name))  # type: ignore[misc]
    fire(timer, 3.0)
    assert seen == ["a", "b1", "b2", "c"]
    assert len(timer) == 1
    assert timer.fired == 4
    top = timer.top()
    assert top is not None
    assert (top.at, top.reason) == (9.0, "later")


def test_a_cancelled_entry_never_fires() -> None:
    """Cancelled once or twice, before its time or after."""
    timer, seen = Timer(0.0), list[object]()
    due = timer.at(1.0, "a", lambda: seen.append("a"))
    timer.cancel(due)
    timer.cancel(due)
    assert timer.top() is None
    assert len(timer) == 0
    fire(timer, 2.0)
    done = timer.at(3.0, "b", lambda: seen.append("b"))
    fire(timer, 3.0)
    timer.cancel(done)
    assert seen == ["b"]
    assert len(timer) == 0


def test_an_entry_set_in_this_turn_waits_for_the_next() -> None:
    """B31: an action that sets an entry for now does not spin, and is not forgotten."""
    timer, seen = Timer(0.0), list[object]()

    def again() -> None:
        seen.append(len(seen))
        timer.at(0.0, "again", again)

    timer.at(0.0, "again", again)
    fire(timer, 1.0)
    assert seen == [0]
    top = timer.top()
    assert top is not None
    assert top.at == 0.0
    fire(timer, 1.0)
    assert seen == [0, 1]
    assert len(timer) == 1


def test_what_is_set_behind_the_mark_waits_too() -> None:
    """A call without any time still gets the turn in which it was taken up."""
    timer, seen = Timer(0.0), list[object]()
    mark = timer.mark()
    timer.at(5.0, "deadline", lambda: seen.append("deadline"))
    timer.now = 5.0
    timer.fire(mark)
    assert not seen
    fire(timer, 5.0)
    assert seen == ["deadline"]


def test_an_entry_that_never_comes_costs_nothing() -> None:
    """B17: an infinite deadline is no entry at all."""
    timer = Timer(0.0)
    due = timer.at(math.inf, "never", lambda: None)
    assert len(timer) == 0
    assert timer.top() is None
    timer.cancel(due)
    assert len(timer) == 0


def test_a_sleep_is_a_promise_whose_entry_goes_with_its_last_waiter() -> None:
    """An operation that is thrown out of its backoff leaves nothing in the heap."""
    timer, ends = Timer(10.0), list[object]()

    async def nap() -> str:
        await timer.sleep(2.0, "retry backoff")
        return "rested"

    Operation(nap(), "nap", lambda value, _error: ends.append(value))
    thrown = Operation(nap(), "nap", lambda _value, error: ends.append(type(error)))
    thrown.throw(Withdrawn())
    assert len(timer) == 1
    fire(timer, 11.9)
    assert ends == [Withdrawn]
    fire(timer, 12.0)
    assert ends == [Withdrawn, "rested"]
    assert len(timer) == 0


def test_dead_entries_do_not_pile_up() -> None:
    """Ten thousand calls that end before their deadline leave no heap behind."""
    timer = Timer(0.0)
    keeper = timer.at(1e9, "metadata age", lambda: None)
    for each in range(10_000):
        timer.cancel(timer.at(1000.0 + each, "deadline", lambda: None))
    assert len(timer) == 1
    assert len(timer._heap) < 200
    assert timer.top() is keeper


def test_against_a_plain_list() -> None:
    """Random setting, cancelling and firing agree with the obvious way to do it."""
    random = Random(11)  # noqa: S311 - a replayable seed
    timer, seen = Timer(0.0), list[object]()
    alive: dict[int, float] = {}
    dues = {}
    now = 0.0
    for each in range(3000):
        action = random.random()
        if action < 0.5:
            at = now + random.random() * 10
            alive[each] = at
            dues[each] = timer.at(at, str(each), lambda each=each: seen.append(each))  # type: ignore[misc]
        elif action < 0.8 and alive:
            victim = random.choice(list(alive))
            del alive[victim]
            timer.cancel(dues[victim])
        else:
            now += random.random() * 3
            expected = sorted(
                (key for key in alive if alive[key] <= now), key=lambda k: alive[k]
            )
            fire(timer, now)
            assert seen == expected
            seen.clear()
            for key in expected:
                del alive[key]
        assert len(timer) == len(alive)
        top = timer.top()
        assert (top.at if top else None) == (min(alive.values()) if alive else None)
