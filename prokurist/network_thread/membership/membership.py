"""Interfaces of a membership: to the rest of the network thread, and to its partitions.

Thread: the network thread alone, but for what `health` reads.
"""

from collections.abc import Coroutine, Mapping
from typing import Any, Protocol
from uuid import UUID

from prokurist.events.assigned import NO_IDS
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.types import GroupMembershipOperation, MembershipState, TopicPartition

Partitions = frozenset[TopicPartition]


class Membership(Protocol):
    """The interface of a membership, from a poll after `subscribe` to `unsubscribe`."""

    @property
    def heard_at(self) -> float | None:
        """When the coordinator answered last as to a member; None outside the group."""
        ...

    @property
    def standing(self) -> MembershipState:
        """The membership's state, for users; any thread."""
        ...

    def polled(self) -> None:
        """Take a poll that was asked for, by the membership or by another subscription."""
        ...

    def on_metadata(self, cluster: Cluster) -> None:
        """Take a new snapshot of the cluster."""
        ...

    def leave(self, call: Call, how: GroupMembershipOperation) -> Coroutine[Any, Any, None]:
        """Leave the group, if we are in it: an operation that ends when the group knows.

        Everything else under way ends at once, and the membership is over from now on, even
        if no step of the operation is ever made.
        """
        ...

    def close(self) -> None:
        """Stop background work."""
        ...


class CommittingMembership(Membership, Protocol):
    """The interface of a membership whose members commit, and can ask for a rebalance."""

    def rejoin(self, reason: str) -> None:
        """Ask for a rebalance, for `enforce_rebalance`."""
        ...

    def commit_refused(self, code: int, departing: bool) -> None:  # noqa: FBT001 - a callback
        """Take an error code of a commit that speaks of the membership.

        Args:
            code: An error code that a heartbeat would get as well.
            departing: True if the member is about to leave, and so joins no more.
        """
        ...


class Transitions(Protocol):
    """The interface of a member's partitions: revoked, taken, lost.

    Each of these is an operation of one decision, bound to its term. Any event that ends it (a
    fence, a departure) leaves the partitions where they are, and no record of them is returned.
    """

    async def revoke(self, term: int, partitions: Partitions) -> bool:
        """Revoke partitions; False when the listener has raised, and they are not gone."""
        ...

    async def take(
        self,
        term: int,
        partitions: Partitions,
        ids: Mapping[TopicPartition, UUID] = NO_IDS,
        *,
        revoked: bool = False,
    ) -> bool:
        """Take assigned partitions; False when the listener has raised, and they are not read.

        Args:
            term: The term of that decision.
            partitions: The assigned partitions.
            ids: Topic ids, where the group assigns by id.
            revoked: True if others were revoked for the same target.
        """
        ...

    def begin(self, term: int, partitions: Partitions) -> bool:
        """Start reading partitions after the listener's call; False for an old term."""
        ...

    async def lose(self, term: int) -> None:
        """Lose all partitions; they are gone even if the listener raises."""
        ...
