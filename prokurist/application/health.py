"""Snapshot for liveness probes of any client.

Thread: any. A client puts it together out of single readings, none of which waits: two of
them may be of two moments.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Sized

    from prokurist.events.reachability import Reachability


class Thread(Protocol):
    """Interface of a network thread, for the snapshot."""

    turns: int
    works: bool
    died_of: BaseException | None

    @property
    def alive(self) -> bool:
        """True while the thread runs."""
        ...


class Timer(Protocol):
    """Interface of a Timer, for the snapshot."""

    now: float

    @property
    def next_at(self) -> float | None:
        """When the next entry is due."""
        ...


class Client(Protocol):
    """Interface of a network client, for the snapshot."""

    reachability: "Reachability"


class NetworkSide(Protocol):
    """Interface of a client's network side, for the snapshot."""

    @property
    def thread(self) -> Thread:
        """The network thread."""
        ...

    @property
    def timer(self) -> Timer:
        """Its Timer."""
        ...

    @property
    def client(self) -> Client:
        """Its network client."""
        ...

    @property
    def calls(self) -> "Sized":
        """The calls that it is working on."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHealth:
    """A snapshot for liveness probes, taken without waiting.

    Attributes:
        alive: The network thread runs, and its present turn has not worked for longer than
            `request.timeout.ms`, as where a callback of the user's holds it. A thread that
            waits for the network is alive, however long it waits.
        turns: How many turns its loop has made.
        since_last_turn: Seconds since it last read the clock. A loop that waits
            for the network is asleep, not stuck: look at it beside `next_due`.
        next_due: Seconds until it has something to do by itself; negative when it
            is late, None when there is nothing.
        waiting_calls: Calls that it is working on.
        died_of: The error that ended it, for a bug of ours.
        unreachable_for: Seconds for which no broker that was needed could be reached; None
            while there is a connection, or while none is needed. A broker that accepts
            connections and answers nothing counts when a request to it has timed out
            (`request.timeout.ms`), from the moment in which that was sent.
        answer_age: Seconds since a broker answered last; None before the first answer. A
            consumer that polls and has something to read hears from its brokers each
            `fetch.max.wait.ms`.
        last_error: The last error of a connection to a broker, which is kept when another
            connection is made; None before the first.
        last_error_age: Seconds since that.
    """

    alive: bool
    turns: int
    since_last_turn: float
    next_due: float | None
    waiting_calls: int
    died_of: str | None
    unreachable_for: float | None
    answer_age: float | None
    last_error: str | None
    last_error_age: float | None

    @classmethod
    def of(cls, side: NetworkSide, now: float, *, request_timeout: float, **more: Any) -> Self:
        """Read a client.

        Args:
            side: Its network side.
            now: Its clock.
            request_timeout: Seconds after which a turn counts as stuck.
            more: What its kind of client has beside this.
        """
        thread, timer = side.thread, side.timer
        due = timer.next_at
        # In this order: a turn that begins in between has read the clock before it works.
        is_stuck = thread.works and now - timer.now > request_timeout
        reachability = side.client.reachability
        unreachable_since = reachability.unreachable_since
        answered_at, failure = reachability.answered_at, reachability.last_failure
        return cls(
            alive=thread.alive and not is_stuck,
            turns=thread.turns,
            since_last_turn=now - timer.now,
            next_due=None if due is None else due - now,
            waiting_calls=len(side.calls),
            died_of=None if thread.died_of is None else repr(thread.died_of),
            unreachable_for=age(unreachable_since, now),
            answer_age=age(answered_at, now),
            last_error=None if failure is None else str(failure[0]),
            last_error_age=None if failure is None else age(failure[1], now),
            **more,
        )


def age(moment: float | None, now: float) -> float | None:
    """Seconds since a moment, never negative: it may be noted after `now` was read."""
    return None if moment is None else max(0.0, now - moment)
