"""The end of a producer: one sequence under one deadline.

Thread: the application's that closes; others may still be inside `send`, and hear of it.

1. No more sends; those that wait fail. 2. An open transaction is aborted; without one, what was
sent is flushed, for as long as there is time. 3. The rest fails, with a share of the time that
was kept for it, and callbacks run. 4. Brokers that want metrics get the last ones. 5. The
network thread ends; the wait for it is bounded. 6. The records that were given up are counted.
After an interrupt nothing is waited for any more, but for that.

The network thread may be late: a callback holds it up, or the machine. What has not ended when
the time is over is counted as given up too; it fails when that thread comes to it.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Final, Protocol

from prokurist.application.call_runner import LAST_TURN, TURN, CallRunner
from prokurist.application.caller_counters import CLOSED
from prokurist.application.driving import Run, Steps
from prokurist.application.telemetry import push_last
from prokurist.errors import KafkaException
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.batch import Batch
from prokurist.events.application_events import ApplicationEvent, Close, GiveUp
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.log_events import CLIENT_CLOSED
from prokurist.events.producer_log_events import RECORDS_GIVEN_UP
from prokurist.lazy_dataclasses import dataclass
from prokurist.producer.flushing import flush
from prokurist.producer.transacting import Transactions

MOST_RESERVED: Final = 0.1
SHARE_RESERVED: Final = 0.25
"""Of the time of a close, what is kept to fail what is left and to call its callbacks."""


class Thread(Protocol):
    """Interface of the network thread, for closing."""

    def join(self, seconds: float) -> object:
        """Wait for the end, or return what waits; false when it has not come in time."""
        ...

    def abandon(self) -> None:
        """Have everything closed, and wait for nothing."""
        ...


@dataclass(slots=True)
class Closing:
    """One `close`, with the parts that it ends. An interrupt shortens it, and is raised last.

    Attributes:
        accumulator: What is not delivered.
        runner: Asks the network thread.
        thread: The network thread.
        may_wait: Whether this thread may wait: not in a delivery callback.
        pushes: Whether brokers want the last metrics.
        transactions: The calls of transactions; None without a transactional id.
        is_ending: Whether the network thread has been told to end.
    """

    accumulator: RecordAccumulator
    runner: CallRunner
    thread: Thread
    may_wait: bool
    pushes: bool
    transactions: Transactions | None
    is_ending: bool = field(default=False, init=False)
    _left: dict[Batch, int] = field(default_factory=dict, init=False)
    _interrupt: BaseException | None = field(default=None, init=False)

    def run(self, budget: float) -> Steps[int]:
        """Close everything.

        Args:
            budget: Seconds.

        Returns:
            How many records were given up.

        Raises:
            BaseException: The interrupt that there was.
        """
        runner = self.runner
        began = runner.now()
        deadline = Deadline(began + (budget if self.may_wait else 0.0))
        reserve = min(MOST_RESERVED, budget * SHARE_RESERVED)
        # Every call without time is given one turn of the network thread.
        turn = LAST_TURN if budget > 0 else TURN
        if not (yield from self._phase(self._refuse_records)):
            yield from self._phase(self._refuse_records)
        transactions = self.transactions
        if self.may_wait and transactions is not None and transactions.is_endable:
            # Before anything of it fails: what was not sent counts as given up.
            self._left = {each: each.count for each in self.accumulator.snapshot()}
            until = Deadline(deadline.at - reserve)
            yield from self._phase(lambda: transactions.abort_to_close(until))
        elif self.may_wait and budget > 0 and self._interrupt is None:
            until = Deadline(deadline.at - reserve)
            yield from self._phase(lambda: flush(self.accumulator, until))
        flushed = runner.now()
        runner.counters.closing.of("flush").observe(flushed - began)
        last = Deadline(max(self._cut(deadline).at, runner.now() + turn))
        if self.may_wait and not (yield from self._phase(lambda: self._give_up(began, last))):
            yield from self._phase(lambda: self._give_up(began, last))
        if self.may_wait and self.pushes and self._interrupt is None:
            yield from self._phase(lambda: push_last(runner, began, deadline))
            last = Deadline(max(self._cut(deadline).at, runner.now() + LAST_TURN))
        while not self.is_ending:
            # Again if an interrupt came before it was told: this phase is never left out.
            yield from self._phase(lambda: self._end_thread(last))
        if self.may_wait:
            yield from self._phase(lambda: self._join(last))
        runner.counters.closing.of("network thread").observe(runner.now() - flushed)
        CLOSED.add(runner.counters)
        records = sum(given_up(batch, count) for batch, count in self._left.items())
        if records:
            runner.trace.emit(RECORDS_GIVEN_UP, records=records)
        runner.trace.emit(CLIENT_CLOSED, seconds=runner.now() - began)
        if self._interrupt is not None:
            raise self._interrupt
        return records

    def _phase(self, work: Callable[[], Steps[object]]) -> Steps[bool]:
        """Run a phase; False when an interrupt has ended it."""
        try:
            yield from work()
        except (Exception, GeneratorExit):
            raise
        except BaseException as interrupt:  # noqa: BLE001 - it is raised at the end
            self._interrupt = self._interrupt or interrupt
            return False
        return True

    def _cut(self, deadline: Deadline) -> Deadline:
        """The deadline, which has come once there was an interrupt."""
        return deadline if self._interrupt is None else Deadline(self.runner.now())

    def _refuse_records(self) -> Steps[None]:
        self.accumulator.close()
        yield from ()

    def _join(self, last: Deadline) -> Steps[None]:
        yield Run(self.thread.join, last.remaining(self.runner.now()))

    def _give_up(self, began: float, last: Deadline) -> Steps[None]:
        call = Call("close", began, last)
        # Counted now: a batch that has ended lets go of its records.
        self._left = self._left or {each: each.count for each in self.accumulator.snapshot()}
        if _ask(self.runner, GiveUp(call)):
            yield from self.runner.wait_for_end(call, last)

    def _end_thread(self, last: Deadline) -> Steps[None]:
        ending = Call("close", self.runner.now(), last)
        is_asked = _ask(self.runner, Close(ending))
        self.is_ending = True
        if is_asked and self.may_wait:
            yield from self.runner.wait_for_end(ending, last)


def _ask(runner: CallRunner, event: ApplicationEvent) -> bool:
    """Post an event: False when the network thread has ended by itself."""
    try:
        runner.post(event)
    except KafkaException:
        return False
    return True


def given_up(batch: Batch, count: int) -> int:
    """Count the undelivered ones among the first records of a batch, across its splits."""
    if not batch.parts:
        return count if batch.failed or not batch.ended else 0
    ends = [*(first for first, _ in batch.parts[1:]), count]
    return sum(
        given_up(part, end - first)
        for (first, part), end in zip(batch.parts, ends, strict=True)
    )
