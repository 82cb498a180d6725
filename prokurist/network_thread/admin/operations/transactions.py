"""Operations on transactions and producers.

Thread: any; tables, and what is filtered here.
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from prokurist.errors.transactions import TransactionalIdNotFoundException
from prokurist.events.admin.transactions import (
    ProducersToDescribe,
    ProducersToFence,
    ReplicasProducersToDescribe,
    TransactionsToDescribe,
    TransactionsToList,
    TransactionToAbort,
)
from prokurist.network_thread.admin.job import AdminJob, AdminOperation, Again, Groups
from prokurist.network_thread.admin.patience import ask_any
from prokurist.network_thread.admin.places import (
    by_broker,
    by_coordinator,
    by_leader,
    every_broker,
)
from prokurist.network_thread.broker_errors import UNKNOWN_TOPIC_OR_PARTITION
from prokurist.network_thread.error_actions import METADATA, Action, table
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.transactions import (
    AbortInPartition,
    DescribeProducers,
    DescribeTransactions,
    FenceProducer,
    ListTransactions,
)
from prokurist.network_thread.wire.metadata import CoordinatorOf, Metadata

TRANSACTIONS_TOPIC: Final = "__transaction_state"

_OF_A_COORDINATOR: Final = {
    14: (Action.RETRY, "the right coordinator, which is still loading its log"),
    15: (Action.REDISCOVER, "the transactional id has no coordinator at present"),
    16: (Action.REDISCOVER, "another broker is the coordinator now"),
    53: (Action.FATAL, "no rights on the transactional id"),
    105: (Action.FATAL, "there is no such transactional id"),
}

LIST_TRANSACTIONS: Final = table(
    "ListTransactions",
    {
        14: (Action.RETRY, "the broker is still loading its log"),
        15: (Action.RETRY, "the broker coordinates no transactions yet"),
        128: (Action.FATAL, "the pattern is no regular expression of RE2"),
    },
)

DESCRIBE_TRANSACTIONS: Final = table("DescribeTransactions", _OF_A_COORDINATOR)

_OF_A_LEADER: Final = {
    3: (Action.REFRESH, "not there, or not yet known to its leader"),
    5: (Action.REFRESH, "an election is on its way"),
    6: (Action.REFRESH, "another broker leads the partition by now"),
    17: (Action.FATAL, "not a legal name of a topic"),
    29: (Action.FATAL, "no rights on the topic"),
}

DESCRIBE_PRODUCERS: Final = table("DescribeProducers", _OF_A_LEADER)

DESCRIBE_PRODUCERS_OF_REPLICAS: Final = table(
    "DescribeProducers",
    {
        **_OF_A_LEADER,
        3: (Action.FATAL, "there is no such partition"),
        6: (Action.FATAL, "the broker has no replica of it"),
    },
)

WRITE_TXN_MARKERS: Final = table(
    "WriteTxnMarkers",
    {
        **_OF_A_LEADER,
        31: (Action.FATAL, "no rights on the cluster"),
        47: (Action.FATAL, "the partition knows a later epoch of the producer"),
        52: (Action.FATAL, "a later coordinator has written to the partition"),
    },
)

FENCE_PRODUCERS: Final = table(
    "InitProducerId",
    {
        **_OF_A_COORDINATOR,
        47: (Action.FATAL, "another client has fenced them meanwhile"),
        50: (Action.FATAL, "transaction.max.timeout.ms is shorter than a second"),
        51: (Action.RETRY, "the open transaction is being aborted"),
        90: (Action.FATAL, "another client has fenced them meanwhile"),
    },
)


def listed_transactions(job: AdminJob, answer: ItemsAnswer) -> ItemsAnswer:
    """Leave out what a broker without the filter has not left out."""
    wanted: TransactionsToList = job.work
    pattern = None if wanted.pattern is None else re.compile(wanted.pattern)
    rows: dict[Hashable, ItemAnswer] = {}
    for broker, row in answer.items.items():
        found = tuple(
            each
            for each in row.value
            if (not wanted.states or each.state in wanted.states)
            and (not wanted.producer_ids or each.producer_id in wanted.producer_ids)
            and (pattern is None or pattern.fullmatch(each.transactional_id))
        )
        rows[broker] = ItemAnswer(value=found)
    return ItemsAnswer(rows, answer.error, answer.message, answer.throttle)


async def refuse_without_transactions(job: AdminJob) -> None:
    """Refuse all ids of a cluster without transactions: a look-up would begin their log."""
    answer = await ask_any(job, Metadata((TRANSACTIONS_TOPIC,)), METADATA)
    for topic in answer.topics:
        if topic.name == TRANSACTIONS_TOPIC and topic.error == UNKNOWN_TOPIC_OR_PARTITION:
            for name in job.work.items:
                job.call.refuse(
                    name,
                    TransactionalIdNotFoundException(f"{name}: There is no such id"),
                )


async def at_the_broker(job: AdminJob, items: Sequence[Hashable]) -> Groups:
    """Ask the broker that is named."""
    return await by_broker(lambda _tp: int(job.work.broker))(job, items)


OPERATIONS: Final[Mapping[type[Any], AdminOperation]] = {
    TransactionsToList: AdminOperation(
        table=LIST_TRANSACTIONS,
        again=Again.QUESTION,
        place=every_broker,
        message=lambda job, items, _seconds: ListTransactions(
            next(iter(items)),
            tuple(job.work.states),
            tuple(job.work.producer_ids),
            job.work.running_for,
            job.work.pattern,
        ),
        rows=listed_transactions,
    ),
    TransactionsToDescribe: AdminOperation(
        table=DESCRIBE_TRANSACTIONS,
        again=Again.QUESTION,
        prepare=refuse_without_transactions,
        place=by_coordinator(CoordinatorOf.TRANSACTION),
        message=lambda _job, items, _seconds: DescribeTransactions(tuple(items)),
    ),
    ProducersToDescribe: AdminOperation(
        table=DESCRIBE_PRODUCERS,
        again=Again.QUESTION,
        place=by_leader(lambda tp: tp),
        message=lambda _job, items, _seconds: DescribeProducers(tuple(items)),
    ),
    ReplicasProducersToDescribe: AdminOperation(
        table=DESCRIBE_PRODUCERS_OF_REPLICAS,
        again=Again.QUESTION,
        place=at_the_broker,
        message=lambda _job, items, _seconds: DescribeProducers(tuple(items)),
    ),
    TransactionToAbort: AdminOperation(
        table=WRITE_TXN_MARKERS,
        again=Again.NEVER,
        place=by_leader(lambda tp: tp),
        message=lambda job, _items, _seconds: AbortInPartition(job.work.hanging),
    ),
    ProducersToFence: AdminOperation(
        table=FENCE_PRODUCERS,
        again=Again.NEVER,
        place=by_coordinator(CoordinatorOf.TRANSACTION),
        message=lambda _job, items, _seconds: FenceProducer(next(iter(items))),
        most=1,
    ),
}
