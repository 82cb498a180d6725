"""Produce: append batches, and with acks=all wait until every replica in sync has them.

There are no transactions: a batch of one is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context, Result, Silence, Wait
from prokurist.testing.cluster.batch_validation import (
    BatchRefused,
    checked,
    first_frame,
    only_batch,
)
from prokurist.testing.cluster.batches import RecordBatch
from prokurist.testing.cluster.epochs import UNDEFINED
from prokurist.testing.cluster.faults import Rule
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.leadership import (
    Place,
    endpoints,
    leader_hint,
    place,
    standing,
)
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topic_config import TopicConfig
from prokurist.testing.cluster.wire import Values

ALL: Final = -1
ACKS: Final = (ALL, 0, 1)
UNTOLD: Final = frozenset(
    {
        ErrorCode.corrupt_message,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.not_leader_or_follower,
        ErrorCode.message_too_large,
        ErrorCode.record_list_too_large,
        ErrorCode.invalid_required_acks,
        ErrorCode.topic_authorization_failed,
        ErrorCode.kafka_storage_error,
        ErrorCode.unknown_topic_id,
    }
)
"""Refusals that do not tell where the log begins."""


def handle(state: State, request: Any, context: Context) -> Result:
    """Append batches, and answer for each partition."""
    refused = refusal_of_all(request, context)
    rows: list[Row] = []
    for asked, each in named_once(request):
        rows.append(row := Row(asked, each.index))
        try:
            if refused is not None:
                raise refused
            append(state, request, context, row, bytes(each.records or b""))
        except BatchRefused as error:
            refuse(row, error)
    if request.acks == 0:
        # A client that wants no answer learns of an error by the end of its connection.
        wrong = any(row.values["error_code"] for row in rows)
        return Silence.CLOSE if wrong else Silence.UNASKED
    until = context.now + request.timeout.total_seconds()
    return Appended(state, request, context, rows, until)(context.now)


def named_once(request: Any) -> list[tuple[Any, Any]]:
    """The topic and the part of each partition, the last one where it is named twice."""
    parts = {
        (key_of(asked), each.index): (asked, each)
        for asked in request.topic_data
        for each in asked.partition_data
    }
    return list(parts.values())


def key_of(asked: Any) -> tuple[Any, Any]:
    """Return a topic's name and id as in the request."""
    return field(asked, "name"), field(asked, "topic_id")


def refusal_of_all(request: Any, context: Context) -> BatchRefused | None:
    """Return the error that refuses the request before any partition is read; None if none."""
    code = context.refusals.whole(usual=False)
    if code:
        return BatchRefused(code)
    try:
        batches = [
            first_frame(bytes(each.records or b""), context.version)
            for asked in request.topic_data
            for each in asked.partition_data
        ]
    except BatchRefused as refused:
        return refused
    if any(batch is not None and batch.is_transactional for batch in batches):
        return BatchRefused(ErrorCode.transactional_id_authorization_failed)
    return None


class Row:
    """One partition's part of an answer, as it comes to be.

    Attributes:
        asked: The part of the request that names its topic.
        index: Its number.
        values: The answer.
        where: The partition, once a batch is in its log.
        required: The offset that the high watermark has to reach then.
    """

    def __init__(self, asked: Any, index: int) -> None:
        self.asked = asked
        self.index = index
        self.values: dict[str, Any] = {
            "index": index,
            "error_code": 0,
            "base_offset": UNDEFINED,
            "log_append_time": None,
            "log_start_offset": UNDEFINED,
            "record_errors": [],
            "error_message": None,
        }
        self.where: Place | None = None
        self.required: int = 0


def refuse(row: Row, refused: BatchRefused) -> None:
    """Answer that a batch was not appended."""
    row.values |= {
        "error_code": refused.code,
        "error_message": refused.message,
        "record_errors": [
            {"batch_index": at, "batch_index_error_message": text}
            for at, text in refused.record_errors.items()
        ],
    }


def append(state: State, request: Any, context: Context, row: Row, records: bytes) -> None:
    """Put a partition's batch at the end of its log.

    Raises:
        BatchRefused: It is not put there, or a test has it refused all the same.
    """
    where, rule = found(state, context, row)
    batch = only_batch(records, context.version)
    if request.acks not in ACKS:
        raise BatchRefused(ErrorCode.invalid_required_acks)
    if where.code:
        row.values |= leader_hint(where)
        raise BatchRefused(where.code)
    row.values["log_start_offset"] = where.led.log.start
    if request.acks == ALL and len(where.led.isr) < where.led.min_isr:
        raise BatchRefused(ErrorCode.not_enough_replicas)
    try:
        write(state, context, where, row, batch)
    except BatchRefused as refused:
        if not refused.in_log:
            row.values["log_start_offset"] = UNDEFINED
        raise
    if rule is not None:
        raise refusal_by(rule)
    row.where = where


