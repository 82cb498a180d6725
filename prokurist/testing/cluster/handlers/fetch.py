"""Fetch: records from where a client stands, waiting for them if it wants to.

Fetch sessions are answered as a broker without room for one does: session id 0,
every fetch is a full one. Who names a session is told that there is none.
"""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context, Result, Wait
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.leadership import (
    NO_EPOCH,
    Place,
    endpoints,
    leader_hint,
    place,
)
from prokurist.testing.cluster.log import UNDEFINED, EpochEnd
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

WHOLE: Final = frozenset(
    {
        ErrorCode.fetch_session_id_not_found,
        ErrorCode.invalid_fetch_session_epoch,
        ErrorCode.fetch_session_topic_id_error,
    }
)
"""Codes about the fetch session: Kafka says them about the request as a whole."""

SESSIONS_FROM: Final = 7
READ_COMMITTED: Final = 1


def handle(state: State, request: Any, context: Context) -> Result:
    """Answer at once if there is enough, or an error; else park the request."""
    until = context.now + request.max_wait.total_seconds()

    def again(now: float) -> Result:
        answer, enough = collect(state, request, context)
        return answer if enough or now >= until else Wait(until, again)

    return again(context.now)


def collect(state: State, request: Any, context: Context) -> tuple[Values, bool]:
    """What can be answered now, and whether the client should have it now."""
    whole = refused_session(request, context)
    if whole:
        return {"error_code": whole, "session_id": 0, "responses": []}, True
    room = request.max_bytes
    size = 0
    wrong = not any(asked.partitions for asked in request.topics)
    hints: list[Values] = []
    responses: list[Values] = []
    for asked in request.topics:
        partitions: list[Values] = []
        for each in asked.partitions:
            values = one(state, asked, each, context, room, first=size == 0)
            size += len(values["records"])
            room -= len(values["records"])
            wrong = wrong or bool(values["error_code"]) or "diverging_epoch" in values
            if request.isolation_level == READ_COMMITTED:
                values = {**values, "aborted_transactions": []}
            partitions.append(values)
        hints += partitions
        responses.append(
            {
                "topic": field(asked, "topic"),
                "topic_id": field(asked, "topic_id"),
                "partitions": partitions,
            }
        )
    answer = {
        "error_code": ErrorCode.none,
        "session_id": 0,
        "responses": responses,
        "node_endpoints": endpoints(state, hints),
    }
    return answer, wrong or size >= request.min_bytes


def refused_session(request: Any, context: Context) -> int:
    """Why the request as a whole is refused; 0 if it is not."""
    code = context.refusals.whole(usual=False, codes=WHOLE)
    if not code and context.version >= SESSIONS_FROM and request.session_epoch > 0:
        return ErrorCode.fetch_session_id_not_found
    return code


def one(
    state: State, asked: Any, each: Any, context: Context, room: int, *, first: bool
) -> Values:
    """One partition's part of the answer.

    Args:
        state: The cluster's state.
        asked: The part of the request that names the topic.
        each: The part that names the partition.
        context: The request's circumstances.
        room: Bytes left in the answer.
        first: Whether nothing is in it yet: then one batch goes in, however large,
            so that a client with a small limit gets on.
    """
    epoch = field(each, "current_leader_epoch", NO_EPOCH)
    where = place(state, context, asked, each.partition, epoch)
    if where.partition is None:
        # A list, here alone: a broker answers this without asking any log.
        return {**bare(each.partition, where.code), "aborted_transactions": []}
    if where.code:
        return {**bare(each.partition, where.code), **leader_hint(where)}
    log = where.led.log
    known = {
        "high_watermark": log.end,
        "last_stable_offset": log.end,
        "log_start_offset": log.start,
    }
    ended = last_fetched(where, each)
    if ended is not None and ended.end_offset == UNDEFINED:
        # An epoch that this log has never seen: the client is ahead of it.
        return bare(each.partition, ErrorCode.offset_out_of_range)
    if ended is not None and parted(ended, each):
        diverging = {"epoch": ended.epoch, "end_offset": ended.end_offset}
        return {**bare(each.partition, 0), **known, "diverging_epoch": diverging}
    if not log.start <= each.fetch_offset <= log.end:
        return bare(each.partition, ErrorCode.offset_out_of_range)
    limit = min(room, each.partition_max_bytes)
    records = log.read(each.fetch_offset, limit, at_least_one=first)
    return {**bare(each.partition, 0), **known, "records": records}


def bare(index: int, code: int) -> dict[str, Any]:
    """A partition without records."""
    return {
        "partition_index": index,
        "error_code": code,
        "high_watermark": UNDEFINED,
        "last_stable_offset": UNDEFINED,
        "log_start_offset": UNDEFINED,
        # Null for who reads uncommitted records; the others get a list.
        "aborted_transactions": None,
        "preferred_read_replica": -1,
        "records": b"",
    }


def last_fetched(where: Place, each: Any) -> EpochEnd | None:
    """Where the epoch ended that the client read last, if it says which it was."""
    epoch = field(each, "last_fetched_epoch", NO_EPOCH)
    return None if epoch == NO_EPOCH else where.led.log.epoch_end(epoch)


def parted(ended: EpochEnd, each: Any) -> bool:
    """Whether the client has read something that this log does not have."""
    return bool(ended.epoch < each.last_fetched_epoch or ended.end_offset < each.fetch_offset)
