"""The network thread: its states, and its loop.

Thread: `turn` and everything below it run on the network thread; `start`, `join`
and the mailbox are the application's side.

An unexpected exception ends the thread, loudly: every call that waits
fails with its cause, every later post raises it, and nothing is left to hang. It
is never logged and passed over: a loop that goes on after a bug of ours would
keep promises it can no longer keep.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, Protocol

from prokurist.errors import IllegalStateException, KafkaException, NetworkThreadDiedException
from prokurist.events.application_events import ApplicationEvent, Close
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.call import Call
from prokurist.events.call_log_events import CALL_RECEIVED, LOOP_WOKE
from prokurist.events.clock import Clock, Deadline
from prokurist.events.log_events import THREAD_CLEANUP_FAILED, THREAD_DIED
from prokurist.events.mailbox import Mailbox
from prokurist.events.trace import UNREAD, Trace
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.counters import LoopCounters
from prokurist.network_thread.io.network import Happening, Network
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.dispatch import Taker
from prokurist.network_thread.operations.timer import Due, Timer


class Life(Enum):
    """The states of the network thread."""

    NEW = "new"
    RUNNING = "running"
    ENDED = "ended"
    """Closed, as asked."""
    DEAD = "dead"
    """Ended by a bug of ours."""


MOVES: Final = {
    Life.NEW: frozenset({Life.RUNNING, Life.ENDED, Life.DEAD}),
    Life.RUNNING: frozenset({Life.ENDED, Life.DEAD}),
    Life.ENDED: frozenset[Life](),
    Life.DEAD: frozenset[Life](),
}


class RequestManager(Protocol):
    """The interface of a manager: does no I/O, reads no clock, never blocks."""

    def poll(self) -> None:
        """Start work that has become due since the last turn."""
        ...

    def close(self) -> None:
        """Stop background work."""
        ...


class EventManager(RequestManager, Taker, Protocol):
    """The interface of a manager that also takes events of the application."""


class NetworkThread:
    """The network thread of a client: drains the mailbox, fires timers, waits on the network.

    Attributes:
        works: Whether it is within a turn, and does not wait for the network.

    Args:
        name: The thread's name, for those who look at a process from outside.
        clock: Read once when a turn begins and once when its wait is over.
        take: Given each application event but `Close`; starts its operation.
        background: The background events: waiting polls have no operation among the calls.
        trace: The client's.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Clock,
        timer: Timer,
        network: Network,
        client: NetworkClient,
        calls: Calls,
        take: Callable[[ApplicationEvent], None],
        background: BackgroundEvents,
        trace: Trace = UNREAD,
    ) -> None:
        self._trace = trace
        self.mailbox: Mailbox[ApplicationEvent] = Mailbox(network.wake)
        self.life: Life = Life.NEW
        self.turns: int = 0
        self.works: bool = False
        self.counters: LoopCounters = LoopCounters()
        self.died_of: BaseException | None = None
        self._clock = clock
        self._timer = timer
        self._network = network
        self._client = client
        self._calls = calls
        self._take = take
        self._managers: tuple[RequestManager, ...] = ()
        self._background = background
        self._taken: deque[ApplicationEvent] = deque()
        self._closing: list[Close] = []
        # A daemon, so that a client that was not closed cannot keep a process alive.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    # --- the application's side --------------------------------------------------------

    def add(self, *managers: RequestManager) -> None:
        """Poll these managers in each turn, in this order, before those added so far.

        A manager asks others for its needs: a request to one behind it goes out in the same
        turn.
        """
        self._managers = (*managers, *self._managers)

    def start(self) -> None:
        """Start the thread; raises if the system allows no more threads."""
        self._move(Life.RUNNING)
        try:
            self._thread.start()
        except BaseException:
            # An interrupt may have come when the thread was there already.
            if self._thread.ident is None:
                self.life = Life.NEW
            raise

    def abandon(self) -> None:
        """Have everything closed, and wait for nothing: for a client that was not closed.

        Also of one whose thread could not be started, on the caller's own thread.
        """
        now = self._clock.now()
        close = Close(Call("close", now, Deadline(now)))
        if self.life is Life.NEW:
            self._closing.append(close)
            self._end()
            return
        try:
            self.mailbox.post(close)
        except KafkaException:
            return  # It has ended by itself.

    def join(self, seconds: float) -> bool:
        """Wait for the thread's end; False when it has not come in time."""
        if self._thread.ident is None:
            return True  # A simulation runs its turns.
        self._thread.join(min(seconds, threading.TIMEOUT_MAX))
        return not self._thread.is_alive()

    @property
    def is_current(self) -> bool:
        """True on the network thread."""
        return self._thread.ident is not None and self._thread.ident == threading.get_ident()

    @property
    def wakes(self) -> int:
        """The number of turns that an event of the application has woken."""
        return self._network.wakes

    @property
    def alive(self) -> bool:
        """True while the network thread runs; False in the child of a fork."""
        # Without an identity it is one of a simulation, which runs its turns.
        return self.life is Life.RUNNING and (
            self._thread.ident is None or self._thread.is_alive()
        )

    # --- the loop ----------------------------------------------------------------------

    def _run(self) -> None:
        while self.life is Life.RUNNING:
            self.guarded_turn()

    def guarded_turn(self) -> None:
        """Run a turn; an exception ends the thread."""
        self._guarded(self.turn)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - no call may hang, for any error
            self._die(error)
        except BaseException as error:
            # This very thread is to end: raised after the calls have failed.
            self._die(error)
            raise

    def turn(self) -> None:
        """Drain the mailbox, fire timers, poll managers, write, and wait for the network."""
        self._timer.now = self._clock.now()
        self.works = True
        self.turns += 1
        mark = self._timer.mark()
        events = self.mailbox.drain()
        self._taken.extend(events)
        while self._taken:
            # It leaves the line when it has been taken up, and not before: should
            # that meet a bug of ours, its caller and those behind it still hear.
            event = self._taken[0]
            if isinstance(event, Close):
                self._closing.append(event)
            else:
                if self._trace.fine:
                    posted = type(event).__name__
                    self._trace.emit(CALL_RECEIVED, call=event.call.number, posted=posted)
                self._take(event)
            self._taken.popleft()
        if self._closing:
            self._end()
            return
        if events:
            self.counters.took(self.mailbox.drained, self._timer.now, self._clock.now())
        fired = self._timer.fired
        self._timer.fire(mark)
        for manager in self._managers:
            manager.poll()
        if self._closing:
            self._end()
            return
        self._client.flush()
        due = self._timer.top()
        # The clock has gone on while operations ran; what is due by now is not waited for.
        since = self._clock.now()
        wait = None if due is None else max(0.0, due.at - since)
        self.works = False
        happenings = self._network.poll(wait)
        self._timer.now = self._clock.now()
        self.works = True
        empty = not (events or happenings or self._timer.fired != fired)
        self.counters.turned(since, self._timer.now, empty=empty)
        if self._trace.fine:
            self._tell_wake(since, happenings, due)
        self._client.handle(happenings)
        self.works = False

    def end(self) -> None:
        """End in this turn: a manager has found that nothing is left to do."""
        now = self._timer.now
        self._closing.append(Close(Call("close", now, Deadline(now))))

    def _tell_wake(
        self, since: float, happenings: Sequence[Happening], due: Due | None
    ) -> None:
        reason = "an event that was posted"
        if happenings:
            reason = ", ".join({type(each).__name__.lower(): None for each in happenings})
        elif due is not None and self._timer.now >= due.at:
            reason = due.reason
        self._trace.emit(LOOP_WOKE, slept=self._timer.now - since, reason=reason)

    def _end(self) -> None:
        closed = IllegalStateException("the client is closed")
        bug = self._shut_down(closed, lambda: IllegalStateException("the client is closed"))
        if bug is not None:
            self._die(bug)
            return
        self._move(Life.ENDED)
        for event in self._closing:
            event.call.finish()

    def _die(self, error: BaseException) -> None:
        self.died_of = error
        self._move(Life.DEAD)
        self._trace.emit(THREAD_DIED, error=error)

        def died() -> NetworkThreadDiedException:
            death = NetworkThreadDiedException(
                f"the network thread died of a bug in prokurist ({type(error).__name__}: "
                f"{error}): close this client and build another, and please report the cause"
            )
            death.__cause__ = error
            return death

        if (second := self._shut_down(died(), died)) is not None:
            self._trace.emit(THREAD_CLEANUP_FAILED, error=second)
            # The clean-up goes on behind it; what it meets then is known already.
            self._shut_down(died(), died)
        for event in self._closing:
            event.call.fail(died())

    def _shut_down(
        self, error: KafkaException, later: Callable[[], KafkaException]
    ) -> Exception | None:
        """Fail all that waits, refuse all that comes, and close everything.

        Returns:
            The first bug of ours that one of the steps met, if any: it ended that
            step, and none of the others.
        """

        def refuse() -> None:
            for event in (*self._taken, *self.mailbox.close(later)):
                if isinstance(event, Close):
                    self._closing.append(event)
                else:
                    event.call.fail(error)
            self._taken.clear()

        first: Exception | None = None
        for step in (
            refuse,
            lambda: self._background.close(error),
            lambda: self._calls.fail(error),
            *(manager.close for manager in self._managers),
            lambda: self._client.close(error),
            self._network.shutdown,
        ):
            try:
                step()
            except Exception as bug:  # noqa: BLE001 - no call may hang
                first = first or bug
        return first

    def _move(self, life: Life) -> None:
        if life not in MOVES[self.life]:
            raise AssertionError(
                f"the thread does not go from {self.life.value} to {life.value}"
            )
        self.life = life

    def __repr__(self) -> str:
        return f"NetworkThread({self.life.value}, turn {self.turns}, {self._calls})"
