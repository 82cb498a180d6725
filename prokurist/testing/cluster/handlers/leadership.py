"""Leadership checks of a partition, shared by four APIs."""

from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import Partition, Topic
from prokurist.testing.cluster.wire import Values

NO_EPOCH = -1


class Place(NamedTuple):
    """A partition that was asked about.

    Attributes:
        code: Why this broker cannot speak for it; 0 if it can.
        topic: Its topic, where there is one.
        partition: The partition, where there is one.
    """

    code: int
    topic: Topic | None
    partition: Partition | None

    @property
    def led(self) -> Partition:
        """The partition; only for callers that have looked at the code."""
        if self.partition is None or self.code:
            raise AssertionError(f"{self} has no partition that is led here")
        return self.partition


def place(
    state: State,
    context: Context,
    asked: Any,
    index: int,
    epoch: int = NO_EPOCH,
    *,
    followers: bool = False,
    known_as: str | None = None,
) -> Place:
    """Find a partition and check that this broker leads it in the client's epoch.

    Args:
        state: The cluster's state.
        context: The request's circumstances.
        asked: The part of the request that names the topic, by name or by id.
        index: The partition's number.
        epoch: The leader epoch the asker believes in; −1 if it does not say.
        followers: True if a follower will do.
        known_as: The name that the topic's id had when it was asked for: then it is the
            topic of that name that is looked for, and its id is compared.
    """
    by_id = hasattr(asked, "topic_id")
    name = known_as or field(asked, "name") or field(asked, "topic", "")
    topic = state.topics.get(name) if name else state.topic_by_id(asked.topic_id)
    name = topic.name if topic else name or None
    partition = topic.partition(index) if topic else None
    code = context.refusals.part(name, index)
    if code:
        pass
    elif name in state.denied_topics:
        # Who asks by id is not told that there is such a topic.
        code = ErrorCode.unknown_topic_id if by_id else ErrorCode.topic_authorization_failed
    elif topic is None and name is None:
        code = ErrorCode.unknown_topic_id
    elif topic is None or partition is None:
        code = ErrorCode.unknown_topic_or_partition
    elif by_id and topic.id != asked.topic_id:
        code = ErrorCode.inconsistent_topic_id
    else:
        code = standing(partition, context.node, epoch, followers=followers)
    return Place(code, topic, partition)


def standing(
    partition: Partition, node: int, epoch: int = NO_EPOCH, *, followers: bool = False
) -> ErrorCode:
    """Return the error code for a request to a broker in a leader epoch; `none` if it leads."""
    if node not in partition.replicas and partition.leader != node:
        return ErrorCode.not_leader_or_follower
    # A broker that has a copy compares the epochs first.
    if epoch != NO_EPOCH and epoch < partition.epoch:
        return ErrorCode.fenced_leader_epoch
    if epoch != NO_EPOCH and epoch > partition.epoch:
        return ErrorCode.unknown_leader_epoch
    if partition.leader != node and not (followers and node in partition.replicas):
        return ErrorCode.not_leader_or_follower
    return ErrorCode.none


def leader_hint(where: Place) -> Values:
    """The leader, for newer versions' answers to clients that asked elsewhere."""
    wrong = (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch)
    if where.code not in wrong or where.partition is None:
        return {}
    told = {"leader_id": where.partition.leader, "leader_epoch": where.partition.epoch}
    return {"current_leader": told}


def endpoints(state: State, hints: list[Values]) -> list[Values]:
    """List the addresses of the leaders in the hints."""
    told = {each["current_leader"]["leader_id"] for each in hints if "current_leader" in each}
    nodes = [state.brokers[each].node for each in sorted(told) if each in state.brokers]
    return [
        {"node_id": node.id, "host": node.host, "port": node.port, "rack": node.rack}
        for node in nodes
    ]
