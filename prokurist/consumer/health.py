"""Snapshot of a consumer for liveness probes.

Thread: any. `KafkaConsumer.health` takes the readings one by one, without waiting, so two of
them may be of two moments.
"""

from prokurist.application.health import ClientHealth
from prokurist.lazy_dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Health(ClientHealth):
    """A snapshot of a consumer for liveness probes, taken without waiting.

    Attributes:
        coordinator: The group's coordinator, where it is known.
        consumer_protocol: True if the cluster supports `group.protocol=consumer`; None before
            any broker's answer.
        membership: The place in the group; None without a `group.id`.
        poll_age: Seconds since the last poll ended; 0 while one waits, None before the first.
            The steps of an iteration, and `wait_until_ready`, count as polls.
    """

    coordinator: str | None
    consumer_protocol: bool | None
    membership: MembershipHealth | None
    poll_age: float | None
