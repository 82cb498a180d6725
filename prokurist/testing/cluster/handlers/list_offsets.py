"""ListOffsets: ends, beginnings, and offsets by timestamp."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.epochs import UNDEFINED
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.leadership import NO_EPOCH, place
from prokurist.testing.cluster.log import Found
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import Partition
from prokurist.testing.cluster.wire import Values

READ_COMMITTED: Final = 1
LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

NEVER: Final = 1 << 15
SINCE: Final = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""The version from which on each special timestamp has its meaning; others have none."""

NOWHERE: Final = Found(UNDEFINED, UNDEFINED, UNDEFINED)


def handle(state: State, request: Any, context: Context) -> Values:
    """Look up each partition; nothing here refuses the request as a whole."""
    return {
        "topics": [
            {
                "name": asked.name,
                "partitions": [
                    refused_as_named_twice(each)
                    if count > 1
                    else one(state, asked, each, request, context)
                    for each, count in counted(asked.partitions)
                ],
            }
            for asked in request.topics
        ]
    }


def counted(partitions: Iterable[Any]) -> list[tuple[Any, int]]:
    """Each partition of a topic once, with how often it is named."""
    counts = Counter(each.partition_index for each in partitions)
    named = {each.partition_index: each for each in partitions}
    return [(named[index], count) for index, count in counts.items()]


def refused_as_named_twice(each: Any) -> Values:
    """The answer about a partition that a request names more than once."""
    return {
        "partition_index": each.partition_index,
        "error_code": ErrorCode.invalid_request,
        "timestamp": UNDEFINED,
        "offset": UNDEFINED,
        "leader_epoch": UNDEFINED,
    }


def one(state: State, asked: Any, each: Any, request: Any, context: Context) -> Values:
    """One partition's part of the answer."""
    epoch = field(each, "current_leader_epoch", NO_EPOCH)
    where = place(state, context, asked, each.partition_index, epoch)
    code, found = where.code, NOWHERE
    if not code and each.timestamp < 0 and context.version < SINCE.get(each.timestamp, NEVER):
        code = ErrorCode.unsupported_version
    elif not code:
        committed = field(request, "isolation_level", 0) == READ_COMMITTED
        code, found = look_up(where.led, each.timestamp, committed=committed)
    return {
        "partition_index": each.partition_index,
        "error_code": code,
        "timestamp": found.timestamp,
        "offset": found.offset,
        "leader_epoch": found.leader_epoch,
    }


def look_up(
    partition: Partition, timestamp: int, *, committed: bool = False
) -> tuple[ErrorCode, Found]:
    """The offset that a timestamp, real or special, stands for, or why it is not known yet.

    Until the high watermark has reached the start of its epoch, a leader does not know
    which of its last records are committed.
    """
    log, watermark = partition.log, partition.copy_of(partition.leader).watermark
    readable = log.stable_end(watermark) if committed else watermark
    beyond = ErrorCode.none
    if watermark < partition.epoch_start:
        beyond = ErrorCode.offset_not_available
    match timestamp:
        case -1:  # LATEST
            end = Found(readable, UNDEFINED, partition.epoch)
            return beyond, NOWHERE if beyond else end
        case -2 | -4:  # EARLIEST, EARLIEST_LOCAL: nothing is tiered, so they are one
            epoch = partition.epochs_of(partition.leader).at(log.start)
            return ErrorCode.none, Found(log.start, UNDEFINED, epoch)
        case -3:  # MAX_TIMESTAMP
            found = log.latest_stamped()
        case _ if timestamp < 0:
            return ErrorCode.none, NOWHERE
        case _:
            found = log.at_time(timestamp)
    if found is None or found.offset >= readable:
        return beyond, NOWHERE
    return ErrorCode.none, found
