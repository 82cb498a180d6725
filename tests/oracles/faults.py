"""What befalls a real cluster, as the oracles have to know it: whose leader is away, and how.

Thread: any; data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SILENT: Final = frozenset({"freeze", "freeze all", "swallow"})
"""Faults in which a broker takes requests and does not answer."""

AWAY: Final = SILENT | {"kill", "restart", "throttle"}
"""Faults while which a broker cannot be read from, or not as fast as is written."""


@dataclass(frozen=True)
class Fault:
    """One fault of a cluster.

    Attributes:
        kind: Which; one of `SILENT`, of `AWAY`, or any other.
        node: The broker that it meets.
        since: When it began.
        until: When it was undone; infinite as long as it lasts.
        leaders: The node that led each partition before it; empty where that is not known.
    """

    kind: str
    node: int
    since: float
    until: float = float("inf")
    leaders: Sequence[int] = ()

    @property
    def is_silent(self) -> bool:
        """Whether a broker takes requests and does not answer."""
        return self.kind in SILENT

    def meets(self, partition: int) -> bool:
        """Whether the partition's leader is, or may be, the broker that it meets."""
        return (
            self.kind == "freeze all"
            or partition >= len(self.leaders)
            or self.leaders[partition] == self.node
        )

    def takes_away(self, partition: int) -> bool:
        """Whether the partition's leader cannot be read from while it lasts."""
        return self.kind in AWAY and self.meets(partition)
