"""The loop and its lives, with stand-ins for everything it turns."""

import logging
import math
import threading
from typing import TYPE_CHECKING

import pytest

from prokurist.errors import IllegalStateException, NetworkThreadDiedException
from prokurist.events.application_events import (
    ApplicationEvent,
    Close,
    LookUpCommitted,
    Withdraw,
)
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.call import Call
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.thread import Life, NetworkThread
from tests.recorded_events import logged

if TYPE_CHECKING:
    from collections.abc import Callable


class Stub:
    """Network and client at once: they count, and raise what they are told to."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.bugs: dict[str, BaseException] = {}
        self.on_poll: Callable[[], None] = lambda: None
        self.on_flush: Callable[[], None] = lambda: None
        self.on_handle: Callable[[], None] = lambda: None
        self.waits: list[float | None] = []

    def _do(self, what: str) -> None:
        self.done.append(what)
        if what in self.bugs:
            raise self.bugs[what]

    def wake(self) -> None:
        """An event was posted."""

    def poll(self, seconds: float | None = None) -> list[object]:
        """A turn's wait."""
        self.waits.append(seconds)
        self.on_poll()
        self._do("poll")
        return []

    def flush(self) -> None:
        """Write."""
        self.on_flush()
        self._do("flush")

    def handle(self, _happenings: object) -> None:
        """Take in."""
        self.on_handle()

    def close(self, _why: object) -> None:
        """Close the connections."""
        self._do("close")

    def shutdown(self) -> None:
        """Close the sockets."""
        self._do("shutdown")


class Clock:
    """Time that a test sets."""

    time = 10.0

    def now(self) -> float:
        """The moment."""
        return self.time


class Bench:
    """A thread whose turns are run by the test."""

    def __init__(self) -> None:
        self.stub = Stub()
        self.clock = Clock()
        self.timer = Timer(10.0)
        self.calls = Calls(self.timer)
        self.background = BackgroundEvents()
        self.never = Promise[None]()
        self.take: Callable[[ApplicationEvent], None] = self.work
        self.thread = NetworkThread(
            "n",
            clock=self.clock,  # type: ignore[arg-type]
            timer=self.timer,
            network=self.stub,  # type: ignore[arg-type]
            client=self.stub,  # type: ignore[arg-type]
            calls=self.calls,
            take=lambda event: self.take(event),  # noqa: PLW0108 - tests replace it
            background=self.background,
            trace=logged(),
        )
        self.thread.life = Life.RUNNING

    def work(self, event: ApplicationEvent) -> None:
        """Start an operation that waits for ever."""

        async def wait() -> None:
            await self.never

        if isinstance(event, LookUpCommitted):
            self.calls.start(event.call, wait())

    def call(self, timeout: float = math.inf) -> Call:
        """A call that begins now."""
        return Call("committed", self.clock.time, Deadline.after(self.clock.time, timeout))

    def ask(self, timeout: float = math.inf) -> Call:
        """Post a call that nothing ends but its deadline."""
        call = self.call(timeout)
        self.thread.mailbox.post(LookUpCommitted(call, ()))
        return call

    def close(self) -> Call:
        """Post the end."""
        call = self.call()
        self.thread.mailbox.post(Close(call))
        return call


def dead(call: Call, cause: type[BaseException]) -> bool:
    """Whether a call ended with the thread's death, and says of what."""
    with pytest.raises(NetworkThreadDiedException) as caught:
        call.result()
    return type(caught.value.__cause__) is cause


def test_the_wait_is_as_long_as_the_earliest_due() -> None:
    """B216: for any timer; none at all when it is over by now; for ever without one."""
    bench = Bench()
    bench.thread.turn()
    bench.timer.at(17.5, "later", lambda: None)
    bench.timer.at(12.5, "sooner", lambda: None)
    bench.thread.turn()
    bench.ask(timeout=1.25)
    bench.thread.turn()
    bench.clock.time = 12.0
    bench.timer.at(11.0, "overdue", lambda: None)
    bench.thread.turn()
    assert bench.stub.waits == [None, 2.5, 1.25, 0.5]
    bench.clock.time = 12.4
    bench.timer.at(math.inf, "never", lambda: None)

    def set_another() -> None:
        bench.timer.at(12.3, "set meanwhile", lambda: None)

    bench.timer.after(0.0, "now", set_another)
    bench.thread.turn()
    assert bench.stub.waits[-1] == 0.0


def test_the_time_that_a_turn_takes_is_not_waited_for_again() -> None:
    """B216: operations ran for 0.3 s; what is due in 1 s is then due in 0.7."""
    bench = Bench()
    bench.timer.at(11.0, "a second from now", lambda: None)

    def work() -> None:
        bench.clock.time += 0.3

    bench.stub.on_flush = work
    bench.thread.turn()
    assert bench.stub.waits == [pytest.approx(0.7)]
    assert bench.timer.now == pytest.approx(10.3)


def test_a_bug_while_an_event_is_taken_up_leaves_no_caller_behind() -> None:
    """B267: his own call, those behind him in the same drain, and those that were running."""
    bench = Bench()
    running = bench.ask()
    bench.thread.guarded_turn()
    first, struck, behind = bench.ask(), bench.ask(), bench.ask()
    closing = bench.close()
    after = bench.ask()

    def clumsy(event: ApplicationEvent) -> None:
        if getattr(event, "call", None) is struck:
            raise ZeroDivisionError
        bench.work(event)

    bench.take = clumsy
    bench.thread.guarded_turn()
    for call in (running, first, struck, behind, closing, after):
        assert not call.is_open
        assert dead(call, ZeroDivisionError)
    assert bench.thread.life is Life.DEAD
    assert bench.stub.done[-2:] == ["close", "shutdown"]


