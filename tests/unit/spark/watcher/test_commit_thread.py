"""The committer's thread: when there is one, and who waits for it how long."""

import threading
from collections.abc import Callable, Iterator

import pytest

from prokurist.errors import CommitFailedException, TimeoutException
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.spark.watcher.commit_thread import CommitThread
from prokurist.spark.watcher.commit_worker import Rules
from prokurist.spark.watcher.progress import Query, QueryBatch
from tests.stopwatch import Stopwatch
from tests.unit.spark.hand import A0, BILLS, FakeClient, HandClock, at, batch

CLOCK = MonotonicClock()
ENOUGH = 3.0
"""For an attempt, on a busy machine, too."""


class Held(FakeClient):
    """A client whose calls wait until they are let go on."""

    def __init__(self) -> None:
        super().__init__(HandClock())
        self.go_on = threading.Event()
        self.inside = threading.Event()

    def _call(self, timeout: float) -> None:
        self.inside.set()
        self.go_on.wait(30)
        super()._call(timeout)


@pytest.fixture
def client() -> Held:
    """The only client; nothing holds it."""
    held = Held()
    held.go_on.set()
    return held


@pytest.fixture
def committer(client: Held) -> Iterator[CommitThread]:
    """One that is closed after the test."""
    rules = Rules(lambda _query, _group: client, lambda _: "g", 30.0, 5.0, allow_rewind=False)
    made = CommitThread(rules, CLOCK)
    yield made
    client.go_on.set()
    made.close(soon())


def soon(seconds: float = 20.0) -> Deadline:
    """A deadline."""
    return Deadline.after(CLOCK.now(), seconds)


def flush(committer: CommitThread, last: QueryBatch, timeout: float, *, over: bool) -> None:
    """Have it wait for a batch."""
    committer.flush(last, soon(timeout), timeout, over=over)


def until(question: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = soon()
    while not question():
        assert not deadline.expired(CLOCK.now())
        CLOCK.sleep(0.005)


def no_queries() -> tuple[frozenset[str], list[QueryBatch]]:
    """Spark runs nothing."""
    return frozenset(), []


def test_there_is_a_thread_for_as_long_as_there_are_queries(
    committer: CommitThread, client: Held
) -> None:
    """A daemon, begun with the first event and ended with the last; another starts again."""
    assert not committer.is_alive
    for run in ("run-1", "run-2"):
        query = Query("id", run)
        committer.queue.started(query)
        (thread,) = (
            each for each in threading.enumerate() if each.name == "prokurist-spark-committer"
        )
        assert thread.daemon
        committer.queue.progressed(batch(0, at(5), query))
        committer.queue.ended(query)
        until(lambda: not committer.is_alive)
        # It is on its way out, and not yet out of the list of threads.
        thread.join(20)
    assert client.has == {A0: 5}
    assert repr(committer) == "CommitThread(EventQueue(0 runs, 0 queued), idle)"


def test_events_wait_for_nothing(committer: CommitThread, client: Held) -> None:
    """However long the committer is held by a broker; afterwards the newest is told."""
    client.go_on.clear()
    committer.queue.progressed(batch(0, at(0)))
    assert client.inside.wait(20)
    with Stopwatch() as took:
        for number in range(1, 1000):
            committer.queue.progressed(batch(number, at(number)))
    assert took.own < 1.0
    client.go_on.set()
    flush(committer, batch(999, at(999)), 20.0, over=False)
    assert client.told[-1] == {A0: 999}
    assert len(client.told) <= 2


def test_flush_returns_when_the_group_knows(committer: CommitThread, client: Held) -> None:
    """Also for a run without a start event, and a second time at once."""
    flush(committer, batch(3, at(30)), 20.0, over=True)
    assert client.has == {A0: 30}
    flush(committer, batch(3, at(30)), 0, over=True)
    until(lambda: not committer.is_alive)


def test_flush_raises_what_the_group_says(committer: CommitThread, client: Held) -> None:
    """At once, and not at its deadline."""
    client.error = CommitFailedException("members")
    with pytest.raises(CommitFailedException, match="members"):
        flush(committer, batch(3, at(30)), 600, over=False)


@pytest.mark.parametrize("over", [False, True])
def test_a_refusal_is_raised_whether_the_query_runs_or_has_ended(
    committer: CommitThread,
    client: Held,
    over: bool,  # noqa: FBT001
) -> None:
    """Of one that has ended nothing may be left by the time that a call waits for it."""
    client.error = CommitFailedException("members")
    for _ in range(2):
        with pytest.raises(CommitFailedException, match="members"):
            flush(committer, batch(3, at(30)), 600, over=over)


def test_flush_ends_by_its_deadline(committer: CommitThread, client: Held) -> None:
    """With what it waited for, and the last thing that went wrong."""
    client.error = TimeoutException("no coordinator", may_have_happened=True)
    with Stopwatch() as took, pytest.raises(TimeoutException) as late:
        flush(committer, batch(3, at(30)), ENOUGH, over=False)
    assert took.seconds >= ENOUGH - 0.05
    assert took.own < ENOUGH + 4.7
    assert str(late.value).startswith(
        "flush of bills has not ended within 3 s: its group has not been told of batch 3; "
        "the last attempt: no coordinator"
    )
    assert late.value.may_have_happened
    assert isinstance(late.value.last_error, TimeoutException)


def test_a_drain_has_all_told_that_spark_knows_of(
    committer: CommitThread, client: Held
) -> None:
    """The last batch of what runs; and of what has ended, what Spark tells of meanwhile."""
    ended = Query("id-2", "run-2")
    committer.queue.started(BILLS)
    committer.queue.started(ended)
    late = threading.Timer(0.1, committer.queue.ended, (ended,))
    late.start()
    committer.drain(lambda: (frozenset({BILLS.run_id}), [batch(4, at(40))]), soon())
    late.join()
    assert client.has == {A0: 40}
    assert repr(committer.queue) == "EventQueue(1 runs, 0 queued)"


@pytest.mark.parametrize("waits", [True, False])
def test_a_drain_ends_by_its_deadline(committer: CommitThread, waits: bool) -> None:  # noqa: FBT001
    """Whether Spark does not answer, or never tells of an end."""
    held = threading.Event()

    def look() -> tuple[frozenset[str], list[QueryBatch]]:
        if waits:
            held.wait(20)
        return no_queries()

    committer.queue.started(BILLS)
    with Stopwatch() as took:
        committer.drain(look, soon(0.2))
    assert took.seconds >= 0.15
    assert took.own < 5.0
    held.set()


def test_a_drain_does_not_wait_for_a_spark_that_has_ended(committer: CommitThread) -> None:
    """There is nothing more to hear; and with no query there is nothing at all."""
    committer.drain(no_queries, soon(600))
    committer.queue.started(BILLS)
    committer.drain(lambda: 1 // 0, soon(600))  # type: ignore[arg-type, return-value]


def test_after_the_close_nothing_begins(committer: CommitThread, client: Held) -> None:
    """Its clients are closed; later events are passed over."""
    flush(committer, batch(3, at(30)), 20.0, over=False)
    committer.close(soon())
    assert client.closed
    committer.queue.progressed(batch(4, at(40)))
    committer.close(soon())
    assert not committer.is_alive
