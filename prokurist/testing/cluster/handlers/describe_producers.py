"""DescribeProducers: the producers of a partition, by any of its replicas."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.leadership import place
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import Partition, legal_name
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe the producers of each partition."""
    return {
        "topics": [
            {
                "name": asked.name,
                "partitions": [
                    one(state, asked, index, context) for index in asked.partition_indexes
                ],
            }
            for asked in request.topics
        ]
    }


def one(state: State, asked: Any, index: int, context: Context) -> Values:
    """One partition's part of the answer."""
    where = place(state, context, asked, index, followers=True)
    code: int = where.code
    if not legal_name(asked.name):
        code = ErrorCode.invalid_topic_exception
    return {
        "partition_index": index,
        "error_code": code,
        "error_message": None if where.topic else f"there is no topic {asked.name!r}",
        "active_producers": [] if code else producers_of(state, where.led, context),
    }


def producers_of(state: State, partition: Partition, context: Context) -> list[Values]:
    """The producers that are not expired."""
    states, open_from = partition.producers, partition.log.open
    states.expire(context.now - state.producer_id_expiration, open_from)
    return [
        {
            "producer_id": producer_id,
            "producer_epoch": each.epoch,
            "last_sequence": each.last_sequence,
            "last_timestamp": each.last_timestamp,
            "coordinator_epoch": each.coordinator_epoch,
            "current_txn_start_offset": open_from.get(producer_id, -1),
        }
        for producer_id, each in states.entries().items()
    ]
