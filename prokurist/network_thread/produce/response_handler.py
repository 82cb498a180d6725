"""Handling of Produce answers, for each batch.

Thread: the network thread alone.
"""

from collections.abc import Callable, Mapping

from prokurist.errors import (
    ClusterAuthorizationException,
    InvalidRecordException,
    KafkaException,
    RecordTooLargeException,
    TopicAuthorizationException,
)
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.batch import Batch
from prokurist.events.backoff import Backoff
from prokurist.events.producer_log_events import BATCH_SPLIT, PRODUCE_FAILED
from prokurist.events.trace import Trace
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.broker_errors import (
    INVALID_TOPIC,
    TOPIC_AUTHORIZATION_FAILED,
    invalid_topics,
)
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.error_actions import PRODUCE, TRANSACTIONAL_PRODUCE, Action
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.produce.attempts import RequestLedger, may_have_happened
from prokurist.network_thread.produce.destinations import Destination
from prokurist.network_thread.produce.endings import Endings
from prokurist.network_thread.produce.partition_sending import PartitionSending
from prokurist.network_thread.produce.producer_ids import NumberingIds
from prokurist.network_thread.produce.splitting import split
from prokurist.network_thread.wire.produce import ProduceAnswer, ProducedPartition
from prokurist.types import TopicPartition

AFTER_APPEND = frozenset({7, 20})
"""REQUEST_TIMED_OUT and NOT_ENOUGH_REPLICAS_AFTER_APPEND: the leader has the batch."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One request on its way.

    Attributes:
        destination: The broker.
        batches: What it carries.
        epochs: The leader epochs in which it was sent.
        ledger: Where its end is entered.
        at: When it was sent.
    """

    destination: Destination
    batches: Mapping[PartitionSending, Batch]
    epochs: Mapping[TopicPartition, int | None]
    ledger: RequestLedger
    at: float


