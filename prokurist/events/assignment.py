"""The assigned partitions and the lock that guards them: the base of the `Subscription`.

Thread: both. `_lock` is held for a few assignments and never while anything is
called; the methods with an underscore want it held.
"""

import sys
import threading
from dataclasses import dataclass
from typing import Final

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException
from prokurist.events.hand import Steady, make_steady
from prokurist.events.outstanding import Tracking
from prokurist.events.partition_state import PartitionState, Position
from prokurist.types import TopicPartition

NO_POLICY: Final = OffsetReset("none")


@dataclass(frozen=True, slots=True)
class PositionRequest:
    """A position that has to be looked up, or confirmed.

    Attributes:
        ticket: To give back with the answer.
        reset: The target of a reset; None for the group's committed offset.
        confirm: The position that the leader has to confirm; None for one to look up.
    """

    partition: TopicPartition
    ticket: int
    reset: OffsetReset | None
    confirm: Position | None = None


@dataclass(frozen=True, slots=True)
class AssignedPartition:
    """A partition for as long as it stays assigned.

    Attributes:
        born: The ticket of its assignment.
    """

    partition: TopicPartition
    born: int


@dataclass(frozen=True, slots=True)
class SubscribedTopic:
    """A topic for as long as it is subscribed to.

    Attributes:
        term: Of the subscription.
    """

    topic: str
    term: int


class Assignment:
    """The assigned partitions under one lock; each part of the `Subscription` extends it.

    Args:
        policy: `auto.offset.reset`.

    Attributes:
        steady: The iteration's fast path, which skips a look here. Any obstacle for its
            partition ends it first.
        tracking: Bounds and counts of outstanding records; None where they are not tracked.
    """

    def __init__(self, policy: OffsetReset) -> None:
        self.policy: OffsetReset = policy
        self._lock = threading.RLock()
        self._partitions: dict[TopicPartition, PartitionState] = {}
        self._tickets = 0
        self._settled = 0
        self._generation = 0
        self._stale = False
        self.tracking: Tracking | None = None
        self.steady: Steady = make_steady()

    def _ticket(self) -> int:
        self._tickets += 1
        return self._tickets

    def _renew(self, state: PartitionState) -> None:
        """Issue a new ticket: answers about the old position are dropped from now on."""
        self.steady.off()
        self._stale = self._stale or (state.missing and state.asked)
        state.ticket = self._ticket()
        state.asked = state.stuck = False

    @property
    def settled(self) -> int:
        """Grows whenever a position may have become one that can be read from."""
        return self._settled

    def policy_of(self, tp: TopicPartition) -> OffsetReset:
        """The reset policy of a partition."""
        with self._lock:
            state = self._partitions.get(tp)
            return self.policy if state is None else self._policy_of(state)

    def _policy_of(self, state: PartitionState) -> OffsetReset:
        """The same with the lock held; a range has no policy."""
        return self.policy if state.stop is None else NO_POLICY

    def _assigned(self, tp: TopicPartition, what: str) -> PartitionState:
        state = self._partitions.get(tp)
        if state is None:
            raise IllegalStateException(
                f"{what} of {tp}, which is not assigned to this consumer: assign it first"
            )
        return state

    def _current(self, tp: TopicPartition, ticket: int) -> PartitionState | None:
        state = self._partitions.get(tp)
        return state if state is not None and state.ticket == ticket else None

    def _room_of(self, state: PartitionState) -> int:
        """Return the number of further records of a partition that tracking allows."""
        if self.tracking is None or state.stop is not None:
            return sys.maxsize
        outstanding = state.outstanding
        return self.tracking.most_uncommitted - (outstanding.uncommitted if outstanding else 0)

    def __repr__(self) -> str:
        return f"Assignment({len(self._partitions)} partitions)"
