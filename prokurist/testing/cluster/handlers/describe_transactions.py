"""DescribeTransactions: transactional ids with their state, by their coordinator."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.coordination import transaction_refusal
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.transactions import Transaction
from prokurist.testing.cluster.wire import Values

NOTHING: Final[Values] = {
    "transaction_state": "",
    "transaction_timeout": 0.0,
    "transaction_start_time": 0,
    "producer_id": 0,
    "producer_epoch": 0,
    "topics": [],
}
"""The fields of an answer that has nothing but an error code."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe each that is asked for."""
    return {
        "transaction_states": [one(state, each, context) for each in request.transactional_ids]
    }


def one(state: State, name: str, context: Context) -> Values:
    """One transactional id, or the error code for it."""
    code = transaction_refusal(state, name, context)
    found = None if code else state.transactions.find(name, context.now)
    if found is None:
        code = code or ErrorCode.transactional_id_not_found
        return {**NOTHING, "error_code": code, "transactional_id": name}
    begun = found.started_at
    return {
        "error_code": ErrorCode.none,
        "transactional_id": name,
        "transaction_state": found.phase.value,
        "transaction_timeout": found.timeout,
        "transaction_start_time": -1 if begun is None else state.wall_clock(begun),
        "producer_id": found.producer_id,
        "producer_epoch": found.epoch,
        "topics": topics_of(state, found),
    }


def topics_of(state: State, transaction: Transaction) -> list[Values]:
    """The partitions of the open transaction, but for topics that are denied."""
    topics: dict[str, list[int]] = {}
    for tp in sorted(transaction.open_partitions):
        if tp.topic not in state.denied_topics:
            topics.setdefault(tp.topic, []).append(tp.partition)
    return [{"topic": name, "partitions": rows} for name, rows in topics.items()]
