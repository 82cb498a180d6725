"""A share session with one broker: its number, and its partitions.

Thread: the network thread alone.

One row of numbers serves fetches and acknowledgements, so one request is under way at a time:
an overlapping one would end a parked fetch, and what that has acquired would be lost from
sight. The broker counts a request when it takes it, and none that it refuses as a whole.
"""

from collections.abc import Mapping
from typing import Final

from prokurist.network_thread.wire.share_fetch import CLOSING, OPENING, SharePartition
from prokurist.types import TopicPartition

LARGEST: Final = 2**31 - 1


class ShareSession:
    """The session of one broker.

    Attributes:
        number: The number of its next request; 0 while it is not open.
        partitions: Its partitions.
    """

    def __init__(self) -> None:
        self.number: int = OPENING
        self.partitions: dict[SharePartition, TopicPartition] = {}

    @property
    def is_open(self) -> bool:
        """True if the broker knows it, as far as answers tell."""
        return self.number != OPENING

    def changes(
        self, wanted: Mapping[SharePartition, TopicPartition]
    ) -> tuple[tuple[SharePartition, ...], tuple[SharePartition, ...]]:
        """The partitions that a fetch has to add, and those that it has to forget."""
        added = tuple(each for each in wanted if each not in self.partitions)
        gone = tuple(each for each in self.partitions if each not in wanted)
        return added, gone

    def taken(self) -> None:
        """The broker has taken a request."""
        self.number = 1 if self.number == LARGEST else self.number + 1

    def lost(self) -> None:
        """The broker does not know it any more: it is opened anew."""
        self.number = OPENING
        self.partitions = {}

    @property
    def last(self) -> int:
        """The number of a request that closes it."""
        return CLOSING

    def __repr__(self) -> str:
        return f"ShareSession({self.number}, {len(self.partitions)} partitions)"
