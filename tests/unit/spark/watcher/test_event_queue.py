"""Letters: one for a run, nothing lost that is counted, and nothing begun by what is late."""

import threading

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.spark.watcher.event_queue import MOST_REMEMBERED, EventQueue, Run
from prokurist.spark.watcher.progress import Query
from tests.unit.spark.hand import BILLS, at, batch


def inbox() -> EventQueue:
    """One of the present time."""
    return EventQueue(MonotonicClock())


def soon(seconds: float = 30.0) -> Deadline:
    """A deadline on the real clock."""
    return Deadline.after(MonotonicClock().now(), seconds)


def settled(box: EventQueue, batch: int, seconds: float = 30.0) -> Run | None:
    """Wait for a batch."""
    now = MonotonicClock().now()
    return box.await_settled(BILLS.run_id, batch, soon(seconds), asked_at=now)


def test_a_run_has_one_letter_with_its_newest_batch() -> None:
    """Memory is bounded, and all rows and times are counted all the same."""
    box = inbox()
    box.started(BILLS)
    for number in range(1000):
        box.progressed(batch(number, at(number)))
    (letter,) = box.take()
    assert letter.batch == batch(999, at(999))
    assert letter.counters.rows == 10_000
    assert letter.counters.batches.count == 1000
    assert box.take() == []


def test_an_empty_trigger_is_no_batch() -> None:
    """Its time is none of a batch's."""
    box = inbox()
    box.progressed(batch(1, at(1), rows=0))
    assert box.take()[0].counters.batches.count == 0


def test_what_is_asked_for_is_not_counted_twice() -> None:
    """Spark's own event of that batch may be on its way."""
    box = inbox()
    box.asked(batch(7, at(70)), over=False)
    box.progressed(batch(7, at(70)))
    box.progressed(batch(6, at(60)))
    (letter,) = box.take()
    assert (letter.batch, letter.urgent) == (batch(7, at(70)), True)
    assert letter.counters.rows == 20


def test_late_events_of_a_run_that_is_over_begin_nothing() -> None:
    """`flush` may have been faster than Spark."""
    box = inbox()
    box.asked(batch(7, at(70)), over=True)
    box.take()
    box.settled(BILLS, 7)
    assert box.forget(BILLS)
    box.progressed(batch(6, at(60)))
    box.ended(BILLS)
    box.asked(batch(7, at(70)), over=True)
    assert box.is_empty
    assert settled(box, 7) is None


def test_who_asks_later_for_more_is_heard() -> None:
    """Spark's events were lost, and the run is over."""
    box = inbox()
    box.started(BILLS)
    box.ended(BILLS)
    box.take()
    assert box.forget(BILLS)
    box.asked(batch(3, at(30)), over=True)
    (letter,) = box.take()
    assert (letter.batch, letter.over) == (batch(3, at(30)), True)


def test_a_run_with_a_letter_is_not_forgotten() -> None:
    """It came while the last work for it was done."""
    box = inbox()
    box.started(BILLS)
    assert not box.forget(BILLS)
    box.take()
    assert box.forget(BILLS)


def test_the_end_of_an_unknown_run_is_nothing() -> None:
    """It began before the listener was there, and had no batch since."""
    box = inbox()
    box.ended(BILLS)
    assert box.is_empty


def test_runs_that_are_over_are_remembered_within_a_bound() -> None:
    """A driver that starts a query a minute does not grow."""
    box = inbox()
    for number in range(MOST_REMEMBERED + 50):
        query = Query("id", f"run-{number}")
        box.started(query)
        box.take()
        box.forget(query)
    assert len(box._over) == MOST_REMEMBERED
    assert not box._runs


def test_who_waits_is_told_of_a_refusal_at_once() -> None:
    """And at the deadline of whatever went wrong last."""
    box = inbox()
    box.asked(batch(1, at(1)), over=False)
    box.failed(BILLS, ValueError("earlier"), refused=False)
    left = settled(box, 1, 0.0)
    assert left is not None
    assert str(left.failure) == "earlier"
    refusing = threading.Timer(0.05, box.failed, (BILLS, ValueError("no")), {"refused": True})
    asked_at = MonotonicClock().now()
    refusing.start()
    refused = box.await_settled(BILLS.run_id, 1, soon(), asked_at=asked_at)
    refusing.join()
    assert refused is not None
    assert str(refused.failure) == "no"


def test_a_refusal_that_came_before_the_wait_ends_it() -> None:
    """The committer was faster than who waits; what is older than the asking does not count."""
    box, before = inbox(), MonotonicClock().now()
    box.asked(batch(1, at(1)), over=False)
    box.failed(BILLS, ValueError("no"), refused=True)
    assert box.await_settled(BILLS.run_id, 1, soon(), asked_at=before) is not None
    began = MonotonicClock().now()
    assert settled(box, 1, 0.1) is not None
    assert MonotonicClock().now() - began >= 0.1


def test_the_end_of_other_runs_is_waited_for() -> None:
    """Those that run are not."""
    box, other = inbox(), Query("id-2", "run-2")
    box.started(BILLS)
    box.started(other)
    box.take()
    ending = threading.Timer(0.05, box.forget, (other,))
    ending.start()
    box.await_end({BILLS.run_id}, soon())
    ending.join()
    assert repr(box) == "Inbox(1 runs, 0 letters)"
    box.await_end((), soon(0))


def test_a_nudge_ends_a_wait_or_the_next_one() -> None:
    """So does a letter."""
    box = inbox()
    box.nudge()
    box.wait(soon().at)
    nudging = threading.Timer(0.05, box.nudge)
    nudging.start()
    box.wait(soon().at)
    nudging.join()
    box.started(BILLS)
    box.wait(soon().at)
