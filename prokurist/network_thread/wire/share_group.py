"""ShareGroupHeartbeat: a member of a share group (KIP-932).

Thread: any; frozen values.
"""

from collections.abc import Iterator
from typing import ClassVar

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import SHARE_GROUP_HEARTBEAT, Api
from prokurist.network_thread.wire.consumer_group import TopicIdPartitions, assigned
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import said, seconds, throttle


@dataclass(frozen=True, slots=True)
class ShareGroupHeartbeatAnswer:
    """The coordinator's answer, with the assignment if it has changed.

    Attributes:
        error: 0, or why we do not belong.
        member_epoch: The epoch to go on with.
        heartbeat_interval: Seconds until the next heartbeat; it may be 0, and then is not to
            be believed.
        assignment: The assigned partitions; None if nothing has changed.
        message: The broker's own words about the error, where it sent some.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    member_epoch: int
    heartbeat_interval: float
    assignment: tuple[TopicIdPartitions, ...] | None = None
    message: str | None = None
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class ShareGroupHeartbeat:
    """A member's heartbeat; None stands for an unchanged field.

    Nothing is ever left out: there is one version.

    Attributes:
        group_id: The group.
        member_id: Our id, of our own making.
        member_epoch: Our epoch; 0 to join, −1 to leave.
        rack_id: Our rack.
        topics: The topics we subscribe to.
    """

    api: ClassVar[Api] = SHARE_GROUP_HEARTBEAT

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None = None
    topics: tuple[str, ...] | None = None

    def limits(self) -> Iterator[Limit]:
        """None: every version can carry it."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "member_epoch": self.member_epoch,
            "rack_id": self.rack_id,
            "subscribed_topic_names": self.topics,
        }

    def answer(self, body: Body) -> ShareGroupHeartbeatAnswer:
        """Read an answer of any version."""
        assignment = body["assignment"]
        return ShareGroupHeartbeatAnswer(
            error=body["error_code"],
            member_epoch=body["member_epoch"],
            heartbeat_interval=seconds(body["heartbeat_interval"]),
            assignment=None if assignment is None else assigned(assignment),
            message=said(body["error_message"]),
            throttle=throttle(body),
        )
