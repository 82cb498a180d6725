"""Operations on groups, at their coordinators.

Thread: any; tables, and how the kind of a group is found.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from prokurist.errors import GroupIdNotFoundException, KafkaException
from prokurist.events.admin.groups import (
    GroupOffsetsToAlter,
    GroupOffsetsToDelete,
    GroupOffsetsToFetch,
    GroupsToDelete,
    GroupsToDescribe,
    GroupsToList,
    MembersToRemove,
)
from prokurist.events.admin.items_call import Outcome
from prokurist.network_thread.admin.job import AdminJob, AdminOperation, Again, Groups, Items
from prokurist.network_thread.admin.patience import ask_any
from prokurist.network_thread.admin.places import Placed, by_coordinator, every_broker
from prokurist.network_thread.broker_errors import UNKNOWN_TOPIC_OR_PARTITION
from prokurist.network_thread.error_actions import METADATA, Action, table
from prokurist.network_thread.operations.operation import Withdrawn, all_of, begin
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.group_descriptions import (
    REQUEST_BY_KIND,
    DescribeClassicGroups,
)
from prokurist.network_thread.wire.admin.groups import (
    DeleteGroups,
    DeleteOffsets,
    FetchGroupOffsets,
    RemoveMembers,
)
from prokurist.network_thread.wire.committed_offsets import (
    CommittedOffset,
    OffsetCommit,
    OffsetCommitAnswer,
)
from prokurist.network_thread.wire.group_listing import ListGroups, ListGroupsAnswer
from prokurist.network_thread.wire.metadata import CoordinatorOf, Metadata
from prokurist.network_thread.wire.request import Request
from prokurist.types import OffsetAndMetadata
from prokurist.types.groups import DeletedGroup, GroupKind, GroupListing, RemovedMember

OFFSETS_TOPIC: Final = "__consumer_offsets"
GROUP_NOT_EMPTY: Final = 68
UNSUPPORTED_VERSION: Final = 35
NO_MEMBER: Final = frozenset({22, 25, 27, 82, 113})
"""Error codes with which a coordinator refuses a commit since the group has members."""
OF_THE_GROUP: Final = frozenset({14, 15, 16, 88})
"""Error codes of single partitions for which the whole group is asked for again."""

_NO_RIGHTS: Final = (Action.FATAL, "no rights on the group")
_OF_A_COORDINATOR: Final = {
    14: (Action.RETRY, "the right coordinator, which is still loading its log"),
    15: (Action.REDISCOVER, "the group has no coordinator at present"),
    16: (Action.REDISCOVER, "another broker is the coordinator now"),
    24: (Action.FATAL, "not a legal name of a group"),
    30: _NO_RIGHTS,
    69: (Action.FATAL, "there is no such group"),
}

LIST_GROUPS: Final = table(
    "ListGroups",
    {
        14: (Action.RETRY, "the broker is still loading its log"),
        15: (Action.RETRY, "the broker coordinates no groups yet"),
        35: (Action.FATAL, "the broker does not say what was asked for"),
    },
)

DESCRIBE_GROUPS: Final = table("DescribeGroups", _OF_A_COORDINATOR)

FETCH_OFFSETS: Final = table(
    "OffsetFetch",
    {
        **_OF_A_COORDINATOR,
        7: (Action.REDISCOVER, "the coordinator may be cut off"),
        29: (Action.FATAL, "no rights on the topic"),
        88: (Action.RETRY, "a transaction that commits offsets is still open"),
    },
)

ALTER_OFFSETS: Final = table(
    "OffsetCommit",
    {
        **_OF_A_COORDINATOR,
        3: (Action.FATAL, "there is no such partition"),
        7: (Action.REDISCOVER, "the coordinator could not replicate: it may be cut off"),
        12: (Action.FATAL, "the metadata is too long"),
        28: (Action.FATAL, "the commit is too large"),
        29: (Action.FATAL, "no rights on the topic"),
        68: (Action.FATAL, "the group has members, which commit by themselves"),
    },
)

DELETE_OFFSETS: Final = table(
    "OffsetDelete",
    {
        **_OF_A_COORDINATOR,
        3: (Action.FATAL, "there is no such partition"),
        29: (Action.FATAL, "no rights on the topic"),
        68: (Action.FATAL, "the group has members of another protocol"),
        86: (Action.FATAL, "members of the group read the topic"),
    },
)

DELETE_GROUPS: Final = table(
    "DeleteGroups",
    {
        **_OF_A_COORDINATOR,
        68: (Action.FATAL, "the group has members"),
        69: (Action.ECHO, "there is no such group"),
    },
)

REMOVE_MEMBERS: Final = table(
    "LeaveGroup",
    {
        **_OF_A_COORDINATOR,
        25: (Action.ECHO, "the group has no such member"),
        82: (Action.FATAL, "another member has the instance id"),
    },
)


# --- lists -----------------------------------------------------------------------------


def listings_of(job: AdminJob, answer: ListGroupsAnswer) -> ItemsAnswer:
    """Read the groups of a broker that are wanted.

    Filters are applied here, since brokers ignore those that their versions lack.
    """
    wanted: GroupsToList = job.work
    if answer.error:
        return ItemsAnswer({answer.broker: ItemAnswer(answer.error)}, throttle=answer.throttle)
    if wanted.states and any(each.state is None for each in answer.groups):
        text = (
            f"broker {answer.broker} does not tell the states of its groups (before Kafka "
            f"2.6): list them without states, and describe them"
        )
        return ItemsAnswer({answer.broker: ItemAnswer(UNSUPPORTED_VERSION, text)})
    found = tuple(
        GroupListing(
            each.group_id,
            each.group_type,
            each.state,
            each.protocol_type,
            -1 if answer.broker is None else answer.broker,
        )
        for each in answer.groups
        # A broker that tells no kinds has classic groups alone.
        if (not wanted.kinds or (each.group_type or GroupKind.CLASSIC) in wanted.kinds)
        and (not wanted.states or each.state in wanted.states)
        and (not wanted.protocol_types or each.protocol_type in wanted.protocol_types)
    )
    return ItemsAnswer({answer.broker: ItemAnswer(value=found)}, throttle=answer.throttle)


# --- coordinators ----------------------------------------------------------------------

by_group: Final = by_coordinator(CoordinatorOf.GROUP)
"""Ask the coordinator of each item, which is a group."""


async def at_the_coordinator(job: AdminJob, items: Sequence[Hashable]) -> Groups:
    """Ask the coordinator of the group that all items belong to."""
    return await by_coordinator(CoordinatorOf.GROUP, lambda _item: str(job.work.group))(
        job, items
    )


async def offsets_topic_is_missing(job: AdminJob) -> bool:
    """Return True if the cluster has had no group yet: looking for one would begin its log."""
    answer = await ask_any(job, Metadata((OFFSETS_TOPIC,)), METADATA)
    return any(
        each.name == OFFSETS_TOPIC and each.error == UNKNOWN_TOPIC_OR_PARTITION
        for each in answer.topics
    )


# --- descriptions ----------------------------------------------------------------------


async def refuse_without_groups(job: AdminJob) -> None:
    """Refuse all groups of a cluster that has none."""
    if await offsets_topic_is_missing(job):
        for group in job.work.items:
            job.call.refuse(group, GroupIdNotFoundException(f"{group}: There is no such group"))


async def by_group_and_kind(job: AdminJob, items: Sequence[Hashable]) -> Groups:
    """Ask the coordinators of groups for their kinds, and part the groups by these."""
    groups = await by_group(job, items)
    parted = await all_of(
        begin(parts_by_kind(job, route, part), "the kinds of groups")
        for route, part in groups
        if isinstance(route, Placed)
    )
    return [each for parts in parted for each in parts]


async def parts_by_kind(job: AdminJob, route: Placed, items: list[Hashable]) -> Groups:
    """Part the groups of one coordinator by their kind."""
    call = job.call.about(items)
    try:
        reply = await job.tools.client.send(
            route.node, ListGroups(), call=call, lane=route.lane
        )
    except Withdrawn:
        raise
    except KafkaException as error:
        job.call.met(route.note_failure(route.node, error))
        return []
    answer = reply.response
    if answer.error:
        job.call.met(LIST_GROUPS.error(answer.error))
        return []
    kinds = {each.group_id: each.group_type for each in answer.groups}
    parts: dict[str, list[Hashable]] = {}
    for item in items:
        # One that is not listed may be forbidden: DescribeGroups says so, whatever its kind.
        kind = kinds.get(str(item)) or GroupKind.CLASSIC
        parts.setdefault(kind, []).append(item)
        job.notes[item] = (kind, route.node)
    return [(route.again(), part) for part in parts.values()]


def descriptions_of(job: AdminJob, answer: ItemsAnswer) -> ItemsAnswer:
    """Note the coordinators in descriptions."""
    rows: dict[Hashable, ItemAnswer] = {}
    for group, row in answer.items.items():
        _, node = job.notes.get(group, (None, None))
        value = None if row.error else replace(row.value, coordinator=node)
        rows[group] = ItemAnswer(row.error, row.message, value)
    return ItemsAnswer(rows, throttle=answer.throttle)


def groups_to_describe(job: AdminJob, items: Items, seconds: float) -> Request[Any]:
    """Describe groups, all of one kind."""
    del seconds
    kind, _ = job.notes[next(iter(items))]
    return REQUEST_BY_KIND.get(kind, DescribeClassicGroups)(tuple(items), job.work.operations)


# --- offsets ---------------------------------------------------------------------------


async def settle_without_groups(job: AdminJob) -> None:
    """Answer that nothing is committed in a cluster that has had no group."""
    if await offsets_topic_is_missing(job):
        for group, partitions in job.work.items.items():
            job.call.settle(group, {tp: Outcome() for tp in partitions or ()})


def fetched_offsets(job: AdminJob, answer: ItemsAnswer) -> ItemsAnswer:
    """Read the committed offsets of groups, partition by partition."""
    rows: dict[Hashable, ItemAnswer] = {}
    for group, row in answer.items.items():
        again = next((each for each in row.value or () if each.error in OF_THE_GROUP), None)
        if row.error or again is not None:
            rows[group] = row if again is None else ItemAnswer(again.error)
            continue
        rows[group] = ItemAnswer(
            value={each.partition: committed(job, each) for each in row.value}
        )
    return ItemsAnswer(rows, throttle=answer.throttle)


def committed(job: AdminJob, row: CommittedOffset) -> Outcome:
    """Read the committed offset of a partition."""
    if row.error:
        return Outcome(error=job.error(row.partition, row.error))
    if row.offset is None:
        return Outcome()
    return Outcome(OffsetAndMetadata(row.offset, row.metadata, row.leader_epoch))


def commits_of(job: AdminJob, answer: OffsetCommitAnswer) -> ItemsAnswer:
    """Read a commit; a group with members refuses it as one of an unknown member."""
    text = (
        f"group {job.work.group} has members, which commit by themselves: stop them, or remove "
        f"them, first"
    )
    rows: dict[Hashable, ItemAnswer] = {
        tp: ItemAnswer(GROUP_NOT_EMPTY, text) if code in NO_MEMBER else ItemAnswer(code)
        for tp, code in answer.errors
    }
    return ItemsAnswer(rows, throttle=answer.throttle)


FETCH_OFFSETS_ONE_BY_ONE: Final = AdminOperation(
    table=FETCH_OFFSETS,
    again=Again.QUESTION,
    place=by_group,
    message=lambda job, items, _seconds: FetchGroupOffsets(items, job.work.stable),
    rows=fetched_offsets,
    most=1,
)
"""For coordinators before 3.0, which are asked for one group at a time."""

REMOVE_ONE_BY_ONE: Final = AdminOperation(
    table=REMOVE_MEMBERS,
    again=Again.ECHO,
    place=at_the_coordinator,
    message=lambda job, items, _seconds: RemoveMembers(
        job.work.group, tuple(items), job.work.reason
    ),
    echoed=lambda _job, _member: RemovedMember(earlier_attempt=True),
    most=1,
)
"""For coordinators before 2.4, which let one member go at a time."""

OPERATIONS: Final[Mapping[type[Any], AdminOperation]] = {
    GroupsToList: AdminOperation(
        table=LIST_GROUPS,
        again=Again.QUESTION,
        place=every_broker,
        message=lambda _job, items, _seconds: ListGroups(next(iter(items))),
        rows=listings_of,
    ),
    GroupsToDescribe: AdminOperation(
        table=DESCRIBE_GROUPS,
        again=Again.QUESTION,
        prepare=refuse_without_groups,
        apart=by_group,
        place=by_group_and_kind,
        message=groups_to_describe,
        rows=descriptions_of,
    ),
    GroupOffsetsToFetch: AdminOperation(
        table=FETCH_OFFSETS,
        again=Again.QUESTION,
        prepare=settle_without_groups,
        place=by_group,
        message=lambda job, items, _seconds: FetchGroupOffsets(items, job.work.stable),
        rows=fetched_offsets,
        older=FETCH_OFFSETS_ONE_BY_ONE,
    ),
    GroupOffsetsToAlter: AdminOperation(
        table=ALTER_OFFSETS,
        again=Again.SAME,
        place=at_the_coordinator,
        message=lambda job, items, _seconds: OffsetCommit(job.work.group, tuple(items.items())),
        rows=commits_of,
    ),
    GroupOffsetsToDelete: AdminOperation(
        table=DELETE_OFFSETS,
        again=Again.SAME,
        place=at_the_coordinator,
        message=lambda job, items, _seconds: DeleteOffsets(job.work.group, tuple(items)),
    ),
    GroupsToDelete: AdminOperation(
        table=DELETE_GROUPS,
        again=Again.ECHO,
        place=by_group,
        message=lambda _job, items, _seconds: DeleteGroups(tuple(items)),
        echoed=lambda _job, _group: DeletedGroup(earlier_attempt=True),
    ),
    MembersToRemove: AdminOperation(
        table=REMOVE_MEMBERS,
        again=Again.ECHO,
        place=at_the_coordinator,
        message=lambda job, items, _seconds: RemoveMembers(
            job.work.group, tuple(items), job.work.reason
        ),
        echoed=lambda _job, _member: RemovedMember(earlier_attempt=True),
        older=REMOVE_ONE_BY_ONE,
    ),
}
