"""The record that users read, in pure Python: the specification.

A record is a view: it knows where its key, value and headers lie in the bytes of
the batch it came in, and makes objects of them when it is asked. So long as it
lives it keeps those bytes alive: the whole frame that the broker answered with, or
the whole batch where that was compressed. `detach` copies a record out.

Thread: any, once it is made; nothing in it changes.
Invariants: the spans were checked when the batch was decoded. What the twins share,
the text, the comparison and the pickling, stands here once, as functions.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from prokurist.records.columns import (
    INT32_MAX,
    Columns,
    Headers,
    pack_headers,
    read_headers,
)
from prokurist.types import TimestampType

if TYPE_CHECKING:
    from collections.abc import Callable

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SHOWN: Final = 40
"""Most bytes of a key or value in a repr."""


class ConsumerRecord:
    """One record, as `poll` returns it.

    Attributes of a record that a consumer read are views; see `detach`.

    Args:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
        key: Its key as bytes, or None.
        value: Its value as bytes, or None for a tombstone.
        timestamp: In milliseconds since the epoch; −1 for none.
        timestamp_type: Who stamped it.
        headers: Pairs of a name and bytes or None.
        leader_epoch: The leader epoch it was written in, where it is known.

    Raises:
        OverflowError: Key, value and headers are 2 GiB or more.
        TypeError: Key or value are neither bytes nor None; `with_values` takes
            what was made of them.
    """

    __slots__ = ("_columns", "_given", "_index")

    _columns: Columns
    _index: int
    _given: tuple[Any, Any] | None

    def __init__(
        self,
        topic: str,
        partition: int,
        offset: int,
        key: bytes | None = None,
        value: bytes | None = None,
        *,
        timestamp: int = -1,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        headers: Iterable[tuple[str, bytes | None]] = (),
        leader_epoch: int | None = None,
    ) -> None:
        raw = raw_parts(key, value, headers)
        keyed = -1 if key is None else len(key)
        valued = -1 if value is None else len(value)
        sizes = (len(raw[0]) + len(raw[1]), len(raw[2]))
        spans = (offset, timestamp, 0, keyed, max(keyed, 0), valued, *sizes)
        columns = Columns(
            topic, partition, leader_epoch, timestamp_type, b"".join(raw), [spans]
        )
        self._see(columns, 0, None)

    @classmethod
    def of(cls, columns: Columns, index: int) -> Self:
        """The view of one row.

        Raises:
            IndexError: There is no such row.
        """
        if not 0 <= index < len(columns):
            raise IndexError(f"row {index} of {len(columns)}")
        view = cls.__new__(cls)
        view._see(columns, index, None)  # noqa: SLF001 - its own kind
        return view

    def _see(self, columns: Columns, index: int, given: tuple[Any, Any] | None) -> None:
        self._columns = columns
        self._index = index
        self._given = given

    @property
    def topic(self) -> str:
        """The topic that the record was read from."""
        return self._columns.topic

    @property
    def partition(self) -> int:
        """The number of the record's partition."""
        return self._columns.partition

    @property
    def offset(self) -> int:
        """The record's offset in its partition."""
        return self._columns.offsets[self._index]

    @property
    def timestamp(self) -> int:
        """In milliseconds since the epoch; −1 where it has none."""
        return self._columns.timestamps[self._index]

    @property
    def timestamp_type(self) -> TimestampType:
        """Return who set the timestamp, the producer or the broker."""
        return self._columns.timestamp_type

    @property
    def datetime(self) -> datetime | None:
        """Its timestamp in UTC; None where it has none, or none a datetime can hold."""
        return moment(self.timestamp)

    @property
    def leader_epoch(self) -> int | None:
        """The leader epoch it was written in, where it is known."""
        return self._columns.leader_epoch

    @property
    def key(self) -> Any:
        """Its key, as bytes or None, or what a deserializer made of them."""
        if self._given is not None:
            return self._given[0]
        columns, index = self._columns, self._index
        return span(columns.data, columns.key_starts[index], columns.key_lengths[index])

    @property
    def value(self) -> Any:
        """Its value, as bytes or None, or what a deserializer made of them."""
        if self._given is not None:
            return self._given[1]
        columns, index = self._columns, self._index
        return span(columns.data, columns.value_starts[index], columns.value_lengths[index])

    @property
    def headers(self) -> Headers:
        """Its headers in order, a new list each time."""
        columns, index = self._columns, self._index
        return read_headers(
            columns.data, columns.header_starts[index], columns.header_lengths[index]
        )

    @property
    def serialized_key_size(self) -> int:
        """Size of the key on the wire, in bytes; −1 for none."""
        return self._columns.key_lengths[self._index]

    @property
    def serialized_value_size(self) -> int:
        """Size of the value on the wire, in bytes; −1 for none."""
        return self._columns.value_lengths[self._index]

    def detach(self) -> "ConsumerRecord":
        """A copy that keeps nothing alive but its own bytes."""
        place, rest = fields(self)
        plain = ConsumerRecord(*place, **rest)
        return plain if self._given is None else plain.with_values(*self._given)

    def with_values(self, key: Any, value: Any) -> "ConsumerRecord":
        """The same record with another key and value, as deserializers make them."""
        twin = ConsumerRecord.of(self._columns, self._index)
        twin._see(self._columns, self._index, (key, value))  # noqa: SLF001 - its own kind
        return twin

    def raw(self) -> tuple[bytes | None, bytes | None]:
        """Key and value as they came, before deserialization."""
        plain = ConsumerRecord.of(self._columns, self._index)
        return plain.key, plain.value

    def deserialized(self) -> tuple[Any, Any] | None:
        """Key and value that `with_values` gave it; None if it has its own."""
        return self._given

    def __repr__(self) -> str:
        return described(self)

    def __eq__(self, other: object) -> bool:
        return same(self, other) if isinstance(other, ConsumerRecord) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.topic, self.partition, self.offset))

    def __reduce__(self) -> tuple["Callable[..., ConsumerRecord]", tuple[Any, ...]]:
        return reduced(self)


