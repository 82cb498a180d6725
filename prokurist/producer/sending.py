"""A record's way into a batch, where something has to be begun or waited for.

Thread: any application thread, and the network thread inside a delivery callback, which
waits for nothing. What is waited for shares one deadline, by `max.block.ms`: the topic's
metadata, then room in `buffer.memory`.

Invariants: a record is appended at once at the end of all waiting, or not at all.
"""

import threading
from collections import deque
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Final

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Steps, Until, drive
from prokurist.errors import (
    BufferExhaustedException,
    IllegalStateException,
    KafkaException,
    RecordTooLargeException,
    TransactionAbortableException,
    Wait,
)
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.batch import Batch
from prokurist.events.accumulator.batch_buffer import size_alone
from prokurist.events.accumulator.buffer_memory import Claim
from prokurist.events.accumulator.implementation import Delivery
from prokurist.events.accumulator.partition_queue import PartitionQueue
from prokurist.events.accumulator.record_metadata import OnDelivery, Outcome, RecordMetadata
from prokurist.events.application_events import AwaitTopic
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.producer_log_events import CALLBACK_RAISED, DELIVERY_FAILED
from prokurist.events.trace import Trace
from prokurist.producer.producer_counters import MEMORY, METADATA, SendCounters

RECORD_OVERHEAD: Final = 36
"""Bytes that a record takes at most beside its key, value and headers."""
KEY: Final = "max.block.ms"

MOST_AGAIN: Final = 100
"""Records that callbacks of records that failed at once may send and have fail at once."""


class Failing(threading.local):
    """The callbacks of records that have failed in a `send` of this thread.

    Attributes:
        left: Those to be called; None where none is being called.
        count: How many have come in since the first.
    """

    def __init__(self) -> None:
        self.left: deque[Callable[[], object]] | None = None
        self.count: int = 0


