"""Snapshot for liveness probes of any client.

Thread: any. A client takes the readings one by one, without waiting, so two of them may be of
two moments.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Sized

    from prokurist.events.reachability import Reachability


class Thread(Protocol):
    """Interface of a network thread, for the snapshot."""

    turns: int
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
        alive: The network thread runs.
        turns: How many turns its loop has made.
        since_last_turn: Seconds since it last read the clock. A loop that waits
            for the network is asleep, not stuck: look at it beside `next_due`.
        next_due: Seconds until it has something to do by itself; negative when it
            is late, None when there is nothing.
        waiting_calls: Calls that it is working on.
        died_of: The error that ended it, for a bug of ours.
        unreachable_for: Seconds without a reachable broker among those needed; None while there
            is a connection, or while none is needed. A broker that accepts connections and
            answers nothing counts once a request to it has timed out (`request.timeout.ms`),
            from the time of that request.
        answer_age: Seconds since a broker answered last; None before the first answer. A
            consumer that polls and has something to read hears from its brokers each
            `fetch.max.wait.ms`.
        last_error: The last error of a connection to a broker, kept when another connection
            succeeds; None before the first.
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
    def of(cls, side: NetworkSide, now: float, **more: Any) -> Self:
        """Read a client.

        Args:
            side: Its network side.
            now: Its clock.
            more: Further fields of the client's own kind.
        """
        thread, timer = side.thread, side.timer
        due = timer.next_at
        reachability = side.client.reachability
        unreachable_since = reachability.unreachable_since
        answered_at, failure = reachability.answered_at, reachability.last_failure
        return cls(
            alive=thread.alive,
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
