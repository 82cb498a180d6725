"""Application side of the client's metrics push (KIP-714).

Thread: the application's.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from prokurist.application.call_runner import LAST_TURN, CallRunner
from prokurist.application.driving import Steps
from prokurist.errors import IllegalStateException, KafkaException
from prokurist.events.application_events import InstanceId, PushLast
from prokurist.events.call import Call
from prokurist.events.clock import Deadline

if TYPE_CHECKING:
    from uuid import UUID

OPERATION: Final = "client_instance_id"
LAST_PUSH: Final = 1.0
"""Seconds that `close` waits for the answer to its last push, if it has them."""


def require_push(*, on: bool) -> None:
    """Refuse to ask for the id of a client that pushes nothing.

    Raises:
        IllegalStateException: Pushing is off.
    """
    if not on:
        raise IllegalStateException(
            f"{OPERATION} while enable.metrics.push is off: brokers give an id only to a "
            f"client that pushes its metrics; set enable.metrics.push=True"
        )


def client_instance_id(runner: CallRunner, timeout: float | timedelta) -> "Steps[UUID]":
    """Ask for the client instance id of this client's metrics at the brokers."""
    now = runner.now()
    call = Call(
        OPERATION, now, Deadline.after(now, timeout), config_key=None, trace=runner.tracing
    )
    known: UUID = yield from runner.ask(call, InstanceId(call))
    return known


def push_last(runner: CallRunner, began: float, deadline: Deadline) -> Steps[None]:
    """Push once more, within a second; a `close` that has no time gives it one turn.

    Closing goes on also when the push fails.

    Args:
        runner: The way to the network thread.
        began: When `close` began.
        deadline: When it ends; where that has come meanwhile, nothing is pushed.
    """
    now = runner.now()
    if now >= deadline.at > began:
        return
    left = min(deadline.at - now, LAST_PUSH)
    until = Deadline(now + (left if left > 0 else LAST_TURN))
    call = Call("close", now, until, trace=runner.tracing)
    try:
        runner.post(PushLast(call))
    except KafkaException:
        return  # The thread has ended by itself.
    yield from runner.wait_for_end(call, until)
