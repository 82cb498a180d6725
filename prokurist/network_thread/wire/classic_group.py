"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

In each of them a static member's name is refused by the versions that lack it:
without it the broker would take the member for a dynamic one and give its
partitions away.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from typing import ClassVar

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import (
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    SYNC_GROUP,
    Api,
)
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import milliseconds, the_only, throttle


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member of the generation, as JoinGroup tells the leader.

    Attributes:
        member_id: The member.
        metadata: Its subscription, as it encoded it.
        instance_id: Its static name, where it has one.
    """

    member_id: str
    metadata: bytes
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class JoinGroupAnswer:
    """The generation that was joined.

    Attributes:
        error: 0, or why not.
        generation: Its number; −1 with an error.
        protocol: The assignor that all members know; None with an error.
        leader: The member that assigns.
        member_id: Our id; with MEMBER_ID_REQUIRED the one to join with.
        members: All members, if we are the leader; else none.
        skip_assignment: True if the leader is not to assign (a static leader that came back,
            version 9).
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    generation: int
    protocol: str | None
    leader: str
    member_id: str
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """Joins the next generation of a classic group.

    Left out where a version lacks it: the rebalance timeout (below 1; the session
    timeout stands in) and the reason (below 8; only the broker's log has it).

    Attributes:
        group_id: The group.
        protocols: The assignors we know with our subscription encoded for each,
            the preferred one first.
        session_timeout: Seconds without a heartbeat after which we are out.
        rebalance_timeout: Seconds that a rebalance waits for us to join again.
        member_id: Our id; empty for the first time.
        instance_id: Our static name, where we have one.
        reason: Why we join.
        protocol_type: The protocol type of the group.
    """

    api: ClassVar[Api] = JOIN_GROUP

    group_id: str
    protocols: tuple[tuple[str, bytes], ...]
    session_timeout: float
    rebalance_timeout: float
    member_id: str = ""
    instance_id: str | None = None
    reason: str | None = None
    protocol_type: str = "consumer"

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        yield from static_since(5, self.instance_id)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_id": self.group_id,
            "session_timeout": milliseconds(self.session_timeout),
            "rebalance_timeout": milliseconds(self.rebalance_timeout),
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "protocol_type": self.protocol_type,
            "protocols": tuple(
                {"name": name, "metadata": metadata} for name, metadata in self.protocols
            ),
            "reason": self.reason,
        }

    def answer(self, body: Body) -> JoinGroupAnswer:
        """Read an answer of any version."""
        return JoinGroupAnswer(
            error=body["error_code"],
            generation=body["generation_id"],
            protocol=body["protocol_name"] or None,
            leader=body["leader"],
            member_id=body["member_id"],
            members=tuple(
                JoinedMember(row["member_id"], row["metadata"], row.get("group_instance_id"))
                for row in body["members"]
            ),
            skip_assignment=body.get("skip_assignment", False),
            throttle=throttle(body),
        )


@dataclass(frozen=True, slots=True)
class SyncGroupAnswer:
    """The assignment of this member.

    Attributes:
        error: 0, or why there is none.
        assignment: Our partitions, as the leader encoded them.
        protocol: The assignor, from brokers that say so (version 5).
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    assignment: bytes
    protocol: str | None = None
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class SyncGroup:
    """Asks for the member's assignment; the leader's has those of all members.

    Left out where a version lacks it: the protocol's type and name (below 5; the
    broker then does not compare them with its own).

    Attributes:
        group_id: The group.
        generation: The generation that was joined.
        member_id: Our id.
        protocol: The assignor that the generation uses.
        assignments: The part of each member, from the leader; else none.
        instance_id: Our static name, where we have one.
        protocol_type: The protocol type of the group.
    """

    api: ClassVar[Api] = SYNC_GROUP

    group_id: str
    generation: int
    member_id: str
    protocol: str
    assignments: tuple[tuple[str, bytes], ...] = ()
    instance_id: str | None = None
    protocol_type: str = "consumer"

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        yield from static_since(3, self.instance_id)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_id": self.group_id,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "assignments": tuple(
                {"member_id": member, "assignment": part} for member, part in self.assignments
            ),
        }

    def answer(self, body: Body) -> SyncGroupAnswer:
        """Read an answer of any version."""
        return SyncGroupAnswer(
            error=body["error_code"],
            assignment=body["assignment"],
            protocol=body.get("protocol_name"),
            throttle=throttle(body),
        )


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """Answer to Heartbeat: an error if the member is no longer in the group.

    Attributes:
        error: 0, or why not.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Tell the coordinator of a classic group that the member is alive."""

    api: ClassVar[Api] = HEARTBEAT

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None = None

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        yield from static_since(3, self.instance_id)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_id": self.group_id,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
        }

    def answer(self, body: Body) -> HeartbeatAnswer:
        """Read an answer of any version."""
        return HeartbeatAnswer(error=body["error_code"], throttle=throttle(body))


@dataclass(frozen=True, slots=True)
class LeaveGroupAnswer:
    """Answer to LeaveGroup.

    Attributes:
        error: 0, or why not.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """Leaves a classic group.

    Left out where a version lacks it: the reason (below 5; only the broker's log
    has it).
    """

    api: ClassVar[Api] = LEAVE_GROUP

    group_id: str
    member_id: str
    instance_id: str | None = None
    reason: str | None = None

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        yield from static_since(3, self.instance_id)

    def body(self) -> Body:
        """The fields of every version at once: from 3 on, members leave in batches."""
        member = {
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "reason": self.reason,
        }
        return {"group_id": self.group_id, "member_id": self.member_id, "members": (member,)}

    def answer(self, body: Body) -> LeaveGroupAnswer:
        """Read an answer of any version: the group's error, else the member's own."""
        error = body["error_code"]
        if error == 0 and "members" in body:
            error = the_only(body["members"], "members")["error_code"]
        return LeaveGroupAnswer(error=error, throttle=throttle(body))


def static_since(version: int, instance_id: str | None) -> Iterator[Limit]:
    """The limit that a static member's instance id needs."""
    if instance_id is not None:
        yield Limit("group.instance.id", oldest=version)
