"""Operations on replicas: log directories, elections, reassignments.

Thread: any; tables, and what they say of echoes.
"""

from collections.abc import Mapping
from typing import Any, Final

from prokurist.errors import InvalidReplicationFactorException
from prokurist.events.admin.replicas import (
    AllLeadersToElect,
    LeadersToElect,
    LogDirsToAlter,
    LogDirsToDescribe,
    PartitionsToReassign,
    ReassignmentsToList,
)
from prokurist.events.admin.work import WHOLE
from prokurist.network_thread.admin.job import AdminJob, AdminOperation, Again, Items
from prokurist.network_thread.admin.places import (
    any_broker,
    by_broker,
    controller,
    every_broker,
)
from prokurist.network_thread.cluster.routes import AnyBroker
from prokurist.network_thread.error_actions import METADATA, Action, table
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.log_dirs import AlterReplicaLogDirs, DescribeLogDirs
from prokurist.network_thread.wire.admin.moving import (
    AlterPartitionReassignments,
    ElectLeaders,
    ListPartitionReassignments,
)
from prokurist.network_thread.wire.metadata import Metadata
from prokurist.types import TopicPartition
from prokurist.types.replicas import Cancel, Election, ReassignmentAccepted

NOT_NEEDED: Final = 84

_NO_RIGHTS: Final = (Action.FATAL, "no rights on the cluster")
_ELSEWHERE: Final = (Action.RETRY, "another broker is the controller")
_CROWDED: Final = (Action.RETRY, "the controller did not come to it in time")

DESCRIBE_LOG_DIRS: Final = table("DescribeLogDirs", {31: _NO_RIGHTS})

ALTER_REPLICA_LOG_DIRS: Final = table(
    "AlterReplicaLogDirs",
    {
        3: (Action.FATAL, "there is no such partition"),
        9: (Action.FATAL, "the broker has no such replica; a later one will lie there"),
        31: _NO_RIGHTS,
        56: (Action.FATAL, "the disk has failed"),
        57: (Action.FATAL, "the broker has no such log directory"),
    },
)

ELECT_LEADERS: Final = table(
    "ElectLeaders",
    {
        3: (Action.FATAL, "there is no such partition"),
        7: _CROWDED,
        31: _NO_RIGHTS,
        41: _ELSEWHERE,
        80: (Action.FATAL, "the preferred leader is down, or not in sync"),
        83: (Action.FATAL, "no replica can be elected"),
    },
)

ALTER_PARTITION_REASSIGNMENTS: Final = table(
    "AlterPartitionReassignments",
    {
        3: (Action.FATAL, "there is no such partition"),
        7: _CROWDED,
        31: _NO_RIGHTS,
        38: (Action.FATAL, "the number of replicas would be another"),
        39: (Action.FATAL, "the brokers cannot be"),
        41: _ELSEWHERE,
        85: (Action.ECHO, "nothing is there to be cancelled"),
    },
)

LIST_PARTITION_REASSIGNMENTS: Final = table(
    "ListPartitionReassignments", {7: _CROWDED, 31: _NO_RIGHTS, 41: _ELSEWHERE}
)


def elections_of(job: AdminJob, answer: ItemsAnswer) -> ItemsAnswer:
    """Read elections: a leader that needs none is no failure."""
    rows: dict[Any, ItemAnswer] = {}
    for tp, row in answer.items.items():
        if row.error == NOT_NEEDED:
            earlier = job.call.was_asked_before(tp)
            rows[tp] = ItemAnswer(value=Election(elected=False, earlier_attempt=earlier))
        else:
            rows[tp] = row
    return ItemsAnswer(rows, answer.error, answer.message, answer.throttle)


def all_elections_of(job: AdminJob, answer: ItemsAnswer) -> ItemsAnswer:
    """Read the elections of all partitions that needed one, as one value."""
    errors = {
        tp: None if not row.error else job.error(tp, row.error, row.message)
        for tp, row in answer.items.items()
    }
    rows: dict[Any, ItemAnswer] = {} if answer.error else {WHOLE: ItemAnswer(value=errors)}
    return ItemsAnswer(rows, answer.error, answer.message, answer.throttle)


async def compare_replicas(job: AdminJob) -> None:
    """Refuse another number of replicas, also for brokers that would take it (before 4.1)."""
    if job.work.allow_rf_change:
        return
    wanted: dict[TopicPartition, tuple[int, ...]] = {
        tp: brokers for tp, brokers in job.work.items.items() if not isinstance(brokers, Cancel)
    }
    names = tuple(dict.fromkeys(tp.topic for tp in wanted))
    if not names:
        return
    answer = await job.ask(AnyBroker(job.tools.metadata.brokers), Metadata(names), METADATA)
    present = {
        TopicPartition(topic.name or "", each.partition): each.replicas
        for topic in answer.topics
        for each in topic.partitions
    }
    for tp, brokers in wanted.items():
        if tp in present and len(present[tp]) != len(brokers):
            job.call.refuse(
                tp,
                InvalidReplicationFactorException(
                    f"{tp} has {len(present[tp])} replicas, and {len(brokers)} brokers were "
                    f"named: name as many, or pass allow_rf_change=True"
                ),
            )


def reassignments(job: AdminJob, items: Items, seconds: float) -> AlterPartitionReassignments:
    """Move partitions, or cancel that."""
    return AlterPartitionReassignments(items, job.work.allow_rf_change, seconds)


OPERATIONS: Final[Mapping[type[Any], AdminOperation]] = {
    LogDirsToDescribe: AdminOperation(
        table=DESCRIBE_LOG_DIRS,
        again=Again.QUESTION,
        place=every_broker,
        message=lambda _job, items, _seconds: DescribeLogDirs(next(iter(items))),
    ),
    LogDirsToAlter: AdminOperation(
        table=ALTER_REPLICA_LOG_DIRS,
        again=Again.SAME,
        place=by_broker(lambda replica: replica.broker),
        message=lambda _job, items, _seconds: AlterReplicaLogDirs(items),
    ),
    LeadersToElect: AdminOperation(
        table=ELECT_LEADERS,
        again=Again.SAME,
        place=controller,
        message=lambda job, items, seconds: ElectLeaders(
            tuple(items), job.work.unclean, seconds
        ),
        rows=elections_of,
    ),
    AllLeadersToElect: AdminOperation(
        table=ELECT_LEADERS,
        again=Again.SAME,
        place=controller,
        message=lambda _job, _items, seconds: ElectLeaders(None, False, seconds),
        rows=all_elections_of,
    ),
    PartitionsToReassign: AdminOperation(
        table=ALTER_PARTITION_REASSIGNMENTS,
        again=Again.ECHO,
        place=controller,
        prepare=compare_replicas,
        message=reassignments,
        echoed=lambda _job, _tp: ReassignmentAccepted(earlier_attempt=True),
    ),
    ReassignmentsToList: AdminOperation(
        table=LIST_PARTITION_REASSIGNMENTS,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda job, _items, seconds: ListPartitionReassignments(
            job.work.partitions, seconds
        ),
    ),
}