def views(columns: Columns, start: int, stop: int) -> Iterator[ConsumerRecord]:
    """Make the views of consecutive rows."""
    make = ConsumerRecord.__new__
    for index in range(start, stop):
        view = make(ConsumerRecord)
        view._columns = columns  # noqa: SLF001 - without a call, this loop is the hot path
        view._index = index  # noqa: SLF001
        view._given = None  # noqa: SLF001
        yield view


def span(data: bytes | bytearray | memoryview, start: int, length: int) -> bytes | None:
    """Cut bytes out of a batch; a negative length is null."""
    return None if length < 0 else bytes(data[start : start + length])


def raw_bytes(name: str, value: object) -> bytes:
    """Return the bytes of a key or value.

    Raises:
        TypeError: It is neither bytes nor None.
    """
    if value is None:
        return b""
    if not isinstance(value, bytes):
        raise TypeError(
            f"{name} is bytes or None, not {value!r}: with_values takes what was made of them"
        )
    return value


def raw_parts(
    key: object, value: object, headers: Iterable[tuple[str, bytes | None]]
) -> tuple[bytes, bytes, bytes]:
    """Copy the key, value and headers of a record that was not read.

    Raises:
        OverflowError: They are more than spans can count.
        TypeError: Key or value are neither bytes nor None.
    """
    parts = raw_bytes("key", key), raw_bytes("value", value), pack_headers(headers)
    if (size := sum(map(len, parts))) > INT32_MAX:
        raise OverflowError(
            f"key, value and headers of a record are at most {INT32_MAX} bytes, not {size}"
        )
    return parts


def moment(timestamp: int) -> datetime | None:
    """Convert milliseconds since the epoch to a time in UTC."""
    try:
        return EPOCH + timedelta(milliseconds=timestamp) if timestamp >= 0 else None
    except OverflowError:
        return None


def fields(record: ConsumerRecord) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """List the constructor's arguments that make the record again."""
    return (record.topic, record.partition, record.offset, *record.raw()), {
        "timestamp": record.timestamp,
        "timestamp_type": record.timestamp_type,
        "headers": record.headers,
        "leader_epoch": record.leader_epoch,
    }


def reduced(record: ConsumerRecord) -> tuple["Callable[..., ConsumerRecord]", tuple[Any, ...]]:
    """Pickle a record: detached, and for either twin to read."""
    from prokurist.records.restoring import restored  # noqa: PLC0415 - it knows both twins

    return restored, (*fields(record), record.deserialized())


def same(one: ConsumerRecord, other: ConsumerRecord) -> bool:
    """True if all fields of two records are equal."""
    return one.offset == other.offset and told(one) == told(other)


def told(record: ConsumerRecord) -> tuple[Any, ...]:
    """Collect all fields of a record, for comparisons."""
    return (
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.timestamp_type,
        record.key,
        record.value,
        record.headers,
        record.leader_epoch,
    )


def described(record: ConsumerRecord) -> str:
    """Describe a record in one line: which it is, and how its contents begin."""
    headers = f", headers={len(record.headers)}" if record.headers else ""
    return (
        f"ConsumerRecord({record.topic}-{record.partition} @ {record.offset}, "
        f"timestamp={record.timestamp}, key={shortened(record.key)}, "
        f"value={shortened(record.value)}{headers})"
    )


def shortened(value: Any) -> str:
    """Shorten a value's repr to its beginning and its length."""
    if isinstance(value, bytes) and len(value) > SHOWN:
        return f"{value[:SHOWN]!r}… ({len(value)} bytes)"
    text = repr(value)
    return f"{text[:SHOWN]}…" if len(text) > 2 * SHOWN else text
