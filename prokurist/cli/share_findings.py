"""Findings about a share group, for `prokurist doctor`.

Thread: the main one.
"""

from dataclasses import field
from typing import Final

from prokurist.admin import ConfigResource, KafkaAdmin
from prokurist.errors import KafkaException
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import counted
from prokurist.types.groups import Group, GroupKind

RESET: Final = "share.auto.offset.reset"
KEYS: Final = (
    RESET,
    "share.isolation.level",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
)
"""Keys of the group that decide what its members get."""


@dataclass(frozen=True, slots=True)
class ShareGroupFinding:
    """A share group and its configuration.

    Attributes:
        group: The group; None for one that is not there, or of another kind.
        config: Values of `KEYS`; of none where this user may not see them.
        has_begun: True if a partition has a start offset; None where no broker tells.
    """

    group: Group | None = None
    config: dict[str, str] = field(default_factory=dict)
    has_begun: bool | None = None

    def __str__(self) -> str:
        if self.group is None:
            return "no share group"
        keys = ", ".join(f"{name}={value}" for name, value in self.config.items())
        members = counted(len(self.group.members), "member")
        return f"{self.group.group_id} is a share group with {members}" + f"; {keys}" * bool(
            keys
        )

    @property
    def advice(self) -> str | None:
        """Advice; None without a finding that calls for one."""
        if self.group is None or self.has_begun or self.config.get(RESET) != "latest":
            return None
        return (
            f"It begins at the end of each partition: records written before a member first "
            f"fetches are not shared. `prokurist configs set group:{self.group.group_id} "
            f"{RESET}=earliest`, before its first member, has it begin at the first record."
        )


def find(admin: KafkaAdmin, name: str, timeout: float) -> ShareGroupFinding:
    """Describe a group, if it is one that shares.

    Raises:
        TimeoutException: The time is over.
    """
    clock = MonotonicClock()
    deadline = Deadline.after(clock.now(), timeout)
    try:
        group = admin.describe_group(name, timeout=timeout)
    except KafkaException:
        # The step about offsets tells of refusals.
        return ShareGroupFinding()
    if group.kind is not GroupKind.SHARE:
        return ShareGroupFinding()
    resource = ConfigResource.group(name)
    left = deadline.remaining(clock.now())
    entries = admin.describe_configs({resource: KEYS}, timeout=left).succeeded.get(resource, {})
    config: dict[str, str] = {key: entries[key].value or "" for key in KEYS if key in entries}
    try:
        places = admin.share_offsets([name], timeout=deadline.remaining(clock.now())).succeeded
    except KafkaException:
        return ShareGroupFinding(group, config)
    begun = None
    if name in places:
        found = places[name].succeeded.values()
        begun = any(each is not None and each.start >= 0 for each in found)
    return ShareGroupFinding(group, config, begun)
