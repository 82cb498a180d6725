"""One background look-up of positions: the missing ones, and its followers.

Thread: the network thread alone. `PositionsManager` does the work.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final, Generic

from prokurist.errors import (
    KafkaException,
    LogTruncationException,
    NoOffsetForPartitionException,
)
from prokurist.events.positions import PositionRequest
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.cluster.leader_queries import RowT
from prokurist.network_thread.operations.concurrent_pieces import ConcurrentPieces
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.operations.shared_call import SharedCall
from prokurist.network_thread.wire.log_offsets import ListedOffset
from prokurist.types import OffsetAndMetadata, TopicPartition, named

LEAST: Final = 30.0
"""Seconds that a look-up has at least, however short users want their own calls."""


class Search:
    """One look-up of positions in the background.

    Attributes:
        call: Its deadline and its ledger.
        left: Positions not found yet.
        pieces: The stages that are on their way.
    """

    def __init__(self, call: SharedCall, wanted: Iterable[PositionRequest]) -> None:
        self.call = call
        self.left: dict[TopicPartition, PositionRequest] = {
            each.partition: each for each in wanted
        }
        self.pieces: ConcurrentPieces = ConcurrentPieces()
        self._ends: dict[TopicPartition, Promise[None]] = {}

    @property
    def polled(self) -> bool:
        """True if a `poll` has asked for the search; a poll does not follow it."""
        return self.call.detached

    @property
    def is_needed(self) -> bool:
        """True if a call or a poll wants its result."""
        return self.polled or self.call.is_followed

    def end_of(self, tp: TopicPartition) -> Promise[None]:
        """The promise of a partition's end of the search; an error breaks it."""
        return self._ends.setdefault(tp, Promise())

    def over(self, tp: TopicPartition, error: KafkaException | None = None) -> None:
        """Note that the search has ended for a partition."""
        self.left.pop(tp, None)
        end = self._ends.pop(tp, None)
        if end is not None and error is not None:
            end.break_(error)
        elif end is not None:
            end.keep(None)

    def is_awaited(self, tp: TopicPartition) -> bool:
        """Return True if a call waits for a partition."""
        return tp in self._ends

    def __repr__(self) -> str:
        return f"Search({len(self.left)} left{', polled' * self.polled})"


class SearchKind(Enum):
    """Kinds of searches, by their first request."""

    GROUP = "the group"
    LEADER = "the leader, who has to confirm it"
    POLICY = "the leader, as the policy says"


def kind_of(wanted: PositionRequest) -> SearchKind:
    """The kind of search for a position."""
    if wanted.confirm is not None:
        return SearchKind.LEADER
    return SearchKind.GROUP if wanted.reset is None else SearchKind.POLICY


def anything(_tp: TopicPartition) -> bool:
    """Believe whatever is answered."""
    return True


@dataclass(frozen=True, slots=True)
class Taking(Generic[RowT]):
    """Takes leaders' answers by functions; see `ReplyConsumer`."""

    take: Callable[[Mapping[TopicPartition, RowT]], None]
    wants: Callable[[TopicPartition], bool]
    believes: Callable[[TopicPartition], bool] = anything


def nothing(_found: Mapping[TopicPartition, ListedOffset]) -> None:
    """Ignore single answers: all of them are taken at the end."""


def no_offset(partitions: Iterable[TopicPartition]) -> NoOffsetForPartitionException:
    """The error for a partition without a committed offset and without a policy."""
    found = tuple(sorted(partitions))
    return NoOffsetForPartitionException(
        f"nothing is committed for {named(found)}, and auto.offset.reset is none: seek, "
        f"commit, or set a policy",
        partitions=found,
    )


def truncation_of(errors: Iterable[LogTruncationException]) -> LogTruncationException:
    """One error for several truncated logs."""
    each = list(errors)
    offsets: dict[TopicPartition, int] = {}
    divergent: dict[TopicPartition, OffsetAndMetadata] = {}
    for error in each:
        offsets.update(error.offsets)
        divergent.update(error.divergent_offsets)
    text = "; ".join(map(str, each))
    return LogTruncationException(text, offsets=offsets, divergent_offsets=divergent)


def narrowing(
    errors: Iterable[LogTruncationException],
) -> Callable[[frozenset[TopicPartition]], LogTruncationException]:
    """Makes the error for some of the truncated logs."""
    each = list(errors)
    return lambda partitions: truncation_of(
        error for error in each if not partitions.isdisjoint(error.partitions)
    )
