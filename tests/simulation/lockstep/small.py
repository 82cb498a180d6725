"""The smallest client there is: the real thread, mailbox, calls, caller and wake pipe.

What answers is a stand-in: an operation that claims, waits as long as it is told,
and ends. So a run takes about a millisecond, and a scene can be played in thousands
of ways.
"""

import math
import select
from collections.abc import Callable, Coroutine
from typing import Any, Final

from prokurist.application.call_runner import TURN, CallRunner
from prokurist.application.driving import Steps
from prokurist.config import OffsetReset
from prokurist.consumer.auto_commit import AutoCommitter
from prokurist.consumer.closing import Closing
from prokurist.consumer.commit_queue import CommitQueue
from prokurist.consumer.event_callback import EventCallback
from prokurist.consumer.interceptors import Interceptors
from prokurist.consumer.listeners import Listeners
from prokurist.consumer.polling import Polling
from prokurist.errors import KafkaException, TimeoutException
from prokurist.events.application_events import (
    ApplicationEvent,
    CloseBegins,
    Commit,
    CommitOnce,
    LookUpPositions,
    Prefetch,
    Withdraw,
)
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.call import Call
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.events.fetch_buffer import FetchBuffer
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.network_thread.io.network import Happening
from prokurist.network_thread.io.wakeup import Wakeup
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.thread import Life, NetworkThread
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.consumer_table import ConsumerTable
from tests.simulation.lockstep.counted import Counted
from tests.simulation.lockstep.stage import Stage

TP: Final = TopicPartition("orders", 0)
AT_7: Final = {TP: OffsetAndMetadata(7)}
RTT: Final = 0.002
ROUNDING: Final = 1e-9


