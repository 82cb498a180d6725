"""Records into batches, in pure Python: the specification of the path of every `send`.

One record costs one call here while its topic is known and its partition's batch has room.
Everything else (a topic to be looked up, a batch to be begun, memory to be waited for) is
the slow path, which ends by calling `append` again.

Thread: any application thread appends. `Appender.lock` guards the open batches: `append`
holds it for one record, and the network thread while it takes a batch away. The native twin
needs no lock of its own for a record: it runs no Python code in between.

Invariants: a record is in a batch whole or not at all, also when an interrupt comes; a batch
that is closed takes no more records.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from prokurist.events.accumulator.delivery import Delivery
from prokurist.events.accumulator.murmur2 import partition_of_key
from prokurist.events.accumulator.record_metadata import OnDelivery, require_callback
from prokurist.events.accumulator.rows import NO_HEADERS, Places, Rows
from prokurist.records.columns import pack_headers
from prokurist.types import require_int

Bytes: TypeAlias = bytes | bytearray | memoryview
Headers: TypeAlias = Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]] | None


def unwired(*_: Any) -> Any:
    """Stand in for what the accumulator sets."""
    raise AssertionError("the accumulator has not been wired")


class QueueBase:
    """The batches of one partition; what appending needs of them.

    Attributes:
        partition: The partition's number.
        open_batch: The batch that takes records, if there is one.
    """

    __slots__ = ("open_batch", "partition")

    def __init__(self, partition: int) -> None:
        self.partition: int = partition
        self.open_batch: Any = None


class TopicQueues:
    """The partitions of one topic.

    Attributes:
        name: The topic.
        queues: One for each partition, in order; replaced as a whole when there are more.
        round: The partitions that have their turn for such records yet to come.
        sticky: The partition that records without a key go to at present.
        sticky_bytes: Bytes that it got since it was chosen.
        is_used: Whether a record was sent since this was last set to False.
    """

    __slots__ = ("is_used", "name", "queues", "round", "sticky", "sticky_bytes")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.queues: list[Any] = []
        self.round: list[Any] = []
        self.sticky: Any = None
        self.sticky_bytes: int = 0
        self.is_used: bool = True

    def __repr__(self) -> str:
        return f"TopicQueues({self.name}, {len(self.queues)} partitions)"


class Appender:
    """The path of one record.

    Args:
        batch_size: `batch.size`.
        ignore_keys: `partitioner.ignore.keys`.
        time_of_day: Milliseconds since the epoch.
        choose: Chooses the next partition for records without a key.

    Attributes:
        topics: The topics that records can be appended to, by name.
        lock: Guards the open batches; a signal handler that sends may interrupt its holder.
        choose: Chooses the next partition for records without a key.
        slow: Takes the same arguments as `append`, where something has to be begun or waited
            for; answers as `send` does.
        on_ready: Told of a partition whose open batch has reached `batch.size`.
        refusal: Raises why nothing is sent any more, once that is so.
    """

    __slots__ = (
        "_batch_size",
        "_ignore_keys",
        "_time_of_day",
        "choose",
        "lock",
        "on_ready",
        "refusal",
        "slow",
        "topics",
    )

    def __init__(
        self,
        batch_size: int,
        time_of_day: Callable[[], int],
        *,
        ignore_keys: bool,
        choose: Callable[[TopicQueues], None] = unwired,
    ) -> None:
        self._batch_size = batch_size
        self._ignore_keys = ignore_keys
        self._time_of_day = time_of_day
        self.topics: dict[str, TopicQueues] = {}
        self.lock: threading.RLock = threading.RLock()
        self.choose: Callable[[TopicQueues], None] = choose
        self.slow: Callable[..., Delivery] = unwired
        self.on_ready: Callable[[Any], None] = unwired
        self.refusal: Callable[[], None] | None = None

    def send(
        self,
        topic: str,
        value: Bytes | None = None,
        key: Bytes | None = None,
        headers: Headers = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """Send a record; see `KafkaProducer.send`."""
        if self.refusal is not None:
            self.refusal()
        if timestamp is None:
            timestamp = self._time_of_day()
        else:
            require_timestamp(timestamp)
        if partition is not None:
            require_int("partition", partition, 31)
        require_callback(on_delivery)
        record = (
            topic,
            as_bytes("value", value),
            as_bytes("key", key),
            as_headers(headers),
            partition,
            timestamp,
            on_delivery,
        )
        return self.append(*record) or self.slow(*record)

    def append(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: bytes,
        partition: int | None,
        timestamp: int,
        on_delivery: OnDelivery | None,
    ) -> Delivery | None:
        """Append a record that can be appended at once.

        Returns:
            Its delivery; None where the topic is not known, the partition is not there, or
            its batch has no room.
        """
        queues = self.topics.get(topic)
        queue = None if queues is None else self.place(queues, key, partition)
        if queues is None or queue is None:
            return None
        with self.lock:
            if self.refusal is not None:
                self.refusal()
            batch = queue.open_batch
            if batch is None:
                return None
            before = batch.size
            index: int = batch.append(timestamp, key, value, headers)
            if index < 0:
                return None
            if on_delivery is not None:
                batch.call_back_for(on_delivery, index)
            delivery = Delivery(batch, index, timestamp)
            told = batch.is_ready or batch.size < self._batch_size
            batch.is_ready = batch.is_ready or not told
        queues.is_used = True
        if queue is queues.sticky:
            queues.sticky_bytes += batch.size - before
        if not told:
            self.on_ready(queue)
        return delivery

    def time_of_day(self) -> int:
        """The timestamp of a record that is sent now without one."""
        return self._time_of_day()

    def append_rows(
        self,
        topic: str,
        rows: Rows,
        partition: int | None,
        on_delivery: OnDelivery | None,
        places: Places,
        behind: int,
        upto: int,
    ) -> None:
        """Append records as long as each can be appended at once.

        Args:
            topic: Their topic.
            rows: The records.
            partition: The partition of all of them, where one was given.
            on_delivery: The callback of each.
            places: Takes note of each; tells which is the next.
            behind: How many records of `places` are none of `rows`, but before them.
            upto: Which of `places` is not to be appended any more.
        """
        now = self._time_of_day()
        while places.count < upto:
            key, value, headers, timestamp = rows.row(places.count - behind, now)
            record = topic, value, key, headers, partition, timestamp, on_delivery
            delivery = self.append(*record)
            if delivery is None:
                return
            places.add(delivery._batch, delivery._index)  # noqa: SLF001 - of this room

    def place(self, queues: TopicQueues, key: bytes | None, partition: int | None) -> Any:
        """The queue of a record's partition; None for a partition that is not there."""
        if partition is not None:
            return queues.queues[partition] if partition < len(queues.queues) else None
        if key is not None and not self._ignore_keys:
            return queues.queues[partition_of_key(key, len(queues.queues))]
        if queues.sticky is None or queues.sticky_bytes >= self._batch_size:
            self.choose(queues)
        return queues.sticky

    def __repr__(self) -> str:
        return f"Appender({len(self.topics)} topics)"


