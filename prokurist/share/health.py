"""Snapshot of a share consumer for liveness probes.

Thread: any; see `prokurist.application.health`.
"""

from prokurist.application.health import ClientHealth, MembershipHealth
from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareHealth(ClientHealth):
    """A snapshot of a share consumer for liveness probes, taken without waiting.

    Attributes:
        coordinator: The group's coordinator, where it is known.
        membership: The place in the group.
        poll_age: Seconds since the last poll ended; 0 while one waits, None before the first.
        held: Records whose locks it holds, those that no poll has returned yet included.
        first_lock_ends: Seconds until the first lock of a record that it holds ends; None
            without any.
    """

    coordinator: str | None
    membership: MembershipHealth
    poll_age: float | None
    held: int
    first_lock_ends: float | None
