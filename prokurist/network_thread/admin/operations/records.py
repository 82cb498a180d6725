"""Operations on records and offsets of partitions.

Thread: any; tables.
"""

from collections.abc import Mapping
from typing import Any, Final

from prokurist.events.admin.records import OffsetsToList, RecordsToDelete
from prokurist.network_thread.admin.job import AdminJob, AdminOperation, Again, Items
from prokurist.network_thread.admin.places import by_leader
from prokurist.network_thread.error_actions import LIST_OFFSETS, Action, table
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.records import DeleteRecords
from prokurist.network_thread.wire.log_offsets import (
    ListOffsets,
    ListOffsetsAnswer,
    OffsetQuestion,
)
from prokurist.types.records import ListedOffset

DELETE_RECORDS: Final = table(
    "DeleteRecords",
    {
        1: (Action.FATAL, "beyond the end of the log"),
        3: (Action.REFRESH, "not there, or not yet known to its leader"),
        5: (Action.REFRESH, "an election is on its way"),
        6: (Action.REFRESH, "another broker leads the partition by now"),
        7: (Action.RETRY, "the followers have not deleted them in time"),
        29: (Action.FATAL, "no rights on the topic"),
        42: (Action.FATAL, "no offset can be so"),
        44: (Action.FATAL, "the topic is compacted, or a policy refuses it"),
    },
)

LIST_OFFSETS_AS_ADMIN: Final = table(
    "ListOffsets",
    {
        **{code: (row.action, row.reason) for code, row in LIST_OFFSETS.rows.items()},
        43: (Action.FATAL, "records this old have no timestamps to be found by"),
    },
)


def offsets_to_list(job: AdminJob, items: Items, seconds: float) -> ListOffsets:
    """Ask a leader for offsets."""
    cluster = job.tools.metadata.cluster
    questions = tuple(
        OffsetQuestion(tp, timestamp, cluster.leader_epoch(tp))
        for tp, timestamp in items.items()
    )
    return ListOffsets(questions, job.work.read_committed, seconds)


def offsets_of(job: AdminJob, answer: ListOffsetsAnswer) -> ItemsAnswer:
    """Read the offsets of an answer."""
    del job
    return ItemsAnswer(
        {
            each.partition: ItemAnswer(each.error)
            if each.error
            else ItemAnswer(value=ListedOffset(each.offset, each.timestamp, each.leader_epoch))
            for each in answer.offsets
        },
        throttle=answer.throttle,
    )


OPERATIONS: Final[Mapping[type[Any], AdminOperation]] = {
    RecordsToDelete: AdminOperation(
        table=DELETE_RECORDS,
        again=Again.SAME,
        place=by_leader(lambda tp: tp),
        message=lambda _job, items, seconds: DeleteRecords(items, seconds),
    ),
    OffsetsToList: AdminOperation(
        table=LIST_OFFSETS_AS_ADMIN,
        again=Again.QUESTION,
        place=by_leader(lambda tp: tp),
        message=offsets_to_list,
        rows=offsets_of,
    ),
}
