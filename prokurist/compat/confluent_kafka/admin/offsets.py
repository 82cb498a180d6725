"""Offsets of partitions by name or time, and deleted records."""

from typing import Any, ClassVar

from prokurist.admin import ListedOffset


class OffsetSpec:
    """An offset that is asked for by a name or by a time; `OffsetSpec(-1)` is the latest."""

    _value: int
    _named: ClassVar[dict[int, "OffsetSpec"]] = {}

    def __new__(cls, index: int) -> Any:
        """The offset of a name's number, or of a time in milliseconds."""
        return TimestampSpec(index) if index >= 0 else OffsetSpec._named[index]

    @classmethod
    def earliest(cls) -> "OffsetSpec":
        """The start of the log."""
        return cls._named[-2]

    @classmethod
    def latest(cls) -> "OffsetSpec":
        """The end of the log."""
        return cls._named[-1]

    @classmethod
    def max_timestamp(cls) -> "OffsetSpec":
        """The record with the greatest timestamp."""
        return cls._named[-3]

    @classmethod
    def for_timestamp(cls, timestamp: int) -> "OffsetSpec":
        """The first record at or after a time, in epoch milliseconds."""
        return TimestampSpec(timestamp)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, OffsetSpec):
            return NotImplemented
        return self._value < other._value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._value})"


class TimestampSpec(OffsetSpec):
    """The first record at or after a time.

    Args:
        timestamp: Epoch milliseconds.
    """

    def __new__(cls, _timestamp: int) -> Any:
        """An object of this class."""
        return object.__new__(cls)

    def __init__(self, timestamp: int) -> None:
        self.timestamp = timestamp

    @property
    def _value(self) -> int:  # type: ignore[override]
        return self.timestamp


class _NamedSpec(OffsetSpec):
    """An offset that has a name."""

    def __new__(cls) -> Any:
        """An object of this class."""
        return object.__new__(cls)


class MaxTimestampSpec(_NamedSpec):
    """The record with the greatest timestamp."""

    _value = -3


class EarliestSpec(_NamedSpec):
    """The start of the log."""

    _value = -2


class LatestSpec(_NamedSpec):
    """The end of the log."""

    _value = -1


for _kind in (MaxTimestampSpec, EarliestSpec, LatestSpec):
    OffsetSpec._named[_kind._value] = _kind()


class ListOffsetsResultInfo:
    """An offset of a partition.

    Args:
        offset: The offset; −1 if there is no such record.
        timestamp: The record's timestamp; −1 where it was not asked for by time.
        leader_epoch: Its leader epoch; None or negative where it is not known.
    """

    def __init__(self, offset: int, timestamp: int, leader_epoch: int | None) -> None:
        self.offset = offset
        self.timestamp = timestamp
        known = leader_epoch is not None and leader_epoch >= 0
        self.leader_epoch: int | None = leader_epoch if known else None

    @classmethod
    def of(cls, found: ListedOffset) -> "ListOffsetsResultInfo":
        """An offset of ours."""
        return cls(
            -1 if found.offset is None else found.offset,
            -1 if found.timestamp is None else found.timestamp,
            found.leader_epoch,
        )

    def __repr__(self) -> str:
        return f"ListOffsetsResultInfo({self.offset}, {self.timestamp}, {self.leader_epoch})"


class DeletedRecords:
    """The new start of a log.

    Args:
        low_watermark: The first offset that is left.
    """

    def __init__(self, low_watermark: int) -> None:
        self.low_watermark = low_watermark

    def __repr__(self) -> str:
        return f"DeletedRecords({self.low_watermark})"