def test_an_operation_that_dies_of_a_bug_takes_no_other_call_with_it_unended() -> None:
    """B267: the operation that met the bug is over; throwing at it is not a second one."""
    bench = Bench()
    others = [bench.ask(), bench.ask()]
    promise = Promise[None]()

    async def clumsy() -> None:
        await promise
        raise ZeroDivisionError

    struck = bench.call()
    bench.take = lambda event: (
        bench.calls.start(struck, clumsy())
        if getattr(event, "call", None) is struck
        else bench.work(event)
    )
    bench.thread.mailbox.post(LookUpCommitted(struck, ()))
    others.append(bench.ask())
    bench.thread.guarded_turn()
    bench.stub.on_poll = lambda: promise.keep(None)
    bench.thread.guarded_turn()
    assert all(dead(call, ZeroDivisionError) for call in (struck, *others))
    assert bench.stub.done[-2:] == ["close", "shutdown"]


@pytest.mark.parametrize("where", ["close", "shutdown"])
def test_closing_what_raises_again_ends_every_call(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B267: the thread dies, and then its end meets a second bug; both are logged."""
    bench = Bench()
    call = bench.ask()
    bench.thread.guarded_turn()
    bench.stub.bugs = {"poll": ZeroDivisionError(), where: LookupError("second")}
    bench.thread.guarded_turn()
    assert dead(call, ZeroDivisionError)
    assert "shutdown" in bench.stub.done
    assert "another bug" in caplog.text
    with pytest.raises(NetworkThreadDiedException):
        bench.close()


@pytest.mark.parametrize("where", ["close", "shutdown"])
def test_a_bug_while_closing_is_a_death_that_close_hears_of(where: str) -> None:
    """B267: not a clean end, and no call waits for it either."""
    bench = Bench()
    call = bench.ask()
    bench.thread.guarded_turn()
    closing = bench.close()
    bench.stub.bugs = {where: ZeroDivisionError()}
    bench.thread.guarded_turn()
    assert bench.thread.life is Life.DEAD
    assert type(bench.thread.died_of) is ZeroDivisionError
    assert not call.is_open
    assert dead(closing, ZeroDivisionError)
    assert "shutdown" in bench.stub.done


def test_who_wants_the_thread_itself_to_end_gets_it_after_the_callers() -> None:
    """B267: SystemExit in it leaves no call waiting, and goes on to who raised it."""
    bench = Bench()
    call = bench.ask()
    bench.stub.bugs = {"flush": SystemExit()}
    with pytest.raises(SystemExit):
        bench.thread.guarded_turn()
    assert dead(call, SystemExit)


def test_a_post_between_the_drain_and_the_end_is_answered() -> None:
    """Accepted is answered: what came too late to be drained fails as all that waits."""
    bench = Bench()
    late: list[Call] = []
    bench.ask()
    closing = bench.close()

    def take(event: ApplicationEvent) -> None:
        bench.work(event)
        late.append(bench.ask())
        gone = bench.call()
        gone.leave(10.0)
        bench.thread.mailbox.post(Withdraw(gone))
        late.append(bench.close())

    bench.take = take
    bench.thread.guarded_turn()
    with pytest.raises(IllegalStateException):
        bench.ask()
    with pytest.raises(IllegalStateException, match="closed"):
        late[0].result()
    assert late[1].result() is None
    assert closing.result() is None
    assert bench.thread.life is Life.ENDED


@pytest.mark.parametrize("how", ["closed", "dead"])
def test_a_poll_that_waits_hears_of_the_end(how: str) -> None:
    """B267: it has no operation among the calls; it is told all the same, and why."""
    bench = Bench()
    poll = bench.call()
    bench.background.watch(poll)
    if how == "closed":
        bench.close()
    else:
        bench.stub.bugs = {"flush": ZeroDivisionError()}
    bench.thread.guarded_turn()
    assert not poll.is_open
    expected = IllegalStateException if how == "closed" else NetworkThreadDiedException
    with pytest.raises(expected):
        bench.background.check_open()


def test_two_closes_in_one_turn_both_end() -> None:
    """A second thread's `abandon` beside `close`."""
    bench = Bench()
    calls = [bench.close(), bench.ask(), bench.close()]
    bench.thread.guarded_turn()
    assert not any(call.is_open for call in calls)
    assert bench.stub.done.count("shutdown") == 1


def test_a_thread_that_cannot_start_raises_and_can_be_cleared_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B268: what the system said, to the caller of the constructor; then nothing is left."""
    bench = Bench()
    bench.thread.life = Life.NEW

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start"):
        bench.thread.start()
    assert not bench.thread.alive
    assert bench.thread.join(math.inf)
    bench.thread.abandon()
    assert bench.stub.done == ["close", "shutdown"]
    with pytest.raises(IllegalStateException, match="closed"):
        bench.ask()


def test_a_real_thread_ends_when_asked() -> None:
    """`join` may be given all the time there is."""
    bench = Bench()
    bench.thread.life = Life.NEW
    waiter = threading.Semaphore(0)
    bench.stub.wake = waiter.release  # type: ignore[method-assign]
    bench.thread.mailbox._wake = waiter.release
    bench.stub.on_poll = lambda: (waiter.acquire(timeout=20.0), None)[1]
    bench.thread.start()
    call = bench.close()
    assert MonotonicClock().wait(call.waiter, math.inf)
    assert bench.thread.join(math.inf)
    assert bench.thread.life is Life.ENDED


def test_lives_are_a_table(caplog: pytest.LogCaptureFixture) -> None:
    """An ended thread begins no second life."""
    bench = Bench()
    bench.close()
    bench.thread.guarded_turn()
    with pytest.raises(AssertionError, match="from ended to running"):
        bench.thread.start()
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]
