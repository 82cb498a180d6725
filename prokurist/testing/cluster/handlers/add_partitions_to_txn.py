"""AddPartitionsToTxn: partitions for the transaction of a client; of several, for brokers.

If one of the partitions cannot be added, none is.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.coordination import for_older
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.transaction_coordinator import add, verify
from prokurist.testing.cluster.transactions import ProducerNumbers
from prokurist.testing.cluster.wire import Values
from prokurist.types import TopicPartition

FENCED_FROM: Final = 2
"""First version with clients that know PRODUCER_FENCED."""
BROKERS_FROM: Final = 4
"""First version for brokers alone, with several transactions at once."""


class Asked(NamedTuple):
    """One transaction of a request."""

    name: str
    numbers: ProducerNumbers
    partitions: list[TopicPartition]
    looks_up: bool


def handle(state: State, request: Any, context: Context) -> Values:
    """Add the partitions of each transaction, or look them up."""
    results = [
        (each, codes(state, each, context)) for each in transactions_of(request, context)
    ]
    return {
        "error_code": ErrorCode.none,
        "results_by_topic_v3_and_below": [row for _, found in results for row in rows(found)],
        "results_by_transaction": [
            {"transactional_id": asked.name, "topic_results": rows(found)}
            for asked, found in results
        ],
    }


def transactions_of(request: Any, context: Context) -> list[Asked]:
    """The transactions of a request; older versions have one."""
    if context.version >= BROKERS_FROM:
        return [
            Asked(
                each.transactional_id,
                ProducerNumbers(each.producer_id, each.producer_epoch),
                partitions_of(each.topics),
                each.verify_only,
            )
            for each in request.transactions
        ]
    numbers = ProducerNumbers(
        request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
    )
    partitions = partitions_of(request.v3_and_below_topics)
    return [Asked(request.v3_and_below_transactional_id, numbers, partitions, looks_up=False)]


def partitions_of(topics: Any) -> list[TopicPartition]:
    """The partitions that a request names."""
    return [TopicPartition(each.name, index) for each in topics for index in each.partitions]


def codes(state: State, asked: Asked, context: Context) -> Mapping[TopicPartition, int]:
    """The error code of each partition of a transaction."""
    code: int = context.refusals.whole()
    if not code and context.version < BROKERS_FROM and asked.name in state.denied_transactions:
        code = ErrorCode.transactional_id_authorization_failed
    if code:
        return dict.fromkeys(asked.partitions, code)
    refused = {each: partition_refusal(state, each, context) for each in asked.partitions}
    if any(refused.values()):
        return {
            each: code or ErrorCode.operation_not_attempted for each, code in refused.items()
        }
    if asked.name:
        code = state.transaction_refusal(asked.name, context.node, context.now)
    if not code and asked.looks_up:
        return verify(state, asked.name, asked.numbers, asked.partitions, context.now)
    code = code or add(state, asked.name, asked.numbers, asked.partitions, context.now)
    return dict.fromkeys(asked.partitions, for_older(code, context, FENCED_FROM))


def partition_refusal(state: State, tp: TopicPartition, context: Context) -> int:
    """Return the error code for a partition by itself, `none` if there is nothing wrong."""
    code = context.refusals.part(tp.topic, tp.partition)
    if code:
        return code
    if tp.topic in state.denied_topics and context.version < BROKERS_FROM:
        return ErrorCode.topic_authorization_failed
    topic = state.topics.get(tp.topic)
    if topic is None or topic.partition(tp.partition) is None:
        return ErrorCode.unknown_topic_or_partition
    return ErrorCode.none


def rows(found: Mapping[TopicPartition, int]) -> list[Values]:
    """Rows of an answer, topic by topic."""
    topics: dict[str, list[Values]] = {}
    for tp, code in found.items():
        row = {"partition_index": tp.partition, "partition_error_code": code}
        topics.setdefault(tp.topic, []).append(row)
    return [
        {"name": name, "results_by_partition": partitions}
        for name, partitions in topics.items()
    ]
