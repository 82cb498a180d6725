"""The APIs of the protocol that the client speaks, and in which versions.

Thread: any; a table. The range is what kio 0.6.5, of which
our tables are made, has schemas for, which is all
that Kafka 2.4 to 4.4 can negotiate with us (ApiVersions 5 apart, which adds
nothing that we send).
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Api:
    """One kind of request.

    Attributes:
        name: As the protocol calls it.
        key: Its number on the wire.
        oldest: The oldest version that we speak.
        newest: The newest version that we speak.
    """

    name: str
    key: int
    oldest: int
    newest: int

    def __str__(self) -> str:
        return self.name


FETCH: Final = Api("Fetch", 1, 4, 18)
LIST_OFFSETS: Final = Api("ListOffsets", 2, 1, 11)
METADATA: Final = Api("Metadata", 3, 0, 13)
OFFSET_COMMIT: Final = Api("OffsetCommit", 8, 2, 10)
OFFSET_FETCH: Final = Api("OffsetFetch", 9, 1, 10)
FIND_COORDINATOR: Final = Api("FindCoordinator", 10, 0, 6)
JOIN_GROUP: Final = Api("JoinGroup", 11, 0, 9)
HEARTBEAT: Final = Api("Heartbeat", 12, 0, 4)
LEAVE_GROUP: Final = Api("LeaveGroup", 13, 0, 5)
SYNC_GROUP: Final = Api("SyncGroup", 14, 0, 5)
API_VERSIONS: Final = Api("ApiVersions", 18, 0, 4)
OFFSET_FOR_LEADER_EPOCH: Final = Api("OffsetForLeaderEpoch", 23, 3, 4)
"""Version 2 is answered only to those with rights over the whole cluster."""
CONSUMER_GROUP_HEARTBEAT: Final = Api("ConsumerGroupHeartbeat", 68, 0, 1)
