"""Members of a group of the consumer protocol (KIP-848), and how they are reconciled.

A member gets a partition only when no other has it or has still to give it up. States of a
member, by the event that it waits for:

- STABLE: none; it has its target assignment;
- UNREVOKED: for itself: it has to report that it does not own something any more;
- UNRELEASED: other members, which have to give up parts of its target.

Thread: the one that drives the model.
"""

import math
from collections.abc import Collection
from dataclasses import field
from enum import Enum
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.server_assignors import Part

LEFT_FOR_NOW: Final = -2
"""The epoch of a static member that said it would come back."""


class MemberPhase(Enum):
    """Reconciliation states of a member; the module describes each."""

    STABLE = "stable"
    UNREVOKED = "unrevoked"
    UNRELEASED = "unreleased"


@dataclass(frozen=True, slots=True)
class Beat:
    """Fields of one ConsumerGroupHeartbeat; None for those that have not changed.

    Attributes:
        member_id: Who speaks.
        instance_id: The static name.
        client_id: Its `client.id`.
        epoch: The epoch it believes in; 0 to join.
        rebalance_timeout: Seconds that it may take to give something up.
        names: The topics it wants.
        regex: A pattern of topics it wants; empty for none any more.
        assignor: The server's assignor that it would like.
        owned: Its partitions.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    epoch: int
    rebalance_timeout: float | None
    names: frozenset[str] | None
    regex: str | None
    assignor: str | None
    owned: frozenset[Part] | None

    @property
    def full(self) -> bool:
        """True if the heartbeat carries every field: then the answer does too."""
        subscribed = self.names is not None or self.regex is not None
        everything = self.rebalance_timeout is not None and self.owned is not None
        return self.epoch == 0 or (subscribed and everything)


@dataclass(eq=False, slots=True)
class ConsumerMember:
    """One member.

    Attributes:
        member_id: Its id.
        instance_id: The static name, if it has one.
        client_id: Its `client.id`.
        rebalance_timeout: Seconds that it may take to give something up.
        names: The topics it wants.
        regex: The pattern it wants; empty for none.
        assignor: The server's assignor that it would like.
        epoch: Its epoch; `LEFT_FOR_NOW` for a static member that is away.
        before: The epoch before; the answer to its last heartbeat may be lost.
        standing: Its state.
        assigned: Its assigned partitions, each with the epoch of the assignment.
        revoking: Partitions that it has to give up and has not reported as such, likewise.
        deadline: When its session ends, unless it is heard of.
        revoke_by: The time by which it has to have given them up.
    """

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    rebalance_timeout: float = 0.0
    names: frozenset[str] = frozenset()
    regex: str = ""
    assignor: str | None = None
    epoch: int = 0
    before: int = 0
    standing: MemberPhase = MemberPhase.STABLE
    assigned: dict[Part, int] = field(default_factory=dict)
    revoking: dict[Part, int] = field(default_factory=dict)
    deadline: float = math.inf
    revoke_by: float = math.inf

    def __repr__(self) -> str:
        has = f"{len(self.assigned)} assigned, {len(self.revoking)} revoking"
        return f"ConsumerMember({self.member_id}, epoch {self.epoch}, {has})"

    def hears(self, beat: Beat) -> bool:
        """Take over the fields of a heartbeat; return True if its topic names have changed."""
        names = self.names
        self.client_id = beat.client_id
        if beat.rebalance_timeout is not None:
            self.rebalance_timeout = beat.rebalance_timeout
        if beat.names is not None:
            self.names = beat.names
        if beat.regex is not None:
            self.regex = beat.regex
        if beat.assignor is not None:
            self.assignor = beat.assignor
        return self.names != names

    def reconcile(
        self,
        target: Collection[Part],
        epoch: int,
        taken: Collection[Part],
        owned: Collection[Part] | None,
        now: float,
    ) -> None:
        """Reconcile it one step further with its target assignment.

        Args:
            target: Its target assignment.
            epoch: The epoch of the target.
            taken: Partitions that others have, or have still to give up.
            owned: Partitions that it reports as owned; None if it does not report.
            now: The time.
        """
        if self.standing is MemberPhase.STABLE and self.epoch == epoch:
            return
        if self.standing is MemberPhase.UNREVOKED:
            if owned is None or any(part in self.revoking for part in owned):
                return
            self.revoking = {}
        kept = {part: since for part, since in self.assigned.items() if part in target}
        gone = {part: since for part, since in self.assigned.items() if part not in target}
        if gone and (owned is None or any(part in gone for part in owned)):
            self.standing, self.assigned, self.revoking = MemberPhase.UNREVOKED, kept, gone
            self.revoke_by = now + self.rebalance_timeout
            return
        new = [part for part in target if part not in kept]
        self.assigned = kept | {part: epoch for part in new if part not in taken}
        free = all(part not in taken for part in new)
        self.standing = MemberPhase.STABLE if free else MemberPhase.UNRELEASED
        self.revoke_by = math.inf
        if self.epoch != epoch:
            self.before, self.epoch = self.epoch, epoch

    def refuses_epoch(self, beat: Beat) -> bool:
        """True if the coordinator fences a heartbeat for its epoch."""
        if beat.epoch in (0, self.epoch):
            return False
        # It may not have heard the answer that moved it on.
        missed = beat.epoch == self.before and beat.owned is not None
        return not (missed and all(part in self.assigned for part in beat.owned or ()))

    def may_commit(self, epoch: int, part: Part) -> bool:
        """True if the member has held a partition since the given, older epoch."""
        since = {**self.revoking, **self.assigned}.get(part)
        return since is not None and since <= epoch < self.epoch
