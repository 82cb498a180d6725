"""Snapshots for liveness probes of any client, and of a membership.

Thread: any. A client takes the readings one by one, without waiting, so two of them may be of
two moments.
"""

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import MembershipState


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


@dataclass(frozen=True, slots=True)
class MembershipHealth:
    """The state of the membership, for liveness probes.

    Attributes:
        protocol: `classic` or `consumer`, by `group.protocol`; `share` in a share group.
        state: Where the member stands.
        member_id: Its id; empty while it has none.
        epoch: The classic generation or the KIP-848 member epoch; −1 while it is in none.
        heartbeat_age: Seconds since the coordinator answered its last heartbeat, or let
            it in; None outside the group. While a classic group rebalances its
            members send none, and the age grows.
    """

    protocol: str
    state: MembershipState
    member_id: str
    epoch: int
    heartbeat_age: float | None


def age(moment: float | None, now: float) -> float | None:
    """Seconds since a moment, never negative: it may be noted after `now` was read."""
    return None if moment is None else max(0.0, now - moment)
