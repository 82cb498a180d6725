"""Sending state of one partition: its order, its pauses, its numbers.

Thread: the network thread alone.

Sequence numbers follow KIP-360, stricter than Java in one point: a batch of which it is not
known whether it was appended keeps its numbers until the leader has refused them. So there is
no duplicate while brokers keep a producer's numbers, and a gap only where a failure was
reported.

- A batch is numbered when it is sent for the first time: one that expires before leaves no
  gap.
- A leader that has none of a producer's numbers takes any as the first. Until it has
  acknowledged one, a partition has one batch on the wire: a second would overtake it if only
  the first were refused, by a leader that has just been elected, say. The same after a time
  without acknowledgements: brokers forget producers that are idle for long.
- Once a numbered batch has failed the numbers are *unresolved*: no further batch is numbered
  until nothing of the partition is on the wire. If a later batch was acknowledged, all is
  well. Else a new epoch begins, from 0.
- Another topic of the same name has a log that lacks nothing, and a leader that has none of the
  numbers. A batch for it waits until nothing is on the wire for the former one, and what is
  acknowledged of that late says nothing of the new one.
- A batch that its leader refuses as out of order, and before which nothing is outstanding, is
  numbered again under a new epoch, when all others that are numbered were refused, too.
"""

from bisect import insort
from collections import deque
from typing import Final
from uuid import UUID

from prokurist.events.accumulator.batch import Batch, Numbers
from prokurist.events.accumulator.partition_queue import PartitionQueue
from prokurist.network_thread.operations.timer import Due
from prokurist.network_thread.produce.producer_ids import ProducerId

SEQUENCES: Final = 1 << 31
"""Sequence numbers wrap around to 0 there."""
KNOWN_FOR: Final = 60.0
"""Seconds after an acknowledgement in which the leader is taken to know the producer: far below
any `producer.id.expiration.ms` in use (a day by default), and the wait costs one round trip."""


