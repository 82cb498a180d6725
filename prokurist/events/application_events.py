"""What the application thread asks of the network thread: one small class a wish.

Thread: made by one, read by the other; frozen. A wish that somebody waits for
carries his Call, and so its deadline.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from prokurist.events.call import Call
from prokurist.types import OffsetAndMetadata, TopicPartition


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit these offsets; the call ends when the coordinator has them."""

    call: Call
    offsets: Mapping[TopicPartition, OffsetAndMetadata]


@dataclass(frozen=True, slots=True)
class CommitOnce:
    """Commit these offsets in one attempt, as soon as the coordinator is known."""

    call: Call
    offsets: Mapping[TopicPartition, OffsetAndMetadata]


@dataclass(frozen=True, slots=True)
class LookUpCommitted:
    """What has the group committed? The answer is `{partition: OffsetAndMetadata | None}`."""

    call: Call
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The caller has left before his deadline: stop working for him."""

    call: Call


@dataclass(frozen=True, slots=True)
class Close:
    """End the thread; the call ends when everything is closed."""

    call: Call


ApplicationEvent: TypeAlias = Commit | CommitOnce | LookUpCommitted | Withdraw | Close
