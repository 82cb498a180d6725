"""Partitions of a share group change hands without a step: nothing of them is the member's.

Thread: the network thread alone.
"""

from collections.abc import Mapping
from uuid import UUID

from prokurist.events.assigned import NO_IDS
from prokurist.network_thread.membership.membership import Partitions
from prokurist.types import TopicPartition


class NoTransitions:
    """The `Transitions` of a member that confirms nothing and has no listener."""

    async def revoke(self, term: int, partitions: Partitions) -> bool:
        """See `Transitions`."""
        del term, partitions
        return True

    async def take(
        self,
        term: int,
        partitions: Partitions,
        ids: Mapping[TopicPartition, UUID] = NO_IDS,
        *,
        revoked: bool = False,
    ) -> bool:
        """See `Transitions`."""
        del term, partitions, ids, revoked
        return True

    def begin(self, term: int, partitions: Partitions) -> bool:
        """See `Transitions`."""
        del term, partitions
        return True

    async def lose(self, term: int) -> None:
        """See `Transitions`."""
        del term

    def __repr__(self) -> str:
        return "NoTransitions()"
