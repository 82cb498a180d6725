"""What a member does while its group gathers, since it will have to once it has a part.

Thread: the network thread alone.

All members are given their parts in one moment, and each of them then asks for the same
things. What does not rest on the part, a connection for heartbeats and commits, where the
topics are, and how to write and read all that, is done before: while the answer to a
JoinGroup waits at the broker, there is nothing else to do.
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
    """Begin it in the next turn: what is about to be asked now comes first."""
    context.timer.after(0.0, "what a part will need", lambda: get_ready(context, coordinator))


def get_ready(context: MembershipContext, coordinator: Node) -> None:
    """See the module."""
    context.client.prepare(coordinator, Lane.COORDINATOR, ASKED_THEN)
    known = context.metadata.cluster.topics
    if any(topic not in known for topic in context.subscription.topics()):
        context.metadata.request_update()
