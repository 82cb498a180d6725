"""Offsets and records of partitions, as an administrator asks for them.

Thread: any; frozen values.
"""

from enum import IntEnum

from prokurist.lazy_dataclasses import dataclass


class OffsetSpec(IntEnum):
    """Offsets that are asked for by a name; the numbers are the protocol's."""

    LATEST = -1
    """The end of the log, which is the next offset to be written."""
    EARLIEST = -2
    """The start of the log."""
    MAX_TIMESTAMP = -3
    """The record with the greatest timestamp (Kafka 3.0 and newer)."""
    EARLIEST_LOCAL = -4
    """The first offset that is not only in tiered storage (3.4 and newer)."""
    LATEST_TIERED = -5
    """The last offset in tiered storage (3.9 and newer)."""
    EARLIEST_PENDING_UPLOAD = -6
    """The first offset that is not in tiered storage yet (4.2 and newer)."""


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """An offset of a partition.

    Attributes:
        offset: The offset; None if there is no such record.
        timestamp: The record's timestamp, where it was asked for by time.
        leader_epoch: The epoch that the record was written in, where it is known.
    """

    offset: int | None
    timestamp: int | None = None
    leader_epoch: int | None = None
