"""ListOffsets: ends, beginnings, and offsets by timestamp."""

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
                    one(state, asked, each, request, context) for each in asked.partitions
                ],
            }
            for asked in request.topics
        ]
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
        found = look_up(where.led, each.timestamp, committed=committed)
    return {
        "partition_index": each.partition_index,
        "error_code": code,
        "timestamp": found.timestamp,
        "offset": found.offset,
        "leader_epoch": found.leader_epoch,
    }


def look_up(partition: Partition, timestamp: int, *, committed: bool = False) -> Found:
    """The offset that a timestamp, real or special, stands for."""
    log = partition.log
    match timestamp:
        case -1:  # LATEST
            end = log.stable_end if committed else log.end
            return Found(end, UNDEFINED, partition.epoch)
        case -2 | -4:  # EARLIEST, EARLIEST_LOCAL: nothing is tiered, so they are one
            return Found(
                log.start, UNDEFINED, partition.epochs_of(partition.leader).at(log.start)
            )
        case -3:  # MAX_TIMESTAMP
            return log.latest_stamped() or NOWHERE
        case _ if timestamp < 0:
            return NOWHERE
        case _:
            return log.at_time(timestamp) or NOWHERE
