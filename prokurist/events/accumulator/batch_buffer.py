"""The records of one batch, in pure Python: the specification.

Thread: application threads append, one at a time; the network thread does the rest, once the
batch is closed.

Invariants: a record is in the batch whole or not at all, also when an interrupt comes; a
batch that is closed takes no more records.
"""

from collections.abc import Callable
from typing import Final

from prokurist.events.accumulator.record_metadata import OnDelivery, Outcome
from prokurist.records.columns import sized
from prokurist.records.encode import batch_header
from prokurist.records.headers import BATCH_HEADER
from prokurist.records.varints import decode_varint, encode_varint

CLOSED: Final = -1
"""Result of `append` on a batch that takes no more records."""
FULL: Final = -2
"""Result of `append` for a record that does not fit."""


ALONE: Final = b"\0\0\0"
"""First bytes of a batch's first record: attributes, zero timestamp and offset deltas."""


class BatchBuffer:
    """The records of one batch as bytes, without the batch's header.

    Args:
        room: Bytes that it may take, its header included.

    Attributes:
        is_open: Whether it takes records.
        is_ready: Whether it has been told to be large enough to be sent.
        room: Bytes that it may take; counted against `buffer.memory`.
        size: Bytes that it takes, its header included.
        base_timestamp: Of its first record.
        max_timestamp: The latest of its records'.
        callbacks: Which records have which callback: runs of callback, first and last index.
    """

    __slots__ = (
        "_next",
        "_records",
        "base_timestamp",
        "callbacks",
        "is_open",
        "is_ready",
        "max_timestamp",
        "room",
        "size",
    )

    def __init__(self, room: int) -> None:
        self.is_open: bool = True
        self.is_ready: bool = False
        self.room: int = room
        self.size: int = BATCH_HEADER
        self.base_timestamp: int = -1
        self.max_timestamp: int = -1
        self.callbacks: list[tuple[OnDelivery, int, int]] = []
        self._records: list[bytes] = []
        self._next = 0

    @property
    def count(self) -> int:
        """Number of its records."""
        return len(self._records)

    def append(
        self, timestamp: int, key: bytes | None, value: bytes | None, headers: bytes
    ) -> int:
        """Add a record.

        Args:
            timestamp: Its timestamp.
            key: Its key.
            value: Its value.
            headers: Its headers as they are on the wire.

        Returns:
            Its index; `CLOSED` or `FULL`, and then nothing has changed.
        """
        if not self.is_open:
            return CLOSED
        index = self._next
        base = timestamp if index == 0 else self.base_timestamp
        inside = b"".join(
            (
                b"\0",
                encode_varint(timestamp - base),
                encode_varint(index),
                *sized(key),
                *sized(value),
                headers,
            )
        )
        record = encode_varint(len(inside)) + inside
        size = self.size + len(record)
        if size > self.room:
            return FULL
        newest = max(self.max_timestamp, timestamp)
        if index != self._next:
            # A signal handler has interrupted this, and appended another record.
            return self.append(timestamp, key, value, headers)
        # From here on there is no call in which an interrupt could come, but the last.
        self._next = index + 1
        self.base_timestamp, self.max_timestamp, self.size = base, newest, size
        self._records.append(record)
        return index

    def grow(self, room: int) -> None:
        """Take up to so many bytes from now on."""
        self.room = room

    def close(self) -> None:
        """Take no more records."""
        self.is_open = False

    def body(self) -> bytes:
        """The records, one behind the other."""
        return b"".join(self._records)

    def timestamps(self) -> list[int]:
        """The timestamps of its records."""
        found: list[int] = []
        for record in self._records:
            _, at = decode_varint(record, 0)
            delta, _ = decode_varint(record, at + 1)
            found.append(self.base_timestamp + delta)
        return found

    def seal(
        self, producer_id: int, epoch: int, first: int, attributes: int = 0
    ) -> bytes | memoryview:
        """The batch as it is on the wire, uncompressed: its header, then its records.

        What was sealed before stays as it is for as long as it is used, also when the batch
        is sealed with other numbers or released.

        Args:
            producer_id: The producer's id; −1 for none.
            epoch: The epoch of that id.
            first: The sequence number of the first record.
            attributes: Flags of the batch.
        """
        body = self.body()
        head = batch_header(
            body,
            attributes=attributes,
            count=self.count,
            base_timestamp=self.base_timestamp,
            max_timestamp=self.max_timestamp,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=first,
        )
        return head + body

    def delivered_as(
        self, topic: str, partition: int, base_offset: int, append_time: int
    ) -> None:
        """Note what handles tell: all of its records are delivered.

        Here they ask the batch; the native twin answers without a look at it.
        """

    def release(self) -> None:
        """Let go of the records: the batch has ended, and no frame shows them."""
        self._records = []

    def call_back_for(self, callback: OnDelivery, index: int) -> None:
        """Have a callback called for a record; the same one in a row is kept as one run."""
        if self.callbacks:
            last, first, end = self.callbacks[-1]
            if last is callback and end == index - 1:
                self.callbacks[-1] = callback, first, index
                return
        self.callbacks.append((callback, index, index))

    def call_back(
        self,
        topic: str,
        partition: int,
        outcome: Outcome,
        report: Callable[[BaseException], None],
    ) -> bool:
        """Call the callbacks of its records, in their order, each once.

        Args:
            topic: Its topic.
            partition: Its partition.
            outcome: What it has ended with.
            report: Told what a callback raises.

        Returns:
            Whether there were any.
        """
        runs, self.callbacks = self.callbacks, []
        timestamps = self.timestamps() if runs else []
        for callback, first, last in runs:
            for index in range(first, last + 1):
                metadata = outcome.metadata(topic, partition, index, timestamps[index])
                try:
                    callback(metadata, outcome.error_of(index))
                except BaseException as error:  # noqa: BLE001 - also a sys.exit: not of this thread
                    report(error)
        return bool(runs)


def size_alone(key: bytes | None, value: bytes | None, headers: bytes) -> int:
    """Bytes of a batch that has nothing but one record, before compression.

    Args:
        key: The record's key.
        value: Its value.
        headers: Its headers, encoded.
    """
    size = len(ALONE) + len(headers)
    for each in (key, value):
        size += 1 if each is None else len(encode_varint(len(each))) + len(each)
    return BATCH_HEADER + len(encode_varint(size)) + size