class Silence:
    """A network and a client without connections; the wake pipe alone is real."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._wakeup = Wakeup()
        self._readable = select.poll()
        self._readable.register(self._wakeup.fileno(), select.POLLIN)
        self.wake = self._wakeup.ask

    def _is_woken(self) -> bool:
        return bool(self._readable.poll(0))

    def poll(self, seconds: float | None) -> list[Happening]:
        """Wait until another actor wakes it."""
        until = math.inf if seconds is None else self._stage.time + seconds
        if self._stage.wait(self._is_woken, until, "the network"):
            self._wakeup.taken()
        return []

    def shutdown(self) -> None:
        """Nothing is open."""

    def flush(self) -> None:
        """Nothing is to be written."""

    def handle(self, _happenings: object) -> None:
        """Nothing has happened."""

    def close(self, _why: object) -> None:
        """Nothing is open."""


class OnTurn:
    """A manager that does what a scene says."""

    def __init__(self) -> None:
        self.do: Callable[[], None] = lambda: None

    def poll(self) -> None:
        """A turn."""
        self.do()

    def close(self) -> None:
        """The end."""


class NothingToRead:
    """A source of polls without records.

    Attributes:
        pending: Work that records wait for.
    """

    pending: tuple[()] = ()

    def begin(self) -> None:
        """Nothing was collected."""

    take_back = read_again = begin

    def recall(self) -> None:
        """Nothing was lent."""

    def collect(self, _deadline: Deadline, _most: int) -> None:
        """There are no records."""


def nothing(*_given: object) -> Steps[None]:
    """Take no steps."""
    yield from ()


class NothingInTheWay:
    """Why a poll is empty: no test of these asks."""

    def look(self) -> None:
        """See `Obstacles`."""


class Small(Polling):
    """The application's side as `KafkaConsumer` has it, and the network's in short.

    Args:
        stage: Where it is played.
        latency: Seconds from a claim to the answer.
        before: Seconds from the event to the claim.

    Attributes:
        written: The calls for which something went out, as often as it did.
        each_turn: What the network thread does beside.
        on_look_up: What it does when a poll asks for positions.
    """

    def __init__(self, stage: Stage, *, latency: float = RTT, before: float = 0.0) -> None:
        self.stage = stage
        self.latency = latency
        self.before = before
        self.written: list[Call] = []
        self.each_turn = OnTurn()
        self.on_look_up: Callable[[], None] = lambda: None
        clock = MonotonicClock()
        silence: Any = Silence(stage)
        self.wake: Callable[[], None] = silence.wake
        self.timer = Timer(stage.time)
        self._background = self.background = BackgroundEvents()
        table = self.table = ConsumerTable(OffsetReset("latest"))
        self._assigned, self._positions = table.assigned, table.positions
        self._fetching, self._committable = table.fetching, table.committable
        self.calls = Calls(self.timer)
        self.thread = NetworkThread(
            "small-network",
            clock=clock,
            timer=self.timer,
            network=silence,
            client=silence,
            calls=self.calls,
            take=self._take,
            background=self.background,
        )
        self.thread.add(self.each_turn)
        self._caller = self.caller = CallRunner(clock, self.thread.mailbox, 60.0)
        self._interceptors = Interceptors(())
        self._buffer = FetchBuffer()
        self._collector = NothingToRead()  # type: ignore[assignment]  # all a poll asks of it
        self._member_identity, self._poll_activity = MemberIdentity(), PollActivity()
        self._auto = AutoCommitter(
            self.caller, table.committable, self._interceptors, self._member_identity, None
        )
        self._commits = self.commits = CommitQueue(
            self.caller,
            self._auto,
            self._interceptors,
            self._member_identity,
            table.committable,
        )
        self._obstacles = NothingInTheWay()  # type: ignore[assignment]
        self._listeners = Listeners(
            self.caller, self.background, self._auto, table.assigned, self._member_identity
        )
        self._events = EventCallback(
            self.caller, self._listeners, None, None, interval=0, metrics=dict
        )
        stage.rules.append(self._nothing_lies_about)
        self.thread.start()

    # --- the network's side ------------------------------------------------------------

    def _take(self, event: ApplicationEvent) -> None:
        match event:
            case Commit(call) | CommitOnce(call):
                self.calls.start(call, self._work(call))
            case Withdraw(call):
                self.calls.withdraw(call)
            case LookUpPositions():
                self.on_look_up()
            case Prefetch() | CloseBegins():
                pass
            case _:
                raise AssertionError(event)

    def _work(self, call: Call) -> Coroutine[Any, Any, str]:
        async def work() -> str:
            if self.before:
                await self.timer.sleep(self.before, "before it is written")
            attempt = call.claim("OffsetCommit", "1", self.timer.now, effect=True)
            if attempt is None:
                raise Withdrawn("the caller has left")
            self.written.append(call)
            await self.timer.sleep(self.latency, "the answer")
            call.ended(attempt, self.timer.now, "answered")
            return "done"

        return work()

    # --- the application's side --------------------------------------------------------

    def commit(self, timeout: float) -> object:
        """A public call, by its deadline: its answer, or the error that it raised."""
        with self.caller.inside("commit_sync"):
            call = self.caller.call("commit_sync", timeout)
            try:
                answer = self.caller.drive(self.caller.ask(call, Commit(call, AT_7)))
            except KafkaException as error:
                answer = error
            finally:
                self.check_time(call)
            return answer

    def poll(self, seconds: float) -> ConsumerRecords:
        """A poll, as `KafkaConsumer` makes it."""
        with self.caller.inside("poll"):
            return self.caller.drive(self._poll(seconds, None))

    def check_time(self, call: Call) -> None:
        """It answers by its deadline, unless its own thread was held up."""
        self.check_end(call.began + TURN if call.without_time else call.deadline.at)

    def check_end(self, due: float) -> None:
        """Something ends by its time, unless its own thread was held up."""
        me = self.stage.present
        assert me is not None
        late = self.stage.time - due - me.stalled
        assert late <= ROUNDING, f"{late:.4f} s late"

    def close(self, timeout: float = 5.0) -> None:
        """The end, as `KafkaConsumer.close` makes it."""
        if not self.caller.closed:
            with self.caller.inside("close"):
                closing = Closing(
                    self.caller,
                    self._auto,
                    self.commits,
                    self._interceptors,
                    self.thread,
                    part=nothing,
                    tell=nothing,
                    leave=nothing,  # It is in no group.
                    pushes=lambda: False,
                )
                self.caller.drive(closing.run(timeout, last_commit=True))

    # --- what has to hold --------------------------------------------------------------

    def _nothing_lies_about(self) -> None:
        """When no actor can go on, no event waits without a wake-up."""
        assert not len(self.thread.mailbox), f"{self.thread.mailbox!r}, and no reader comes"
        for call in Counted.made:
            waiter = self.caller._waiting_at
            over = not call.is_open and call.waiter is waiter
            assert not over, f"{call!r} has ended, and its caller waits on"

    def judge(self, *, mortal: bool = False) -> None:
        """Hold everything against the contract, when all lives are over."""
        if not mortal and self.thread.died_of is not None:
            raise AssertionError("the network thread died") from self.thread.died_of
        assert self.thread.life is (Life.DEAD if mortal else Life.ENDED)
        assert not len(self.thread.mailbox)
        assert not len(self.calls)
        assert "a poll waits" not in repr(self.background)
        for call in Counted.made:
            call.judge()
            times = self.written.count(call)
            assert times <= 1, f"{call!r} was written {times} times"
            error = call._error
            if isinstance(error, TimeoutException) and not error.may_have_happened:
                assert not times, f"{call!r} said that nothing happened, and it was written"
