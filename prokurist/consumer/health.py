"""What a liveness probe wants to know.

Thread: any. `KafkaConsumer.health` puts it together out of single readings, none of which
waits: two of them may be of two moments.
"""

from dataclasses import dataclass

from prokurist.types import MembershipState


@dataclass(frozen=True, slots=True)
class MembershipHealth:
    """A member's place in its group.

    Attributes:
        protocol: `group.protocol`: `classic` or `consumer`.
        state: Where the member stands.
        member_id: Its id; empty while it has none.
        epoch: The classic generation or the KIP-848 member epoch; −1 while it is in none.
        heartbeat_age: Seconds since the coordinator answered its last heartbeat, or let
            it in; None outside the group. While a classic group shares out anew its
            members send none, and the age grows.
    """

    protocol: str
    state: MembershipState
    member_id: str
    epoch: int
    heartbeat_age: float | None


@dataclass(frozen=True, slots=True)
class Health:
    """What a liveness probe wants to know, taken without waiting.

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
