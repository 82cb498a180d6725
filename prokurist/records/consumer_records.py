"""Result of `poll`: runs of records, partition by partition.

Thread: any, once it is made; nothing in it changes but `why_empty`, which is found out once.
It keeps alive what its records keep alive (see `ConsumerRecord.detach`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from prokurist.records.columns import RecordColumns
from prokurist.records.implementation import CODEC
from prokurist.records.run import RecordRun
from prokurist.records.why_empty import SKIPPED, WhyEmpty
from prokurist.types import OffsetAndMetadata, TopicPartition, named

__all__ = ["ConsumerRecord", "ConsumerRecords", "DeserializedRun", "Run"]

PEERS_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("items", "values"), "partitions(), and records(partition) for each"),
        "keys": "partitions()",
        "error": "nothing: poll raises errors",
        **dict.fromkeys(
            ("headers", "key", "offset", "partition", "timestamp", "topic", "value"),
            "for record in records: a poll returns many, and next(timeout) of a consumer one",
        ),
    }
)
"""Attributes of other clients' poll results, each with its counterpart here."""

if TYPE_CHECKING:
    from prokurist.records.record import ConsumerRecord
else:
    ConsumerRecord = CODEC.ConsumerRecord


class Run(Protocol):
    """Records of one partition, in order; a `RecordRun` is one."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[ConsumerRecord]: ...

    def as_columns(self) -> RecordColumns:
        """The same records as columns."""
        ...


class DeserializedRun:
    """A run whose records were made already, with values of the user's own.

    Args:
        raw: The run they were made of.
        records: They.
    """

    __slots__ = ("_raw", "_records")

    def __init__(self, raw: RecordRun, records: Sequence[ConsumerRecord]) -> None:
        self._raw = raw
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return iter(self._records)

    def __repr__(self) -> str:
        return f"DeserializedRun({self._raw!r})"

    def as_columns(self) -> RecordColumns:
        """The bytes that the values were made of."""
        return self._raw.as_columns()


class ConsumerRecords:
    """Records of any number of partitions, each partition's in order.

    Iterating makes them one by one, and again each time; that is the quick way.
    `columns` and `to_arrow` make none.

    Args:
        runs: By partition: consecutive records, the runs in order.
        next_offsets: Where reading goes on after them.
        why_empty: Finds out why there are none, when that is asked for.
    """

    __slots__ = ("_next_offsets", "_runs", "_why_empty", "count")

    def __init__(
        self,
        runs: Mapping[TopicPartition, Sequence[Run]] | None = None,
        next_offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        *,
        why_empty: WhyEmpty | Callable[[], WhyEmpty] | None = None,
    ) -> None:
        self._why_empty = why_empty
        self._runs: dict[TopicPartition, Sequence[Run]] = {
            partition: each for partition, each in (runs or {}).items() if each
        }
        self._next_offsets: dict[TopicPartition, OffsetAndMetadata] = dict(next_offsets or {})
        self.count: int = sum(map(len, self._all_runs()))
        """Number of records."""

    def __len__(self) -> int:
        return self.count

    def __bool__(self) -> bool:
        return self.count > 0

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return chain.from_iterable(self._all_runs())

    def __repr__(self) -> str:
        of = f" of {named(self._runs)}" if self._runs else ""
        return f"ConsumerRecords({self.count} records{of})"

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self._runs, self._next_offsets, self.why_empty)

    @property
    def why_empty(self) -> WhyEmpty | None:
        """Reason for a poll without records; None where there are some.

        It is determined on first access, without waiting, and then stays: read it at once, for
        the state at the end of that poll. None also for records not returned by a poll.
        """
        if self.count:
            return None
        if callable(self._why_empty):
            self._why_empty = self._why_empty()
        elif self._why_empty is None and self._next_offsets:
            self._why_empty = SKIPPED
        return self._why_empty

    def partitions(self) -> list[TopicPartition]:
        """The partitions that there are records of, in the order they come in."""
        return list(self._runs)

    def records(self, partition: TopicPartition) -> list[ConsumerRecord]:
        """The records of one partition; an empty list if there are none."""
        return list(chain.from_iterable(self._runs.get(partition, ())))

    def next_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets to read from next, as `commit_sync` takes them.

        They include skipped records, so a partition without records may be among them, and an
        offset is not always one past the last record.
        """
        return dict(self._next_offsets)

    def columns(self) -> list[RecordColumns]:
        """The records as columns, one entry for each run.

        Offsets and timestamps are memoryviews of 64-bit integers. Keys, values and
        headers are spans: shared bytes, and where each begins and how long it is,
        as memoryviews of 32-bit integers; the length −1 is null. All of them can be
        handed to numpy or Arrow as they are. Values are as fetched, no matter what a
        deserializer made of them.
        """
        return [run.as_columns() for run in self._all_runs()]

    def to_arrow(self) -> Any:
        """The records as a `pyarrow.Table`; needs `prokurist[arrow]`.

        Its columns are topic, partition, offset, timestamp (milliseconds in UTC, null
        for none), timestamp_type (the number of a `TimestampType`), key, value and
        headers. Values are as fetched. No object is made for a record, except for
        headers where there are some.

        Raises:
            ImportError: pyarrow is not installed.
        """
        from prokurist.records.arrow import table  # noqa: PLC0415 - pyarrow is heavy

        return table(self.columns())

    def _all_runs(self) -> Iterator[Run]:
        return chain.from_iterable(self._runs.values())

    if not TYPE_CHECKING:  # To a type checker it would have every attribute.

        def __getattr__(self, name: str) -> NoReturn:
            text = f"'ConsumerRecords' object has no attribute {name!r}"
            if name in PEERS_WORDS:
                text += f": write {PEERS_WORDS[name]}"
            raise AttributeError(text, name=name, obj=self)


def restored(
    runs: Mapping[TopicPartition, Sequence[Run]],
    next_offsets: Mapping[TopicPartition, OffsetAndMetadata],
    why_empty: WhyEmpty | None,
) -> ConsumerRecords:
    """Make records again; a pickle names this function."""
    return ConsumerRecords(runs, next_offsets, why_empty=why_empty)