class Sending:
    """The slow path of a `send`.

    Args:
        accumulator: Where records go.
        runner: Makes what waits for one call of the network thread.
        max_block: `max.block.ms`, in seconds.
        may_wait: Whether this thread may wait: not that which delivers.
        trace: The client's.

    Attributes:
        counters: What is counted of waits, and of records that came into no batch.
    """

    def __init__(
        self,
        accumulator: RecordAccumulator,
        runner: Callable[[], CallRunner],
        max_block: float,
        may_wait: Callable[[], bool],
        trace: Trace,
    ) -> None:
        self._accumulator = accumulator
        self._runner = runner
        self._max_block = max_block
        self._may_wait = may_wait
        self._trace = trace
        self.counters: SendCounters = SendCounters()
        self._failing = Failing()

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: bytes,
        partition: int | None,
        timestamp: int,
        on_delivery: OnDelivery | None,
    ) -> Delivery:
        """Append a record, and wait for what is missing until then.

        Returns:
            The record's delivery; one that has failed where the wait was too long, or where
            the cluster refuses the topic.

        Raises:
            IllegalStateException: The producer is closed.
            TypeError: The topic is no str.
        """
        record = topic, value, key, headers, partition, timestamp, on_delivery
        return drive(self.send_steps(*record), self._accumulator.wait)

    def send_steps(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: bytes,
        partition: int | None,
        timestamp: int,
        on_delivery: OnDelivery | None,
    ) -> Steps[Delivery]:
        """Take the steps of `send`."""
        record = topic, value, key, headers, partition, timestamp, on_delivery
        placed = yield from self.place(*record, self.deadline())
        if isinstance(placed, KafkaException):
            where = -1 if partition is None else partition
            return self.failed(topic, where, timestamp, placed, on_delivery)
        return placed

    def deadline(self) -> Deadline:
        """When a wait of this thread that begins now is over; in a callback, at once."""
        now = self._accumulator.now()
        return Deadline(now + (self._max_block if self._waits else 0.0))

    @property
    def _waits(self) -> bool:
        """True if this thread may wait: it is in no callback."""
        return self._may_wait() and self._failing.left is None

    @property
    def _bound(self) -> str | None:
        """The key that bounds a wait of this thread; None where it may not wait."""
        return KEY if self._waits else None

    def place(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: bytes,
        partition: int | None,
        timestamp: int,
        on_delivery: OnDelivery | None,
        deadline: Deadline,
    ) -> Steps[Delivery | KafkaException]:
        """Append a record like `send`, by a deadline that other records may share.

        Returns:
            The record's delivery; or why it is in no batch.

        Raises:
            IllegalStateException: The producer is closed.
            TypeError: The topic is no str.
        """
        if not isinstance(topic, str):
            raise TypeError(f"a topic is a str, not {topic!r}")
        began = self._accumulator.now()
        need = RECORD_OVERHEAD + len(headers) + len(key or b"") + len(value or b"")
        appender = self._accumulator.appender
        while True:
            delivery = appender.append(
                topic, value, key, headers, partition, timestamp, on_delivery
            )
            if delivery is not None:
                return delivery
            queues = appender.topics.get(topic)
            queue = None if queues is None else appender.place(queues, key, partition)
            if queues is None or queue is None:
                error = yield from self._await_topic(topic, partition, began, deadline)
                if error is not None:
                    return error
                continue
            claim = Claim(0, self._accumulator.new_waiter())
            try:
                alone = size_alone(key, value, headers)
                error = yield from self._make_room(claim, queue, need, alone, began, deadline)
                if claim.granted:
                    batch = self._accumulator.begin(
                        queue, claim, timestamp, key, value, headers, on_delivery
                    )
                    if batch is None:
                        continue
                    queues.is_used = True
                    if queue is queues.sticky:
                        queues.sticky_bytes += batch.payload
                    return Delivery(batch, 0, timestamp)
            finally:
                self._accumulator.memory.leave(claim)
            if error is not None:
                return error

    # --- metadata ------------------------------------------------------------------------

    def know(self, topic: str) -> Steps[KafkaException | None]:
        """Wait until a topic is known, for a partitioner; why it is not."""
        if topic in self._accumulator.appender.topics:
            return None
        now = self._accumulator.now()
        return (yield from self._await_topic(topic, None, now, self.deadline()))

    def _await_topic(
        self, topic: str, partition: int | None, began: float, deadline: Deadline
    ) -> Steps[KafkaException | None]:
        """Wait until a topic is known; why it is not."""
        key = self._bound
        call = Call("send", began, deadline, topic=topic, config_key=key)
        asked = self._accumulator.now()
        event = AwaitTopic(call, topic, partition)
        try:
            if key is not None:
                runner = self._runner()
                yield from runner.ask(call, event)
            else:
                # It is looked up all the same, for the next record.
                self._runner().post(event)
                untimely = Call("send", began, deadline, topic=topic, config_key=None)
                untimely.leave(asked)
                untimely.result()
        except IllegalStateException:
            raise
        except KafkaException as error:
            return error
        finally:
            self._waited(METADATA, asked)
        return None

    # --- memory --------------------------------------------------------------------------

    def _make_room(
        self,
        claim: Claim,
        queue: PartitionQueue,
        need: int,
        alone: int,
        began: float,
        deadline: Deadline,
    ) -> Steps[KafkaException | None]:
        """Find room for a record of a partition; why there is none.

        Where the open batch has none, the claim is given some, for a batch to be begun.

        Args:
            claim: The claim.
            queue: The partition.
            need: What the record takes at most in a batch with others.
            alone: What a batch takes that has nothing but the record.
            began: When the call began.
            deadline: When its time is over.
        """
        accumulator, memory = self._accumulator, self._accumulator.memory
        topic = queue.tp.topic
        for key, most in (
            ("max.request.size", accumulator.largest),
            ("buffer.memory", memory.total),
        ):
            if alone > most:
                return RecordTooLargeException(
                    f"a record for {topic} takes {alone} bytes in a batch of its own, more "
                    f"than {key}={most}: raise that, or send less"
                )
        if accumulator.grow(queue, need):
            return None
        claim.size = min(accumulator.room_for(topic, alone), memory.total)
        if memory.take(claim) or (yield from self._await_memory(claim, deadline)):
            return None
        return self._no_memory(queue, began, deadline)

    def _await_memory(self, claim: Claim, deadline: Deadline) -> Steps[bool]:
        """Wait for room: whether it was granted."""
        asked = self._accumulator.now()
        try:
            self._accumulator.memory.queue(claim)
            # What lingers is sent at once now.
            self._accumulator.press()
            yield Until(claim.waiter, deadline.at)
            return claim.granted
        finally:
            self._waited(MEMORY, asked)

    def _waited(self, what: str, since: float) -> None:
        self.counters.waits.of(what).observe(self._accumulator.now() - since)

    def _no_memory(
        self, queue: PartitionQueue, began: float, deadline: Deadline
    ) -> KafkaException:
        refusal = self._accumulator.appender.refusal
        if refusal is not None:
            refusal()
        now = self._accumulator.now()
        return BufferExhaustedException(
            operation="send",
            timeout=deadline.at - began,
            elapsed=now - began,
            partitions=(queue.tp,),
            waits=(Wait("room in buffer.memory", 0.0, now - began),),
            config_key=self._bound,
        )

    # --- failures --------------------------------------------------------------------------

    def failed(
        self,
        topic: str,
        partition: int,
        timestamp: int,
        error: KafkaException,
        on_delivery: OnDelivery | None,
    ) -> Delivery:
        """The delivery of a record that is in no batch.

        Its callback is called here. One that sends again does not wait, and what fails then has
        its callback called when this one has returned: such sends neither nest nor go on for
        ever.

        Raises:
            IllegalStateException: This is such a callback, and too many of them have sent what
                failed at once.
        """
        failing = self._failing
        if on_delivery is not None and failing.left is not None:
            if failing.count >= MOST_AGAIN:
                raise IllegalStateException(
                    f"callbacks have sent {MOST_AGAIN} records that failed at once, the last "
                    f"one with {type(error).__name__}: have a callback count its attempts, and "
                    f"leave further ones to the thread that sends"
                ) from error
            failing.count += 1
        self.counters.errors.of(type(error).__name__).number += 1
        self.fail_transaction(error)
        now = self._accumulator.now()
        batch = Batch(self._accumulator, topic, partition, now, now, 0)
        batch.end(Outcome(error=error))
        if self._max_block or not isinstance(error, BufferExhaustedException):
            # Who has `max.block.ms` at 0 asks whether there is room, and looks at the answer.
            self._trace.emit(DELIVERY_FAILED, records=1, partition=batch.name, error=error)
        delivery = Delivery(batch, 0, timestamp)
        if on_delivery is not None:
            metadata = RecordMetadata(topic, partition, -1, timestamp)
            self._call_back(partial(on_delivery, metadata, error))
        return delivery

    def fail_transaction(self, error: KafkaException) -> None:
        """Rule out the commit of an open transaction: a record is in no batch."""
        transaction = self._accumulator.transaction
        if transaction is not None and transaction.takes_records:
            transaction.fail(unsent(error))

    def _call_back(self, callback: Callable[[], object]) -> None:
        """Call a callback, and then those of what it has sent; or leave it to such a call."""
        failing = self._failing
        if failing.left is not None:
            failing.left.append(callback)
            return
        failing.left, failing.count = deque([callback]), 0
        try:
            while failing.left:
                try:
                    failing.left.popleft()()
                except Exception as raised:  # noqa: BLE001 - the user's own code
                    self._trace.emit(CALLBACK_RAISED, kind=type(raised).__name__, error=raised)
        finally:
            failing.left = None

    def __repr__(self) -> str:
        return f"Sending({self._accumulator})"


def unsent(error: KafkaException) -> KafkaException:
    """The error of a transaction without one of its records."""
    if not error.retriable:
        return copy(error)
    own = TransactionAbortableException(
        f"a record was not sent, so its transaction cannot be committed: {error}"
    )
    own.__cause__ = error
    return own
