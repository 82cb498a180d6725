"""The handle of many records that were sent in one call.

It keeps which batches they are in, four bytes for each record beside, and asks the batches.

Thread: any waits and asks; the network thread ends batches.
"""

import math
from collections.abc import Generator, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from prokurist.errors import KafkaException
from prokurist.events.accumulator.batch import Batch, Owner
from prokurist.events.accumulator.delivery import await_end, ended, own
from prokurist.events.accumulator.implementation import Delivery, Places
from prokurist.events.accumulator.rows import Run
from prokurist.events.clock import as_seconds


class DeliveredRun(NamedTuple):
    """Records of one call that are side by side in a partition's log.

    Attributes:
        topic: The topic.
        partition: The partition.
        offset: The offset of the first of them; −1 where no broker told it.
        records: How many they are.
    """

    topic: str
    partition: int
    offset: int
    records: int


class Deliveries:
    """Outcomes of the records of one `send_many` or `send_batch`.

    Attributes:
        given: How many records the call was given.
        error: Why those behind the first `count` were not sent; None where all were.
    """

    __slots__ = ("_owner", "_places", "error", "given")

    def __init__(
        self, owner: Owner, places: Places, given: int, error: KafkaException | None
    ) -> None:
        self._owner = owner
        self._places = places
        self.given: int = given
        self.error: KafkaException | None = error

    @property
    def count(self) -> int:
        """Number of records taken, counted from the first; the rest was not sent.

        Each of them is in a batch, or has failed by itself, as one that is too large does.
        """
        return self._places.count

    def done(self) -> bool:
        """Return True if each record taken is delivered or has failed."""
        return all(batch.ended for batch, _, _ in self._leaves())

    def result(self, timeout: float | timedelta | None = None) -> list[DeliveredRun]:
        """Wait until all records are delivered.

        Args:
            timeout: Seconds; None until they are delivered or have failed, which
                `delivery.timeout.ms` bounds.

        Returns:
            Where they are, as `offsets` tells it.

        Raises:
            IllegalStateException: They are not done, and this is a delivery callback.
            KafkaException: A record has failed, or was not sent; `failed` tells which.
            TimeoutException: This wait is over; the delivery goes on.
        """
        error = self._first_error("result", timeout)
        if error is not None:
            raise own(error)
        return self.offsets()

    def exception(self, timeout: float | timedelta | None = None) -> KafkaException | None:
        """Wait like `result`, and return what it would raise of the records; None if nothing.

        Raises:
            IllegalStateException: As in `result`.
            TimeoutException: This wait is over; the delivery goes on.
        """
        error = self._first_error("exception", timeout)
        return None if error is None else own(error)

    def __await__(self) -> Generator[Any, None, list[DeliveredRun]]:
        return self._awaited().__await__()

    async def _awaited(self) -> list[DeliveredRun]:
        """Wait like `result`, in a coroutine: for a batch at a time, and for no record."""
        for batch, first, count in self._places.runs():
            index = first
            while index < first + count:
                await await_end(batch, index)
                index = next_leaf(batch, index)
        return self.result()

    def __iter__(self) -> Iterator[Delivery]:
        """Return a handle of each record taken, in their order; without their timestamps."""
        return (Delivery(batch, index, -1) for batch, index in self._places.each())

    def failed(self) -> list[tuple[int, KafkaException]]:
        """Return the records that have failed so far, with their errors.

        Returns:
            The place of each among those that were given, and its error, in their order;
            with those that were not sent.
        """
        found: list[tuple[int, KafkaException]] = []
        if any(batch.ended and has_errors(batch) for batch, _, _ in self._leaves()):
            for position, (batch, index) in enumerate(self._places.each()):
                part, place = batch.part(index)
                error = part.error_of(place) if part.ended else None
                if error is not None:
                    found.append((position, error))
        if self.error is not None:
            found += ((position, self.error) for position in range(self.count, self.given))
        return found

    def offsets(self) -> list[DeliveredRun]:
        """Return the delivered records so far, as runs in their order."""
        return [
            DeliveredRun(
                part.topic, part.partition, part.metadata(first, 0).offset, upto - first
            )
            for part, begin, count in self._leaves()
            if part.ended
            for first, upto in delivered(part, begin, begin + count)
        ]

    def _first_error(
        self, operation: str, timeout: float | timedelta | None
    ) -> KafkaException | None:
        """Wait for all; the error of the first that has one."""
        until = math.inf if timeout is None else self._owner.now() + as_seconds(timeout)
        for batch, first, count in self._places.runs():
            index = first
            while index < first + count:
                left = None if timeout is None else max(0.0, until - self._owner.now())
                ended(batch, index, operation, left)
                # What it was split into may end one by one.
                index = next_leaf(batch, index)
        failed = self.failed()
        return failed[0][1] if failed else None

    def _leaves(self) -> Iterator[Run]:
        """The batches that the records are in now: those which others were split into."""
        for batch, first, count in self._places.runs():
            index = first
            while index < first + count:
                part, place = batch.part(index)
                upto = min(next_leaf(batch, index), first + count)
                yield Run(part, place, upto - index)
                index = upto

    def __repr__(self) -> str:
        state = "done" if self.done() else "on their way"
        return f"Deliveries({self.count} of {self.given} records, {state})"


def has_errors(batch: Batch) -> bool:
    """Return True if any record of an ended batch has failed."""
    return batch.failed or batch.has_record_errors


def delivered(batch: Batch, first: int, upto: int) -> list[tuple[int, int]]:
    """The records of a batch that has ended, as runs between those that have failed."""
    failed: list[int] = []
    if has_errors(batch):
        failed = [index for index in range(first, upto) if batch.error_of(index) is not None]
    begins = [first, *(index + 1 for index in failed)]
    return [
        (begin, end) for begin, end in zip(begins, [*failed, upto], strict=True) if end > begin
    ]


def next_leaf(batch: Batch, index: int) -> int:
    """The index of the first record behind one that was split off into another batch.

    A number that no record has where there is none.
    """
    base, upto = 0, 1 << 62
    while batch.parts:
        firsts = [first for first, _ in batch.parts]
        place = max(number for number, first in enumerate(firsts) if first <= index - base)
        if place + 1 < len(firsts):
            upto = min(upto, base + firsts[place + 1])
        base += firsts[place]
        batch = batch.parts[place][1]
    return upto
