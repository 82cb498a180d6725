"""What the rest of the network thread asks of a membership, whatever its protocol.

Thread: the network thread alone, but for what `health` reads.
"""

from collections.abc import Coroutine
from typing import Any, Protocol

from prokurist.events.application_events import StepDone
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.types import GroupMembershipOperation, MembershipState


class Membership(Protocol):
    """One member, from the first poll after `subscribe` to `unsubscribe`, and again."""

    @property
    def heard_at(self) -> float | None:
        """When the coordinator has told us last that it counts us; None while it does not."""
        ...

    @property
    def standing(self) -> MembershipState:
        """Where it stands, for users; any thread."""
        ...

    def polled(self) -> None:
        """A poll has come that was asked for: by us, or because of another subscription."""
        ...

    def step_done(self, done: StepDone) -> None:
        """The application thread has made a step; one that was called off means nothing."""
        ...

    def rejoin(self, reason: str) -> None:
        """Ask for a rebalance, for `enforce_rebalance`."""
        ...

    def on_metadata(self, cluster: Cluster) -> None:
        """There is a new snapshot of the cluster."""
        ...

    def leave(self, call: Call, how: GroupMembershipOperation) -> Coroutine[Any, Any, None]:
        """Leave the group, if we are in it: an operation that ends when the group knows.

        Whatever else was under way ends at once, and the membership is over from now on, even
        if no step of the operation is ever made.
        """
        ...

    def close(self) -> None:
        """Stop what is under way."""
        ...
