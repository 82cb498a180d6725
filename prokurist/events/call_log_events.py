"""The log events of single calls and of each turn of the loop.

Emitted only while `Trace.fine` is set: by a recording, or by a log that was at DEBUG
when the client was built.

Thread: any; nothing here changes.
"""

from functools import partial
from typing import Final

from prokurist.events.log_events import STATES
from prokurist.events.trace import EventKind, Level, Side

_caller = partial(EventKind, area="call", side=Side.APPLICATION, fine=True)
_call = partial(EventKind, area="call", side=Side.NETWORK, fine=True)
_loop = partial(EventKind, area="loop", side=Side.NETWORK, fine=True)

CALL_BEGAN: Final = _caller(
    "call_began",
    Level.DEBUG,
    "{operation} began, with {timeout:.3f} s",
    "A public call, and the time that it was given.",
    also=("call",),
)
CALL_POSTED: Final = _caller(
    "call_posted",
    Level.RECORDED,
    "posted {posted}",
    "The application thread asks the network thread for something.",
    also=("call",),
)
CALL_RECEIVED: Final = _call(
    "call_received",
    Level.RECORDED,
    "took up {posted}",
    "The network thread begins to work for it.",
    also=("call",),
)
CALLER_WAITING: Final = _caller(
    "caller_waiting",
    Level.RECORDED,
    "{operation} waits",
    "The application thread waits on the call's waiter.",
    also=("call",),
)
CALLER_WOKE: Final = _caller(
    "caller_woke",
    Level.RECORDED,
    "{operation} waits no more: {reason}",
    "Its waiter was opened, or its time was over.",
    also=("call",),
)
CALL_WAITING: Final = _call(
    "call_waiting",
    Level.DEBUG,
    "{operation} waits for {reason}",
    "Nothing of the call's own is on the wire, and why.",
    also=("call",),
)
ATTEMPT_BEGAN: Final = _call(
    "attempt_began",
    Level.DEBUG,
    "{operation}: {request} to {node} was written",
    "A request of a call is on the wire.",
    also=("call", "attempt"),
)
ATTEMPT_ENDED: Final = _call(
    "attempt_ended",
    Level.DEBUG,
    "{operation}: {request} to {node}: {outcome}",
    "How it ended; the answer's error code, where there was one, is an outcome of its own.",
    also=("call", "attempt"),
)
CALL_FINISHED: Final = _call(
    "call_finished",
    Level.DEBUG,
    "{operation} ended: {outcome}",
    "The network thread has ended a call, with an answer or an error.",
    also=("call",),
)
CALL_ABANDONED: Final = _caller(
    "call_abandoned",
    Level.DEBUG,
    "{operation} was left: {outcome}",
    "The caller has ended it: by its deadline, a wake-up or an interrupt.",
    also=("call",),
)
LATE_ANSWER_DROPPED: Final = _call(
    "late_answer_dropped",
    Level.DEBUG,
    "the answer of {node} to {request} came when no call was waiting for it any more",
    "A call had ended before; its connection was kept all the same.",
    also=("call",),
)
LOOP_WOKE: Final = _loop(
    "loop_woke",
    Level.RECORDED,
    "woke after {slept:.6f} s: {reason}",
    "A turn of the network thread's loop, and what it woke for.",
)

CALLS: Final = tuple(each for each in tuple(globals().values()) if isinstance(each, EventKind))
"""All of them, in the order of the table."""

KINDS: Final = (*STATES, *CALLS)
"""All that there is to tell."""
