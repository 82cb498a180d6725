"""ConsumerGroupHeartbeat: the whole of the consumer protocol (KIP-848).

Thread: any; frozen values.
"""

from collections.abc import Iterator
from typing import ClassVar
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import CONSUMER_GROUP_HEARTBEAT, Api
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import milliseconds, said, seconds, throttle


@dataclass(frozen=True, slots=True)
class TopicIdPartitions:
    """Partitions of a topic that is named by its id alone.

    Attributes:
        topic_id: The topic's id.
        partitions: The partitions' numbers.
    """

    topic_id: UUID
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeatAnswer:
    """The coordinator's answer, with the target assignment if it has changed.

    Attributes:
        error: 0, or why we do not belong.
        member_id: Our id, where the broker says it.
        member_epoch: The epoch to go on with.
        heartbeat_interval: Seconds until the next heartbeat, as the broker likes it;
            it may be 0, and then is not to be believed.
        assignment: The target assignment; None if nothing has changed.
        message: The broker's own words about the error, where it sent some.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    member_id: str | None
    member_epoch: int
    heartbeat_interval: float
    assignment: tuple[TopicIdPartitions, ...] | None = None
    message: str | None = None
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeat:
    """A member's heartbeat, with the fields that have changed.

    None stands for "as I said before" in every field that has it. Nothing is
    ever left out: a pattern for the broker is refused by version 0, and from 1
    on a member brings an id of its own making.

    Attributes:
        group_id: The group.
        member_id: Our id; empty only in version 0, for the first time.
        member_epoch: Our epoch; 0 to join, −1 to leave, −2 to leave as a static
            member who will be back.
        instance_id: Our static name, where we have one.
        rack_id: Our rack.
        rebalance_timeout: Seconds that we may take to give partitions up.
        topics: The topics we subscribe to.
        pattern: The regular expression we subscribe to, for the broker to resolve.
        assignor: The broker's assignor that we prefer.
        owned: The partitions that we own.
    """

    api: ClassVar[Api] = CONSUMER_GROUP_HEARTBEAT

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout: float | None = None
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    assignor: str | None = None
    owned: tuple[TopicIdPartitions, ...] | None = None

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.pattern is not None:
            yield Limit("a SubscriptionPattern", oldest=1)
        if not self.member_id:
            yield Limit("joining without a member id", newest=0)

    def body(self) -> Body:
        """The fields of every version at once."""
        timeout = self.rebalance_timeout
        owned = None
        if self.owned is not None:
            owned = tuple(
                {"topic_id": each.topic_id, "partitions": each.partitions}
                for each in self.owned
            )
        return {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "member_epoch": self.member_epoch,
            "instance_id": self.instance_id,
            "rack_id": self.rack_id,
            "rebalance_timeout": -1 if timeout is None else milliseconds(timeout),
            "subscribed_topic_names": self.topics,
            "subscribed_topic_regex": self.pattern,
            "server_assignor": self.assignor,
            "topic_partitions": owned,
        }

    def answer(self, body: Body) -> ConsumerGroupHeartbeatAnswer:
        """Read an answer of any version."""
        assignment = body["assignment"]
        return ConsumerGroupHeartbeatAnswer(
            error=body["error_code"],
            member_id=body["member_id"],
            member_epoch=body["member_epoch"],
            heartbeat_interval=seconds(body["heartbeat_interval"]),
            assignment=None if assignment is None else assigned(assignment),
            message=said(body["error_message"]),
            throttle=throttle(body),
        )


def assigned(assignment: Body) -> tuple[TopicIdPartitions, ...]:
    """Read the partitions of an assignment.

    Raises:
        Malformed: It names the topic that has no id.
    """
    rows = assignment["topic_partitions"]
    if any(row["topic_id"] is None for row in rows):
        raise Malformed("a topic is assigned without its id")
    return tuple(TopicIdPartitions(row["topic_id"], row["partitions"]) for row in rows)
