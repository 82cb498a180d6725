"""Produce: append batches, and with acks=all wait until every replica in sync has them.

Batches of a transaction are appended once its coordinator knows of their partitions. A request
that adds them (version 12) waits for a while if the transaction before is still being ended.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass
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
from prokurist.testing.cluster.handlers.verification import (
    UNREACHABLE,
    Question,
    is_frozen,
)
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topic_config import TopicConfig
from prokurist.testing.cluster.topics import Partition
from prokurist.testing.cluster.transactions import FEATURE, ProducerNumbers
from prokurist.testing.cluster.wire import Values
from prokurist.types import TopicPartition

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

ABORTABLE_FROM: Final = 11
"""First version with clients that know TRANSACTION_ABORTABLE."""
ADDS_FROM: Final = 12
"""First version with batches that add their partition to the transaction (KIP-890)."""
CONCURRENT_WAIT: Final = 0.1
"""Seconds that a leader waits for the end of the transaction before
(`add.partitions.to.txn.retry.backoff.max.ms`)."""
REQUEST_TIMEOUT: Final = 30.0
"""Seconds that a leader waits for a coordinator's answer (`request.timeout.ms`)."""
LOOK_AGAIN: Final = 0.05

Unverified: TypeAlias = Mapping[tuple[Any, int], BatchRefused]
"""Refusals by the coordinators of transactions, by topic of the request and partition."""


def handle(state: State, request: Any, context: Context) -> Result:
    """Append batches, and answer for each partition."""
    refused = refusal_of_all(state, request, context)
    if refused is None and request.transactional_id is not None:
        return Verified(state, request, context)(context.now)
    return appended(state, request, context, refused, {})


def appended(
    state: State,
    request: Any,
    context: Context,
    refused: BatchRefused | None,
    unverified: Unverified,
) -> Result:
    """Append the batches that are not refused yet."""
    rows: list[Row] = []
    for asked, each in named_once(request):
        rows.append(row := Row(asked, each.index))
        try:
            if refused is not None:
                raise refused
            if unverified and (reason := unverified.get((key_of(asked), each.index))):
                raise reason
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


def refusal_of_all(state: State, request: Any, context: Context) -> BatchRefused | None:
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
        name = request.transactional_id
        if name is None or name in state.denied_transactions:
            return BatchRefused(ErrorCode.transactional_id_authorization_failed)
    return None


@dataclass(frozen=True, slots=True)
class Verified:
    """A produce request with a transactional id, until its coordinator has answered."""

    state: State
    request: Any
    context: Context

    def __call__(self, now: float) -> Result:
        """Append if the coordinator agrees; wait if it may soon."""
        batches = dict(self.transactional())
        writers = {
            ProducerNumbers(each.producer_id, each.producer_epoch) for each in batches.values()
        }
        state, context = self.state, self.context
        if len(writers) > 1:
            code = ErrorCode.invalid_producer_id_mapping
            text = "Transactional records contained more than one producer ID"
            return appended(state, self.request, context, BatchRefused(code, message=text), {})
        codes = self.codes(batches, writers.pop(), now) if writers else {}
        if (until := self.waits_until(codes)) and now < until:
            return Wait(min(until, now + LOOK_AGAIN), self)
        adds = context.version >= ADDS_FROM
        unverified = {
            key: unverified_as(code, adds=adds) for key, code in codes.items() if code
        }
        return appended(state, self.request, replace(context, now=now), None, unverified)

    def transactional(self) -> Iterator[tuple[tuple[Any, int], RecordBatch]]:
        """The batches of a transaction that have a partition here to be appended to."""
        for asked, each in named_once(self.request):
            try:
                found(self.state, self.context, Row(asked, each.index))
                batch = only_batch(bytes(each.records or b""), self.context.version)
            except BatchRefused:
                # It is refused for that when its turn comes.
                continue
            if batch.is_transactional and batch.has_producer:
                yield (key_of(asked), each.index), batch

    def codes(
        self,
        batches: Mapping[tuple[Any, int], RecordBatch],
        writer: ProducerNumbers,
        now: float,
    ) -> dict[tuple[Any, int], ErrorCode]:
        """The error code of each partition, by its leader or by the coordinator."""
        adds = self.context.version >= ADDS_FROM
        codes: dict[tuple[Any, int], ErrorCode] = {}
        open_questions: dict[TopicPartition, tuple[Any, int]] = {}
        for asked, each in named_once(self.request):
            key = key_of(asked), each.index
            batch = batches.get(key)
            where = place(self.state, self.context, asked, each.index)
            if batch is None or where.topic is None or where.code:
                continue
            code = leaders_word(self.state, where.led, batch, adds=adds)
            if code is None:
                open_questions[TopicPartition(where.topic.name, each.index)] = key
            elif code:
                codes[key] = code
        if open_questions:
            question = Question(
                self.request.transactional_id,
                writer,
                open_questions.keys(),
                adds=adds,
                names_abortable=self.context.version >= ABORTABLE_FROM,
            )
            for tp, code in question.answers(self.state, now).items():
                codes[open_questions[tp]] = code
        return codes

    def waits_until(self, codes: Mapping[tuple[Any, int], ErrorCode]) -> float | None:
        """When the leader gives up to wait for another answer; None if it does not wait."""
        told = frozenset(codes.values())
        adds = self.context.version >= ADDS_FROM
        if ErrorCode.concurrent_transactions in told and adds:
            return self.context.now + CONCURRENT_WAIT
        name = self.request.transactional_id
        if ErrorCode.network_exception in told and is_frozen(self.state, name):
            return self.context.now + REQUEST_TIMEOUT
        return None


def leaders_word(
    state: State, partition: Partition, batch: RecordBatch, *, adds: bool
) -> ErrorCode | None:
    """The error code of a leader that has not to ask the coordinator; None if it has to."""
    numbers = batch.producer_id, batch.producer_epoch
    if FEATURE not in state.features:
        # Kafka before 4.0 takes any batch of a producer with an open transaction to the log.
        if partition.in_transaction(batch.producer_id):
            return ErrorCode.none
    else:
        known = partition.producers.epoch_of(batch.producer_id)
        if known is not None and batch.producer_epoch < known:
            return ErrorCode.invalid_producer_epoch
        if partition.in_transaction(*numbers):
            return ErrorCode.none
    partition.producers.verify(*numbers, batch.base_sequence, adds=adds)
    return None


def unverified_as(code: ErrorCode, *, adds: bool) -> BatchRefused:
    """Return the refusal of a batch for a coordinator's answer."""
    if code == ErrorCode.invalid_txn_state:
        return BatchRefused(code, message="Partition was not added to the transaction")
    if code in UNREACHABLE or (code == ErrorCode.concurrent_transactions and not adds):
        text = f"Unable to verify the partition has been added to the transaction: {code.name}"
        return BatchRefused(ErrorCode.not_enough_replicas, message=text)
    return BatchRefused(code)


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
    partition.producers.expire(context.now - state.producer_id_expiration, partition.log.open)
    in_transaction = bool(partition.log.open) and partition.in_transaction(batch.producer_id)
    check = partition.producers.check(batch, in_transaction=in_transaction)
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
