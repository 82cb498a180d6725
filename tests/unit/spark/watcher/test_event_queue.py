"""Letters: one for a run, nothing lost that is counted, and nothing begun by what is late."""

import threading

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.spark.watcher.event_queue import MOST_REMEMBERED, EventQueue, Run
from prokurist.spark.watcher.progress import Query
from tests.unit.spark.hand import BILLS, at, batch


def event_queue() -> EventQueue:
    """One of the present time."""
    return EventQueue(MonotonicClock())


def soon(seconds: float = 30.0) -> Deadline:
    """A deadline on the real clock."""
    return Deadline.after(MonotonicClock().now(), seconds)


def settled(queue: EventQueue, batch: int, seconds: float = 30.0) -> Run | None:
    """Wait for a batch."""
    now = MonotonicClock().now()
    return queue.await_settled(BILLS.run_id, batch, soon(seconds), asked_at=now)


def test_a_run_has_one_letter_with_its_newest_batch() -> None:
    """Memory is bounded, and all rows and times are counted all the same."""
    queue = event_queue()
    queue.started(BILLS)
    for number in range(1000):
        queue.progressed(batch(number, at(number)))
    (event,) = queue.take()
    assert event.batch == batch(999, at(999))
    assert event.counters.rows == 10_000
    assert event.counters.batches.count == 1000
    assert queue.take() == []


def test_an_empty_trigger_is_no_batch() -> None:
    """Its time is none of a batch's."""
    queue = event_queue()
    queue.progressed(batch(1, at(1), rows=0))
    assert queue.take()[0].counters.batches.count == 0


def test_what_is_asked_for_is_not_counted_twice() -> None:
    """Spark's own event of that batch may be on its way."""
    queue = event_queue()
    queue.asked(batch(7, at(70)), over=False)
    queue.progressed(batch(7, at(70)))
    queue.progressed(batch(6, at(60)))
    (event,) = queue.take()
    assert (event.batch, event.urgent) == (batch(7, at(70)), True)
    assert event.counters.rows == 20


def test_late_events_of_a_run_that_is_over_begin_nothing() -> None:
    """`flush` may have been faster than Spark."""
    queue = event_queue()
    queue.asked(batch(7, at(70)), over=True)
    queue.take()
    queue.settled(BILLS, 7)
    assert queue.forget(BILLS)
    queue.progressed(batch(6, at(60)))
    queue.ended(BILLS)
    queue.asked(batch(7, at(70)), over=True)
    assert queue.is_empty
    assert settled(queue, 7) is None


def test_who_asks_later_for_more_is_heard() -> None:
    """Spark's events were lost, and the run is over."""
    queue = event_queue()
    queue.started(BILLS)
    queue.ended(BILLS)
    queue.take()
    assert queue.forget(BILLS)
    queue.asked(batch(3, at(30)), over=True)
    (event,) = queue.take()
    assert (event.batch, event.over) == (batch(3, at(30)), True)


def test_a_run_with_a_letter_is_not_forgotten() -> None:
    """It came while the last work for it was done."""
    queue = event_queue()
    queue.started(BILLS)
    assert not queue.forget(BILLS)
    queue.take()
    assert queue.forget(BILLS)


def test_the_end_of_an_unknown_run_is_nothing() -> None:
    """It began before the listener was there, and had no batch since."""
    queue = event_queue()
    queue.ended(BILLS)
    assert queue.is_empty


def test_runs_that_are_over_are_remembered_within_a_bound() -> None:
    """A driver that starts a query a minute does not grow."""
    queue = event_queue()
    for number in range(MOST_REMEMBERED + 50):
        query = Query("id", f"run-{number}")
        queue.started(query)
        queue.take()
        queue.forget(query)
    assert len(queue._over) == MOST_REMEMBERED
    assert not queue._runs


def test_who_waits_is_told_of_a_refusal_at_once() -> None:
    """And at the deadline, with the last error."""
    queue = event_queue()
    queue.asked(batch(1, at(1)), over=False)
    queue.failed(BILLS, ValueError("earlier"), refused=False)
    left = settled(queue, 1, 0.0)
    assert left is not None
    assert str(left.failure) == "earlier"
    refusing = threading.Timer(0.05, queue.failed, (BILLS, ValueError("no")), {"refused": True})
    asked_at = MonotonicClock().now()
    refusing.start()
    refused = queue.await_settled(BILLS.run_id, 1, soon(), asked_at=asked_at)
    refusing.join()
    assert refused is not None
    assert str(refused.failure) == "no"


def test_a_refusal_that_came_before_the_wait_ends_it() -> None:
    """The committer was faster than who waits; what is older than the asking does not count."""
    queue, before = event_queue(), MonotonicClock().now()
    queue.asked(batch(1, at(1)), over=False)
    queue.failed(BILLS, ValueError("no"), refused=True)
    assert queue.await_settled(BILLS.run_id, 1, soon(), asked_at=before) is not None
    began = MonotonicClock().now()
    assert settled(queue, 1, 0.1) is not None
    assert MonotonicClock().now() - began >= 0.1


def test_the_end_of_other_runs_is_waited_for() -> None:
    """Those that run are not."""
    queue, other = event_queue(), Query("id-2", "run-2")
    queue.started(BILLS)
    queue.started(other)
    queue.take()
    ending = threading.Timer(0.05, queue.forget, (other,))
    ending.start()
    queue.await_end({BILLS.run_id}, soon())
    ending.join()
    assert repr(queue) == "EventQueue(1 runs, 0 queued)"
    queue.await_end((), soon(0))


def test_a_nudge_ends_a_wait_or_the_next_one() -> None:
    """So does an event."""
    queue = event_queue()
    queue.nudge()
    queue.wait(soon().at)
    nudging = threading.Timer(0.05, queue.nudge)
    nudging.start()
    queue.wait(soon().at)
    nudging.join()
    queue.started(BILLS)
    queue.wait(soon().at)
