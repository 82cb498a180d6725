"""The mailbox: nothing lost, one wake a drain, closed means closed."""

import threading

import pytest

from prokurist.events.mailbox import Mailbox


class Wakes:
    """Counts wakes."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        """One more."""
        self.count += 1


def gone() -> RuntimeError:
    """What a post to a closed box raises."""
    return RuntimeError("gone")


def test_events_come_in_the_order_of_their_posting_with_one_wake() -> None:
    """Ten posts before a drain wake the reader once; the first one after it wakes again."""
    wakes = Wakes()
    box: Mailbox[int] = Mailbox(wakes)
    for each in range(10):
        box.post(each)
    assert wakes.count == 1
    assert len(box) == 10
    assert box.drain() == list(range(10))
    assert box.drain() == []
    box.post(10)
    assert wakes.count == 2
    assert box.drain() == [10]
    assert box.posted == 11


def test_closing_gives_back_what_was_accepted_and_refuses_the_rest() -> None:
    """Closed and enqueued exclude each other."""
    box: Mailbox[int] = Mailbox(Wakes())
    box.post(1)
    assert box.close(gone) == [1]
    assert box.close(lambda: ValueError("later")) == []
    with pytest.raises(RuntimeError, match="gone"):
        box.post(2)
    assert box.drain() == []
    assert repr(box) == "Mailbox(closed, 0 waiting, 1 posted)"


def test_a_wake_that_posts_does_not_deadlock() -> None:
    """The wake is called outside the lock."""
    box: Mailbox[str] = Mailbox(lambda: box.post("again") if len(box) < 3 else None)
    box.post("first")
    assert box.drain() == ["first", "again"]


def test_many_posters_and_one_that_closes() -> None:
    """All that was accepted is drained or given back by close, and nothing twice."""
    for _ in range(20):
        box: Mailbox[tuple[int, int]] = Mailbox(Wakes())
        accepted: list[list[tuple[int, int]]] = [[] for _ in range(4)]
        start = threading.Barrier(5)

        def post(
            number: int,
            box: Mailbox[tuple[int, int]] = box,
            mine: list[list[tuple[int, int]]] = accepted,
            start: threading.Barrier = start,
        ) -> None:
            start.wait()
            for each in range(200):
                try:
                    box.post((number, each))
                except RuntimeError:
                    return
                mine[number].append((number, each))

        posters = [threading.Thread(target=post, args=(number,)) for number in range(4)]
        for poster in posters:
            poster.start()
        start.wait()
        taken: list[tuple[int, int]] = []
        while len(taken) < 50:
            taken += box.drain()
        taken += box.close(gone)
        for poster in posters:
            poster.join()
        assert sorted(taken) == sorted(event for each in accepted for event in each)
        for number in range(4):
            mine = [event for event in taken if event[0] == number]
            assert mine == sorted(mine)
