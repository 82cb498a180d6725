"""Work on records and offsets of partitions.

Thread: any; frozen values.
"""

from collections.abc import Mapping

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class RecordsToDelete:
    """Delete the records before an offset; −1 for all."""

    items: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class OffsetsToList:
    """Look offsets up by timestamp, or by a number of `OffsetSpec`.

    Attributes:
        items: The partitions, and the timestamps.
        read_committed: True if the log ends at its last stable offset.
    """

    items: Mapping[TopicPartition, int]
    read_committed: bool = False