def found(state: State, context: Context, row: Row) -> tuple[Place, Rule | None]:
    """The partition of a row, and the rule that refuses its batch once it is appended.

    Raises:
        BatchRefused: There is none, it is denied, or a test has its batch refused.
    """
    where = place(state, context, row.asked, row.index)
    name = where.topic.name if where.topic else field(row.asked, "name")
    rule = context.refusals.rule_for(name, row.index)
    if rule is not None:
        if not rule.applied or where.partition is None:
            row.values |= leader_hint(where)
            if where.partition is not None and rule.code not in UNTOLD:
                row.values["log_start_offset"] = where.partition.log.start
            raise refusal_by(rule)
        where = where._replace(code=standing(where.partition, context.node))
    elif where.code == ErrorCode.unknown_topic_id and where.topic is not None:
        # Who fetches by id is not told that there is such a topic; who produces is.
        raise BatchRefused(ErrorCode.topic_authorization_failed)
    elif where.code and where.code != ErrorCode.not_leader_or_follower:
        raise BatchRefused(where.code)
    return where, rule


def refusal_by(rule: Rule) -> BatchRefused:
    """Return the refusal of a batch by a FAIL rule."""
    return BatchRefused(
        rule.code, in_log=True, record_errors=rule.records, message=rule.message
    )


def write(state: State, context: Context, where: Place, row: Row, batch: RecordBatch) -> None:
    """Append a batch to the log of a leader, or find where it was appended before.

    Raises:
        BatchRefused: It is not to be appended, or is out of order.
    """
    partition = where.led
    config = where.topic.config if where.topic else TopicConfig()
    kept = checked(batch, config, state.wall_clock(context.now))
    partition.producers.expire(context.now - state.producer_id_expiration)
    check = partition.producers.check(batch)
    if check.code:
        raise BatchRefused(check.code, in_log=True)
    if check.duplicate is not None:
        row.required = check.duplicate.last_offset + 1
        row.values["base_offset"] = check.duplicate.base_offset
        # For either message.timestamp.type: a broker gives a duplicate's timestamp as the
        # append's.
        row.values["log_append_time"] = check.duplicate.timestamp
        return
    kept = state.append(partition, kept)
    partition.producers.update(kept, context.now)
    row.required = kept.last_offset + 1
    row.values["base_offset"] = kept.base_offset
    row.values["log_append_time"] = kept.max_timestamp if config.stamps else None
    state.changed(context.now)


@dataclass(frozen=True, slots=True)
class Appended:
    """A produce request that is looked at again until it is replicated.

    Attributes:
        rows: The answer for each partition.
        until: When it is answered at the latest.
    """

    state: State
    request: Any
    context: Context
    rows: list[Row]
    until: float

    def __call__(self, now: float) -> Result:
        """Answer if every batch is replicated or cannot be any more, or the time is over."""
        waiting = list(self.unreplicated()) if self.request.acks == ALL else []
        if waiting and now < self.until:
            return Wait(self.until, self)
        for row in waiting:
            row.values["error_code"] = ErrorCode.request_timed_out
        topics: dict[tuple[Any, Any], list[Values]] = {}
        for row in self.rows:
            topics.setdefault(key_of(row.asked), []).append(row.values)
        return {
            "responses": [
                {"name": name, "topic_id": topic_id, "partition_responses": rows}
                for (name, topic_id), rows in topics.items()
            ],
            "node_endpoints": endpoints(self.state, [row.values for row in self.rows]),
        }

    def unreplicated(self) -> Iterator[Row]:
        """The rows that wait for replicas; the others get their error codes."""
        for row in self.rows:
            where = row.where
            if where is None:
                continue
            led = where.led
            if code := self.lost(where):
                row.values |= {"error_code": code, **leader_hint(where._replace(code=code))}
                row.where = None
            elif led.copy_of(led.leader).watermark < row.required:
                yield row
            elif len(led.isr) < led.min_isr:
                row.values["error_code"] = ErrorCode.not_enough_replicas_after_append
                row.where = None

    def lost(self, where: Place) -> int:
        """Return the error code if this broker has lost the partition since; 0 if not."""
        topic = where.topic and self.state.topics.get(where.topic.name)
        if topic is None or topic.partition(where.led.index) is not where.led:
            return ErrorCode.unknown_topic_or_partition
        return standing(where.led, self.context.node)
