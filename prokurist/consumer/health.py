"""What a liveness probe wants to know.

Thread: any. `KafkaConsumer.health` puts it together out of single readings, none of which
waits: two of them may be of two moments.
"""

from dataclasses import dataclass

from prokurist.types import MembershipState


@dataclass(frozen=True, slots=True)
class MembershipHealth:
    """The state of the membership, for liveness probes.

    Attributes:
        protocol: `group.protocol`: `classic` or `consumer`.
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


@dataclass(frozen=True, slots=True)
class Health:
    """A snapshot for liveness probes, taken without waiting.

    Attributes:
        alive: The network thread runs.
        turns: How many turns its loop has made.
        since_last_turn: Seconds since it last read the clock. A loop that waits
            for the network is asleep, not stuck: look at it beside `next_due`.
        next_due: Seconds until it has something to do by itself; negative when it
            is late, None when there is nothing.
        waiting_calls: Calls that it is working on.
        coordinator: The group's coordinator, where it is known.
        died_of: What ended it, if a bug of ours did.
        consumer_protocol: Whether the cluster offers `group.protocol=consumer`; None
            while no broker has told.
        membership: The place in the group; None without a `group.id`.
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
        poll_age: Seconds since the last poll ended; 0 while one waits, None before the first.
            The steps of an iteration, and `wait_until_ready`, count as polls.
    """

    alive: bool
    turns: int
    since_last_turn: float
    next_due: float | None
    waiting_calls: int
    coordinator: str | None
    died_of: str | None
    consumer_protocol: bool | None
    membership: MembershipHealth | None
    unreachable_for: float | None
    answer_age: float | None
    last_error: str | None
    last_error_age: float | None
    poll_age: float | None


def age(moment: float | None, now: float) -> float | None:
    """Seconds since a moment, never negative: it may be noted after `now` was read."""
    return None if moment is None else max(0.0, now - moment)
