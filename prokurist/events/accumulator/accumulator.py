"""The accumulator: what is sent and not yet delivered, and what of it can be sent now.

Thread: both. Application threads begin batches and wait for memory; the network thread asks
what is due, takes batches, and ends them. `Appender.lock` guards the open batches, the lists
of what is due, and `incomplete`; memory has a lock of its own, and neither is taken while the
other is held.

- A batch is ready at `batch.size`, or `linger.ms` after its beginning, or at once while
  something flushes, waits for memory, or closes. It takes records until it is taken, up to
  `max.request.size`, or until it is older than a tenth of `delivery.timeout.ms`.
- The network thread is woken for the first thing that is new since its last look, and for no
  other.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final

from prokurist.errors import IllegalStateException, KafkaException, Wait
from prokurist.events.accumulator.batch import Batch
from prokurist.events.accumulator.batch_limits import BatchLimits
from prokurist.events.accumulator.buffer_memory import BufferMemory, Claim
from prokurist.events.accumulator.implementation import Appender, TopicQueues
from prokurist.events.accumulator.partition_queue import PartitionQueue
from prokurist.events.accumulator.record_metadata import OnDelivery
from prokurist.events.accumulator.topic_directory import TopicDirectory
from prokurist.events.transaction_state import Transaction
from prokurist.events.waiter import Waiter

GROWTH: Final = 0.1
"""The share of its `delivery.timeout.ms` in which a batch takes records."""


def unasked(_since: float, _now: float) -> Sequence[Wait]:
    """Know of no silence, before there are connections."""
    return ()


def unknown(_since: float) -> None:
    """Know of nothing, before there are connections."""


def unheard(_topic: TopicQueues) -> None:
    """Ignore new leaders, where nothing chooses partitions by them."""


class RecordAccumulator:
    """Batches by partition, and what of them is due.

    Args:
        appender: The path of one record.
        memory: The bound of `buffer.memory`.
        batch_size: `batch.size`.
        linger: `linger.ms`, in seconds.
        delivery: `delivery.timeout.ms`, in seconds.
        most: Bytes that a batch of several records may have, by `max.request.size`.
        largest: Bytes that one of a single record may have, by the same.
        now: The clock.
        wait: Waits on a waiter, by the same clock.
        wake: Ends the wait of the network thread.
        obstacle: Returns what stands in the way of records that wait since then; None for
            nothing.
        silent: Returns the silences that brokers have asked for, as waits since then until
            now.
        on_leaders: Called with a topic of which partitions have other leaders than before.

    Attributes:
        appender: The path of one record.
        memory: The bound of `buffer.memory`.
        incomplete: Batches that have not ended, in the order of their beginning; without
            those that others were split into.
        largest: Bytes that a batch of a single record may have.
        limits: Bytes that one of several records may have, by topic.
        flushing: The calls that flush at present.
        refuse: Raises why nothing is sent any more, once that is so.
        refuse_in_callback: Raises for a call that would wait in the thread that delivers.
        last_errors: The last error that an attempt of a batch met; the network thread writes.
        directory: The topics that records can be appended to.
        new_waiter: Makes a waiter for one wait of a call.
        transaction: The transaction that takes records; None without a transactional id.
    """

    def __init__(
        self,
        appender: Appender,
        memory: BufferMemory,
        *,
        batch_size: int,
        linger: float,
        delivery: float,
        most: int,
        largest: int,
        now: Callable[[], float],
        wait: Callable[[Waiter, float], bool],
        wake: Callable[[], None],
        obstacle: Callable[[float], KafkaException | None] = unknown,
        silent: Callable[[float, float], Sequence[Wait]] = unasked,
        on_leaders: Callable[[TopicQueues], None] = unheard,
    ) -> None:
        self.appender: Appender = appender
        self.memory: BufferMemory = memory
        self.incomplete: OrderedDict[Batch, None] = OrderedDict()
        self.largest: int = largest
        self.limits: BatchLimits = BatchLimits(most)
        self.flushing: set[object] = set()
        self.refuse: Callable[[], None] = unclosed
        self.refuse_in_callback: Callable[[str], None] = unrefused
        self._settling: tuple[str, float] | None = None
        self.obstacle: Callable[[float], KafkaException | None] = obstacle
        self.silent: Callable[[float, float], Sequence[Wait]] = silent
        self.last_errors: dict[Batch, KafkaException] = {}
        self.directory: TopicDirectory = TopicDirectory(
            appender.topics, self.limits, on_leaders
        )
        self.transaction: Transaction | None = None
        self.now: Callable[[], float] = now
        self.wait: Callable[[Waiter, float], bool] = wait
        self.new_waiter: Callable[[], Waiter] = Waiter
        self._batch_size = batch_size
        self._linger = linger
        self._delivery = delivery
        self._wake = wake
        self._is_woken = False
        self._is_closed = False
        self._due: deque[PartitionQueue] = deque()
        # Open batches in the order of their beginning: those that linger, and all of them.
        self._lingering: OrderedDict[PartitionQueue, Batch] = OrderedDict()
        self._growing: OrderedDict[PartitionQueue, Batch] = OrderedDict()
        # What batches were split into: not in the order of their deadlines, and few.
        self._parts: dict[Batch, None] = {}
        # The ids of topics, and the partitions that one had before it was created again.
        appender.on_ready = self._became_ready

    # --- application threads -----------------------------------------------------------

    def room_for(self, topic: str, need: int) -> int:
        """The room that a new batch begins with, so that a record of this size has place."""
        return max(min(self._batch_size, self.limits.of(topic)), need)

    def grow(self, queue: PartitionQueue, need: int) -> bool:
        """Give the open batch of a partition more room, if it has none for so many bytes.

        Returns:
            Whether there is an open batch with room now.
        """
        batch = queue.open_batch
        if batch is None:
            return False
        if batch.size + need <= batch.room:
            return True
        limit = self.limits.of(queue.tp.topic)
        before = batch.room
        room = min(max(2 * before, batch.size + need), limit)
        claim = Claim(room - before)
        try:
            if batch.size + need > room or not self.memory.take(claim):
                return False
            with self.appender.lock:
                if queue.open_batch is batch and batch.room == before:
                    claim.granted = False
                    batch.held += claim.size
                    batch.grow(room)
                    return True
            # Another thread was quicker, or the batch was taken.
            return queue.open_batch is not None
        finally:
            self.memory.leave(claim)

    def begin(
        self,
        queue: PartitionQueue,
        claim: Claim,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: bytes,
        on_delivery: OnDelivery | None,
    ) -> Batch | None:
        """Begin a batch with room that was taken from the memory, and its first record.

        The record is in before anything else sees the batch: one that is due at once is taken
        at once, and a batch without records is none that a broker takes.

        Returns:
            The batch; None where the partition's queue is the topic's no more, which may
            happen while the memory is waited for: the room stays in the claim.

        Raises:
            KafkaException: Nothing is sent any more; the room stays in the claim.
        """
        now, room = self.now(), claim.size
        batch = Batch(self, queue.tp.topic, queue.partition, now, now + self._delivery, room)
        if batch.append(timestamp, key, value, headers) < 0:
            raise AssertionError(f"{batch!r} has no room for its first record")
        if on_delivery is not None:
            batch.call_back_for(on_delivery, 0)
        batch.is_ready = batch.size >= self._batch_size
        with self.appender.lock:
            if self.appender.refusal is not None:
                self.appender.refusal()
            if self._queue_at(queue.tp.topic, queue.partition) is not queue:
                return None
            while queue.open_batch is not None:
                self._close_open(queue)
            # No call among these, in which an interrupt could come.
            claim.granted = False
            batch.held = room
            self.incomplete[batch] = None
            self._lingering[queue] = self._growing[queue] = queue.open_batch = batch
            if batch.is_ready:
                self._now_due(queue)
            self._rouse()
        return batch

    def _close_open(self, queue: PartitionQueue) -> None:
        """Have the open batch take no more; the lock is held."""
        batch: Batch | None = queue.open_batch
        if batch is not None:
            # Nothing comes between these two: an interrupt would lose the batch.
            queue.open_batch = None
            queue.closed.append(batch)
            self._now_due(queue)
            self._forget_open(queue, batch)

    def _detach(self, queue: PartitionQueue) -> Batch | None:
        """Take the open batch away, which takes no more; the lock is held."""
        batch: Batch | None = queue.open_batch
        if batch is not None:
            # First out of reach: what appends without the lock then waits for it.
            queue.open_batch = None
            self._forget_open(queue, batch)
        return batch

    def _forget_open(self, queue: PartitionQueue, batch: Batch) -> None:
        """Have a batch take no more that is not open any more; the lock is held."""
        batch.close()
        if self._growing.get(queue) is batch:
            self._lingering.pop(queue, None)
            self._growing.pop(queue, None)

    def _became_ready(self, queue: PartitionQueue) -> None:
        """The open batch has reached `batch.size`."""
        with self.appender.lock:
            self._now_due(queue)
            self._rouse()

    def _now_due(self, queue: PartitionQueue) -> None:
        """Have the network thread look at a partition; the lock is held."""
        if not queue.is_due:
            queue.is_due = True
            self._due.append(queue)

    def _rouse(self) -> None:
        """Wake the network thread, unless it is going to look; the lock is held."""
        if not self._is_woken:
            # In this order: an interrupt in between costs one wake more, and none is missing.
            self._wake()
            self._is_woken = True

    def press(self) -> None:
        """Have the network thread look at once: what lingers does so no longer."""
        with self.appender.lock:
            self._rouse()

    def flush_begins(self, flush: object) -> list[Batch]:
        """Let nothing linger while it is in `flushing`; what has not ended at this moment."""
        self.flushing.add(flush)
        with self.appender.lock:
            self._rouse()
            return [*self.incomplete, *self._parts]

    def follow(self) -> Transaction:
        """Take records only while a transaction is open."""
        self.transaction = Transaction(self.appender.lock, self._set_gate)
        self._set_gate()
        return self.transaction

    def _set_gate(self) -> None:
        """Refuse records outside of an open transaction; the lock is held.

        The refusal is the check that each record has anyway. It looks at the state itself: an
        interrupt between a change and this line refuses nothing in an open transaction.
        """
        transaction, appender = self.transaction, self.appender
        if transaction is None or self._is_closed:
            return
        appender.refusal = None if transaction.takes_records else transaction.require_send

    def close(self) -> None:
        """Take no more records: `send` raises from now on, and who waits for memory too."""
        with self.appender.lock:
            self._is_closed = True
            self.appender.refusal = self.refuse
        self.memory.close()

    def snapshot(self, *, alone: bool = False) -> list[Batch]:
        """Return the unfinished batches at this moment.

        Args:
            alone: No other thread is there, and the lock may be held for good: in a fork.
        """
        if alone:
            return [*self.incomplete, *self._parts]
        with self.appender.lock:
            return [*self.incomplete, *self._parts]

    @property
    def is_empty(self) -> bool:
        """True if no batch is unfinished."""
        return not self.incomplete and not self._parts

    @property
    def oldest(self) -> float | None:
        """The beginning of the oldest batch that has not ended; None where there is none."""
        # Copied in one step: a signal handler that sends may interrupt any two.
        return min((batch.created for batch in self.snapshot()), default=None)

    # --- the network thread ------------------------------------------------------------

    @property
    def hurries(self) -> bool:
        """True if nothing lingers: a call flushes, or waits for memory."""
        return bool(self.flushing) or self.memory.waiting > 0

    def due(self, now: float) -> list[PartitionQueue]:
        """The partitions that have something to send since the last look."""
        with self.appender.lock:
            self._is_woken = False
            hurries = self.hurries
            while self._lingering:
                queue, batch = next(iter(self._lingering.items()))
                if batch.created + self._linger > now and not hurries:
                    break
                del self._lingering[queue]
                self._now_due(queue)
            found = list(self._due)
            self._due.clear()
            return found

    def next_due(self) -> float | None:
        """When the next batch has lingered for long enough."""
        with self.appender.lock:
            oldest = next(iter(self._lingering.values()), None)
        return None if oldest is None else oldest.created + self._linger

    def take(self, queue: PartitionQueue) -> Batch | None:
        """The next batch of a partition that has not been sent; it takes no more records."""
        with self.appender.lock:
            queue.is_due = False
            if not queue.closed:
                return self._detach(queue)
            batch = queue.closed.popleft()
            batch.close()
            return batch

    def peek(self, queue: PartitionQueue) -> Batch | None:
        """The same, which stays where it is."""
        return queue.closed[0] if queue.closed else queue.open_batch

    def close_old(self, now: float) -> float | None:
        """Close open batches that are too old to take more; when the next one will be."""
        growth = GROWTH * self._delivery
        with self.appender.lock:
            while self._growing:
                queue, batch = next(iter(self._growing.items()))
                if batch.created + growth > now:
                    return batch.created + growth
                self._close_open(queue)
        return None

    def expired(self, now: float) -> tuple[list[Batch], float | None]:
        """Batches whose `delivery.timeout.ms` is over, and when the next one's will be."""
        with self.appender.lock:
            left = [each for each in self._parts if not each.ended]
            found = [each for each in left if each.deadline <= now]
            after = [each.deadline for each in left if each.deadline > now]
            for batch in self.incomplete:
                if batch.deadline > now:
                    after.append(batch.deadline)
                    break
                if not batch.ended:
                    found.append(batch)
        return found, min(after, default=None)

    def has_due(self, queue: PartitionQueue) -> bool:
        """Return True if a never sent batch of a partition is due."""
        if queue.closed:
            return True
        batch = queue.open_batch
        return batch is not None and (
            batch.is_ready or queue not in self._lingering or self.hurries
        )

    def remove(self, batch: Batch) -> None:
        """It has ended before it was taken: nothing is to be sent of it."""
        queue = self.queue_of(batch)
        with self.appender.lock:
            if queue is not None and queue.open_batch is batch:
                self._detach(queue)
            elif queue is not None and batch in queue.closed:
                queue.closed.remove(batch)

    def queue_of(self, batch: Batch) -> PartitionQueue | None:
        """The partition that a batch is for; None for one that is not known any more."""
        queue = self._queue_at(batch.topic, batch.partition)
        return self.directory.gone.get(batch.tp) if queue is None else queue

    def _queue_at(self, name: str, partition: int) -> PartitionQueue | None:
        """The queue of a topic's partition; None where the topic has none."""
        topic = self.appender.topics.get(name)
        if topic is None or not 0 <= partition < len(topic.queues):
            return None
        queue: PartitionQueue = topic.queues[partition]
        return queue

    def forget(self, name: str) -> None:
        """Know nothing any more of a topic, unless a record has just come.

        Its queues are among those that are gone then.
        """
        with self.appender.lock:
            topic = self.appender.topics.get(name)
            if topic is None or not any(queue.length for queue in topic.queues):
                self.directory.forget(name)

    def drop(self, queue: PartitionQueue) -> bool:
        """Drop a queue that is gone: False where a batch is in it, or it is to be looked at."""
        with self.appender.lock:
            if queue.length or queue.is_due:
                return False
            self.directory.gone.pop(queue.tp, None)
            return True

    def queues(self) -> Iterable[PartitionQueue]:
        """All partitions that are known."""
        return chain.from_iterable(topic.queues for topic in self._topics())

    def _topics(self) -> list[TopicQueues]:
        return list(self.appender.topics.values())

    def held_up(self, since: float, now: float) -> Sequence[Wait]:
        """What holds records up that wait since then, until now; for any thread.

        A delivery callback that runs, and the silences that brokers have asked for.
        """
        callback = self.callback_wait(now)
        silent = self.silent(since, now)
        return silent if callback is None else (Wait(callback, 0.0, now - since), *silent)

    def callback_wait(self, now: float) -> str | None:
        """The delivery callback that holds the network thread, as the reason of a wait."""
        settling = self._settling
        if settling is None:
            return None
        partition, began = settling
        return (
            f"a delivery callback of {partition}, which has held the network thread "
            f"for {now - began:.1f} s and more: nothing is sent meanwhile"
        )

    def settle(self, batch: Batch, report: Callable[[BaseException], None]) -> bool:
        """Call the callbacks of a batch that has ended: then nothing waits for it any more.

        Returns:
            Whether there were any.
        """
        self._settling = batch.name, self.now()
        try:
            return batch.settle(report)
        finally:
            self._settling = None
            with self.appender.lock:
                self.incomplete.pop(batch, None)
                self._parts.pop(batch, None)

    def replace(self, batch: Batch, parts: list[Batch]) -> None:
        """Go on with several batches in the place of one."""
        for part in parts:
            part.held = part.room
        held, batch.held = batch.held, 0
        with self.appender.lock:
            # Before it is split: what waits for it then finds its parts.
            self._parts |= dict.fromkeys(parts)
        batch.split_into(parts)
        with self.appender.lock:
            self.incomplete.pop(batch, None)
            self._parts.pop(batch, None)
        batch.release()
        self.memory.exchange(held, sum(part.held for part in parts))

    def free(self, batch: Batch) -> None:
        """Give the memory of a batch back: it has ended, and no frame shows it."""
        held, batch.held = batch.held, 0
        if held:
            batch.release()
            self.memory.give_back(held)

    def __repr__(self) -> str:
        return f"RecordAccumulator({len(self.incomplete)} batches, {self.memory})"


def unclosed() -> None:
    """Stand in for what the producer sets."""
    raise IllegalStateException("the producer is closed")


def unrefused(_what: str) -> None:
    """Let every call pass, before the producer has said which thread delivers."""
