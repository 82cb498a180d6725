"""The producer beneath that of coroutines: its waits as steps, for a task to take.

Thread: the event loop's; several loops may use one.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from prokurist.aio.call_report import ReportingRunner
from prokurist.aio.driving import JoinedInLoop, new_waiter
from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Steps
from prokurist.assembly.producer import ProducerSide
from prokurist.config import ProducerConfig
from prokurist.events.accumulator.deliveries import Deliveries
from prokurist.events.accumulator.record_metadata import OnDelivery, require_callback
from prokurist.events.application_events import ListTopics
from prokurist.events.clock import CallersClock
from prokurist.events.reachability import Reachability
from prokurist.events.transaction_state import TransactionCall
from prokurist.producer.closing import Thread
from prokurist.producer.columns import Columns
from prokurist.producer.producer import KafkaProducer
from prokurist.producer.transacting import Transactions, require_offsets
from prokurist.types import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    PartitionInfo,
    TopicPartition,
)

if TYPE_CHECKING:
    from uuid import UUID

    from prokurist.events.accumulator.appending import Headers


class TaskProducer(KafkaProducer):
    """A producer that gives out its waits as steps."""

    def _wire(self, config: ProducerConfig, clock: CallersClock, side: ProducerSide) -> None:
        super()._wire(config, clock, side)
        self._accumulator.new_waiter = new_waiter
        self.now: Callable[[], float] = clock.now
        # What cannot be appended at once is not a delivery, but the steps to one.
        slow: Callable[..., Any] = self._sending.send_steps
        self._appender.slow = slow

    def _runner(self) -> CallRunner:
        made = super()._runner()
        side = self._built()
        runner = ReportingRunner(self._clock, side.thread.mailbox, self._max_block, side.trace)
        runner.counters, runner.wait_at = made.counters, made.wait_at
        runner.new_waiter = new_waiter
        return runner

    def _thread(self) -> Thread:
        return JoinedInLoop(super()._built().thread, self._clock.now)

    @property
    def quick_append(self) -> Callable[..., Any] | None:
        """`append` itself where no code of the user's is in its way."""
        return self._append if self._user_code is None else None

    def append(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: "Headers",
        partition: int | None,
        timestamp: int | None,
        on_delivery: OnDelivery | None,
    ) -> Any:
        """Append a record: its delivery, or the steps to it."""
        record = topic, value, key, headers, partition, timestamp, on_delivery
        if self._user_code is None:
            return self._append(*record)
        if self._appender.refusal is not None:
            self._appender.refusal()
        require_callback(on_delivery)
        return self._user_code.send(self._append, *record)

    def send_many_steps(
        self,
        topic: str,
        values: Iterable[Any],
        keys: Iterable[Any] | None,
        headers: "Headers",
        partition: int | None,
        timestamp: int | None,
        on_delivery: OnDelivery | None,
    ) -> Steps[Deliveries]:
        """Take the steps of `send_many`."""
        return self._send_many(topic, values, keys, headers, partition, timestamp, on_delivery)

    def send_batch_steps(
        self,
        topic: str,
        data: Any,
        columns: Columns,
        partition: int | None,
        on_delivery: OnDelivery | None,
    ) -> Steps[Deliveries]:
        """Take the steps of `send_batch`."""
        return self._send_batch(topic, data, columns, partition, on_delivery)

    def flush_steps(self, timeout: float | timedelta | None) -> Steps[None]:
        """Take the steps of `flush`."""
        return self._flush(timeout)

    def purge_steps(self, timeout: float | timedelta | None) -> Steps[int]:
        """Take the steps of `purge`."""
        return self._purge(timeout)

    def partitions_steps(
        self, topic: str, timeout: float | timedelta | None
    ) -> Steps[list[PartitionInfo]]:
        """Take the steps of `partitions_for`."""
        return self._partitions_for(topic, timeout)

    def reach_steps(self, timeout: float | timedelta | None) -> Steps[None]:
        """Take steps until a broker has answered."""
        runner = self._runner()
        call = runner.call("reach", timeout)
        yield from runner.ask(call, ListTopics(call))

    def instance_id_steps(self, timeout: float | timedelta) -> "Steps[UUID]":
        """Take the steps of `client_instance_id`."""
        return self._instance_id(timeout)

    def init_steps(self, timeout: float | timedelta | None) -> Steps[None]:
        """Take the steps of `init_transactions`."""
        return self._transacting("init_transactions").init_steps(timeout)

    def send_offsets_steps(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
        timeout: float | timedelta | None,
    ) -> Steps[None]:
        """Take the steps of `send_offsets_to_transaction`."""
        require_offsets(offsets, group)
        transactions = self._transacting("send_offsets_to_transaction")
        return transactions.send_offsets_steps(offsets, group, timeout)

    def end_steps(
        self, kind: TransactionCall, timeout: float | timedelta | None
    ) -> Steps[None]:
        """Take the steps of `commit_transaction` or `abort_transaction`."""
        return self._transacting(kind.value).end_steps(kind, timeout)

    def transactions_of(self, operation: str) -> Transactions:
        """The calls of transactions; refused where there are none."""
        return self._transacting(operation)

    @property
    def has_transaction(self) -> bool:
        """True while there is a transaction to abort."""
        return self._transactions is not None and self._transactions.is_endable

    def close_steps(self, timeout: float | timedelta | None) -> Steps[int]:
        """Take the steps of `close`."""
        return self._close_steps(timeout)

    @property
    def reachability(self) -> Reachability:
        """The reachability of brokers."""
        return self._built().client.reachability

    @property
    def delivery_timeout(self) -> float:
        """`delivery.timeout.ms`, in seconds."""
        return self._delivery_timeout

    @property
    def is_closed(self) -> bool:
        """True once `close` has ended."""
        return self._ended
