"""Work on start offsets of share groups.

Thread: any; frozen values.
"""

from collections.abc import Mapping

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class ShareOffsetsToDescribe:
    """Describe start offsets, by group.

    Attributes:
        items: The partitions of each group; None for all.
    """

    items: Mapping[str, tuple[TopicPartition, ...] | None]


@dataclass(frozen=True, slots=True)
class ShareOffsetsToAlter:
    """Change start offsets of a share group.

    Attributes:
        group: The group.
        items: The offsets.
    """

    group: str
    items: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class ShareOffsetsToDelete:
    """Delete start offsets of a share group.

    Attributes:
        group: The group.
        items: The topics.
    """

    group: str
    items: Mapping[str, None]
