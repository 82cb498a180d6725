"""DeleteRecords: records below an offset, as an administrator deletes them."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.leadership import place
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import INTERNAL
from prokurist.testing.cluster.wire import Values

ALL: Final = -1
"""The offset that stands for the high watermark."""
NOWHERE: Final = -1


def handle(state: State, request: Any, context: Context) -> Values:
    """Delete from each partition that this broker leads."""
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [one(state, topic, each, context) for each in topic.partitions],
            }
            for topic in request.topics
        ]
    }


def one(state: State, asked: Any, each: Any, context: Context) -> Values:
    """One partition's part of the answer."""
    code, start = delete(state, asked, each, context)
    return {
        "partition_index": each.partition_index,
        "low_watermark": start,
        "error_code": code,
    }


def delete(state: State, asked: Any, each: Any, context: Context) -> tuple[int, int]:
    """Delete records of one partition; the error code, and the start of its log."""
    code = context.refusals.whole()
    if code:
        return code, NOWHERE
    if asked.name in INTERNAL:
        return ErrorCode.invalid_topic_exception, NOWHERE
    where = place(state, context, asked, each.partition_index)
    if where.code:
        return where.code, NOWHERE
    partition, topic = where.led, where.topic
    if topic and "delete" not in topic.config.cleanup_policy:
        return ErrorCode.policy_violation, NOWHERE
    watermark = partition.copy_of(partition.leader).watermark
    before = watermark if each.offset == ALL else each.offset
    if not 0 <= before <= watermark:
        return ErrorCode.offset_out_of_range, NOWHERE
    if before > partition.log.start:
        partition.log.delete_before(before)
        state.changed(context.now)
    return ErrorCode.none, partition.log.start
