"""Opens connections and loads metadata while JoinGroup is pending.

Thread: the network thread alone.

All members get their assignments in one moment, and each of them then sends the same requests.
Work independent of the assignment is done before, while the answer to JoinGroup waits at the
broker: a connection for heartbeats and commits, the topics' metadata, and the versions and
codecs of the requests.
"""

from typing import Final

from prokurist.network_thread.connections.requests import Expected, Lane
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.wire.apis import (
    FETCH,
    HEARTBEAT,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FOR_LEADER_EPOCH,
    SYNC_GROUP,
)
from prokurist.network_thread.wire.committed_offsets import OffsetFetch
from prokurist.types import Node, TopicPartition

SOME: Final = (TopicPartition("some", 0),)
ASKED_THEN: Final[Expected] = (
    *(SYNC_GROUP, HEARTBEAT, METADATA),
    # What is asked narrows its version here: partitions by the names of their topics.
    OffsetFetch("", SOME, require_stable=True, unstable_will_do=True),
    *(LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, FETCH),
)


def look_ahead(context: MembershipContext, coordinator: Node) -> None:
    """Prepare in the next turn: the requests of this one come first."""
    context.timer.after(0.0, "what a part will need", lambda: get_ready(context, coordinator))


def get_ready(context: MembershipContext, coordinator: Node) -> None:
    """Open the coordinator's connection and have missing topics' metadata fetched."""
    context.client.prepare(coordinator, Lane.COORDINATOR, ASKED_THEN)
    known = context.metadata.cluster.topics
    if any(topic not in known for topic in context.assigned.topics()):
        context.metadata.request_update()