class Sender:
    """The `send` of one producer, which keeps that producer for as long as it may be called.

    The network thread refers to the Appender, which therefore keeps nothing.

    Args:
        appender: The path of one record.
        owner: The producer.
    """

    __slots__ = ("_appender", "_owner")

    def __init__(self, appender: Appender, owner: object) -> None:
        self._appender = appender
        self._owner = owner

    def send(
        self,
        topic: str,
        value: Bytes | None = None,
        key: Bytes | None = None,
        headers: Headers = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """Send a record; see `KafkaProducer.send`."""
        return self._appender.send(
            topic, value, key, headers, partition, timestamp, on_delivery
        )


def as_bytes(what: str, value: object) -> bytes | None:
    """A key or value as bytes of its own.

    Raises:
        TypeError: It is of no type that bytes can be taken from.
    """
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    way_out = "encode it" if what == "header" else f"encode it, or set {what}_serializer"
    raise TypeError(f"a {what} is bytes or None, not {type(value).__name__}: {way_out}")


def require_timestamp(timestamp: int) -> None:
    """Check a timestamp.

    Raises:
        TypeError: It is no int.
        ValueError: It is negative, or has more than 63 bits.
    """
    require_int("timestamp", timestamp)


def as_headers(headers: Headers) -> bytes:
    """Headers as they are on the wire.

    Raises:
        TypeError: They are no mapping and no pairs, or one is not of a name and bytes.
        ValueError: There are more than a record may have.
    """
    if not headers:
        return NO_HEADERS
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    listed: list[tuple[str, bytes | None]] = []
    pair: Any
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"a header is a pair of a name and bytes, not {pair!r}")
        name, value = pair
        if not isinstance(name, str):
            raise TypeError(f"a header's name is a str, not {type(name).__name__}: {name!r}")
        listed.append((name, as_bytes("header", value)))
    return pack_headers(listed)
