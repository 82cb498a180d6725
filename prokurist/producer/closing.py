"""The end of a producer: one sequence under one deadline.

Thread: the application's that closes; others may still be inside `send`, and hear of it.

1. No more sends; those that wait fail. 2. What was sent is flushed, for as long as there is
time. 3. The rest fails, with a share of the time that was kept for it, and callbacks run.
4. Brokers that want metrics get the last ones. 5. The network thread ends; the wait for it is
bounded. 6. The records that were given up are counted.
"""

from typing import Final, Protocol

from prokurist.application.call_runner import LAST_TURN, CallRunner
from prokurist.application.caller_counters import CLOSED
from prokurist.application.telemetry import push_last
from prokurist.errors import KafkaException
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.application_events import ApplicationEvent, Close, GiveUp
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.log_events import CLIENT_CLOSED
from prokurist.events.producer_log_events import RECORDS_GIVEN_UP
from prokurist.producer.flushing import flush

MOST_RESERVED: Final = 0.1
SHARE_RESERVED: Final = 0.25
"""Of the time of a close, what is kept to fail what is left and to call its callbacks."""


class Thread(Protocol):
    """What has to end."""

    def join(self, seconds: float) -> bool:
        """Wait for the end; False when it has not come in time."""
        ...


def close(
    accumulator: RecordAccumulator,
    runner: CallRunner,
    thread: Thread,
    budget: float,
    *,
    may_wait: bool,
    pushes: bool,
) -> int:
    """Close everything.

    Args:
        accumulator: What is not delivered.
        runner: Asks the network thread.
        thread: The network thread.
        budget: Seconds.
        may_wait: Whether this thread may wait: not in a delivery callback.
        pushes: Whether brokers want the last metrics.

    Returns:
        How many records were given up.
    """
    began = runner.now()
    deadline = Deadline(began + (budget if may_wait else 0.0))
    reserve = min(MOST_RESERVED, budget * SHARE_RESERVED)
    accumulator.close()
    if may_wait and budget > 0:
        flush(accumulator, Deadline(deadline.at - reserve))
    flushed = runner.now()
    runner.counters.closing.of("flush").observe(flushed - began)
    records = 0
    last = Deadline(max(deadline.at, runner.now() + LAST_TURN))
    if may_wait:
        call = Call("close", began, last)
        if _ask(runner, GiveUp(call)) and runner.wait_for_end(call, last):
            records = call.result()
    if may_wait and pushes:
        push_last(runner, began, deadline)
        last = Deadline(max(deadline.at, runner.now() + LAST_TURN))
    ending = Call("close", runner.now(), last)
    if _ask(runner, Close(ending)) and may_wait:
        runner.wait_for_end(ending, last)
        thread.join(last.remaining(runner.now()))
    runner.counters.closing.of("network thread").observe(runner.now() - flushed)
    CLOSED.add(runner.counters)
    if records:
        runner.trace.emit(RECORDS_GIVEN_UP, records=records)
    runner.trace.emit(CLIENT_CLOSED, seconds=runner.now() - began)
    return records


def _ask(runner: CallRunner, event: ApplicationEvent) -> bool:
    """Post an event: False when the network thread has ended by itself."""
    try:
        runner.post(event)
    except KafkaException:
        return False
    return True
