"""OffsetForLeaderEpoch: where an epoch ended, so that a cut-back log is noticed."""

from typing import Any

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.epochs import UNDEFINED, EpochEnd
from prokurist.testing.cluster.handlers.leadership import place
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Look up each partition."""
    return {
        "topics": [
            {
                "topic": asked.topic,
                "partitions": [one(state, asked, each, context) for each in asked.partitions],
            }
            for asked in request.topics
        ]
    }


def one(state: State, asked: Any, each: Any, context: Context) -> Values:
    """One partition's part of the answer."""
    where = place(state, context, asked, each.partition, each.current_leader_epoch)
    ended = EpochEnd(UNDEFINED, UNDEFINED)
    if not where.code:
        partition = where.led
        known = partition.epochs_of(context.node)
        ended = known.end_of(each.leader_epoch, partition.log.end)
    return {
        "error_code": where.code,
        "partition": each.partition,
        "leader_epoch": ended.epoch,
        "end_offset": ended.end_offset,
    }
