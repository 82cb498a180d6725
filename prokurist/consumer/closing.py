"""The end of a consumer: one sequence, one budget.

Thread: the application's. Each phase may use what is left of the budget, and no
phase is left out because an earlier one failed or was late: the first failure is
raised at the end, wrapped, when everything is closed.
"""

from typing import Final, Protocol

from prokurist.consumer.calling import TURN, Caller
from prokurist.consumer.commits import Commits
from prokurist.errors import KafkaException
from prokurist.events.application_events import Close
from prokurist.events.clock import Deadline

MOST_RESERVED: Final = 1.0
SHARE_RESERVED: Final = 0.25
"""What of the budget is kept for the end itself: a quarter, and a second at most."""


class Thread(Protocol):
    """What closing needs of the network thread."""

    def join(self, seconds: float) -> bool:
        """Wait for its end."""
        ...


def close(caller: Caller, commits: Commits, thread: Thread, budget: float) -> None:
    """Wait for asynchronous commits, end the network thread, and join it.

    Raises:
        KafkaException: Something failed on the way, which is the cause.
    """
    call = caller.call("close", budget)
    raised: BaseException | None = None
    try:
        # Commits that nobody answers must not take the time that the end itself needs.
        reserved = min(MOST_RESERVED, budget * SHARE_RESERVED)
        raised = commits.close(Deadline(call.deadline.at - reserved))
    except BaseException as interrupt:  # noqa: BLE001 - an interrupt does not stop closing
        raised = interrupt
    caller.closed = True
    # The thread needs one turn to close everything. It is given that turn even if
    # the budget is used up, or was nothing; it takes about a millisecond.
    last = Deadline(max(call.deadline.at, caller.now() + TURN))
    try:
        caller.post(Close(call))
        caller.wait_for_end(call, last)
    except KafkaException:
        pass  # The thread has ended by itself: its calls have heard so.
    except BaseException as interrupt:  # noqa: BLE001 - as above; it is raised at the end
        raised = raised or interrupt
    thread.join(last.remaining(caller.now()))
    if raised is None:
        return
    if not isinstance(raised, Exception):
        raise raised
    raise KafkaException(
        f"closed, and on the way {type(raised).__name__} was raised: {raised}"
    ) from raised
