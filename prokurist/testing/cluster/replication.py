"""Replication of a partition: each broker's copy, and the high watermark it knows.

A record is readable below the high watermark, up to which every broker in sync has the log. The
leader moves it when the followers have fetched, the followers learn of it with their next
fetch. A new leader begins with its high watermark as a follower.

Thread: the one that drives the model.
"""

from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplicationDelays:
    """Delays of replication, in seconds. All zero: every copy follows at once.

    Attributes:
        fetch: From an append until the followers have it, and the leader's high
            watermark covers it. Milliseconds between healthy brokers.
        watermark: From then until followers know of the new high watermark: up to
            `replica.fetch.wait.max.ms` (0.5 s) on a quiet partition.
        election: From an election until followers fetch from the new leader: up to
            about 0.5 s.
    """

    fetch: float = 0.0
    watermark: float = 0.0
    election: float = 0.0

    @property
    def any(self) -> bool:
        """True if any delay is set."""
        return self.fetch > 0 or self.watermark > 0 or self.election > 0


@dataclass(slots=True)
class Copy:
    """One broker's copy of a partition's log.

    Attributes:
        end: Where it ends.
        watermark: The high watermark as this broker knows it; never beyond `end`.
    """

    end: int = 0
    watermark: int = 0

    def cut(self, end: int) -> None:
        """Forget everything from an offset on."""
        self.end = min(self.end, end)
        self.watermark = min(self.watermark, end)