class ProduceResponseHandler:
    """Delivers, retries, splits, or fails the batches of a request.

    Args:
        accumulator: What is not delivered yet.
        endings: How batches end.
        metadata: Told of leaders that have changed.
        producer_ids: Told of refusals; None without idempotence.
        is_transactional: True if batches belong to transactions.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        retries: `retries`.
        stir: Told of a partition that may have something to send.
        trace: The client's.
    """

    def __init__(
        self,
        accumulator: RecordAccumulator,
        endings: Endings,
        metadata: MetadataManager,
        producer_ids: NumberingIds | None,
        timer: Timer,
        backoff: Backoff,
        retries: int,
        stir: Callable[[PartitionSending], None],
        trace: Trace,
        *,
        is_transactional: bool,
    ) -> None:
        self._table = TRANSACTIONAL_PRODUCE if is_transactional else PRODUCE
        self._is_transactional = is_transactional
        self._accumulator = accumulator
        self._endings = endings
        self._metadata = metadata
        self._ids = producer_ids
        self._timer = timer
        self._backoff = backoff
        self._retries = retries
        self._stir = stir
        self._trace = trace

    def answered(self, sent: Sent, answer: ProduceAnswer | None) -> None:
        """A broker has answered; None where it answers nothing (`acks=0`)."""
        if answer is None:
            for partition, batch in sent.batches.items():
                self._deliver(partition, batch, None)
            return
        leaders = {
            row.partition: (row.leader.leader, row.leader.epoch)
            for row in answer.partitions
            if row.leader is not None
        }
        if leaders:
            self._metadata.hint(leaders, answer.nodes)
        rows = {row.partition: row for row in answer.partitions}
        for partition, batch in sent.batches.items():
            self._take(sent, partition, batch, rows[partition.queue.tp])
            self._stir(partition)

    def lost(self, sent: Sent, error: KafkaException) -> None:
        """No answer has come: the connection is gone, or the request could not be written."""
        for partition, batch in sent.batches.items():
            if batch.ended:
                self._endings.released(batch, partition)
            elif error.retriable:
                self._retry(sent, partition, batch, error)
            else:
                partition.failed_attempt(batch)
                self._endings.fail(batch, partition, error)
            self._stir(partition)

    def _take(
        self, sent: Sent, partition: PartitionSending, batch: Batch, row: ProducedPartition
    ) -> None:
        """One partition's part of the answer."""
        action = self._table.of(row.error)
        if action in (Action.DONE, Action.DUPLICATE):
            self._deliver(partition, batch, row)
            return
        error = error_of(row, batch)
        name = type(error).__name__
        if row.base_offset is not None or row.error in AFTER_APPEND:
            # Of what was appended, and then not replicated, brokers tell the offset.
            sent.ledger.met(batch, name)
        else:
            sent.ledger.refused(batch, name)
        if batch.ended:
            # It had expired; whether there is a gap now is found out with the next batch.
            self._endings.released(batch, partition)
            return
        match action:
            case Action.RETRY:
                self._retry(sent, partition, batch, error)
            case Action.REFRESH:
                self._metadata.request_update()
                self._retry(sent, partition, batch, error)
            case Action.SPLIT:
                self._split(partition, batch, error)
            case Action.OUT_OF_ORDER | Action.FORGOTTEN | Action.NEW_EPOCH:
                self._out_of_order(sent, partition, batch, row, error)
            case Action.REFUSED_PRODUCER if self._ids is not None:
                self._fail(partition, batch, error)
                self._ids.refused.emit(error)
            case Action.REFUSED_RECORDS:
                self._refuse_records(partition, batch, row, error)
            case _:
                self._fail(partition, batch, error)

    def _deliver(
        self, partition: PartitionSending, batch: Batch, row: ProducedPartition | None
    ) -> None:
        offset = None if row is None else row.base_offset
        self._accumulator.limits.accept(batch.topic, batch.size, self._timer.now)
        if partition.acknowledge(batch, offset, self._timer.now):
            self._endings.tell_lost(partition)
        time = None if row is None else row.append_time
        self._endings.deliver(
            batch, partition, -1 if offset is None else offset, -1 if time is None else time
        )
        self._stir(partition)

    def _retry(
        self, sent: Sent, partition: PartitionSending, batch: Batch, error: KafkaException
    ) -> None:
        """Have a batch sent again, after a pause unless another leader is known by now."""
        self._endings.last_errors[batch] = error
        partition.failed_attempt(batch)
        if batch.retries >= self._retries:
            self._endings.fail(batch, partition, error)
            return
        batch.retries += 1
        self._endings.counters.retries += 1
        tp = partition.queue.tp
        self._trace.emit(PRODUCE_FAILED, partition=tp, error=error)
        epoch, now = sent.epochs[tp], self._metadata.cluster.leader_epoch(tp)
        if epoch is not None and now is not None and now > epoch:
            return
        if partition.pause is not None:
            return
        partition.pause = self._timer.after(
            self._backoff.pause(batch.retries),
            f"retry backoff of {tp}",
            lambda: self._pause_over(partition),
        )

    def _pause_over(self, partition: PartitionSending) -> None:
        partition.pause = None
        self._stir(partition)

    def _fail(self, partition: PartitionSending, batch: Batch, error: KafkaException) -> None:
        partition.failed_attempt(batch)
        self._endings.fail(batch, partition, error)

    def _split(self, partition: PartitionSending, batch: Batch, error: KafkaException) -> None:
        """Go on with a batch in parts, unless an earlier attempt may have appended it.

        A broker looks at the size before it looks for a duplicate. The parts of a batch that it
        has are none to it: it would append them.
        """
        if batch.count > 1:
            self._accumulator.limits.refuse(batch.topic, batch.size, self._timer.now)
        if batch.numbers is not None and may_have_happened(batch):
            self._fail(partition, batch, unknown_and_too_large(batch))
            return
        if batch.count == 1:
            self._fail(partition, batch, error)
            return
        self._endings.counters.split += 1
        self._trace.emit(BATCH_SPLIT, bytes=batch.size, partition=batch.name)
        self._endings.last_errors.pop(batch, None)
        parts = split(batch)
        partition.split(batch, parts)
        self._accumulator.replace(batch, parts)

    def _out_of_order(
        self,
        sent: Sent,
        partition: PartitionSending,
        batch: Batch,
        row: ProducedPartition,
        error: KafkaException,
    ) -> None:
        """Decide by sequence numbers whether a batch waits for others, or starts again."""
        forgotten = PRODUCE.of(row.error) is Action.FORGOTTEN
        if forgotten and row.log_start is None:
            self._retry(sent, partition, batch, error)
            return
        deleted = forgotten and 0 <= partition.acknowledged_offset < (row.log_start or 0)
        if batch.numbers is None or not (deleted or partition.is_first(batch)):
            self._retry(sent, partition, batch, error)
            return
        if self._is_transactional:
            # Its transaction lacks records, and no epoch begins within it.
            self._fail(partition, batch, error)
            return
        # The leader lacks what came before, which was acknowledged or has failed: it will
        # refuse these numbers each time.
        batch.refused = True
        had_all = partition.acknowledged_offset >= 0 and not partition.is_unresolved
        partition.lost |= had_all and not deleted
        self._endings.last_errors[batch] = error
        partition.failed_attempt(batch)
        batch.retries += 1
        self._endings.counters.retries += 1

    def _refuse_records(
        self,
        partition: PartitionSending,
        batch: Batch,
        row: ProducedPartition,
        error: KafkaException,
    ) -> None:
        """Fail refused records with their causes, and the rest for their sake."""
        named: dict[int, KafkaException] = {
            index: type(error)(f"{batch.name}: {message or error}")
            for index, message in row.record_errors.items()
        }
        rest: KafkaException = error
        if named:
            rest = InvalidRecordException(
                f"{batch.name}: another record of the same batch was refused, and with it the "
                f"whole batch: this one can be sent again"
            )
        partition.failed_attempt(batch)
        self._endings.fail(batch, partition, rest, named)


def unknown_and_too_large(batch: Batch) -> KafkaException:
    """The exception for a batch that is too large now, and that its broker may have."""
    return RecordTooLargeException(
        f"an earlier attempt to write a batch of {batch.size} bytes for {batch.name} has no "
        f"known outcome, and the broker refuses to take it again, since max.message.bytes of "
        f"the topic was lowered meanwhile: the records are in the log, or none of them is. "
        f"Look there before you send them again"
    )


def error_of(row: ProducedPartition, batch: Batch) -> KafkaException:
    """The exception for a partition's code."""
    if row.error == TOPIC_AUTHORIZATION_FAILED:
        return TopicAuthorizationException(
            f"not allowed to write to {batch.topic}: the right to write is missing",
            topics=(batch.topic,),
        )
    if row.error == INVALID_TOPIC:
        return invalid_topics((batch.topic,))
    if row.error == RecordTooLargeException.error_code:
        return RecordTooLargeException(
            f"the broker refuses a batch of {batch.size} bytes with one record for "
            f"{batch.name}: raise max.message.bytes of the topic, or send less"
        )
    if row.error == ClusterAuthorizationException.error_code:
        return ClusterAuthorizationException(
            "not allowed to write idempotently: grant the right, or set "
            "enable.idempotence=False"
        )
    return PRODUCE.error(row.error, row.message and f"{batch.name}: {row.message}")
