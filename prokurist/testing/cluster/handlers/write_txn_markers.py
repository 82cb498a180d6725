"""WriteTxnMarkers: an administrator ends a transaction that no coordinator ends."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.batches import make_marker
from prokurist.testing.cluster.handlers.leadership import place
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Write the markers of each transaction."""
    return {
        "markers": [
            {
                "producer_id": marker.producer_id,
                "topics": [
                    {
                        "name": topic.name,
                        "partitions": [
                            {
                                "partition_index": index,
                                "error_code": write(state, marker, topic, index, context),
                            }
                            for index in topic.partition_indexes
                        ],
                    }
                    for topic in marker.topics
                ],
            }
            for marker in request.markers
        ]
    }


def write(state: State, marker: Any, topic: Any, index: int, context: Context) -> int:
    """Write a marker in one partition, or return the error code of the refusal."""
    where = place(state, context, topic, index)
    code = where.code
    if code:
        return code
    known = where.led.producers.entries().get(marker.producer_id)
    if known is not None and marker.producer_epoch < known.epoch:
        return ErrorCode.invalid_producer_epoch
    if known is not None and marker.coordinator_epoch < known.coordinator_epoch:
        return ErrorCode.transaction_coordinator_fenced
    batch = make_marker(
        marker.producer_id,
        committed=marker.transaction_result,
        timestamp=state.wall_clock(context.now),
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
    )
    where.led.end_transaction(
        batch,
        context.now,
        committed=marker.transaction_result,
        coordinator_epoch=marker.coordinator_epoch,
    )
    state.follow(where.led)
    state.changed(context.now)
    return ErrorCode.none