class PartitionSending:
    """The batches of one partition that were sent and have not been acknowledged.

    Args:
        queue: The partition's batches that were never sent.
        number: Counts attempts in the order in which batches were first sent.

    Attributes:
        queue: The partition's batches that were never sent.
        in_flight: Batches on the wire, in the order in which they were sent, each with the id
            of the topic that it was sent to, where that is known. One that has expired stays
            until its answer has come or its connection is gone.
        retries: Batches that are to be sent again, in the order in which they were first sent.
        pause: The Timer's entry for the end of a backoff; None where there is none.
        is_listed: Whether it stands in the list of its leader.
        needs_epoch: Whether its numbers have to begin again.
        lost: Whether its leader lacks what it has acknowledged.
        producer: The id and epoch that its numbers are of.
        next_sequence: The number for the next record.
        acknowledged_offset: The last offset that was acknowledged; −1 for none.
    """

    def __init__(self, queue: PartitionQueue) -> None:
        self.queue: PartitionQueue = queue
        self.in_flight: dict[Batch, UUID | None] = {}
        self.retries: deque[Batch] = deque()
        self.pause: Due | None = None
        self.is_listed: bool = False
        self.needs_epoch: bool = False
        self.lost: bool = False
        self.producer: ProducerId | None = None
        self.next_sequence: int = 0
        self.acknowledged_offset: int = -1
        self._acknowledged: tuple[ProducerId, int] | None = None
        self._acknowledged_at = 0.0
        # Whether the leader may lack what it acknowledged under an earlier id or epoch.
        self._is_unsure = False
        self._topic: UUID | None = None
        self._unresolved: tuple[ProducerId, int] | None = None
        # In the order in which batches were first sent: (n,); (n, 0) and (n, 1) for its parts.
        self._orders: dict[Batch, tuple[int, ...]] = {}
        self._order = 0

    # --- what to send next ---------------------------------------------------------------

    def next_retry(self) -> Batch | None:
        """The batch to be sent again, if one may be sent now; alone on the wire."""
        if self.in_flight:
            return None
        for batch in self.retries:
            # What was refused is numbered again when all others that are numbered were, too.
            if not batch.refused:
                return batch
        return self.retries[0] if self.retries else None

    def may_send_new(self, now: float) -> bool:
        """Return True if a batch may be sent for the first time."""
        if self.retries or any(batch.retries for batch in self.in_flight):
            return False
        if not self.in_flight:
            return True
        return self._unresolved is None and self._is_known(now)

    def _is_known(self, now: float) -> bool:
        """Return True if the leader refuses a batch out of turn, or nothing is numbered."""
        if self.producer is None:
            return True
        if self._acknowledged is None or now - self._acknowledged_at > KNOWN_FOR:
            return False
        return self._acknowledged[0] == self.producer

    def address(self, topic: UUID | None) -> None:
        """Choose the next batch for the topic of an id, if that is known."""
        if topic is None or topic == self._topic:
            return
        if self._topic is not None:
            # Created again.
            self.acknowledged_offset = -1
            self._acknowledged = None
            self.lost = False
        self._topic = topic

    def sent(self, batch: Batch) -> None:
        """A batch is on the wire."""
        if batch in self.retries:
            self.retries.remove(batch)
        if batch not in self._orders:
            self._order += 1
            self._orders[batch] = (self._order,)
        self.in_flight[batch] = self._topic

    def failed_attempt(self, batch: Batch) -> None:
        """An attempt came to nothing: the batch is to be sent again, in its place."""
        del self.in_flight[batch]
        insort(self.retries, batch, key=lambda each: self._orders[each])

    def left(self, batch: Batch) -> None:
        """A batch has been acknowledged or given up, and is not on the wire."""
        self.in_flight.pop(batch, None)
        if batch in self.retries:
            self.retries.remove(batch)
        self._orders.pop(batch, None)

    def split(self, batch: Batch, parts: list[Batch]) -> None:
        """A batch on the wire goes on as several that are to be sent, in its place."""
        order = self._orders[batch]
        self.left(batch)
        first = None if batch.numbers is None else batch.numbers.first
        for number, part in enumerate(parts):
            self._orders[part] = (*order, number)
            if batch.numbers is not None and first is not None:
                part.numbers = batch.numbers._replace(first=first)
                first = (first + part.count) % SEQUENCES
            insort(self.retries, part, key=lambda each: self._orders[each])

    # --- numbers -------------------------------------------------------------------------

    def prepare(self, producer: ProducerId) -> bool:
        """Make sure that the next batch can be numbered; call it before that is taken.

        Returns:
            False when the numbers have to begin again before that, under a new epoch.
        """
        head = self.next_retry()
        if head is not None and head.numbers is not None and not head.refused:
            return True
        if self._unresolved is not None:
            # Nothing of the partition is on the wire: what became of the others is known.
            if self._is_resolved:
                self._unresolved = None
            else:
                self.needs_epoch = True
        if head is not None and head.refused:
            self.needs_epoch = True
        if self.producer != producer and not self.in_flight:
            self._begin(producer)
        return not self.needs_epoch

    def number(self, batch: Batch) -> None:
        """Number a batch that has no numbers yet."""
        if batch.numbers is not None:
            return
        if self.producer is None:
            raise AssertionError(f"{self!r} has no producer id")
        batch.numbers = Numbers(self.producer.id, self.producer.epoch, self.next_sequence)
        self.next_sequence = (self.next_sequence + batch.count) % SEQUENCES

    def _begin(self, producer: ProducerId) -> None:
        """Number from 0, under another id or epoch: nothing of the partition is on the wire."""
        self.producer = producer
        self.next_sequence = 0
        self._is_unsure = not self.lost
        self.needs_epoch = self.lost = False
        self._unresolved = self._acknowledged = None
        for each in self.retries:
            if each.refused:
                each.numbers, each.refused = None, False

    def acknowledge(self, batch: Batch, base_offset: int | None, now: float) -> bool:
        """The leader has a batch.

        Returns:
            Whether it has told by that that it lacks what it had acknowledged: the first batch
            under a new epoch is refused for no gap, and stands at an offset that was taken.
        """
        lacks = False
        if self.in_flight[batch] != self._topic:
            return lacks
        if base_offset is not None:
            lacks = self._is_unsure and 0 <= base_offset <= self.acknowledged_offset
            self._is_unsure = False
            self.acknowledged_offset = base_offset + batch.count - 1
        if batch.numbers is not None:
            self._acknowledged = place_of(batch, batch.numbers)
            self._acknowledged_at = now
        return lacks

    def unresolve(self, batch: Batch) -> None:
        """A numbered batch has failed: whether there is a gap has to be found out."""
        if batch.numbers is not None:
            self._unresolved = place_of(batch, batch.numbers)

    @property
    def is_unresolved(self) -> bool:
        """True while no further batch is numbered: the outcome of one is unknown."""
        return self._unresolved is not None and not self._is_resolved

    @property
    def _is_resolved(self) -> bool:
        """True if the failed batch was acknowledged late, or one behind it was."""
        if self._unresolved is None or self._acknowledged is None:
            return False
        producer, last = self._acknowledged
        failed, failed_last = self._unresolved
        return producer == failed and (last - failed_last) % SEQUENCES < SEQUENCES // 2

    def is_first(self, batch: Batch) -> bool:
        """Return True if no batch numbered before this one is outstanding."""
        order = self._orders[batch]
        others = (*self.in_flight, *self.retries)
        return not any(
            self._orders[each] < order and not each.refused and not each.ended
            for each in others
        )

    @property
    def is_idle(self) -> bool:
        """True if nothing of it is on the wire or to be sent again, and it is on no list."""
        return not (self.in_flight or self.retries or self.pause or self.is_listed)

    def __repr__(self) -> str:
        return (
            f"PartitionSending({self.queue.tp}, {len(self.in_flight)} in flight, "
            f"{len(self.retries)} to be sent again)"
        )


def place_of(batch: Batch, numbers: Numbers) -> tuple[ProducerId, int]:
    """The producer of a batch, and its last sequence number."""
    last = (numbers.first + batch.count - 1) % SEQUENCES
    return ProducerId(numbers.producer_id, numbers.epoch), last
