"""Requests to the coordinator of groups: offsets, deletions, removed members.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.apis import (
    DELETE_GROUPS,
    LEAVE_GROUP,
    OFFSET_DELETE,
    OFFSET_FETCH,
    Api,
)
from prokurist.network_thread.wire.committed_offsets import CommittedOffset
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import by_partition, by_topic, known
from prokurist.types import TopicPartition
from prokurist.types.groups import DeletedGroup, MemberToRemove, RemovedMember

SEVERAL: str = "asking for the offsets of several groups"


@dataclass(frozen=True, slots=True)
class FetchGroupOffsets:
    """Asks a coordinator for the committed offsets of groups.

    Nothing is ever left out. Refused: all partitions below 2, where no topics means none;
    several groups below 8; stable offsets below 7; version 10, which names topics by id.

    Attributes:
        groups: The partitions of each group; None for all that have committed offsets.
        stable: True to get UNSTABLE_OFFSET_COMMIT while a transaction that commits offsets is
            open.
    """

    api: ClassVar[Api] = OFFSET_FETCH

    groups: Mapping[str, tuple[TopicPartition, ...] | None]
    stable: bool = False

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        oldest = 2 if None in self.groups.values() else 1
        yield Limit("naming topics by name", oldest=oldest, newest=9)
        if len(self.groups) > 1:
            yield Limit(SEVERAL, oldest=8)
        if self.stable:
            yield Limit("waiting for open transactions", oldest=7)

    def body(self) -> Body:
        """The fields of every version at once."""
        groups = tuple(
            {
                "group_id": name,
                "member_id": None,
                "member_epoch": -1,
                "topics": None
                if partitions is None
                else tuple(
                    {"name": topic, "partition_indexes": tuple(each for each, _ in rows)}
                    for topic, rows in by_topic((tp, None) for tp in partitions).items()
                ),
            }
            for name, partitions in self.groups.items()
        )
        return {**groups[0], "groups": groups, "require_stable": self.stable}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version; a group's value is its rows."""
        rows = body.get("groups")
        if rows is None:
            (only,) = self.groups
            rows = ({**body, "group_id": only},)
        return answer_of(body, ((row["group_id"], offsets_of(row)) for row in rows))


def offsets_of(group: Body) -> ItemAnswer:
    """Read the committed offsets of a group."""
    if group.get("error_code", 0):
        return ItemAnswer(group["error_code"])
    return ItemAnswer(
        value=tuple(
            CommittedOffset(
                partition=tp,
                error=row["error_code"],
                offset=known(row["committed_offset"]),
                leader_epoch=known(row.get("committed_leader_epoch", -1)),
                metadata=row["metadata"] or "",
            )
            for tp, row in by_partition(group["topics"])
        )
    )


@dataclass(frozen=True, slots=True)
class DeleteOffsets:
    """Asks a coordinator to delete committed offsets of a group.

    Nothing is ever left out.

    Attributes:
        group_id: The group.
        partitions: The partitions.
    """

    api: ClassVar[Api] = OFFSET_DELETE

    group_id: str
    partitions: tuple[TopicPartition, ...]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_id": self.group_id,
            "topics": tuple(
                {
                    "name": topic,
                    "partitions": tuple({"partition_index": each} for each, _ in rows),
                }
                for topic, rows in by_topic((tp, None) for tp in self.partitions).items()
            ),
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version; an error of the group is one of each partition."""
        rows = ((tp, item_of(row)) for tp, row in by_partition(body["topics"]))
        return answer_of(body, rows, body["error_code"])


@dataclass(frozen=True, slots=True)
class DeleteGroups:
    """Asks a coordinator to delete groups.

    Nothing is ever left out.

    Attributes:
        groups: The groups.
    """

    api: ClassVar[Api] = DELETE_GROUPS

    groups: tuple[str, ...]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"groups_names": self.groups}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(
            body, ((row["group_id"], item_of(row, DeletedGroup())) for row in body["results"])
        )


@dataclass(frozen=True, slots=True)
class RemoveMembers:
    """Asks a coordinator to remove members from a group.

    Left out where a version lacks it: the reason (below 5; only the broker's log has it).
    Refused: several members, and a static member's name, below 3.

    Attributes:
        group_id: The group.
        members: The members.
        reason: The reason, for the broker's log.
    """

    api: ClassVar[Api] = LEAVE_GROUP

    group_id: str
    members: tuple[MemberToRemove, ...]
    reason: str

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if len(self.members) > 1:
            yield Limit("removing several members", oldest=3)
        if any(each.instance_id is not None for each in self.members):
            yield Limit("naming a static member", oldest=3)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_id": self.group_id,
            "member_id": self.members[0].member_id,
            "members": tuple(
                {
                    "member_id": each.member_id,
                    "group_instance_id": each.instance_id,
                    "reason": self.reason,
                }
                for each in self.members
            ),
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        code = body["error_code"]
        rows = body.get("members")
        if rows is None:
            rows = () if code else ({"error_code": 0},)
            return answer_of(
                body, ((self.members[0], item_of(row, RemovedMember())) for row in rows), code
            )
        # The broker fills in the member id of a static member that is named by its instance.
        named = {each.instance_id or each.member_id: each for each in self.members}
        return answer_of(
            body,
            (
                (
                    named.get(row["group_instance_id"] or row["member_id"]),
                    item_of(row, RemovedMember()),
                )
                for row in rows
            ),
            code,
        )
