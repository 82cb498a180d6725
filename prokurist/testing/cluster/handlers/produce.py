"""Produce: append batches, and give them their offsets.

Copies are taken at once, so acks=all and acks=1 are answered alike. There are no
transactions: who writes in one is refused.
"""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context, Result, Silence
from prokurist.testing.cluster.batches import CorruptBatch, InvalidBatch, RecordBatch, parse
from prokurist.testing.cluster.epochs import UNDEFINED
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.leadership import (
    Place,
    endpoints,
    leader_hint,
    place,
)
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

ACKS: Final = (-1, 0, 1)
REFUSED_UNREAD: Final = (
    ErrorCode.corrupt_message,
    ErrorCode.invalid_record,
    ErrorCode.message_too_large,
)
"""Refusals of a batch before the log is asked; the others tell where the log begins."""


def handle(state: State, request: Any, context: Context) -> Result:
    """Append what can be appended, and say of each partition where it went."""
    code = context.refusals.whole(usual=False)
    if request.acks not in ACKS:
        code = ErrorCode.invalid_required_acks
    elif request.transactional_id is not None:
        code = ErrorCode.transactional_id_authorization_failed
    parts: list[Values] = []
    responses: list[Values] = []
    for asked in request.topic_data:
        partitions = [one(state, asked, each, code, context) for each in asked.partition_data]
        parts += partitions
        responses.append(
            {
                "name": field(asked, "name"),
                "topic_id": field(asked, "topic_id"),
                "partition_responses": partitions,
            }
        )
    if request.acks == 0:
        # No answer is waited for. The one way to say that something is wrong
        # is to close, and a broker does.
        wrong = any(each["error_code"] for each in parts)
        return Silence.CLOSE if wrong else Silence.UNASKED
    return {"responses": responses, "node_endpoints": endpoints(state, parts)}


def one(state: State, asked: Any, each: Any, code: int, context: Context) -> Values:
    """One partition's part of the answer."""
    values: dict[str, Any] = {
        "index": each.index,
        "base_offset": UNDEFINED,
        "log_append_time": None,
        "log_start_offset": UNDEFINED,
        "record_errors": [],
        "error_message": None,
    }
    if code:
        return {**values, "error_code": code}
    where = place(state, context, asked, each.index)
    if where.code:
        return {**values, "error_code": where.code, **leader_hint(where)}
    wrong, base_offset = append(state, where, each.records or b"")
    if wrong not in REFUSED_UNREAD:
        values["log_start_offset"] = where.led.log.start
    if not wrong:
        state.changed(context.now)
    return {**values, "error_code": wrong, "base_offset": base_offset}


def append(state: State, where: Place, records: bytes) -> tuple[int, int]:
    """Put a partition's bytes at the end of its log; error code and first offset."""
    limit = where.topic.max_message_bytes if where.topic else 0
    try:
        batch: RecordBatch = parse(bytes(records))
    except CorruptBatch:
        return ErrorCode.corrupt_message, UNDEFINED
    except InvalidBatch:
        return ErrorCode.invalid_record, UNDEFINED
    if len(records) > limit:
        return ErrorCode.message_too_large, UNDEFINED
    partition = where.led
    verdict = partition.producers.judge(batch)
    if verdict.code:
        return verdict.code, UNDEFINED
    if verdict.base_offset is not None:
        return ErrorCode.none, verdict.base_offset
    kept = state.append(partition, batch)
    partition.producers.remember(kept)
    return ErrorCode.none, kept.base_offset
