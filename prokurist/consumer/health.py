"""Snapshot of a consumer for liveness probes.

Thread: any. `KafkaConsumer.health` takes the readings one by one, without waiting, so two of
them may be of two moments.
"""

from prokurist.application.health import ClientHealth, MembershipHealth
from prokurist.lazy_dataclasses import dataclass


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
