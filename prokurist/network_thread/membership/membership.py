"""Interface of a membership to the rest of the network thread, for both protocols.

Thread: the network thread alone, but for what `health` reads.
"""

from collections.abc import Coroutine
from typing import Any, Protocol

from prokurist.events.application_events import StepDone
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.types import GroupMembershipOperation, MembershipState


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

    def step_done(self, done: StepDone) -> None:
        """Take the end of a step; that of a cancelled one is ignored."""
        ...

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
