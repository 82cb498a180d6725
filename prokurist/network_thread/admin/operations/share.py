"""Operations on start offsets of share groups, at the coordinators of the groups.

Thread: any; tables.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Final

from prokurist.events.admin.items_call import Outcome
from prokurist.events.admin.share import (
    ShareOffsetsToAlter,
    ShareOffsetsToDelete,
    ShareOffsetsToDescribe,
)
from prokurist.network_thread.admin.job import AdminJob, AdminOperation, Again
from prokurist.network_thread.admin.operations.groups import (
    at_the_coordinator,
    by_group,
    settle_without_groups,
)
from prokurist.network_thread.error_actions import Action, table
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.share_offsets import (
    AlterShareOffsets,
    DeleteShareOffsets,
    DescribeShareOffsets,
)

_OF_A_SHARE_GROUP: Final = {
    3: (Action.FATAL, "there is no such partition"),
    14: (Action.RETRY, "the right coordinator, which is still loading its log"),
    15: (Action.REDISCOVER, "the group has no coordinator at present"),
    16: (Action.REDISCOVER, "another broker is the coordinator now"),
    24: (Action.FATAL, "not a legal name of a group"),
    29: (Action.FATAL, "no rights on the topic"),
    30: (Action.FATAL, "no rights on the group"),
    68: (Action.FATAL, "the group has members"),
    69: (Action.FATAL, "there is no such share group"),
}

DESCRIBE_SHARE_OFFSETS: Final = table("DescribeShareGroupOffsets", _OF_A_SHARE_GROUP)
ALTER_SHARE_OFFSETS: Final = table("AlterShareGroupOffsets", _OF_A_SHARE_GROUP)
DELETE_SHARE_OFFSETS: Final = table("DeleteShareGroupOffsets", _OF_A_SHARE_GROUP)


def share_offsets_of(job: AdminJob, answer: ItemsAnswer) -> ItemsAnswer:
    """Read start offsets, partition by partition."""
    rows: dict[Hashable, ItemAnswer] = {}
    for group, row in answer.items.items():
        if row.error:
            rows[group] = row
            continue
        rows[group] = ItemAnswer(
            value={
                tp: Outcome(error=job.error(tp, each.error, each.message))
                if each.error
                else Outcome(each.value)
                for tp, each in row.value.items()
            }
        )
    return ItemsAnswer(rows, throttle=answer.throttle)


OPERATIONS: Final[Mapping[type[Any], AdminOperation]] = {
    ShareOffsetsToDescribe: AdminOperation(
        table=DESCRIBE_SHARE_OFFSETS,
        again=Again.QUESTION,
        prepare=settle_without_groups,
        place=by_group,
        message=lambda _job, items, _seconds: DescribeShareOffsets(items),
        rows=share_offsets_of,
    ),
    ShareOffsetsToAlter: AdminOperation(
        table=ALTER_SHARE_OFFSETS,
        again=Again.SAME,
        place=at_the_coordinator,
        message=lambda job, items, _seconds: AlterShareOffsets(job.work.group, items),
    ),
    ShareOffsetsToDelete: AdminOperation(
        table=DELETE_SHARE_OFFSETS,
        again=Again.SAME,
        place=at_the_coordinator,
        message=lambda job, items, _seconds: DeleteShareOffsets(job.work.group, tuple(items)),
    ),
}
