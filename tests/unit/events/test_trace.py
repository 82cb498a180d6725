"""The one trace point: who reads, and what it costs without a reader."""

import pytest

from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.log_events import CLIENT_CLOSED, CONNECTION_LOST
from prokurist.events.trace import UNREAD, Trace
from tests.recorded_events import Told


def test_readers_hear_what_is_told_while_they_read() -> None:
    """And each hears the same."""
    trace, one, other = Trace("c"), Told(), Told()
    trace.emit(CLIENT_CLOSED, seconds=0.0)
    trace.read_by(one, fine=False)
    trace.emit(CLIENT_CLOSED, seconds=1.0)
    trace.read_by(other, fine=True)
    trace.emit(CLIENT_CLOSED, seconds=2.0)
    trace.left_by(one)
    trace.emit(CLIENT_CLOSED, seconds=3.0)
    assert [values["seconds"] for _, values in one.entries] == [1.0, 2.0]
    assert [values["seconds"] for _, values in other.entries] == [2.0, 3.0]


def test_a_trace_is_fine_while_a_reader_wants_that() -> None:
    """The last of them to go ends it; who reads states only does not count."""
    trace, one, other, coarse = Trace(), Told(), Told(), Told()
    seen = [trace.fine]
    trace.read_by(coarse, fine=False)
    seen.append(trace.fine)
    trace.read_by(one, fine=True)
    trace.read_by(other, fine=True)
    trace.left_by(one)
    seen.append(trace.fine)
    trace.left_by(other)
    seen.append(trace.fine)
    assert seen == [False, False, True, False]


def test_a_kind_knows_its_keys() -> None:
    """Those of the sentence in their order, each once, regardless of their format."""
    assert CONNECTION_LOST.keys == ("node", "lane", "error")
    assert CLIENT_CLOSED.keys == ("seconds",)


def test_a_call_tells_its_life_once_each() -> None:
    """From its beginning to whichever end came first."""
    trace, told = Trace(), Told()
    trace.read_by(told, fine=True)
    call = Call("committed", 1.0, Deadline(3.0), trace=trace)
    call.wait_begins("the group's coordinator", 1.0)
    attempt = call.claim("OffsetFetch", "broker 1", 1.5, effect=False)
    assert attempt is not None
    call.ended(attempt, 1.6, "answered")
    assert call.finish()
    assert not call.leave(3.0)
    assert not call.expire(3.0)
    assert call.claim("OffsetFetch", "broker 1", 3.0, effect=False) is None
    assert told.names == [
        "call_began",
        "call_waiting",
        "attempt_began",
        "attempt_ended",
        "call_finished",
    ]
    assert {values["call"] for _, values in told.entries} == {1}
    assert told.entries[0][1]["timeout"] == 2.0


@pytest.mark.parametrize(
    ("end", "kind", "outcome"),
    [
        (lambda call: call.leave(3.0), "call_abandoned", "TimeoutException"),
        (
            lambda call: call.leave(2.0, KeyboardInterrupt()),
            "call_abandoned",
            "KeyboardInterrupt",
        ),
        (lambda call: call.expire(3.0), "call_finished", "TimeoutException"),
        (lambda call: call.fail(ValueError("x")), "call_finished", "ValueError"),
    ],
)
def test_every_end_has_its_name(end: object, kind: str, outcome: str) -> None:
    """Which side ended it, and how."""
    trace, told = Trace(), Told()
    trace.read_by(told, fine=True)
    call = Call("committed", 1.0, Deadline(3.0), trace=trace)
    assert callable(end)
    end(call)
    assert told.names[-1] == kind
    assert told.entries[-1][1]["outcome"] == outcome
    assert call.waiter.is_open


def test_a_call_without_a_trace_logs_nothing() -> None:
    """It has no trace to ask, and no number."""
    call = Call("committed", 1.0, Deadline(3.0))
    call.finish()
    assert call.trace is None
    assert call.number == 0
    assert not UNREAD.fine
