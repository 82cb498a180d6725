"""What both threads know of this member of its group: who it is, and when it polls.

Thread: both. Each object has one lock, held for a few assignments.

- The network thread says who we are (`MemberIdentity`). Whatever is asked of the group in
  the name of a membership carries the `Identity` of the moment in which it was asked:
  a commit that was made before the member was put out is never stamped with what it
  became later.
- The application thread says when it polls (`PollActivity`). Nobody is woken for that:
  whoever keeps the time of `max.poll.interval.ms` looks when his time has come, and a
  membership that waits for a poll asks for it beforehand.
"""

import threading
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from prokurist.events.hand import Steady, make_steady
from prokurist.events.rebalances import Rebalances


class Role(Enum):
    """What the group takes us for."""

    ALONE = "alone"
    """No member, and none to be: what is read was assigned by hand."""
    MEMBER = "member"
    """A member."""
    REBALANCING = "rebalancing"
    """A member that waits, in the classic protocol, for the next generation."""
    OUTSIDE = "outside"
    """No member: it has yet to join, or was put out."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who speaks.

    Attributes:
        role: What the group takes him for.
        member_id: His id; empty where he has none.
        epoch: The classic generation, or the member epoch; −1 where there is none.
        instance_id: The static member's name, where there is one.
        by_epoch: Whether `epoch` is a member epoch (KIP-848).
        incarnation: Ours, and told nobody: it grows whenever what was owned may be
            another's, so two identities with the same one own what they owned before.
        departing: Whether it is about to leave: what it commits now it cannot commit after
            the next poll, since there is none.
    """

    role: Role = Role.ALONE
    member_id: str = ""
    epoch: int = -1
    instance_id: str | None = None
    by_epoch: bool = False
    incarnation: int = 0
    departing: bool = False

    @property
    def is_counted(self) -> bool:
        """Whether the group counts him among its members."""
        return self.role in (Role.MEMBER, Role.REBALANCING)

    @property
    def at_departure(self) -> "Identity":
        """The same for what is committed last, in the generation before a round under way.

        Until every member has joined, the coordinator takes commits of that generation.
        """
        role = Role.MEMBER if self.role is Role.REBALANCING else self.role
        return replace(self, role=role, departing=True)


NOBODY: Final = Identity()
"""Who asks without being, or wanting to be, in the group."""


class MemberIdentity:
    """Who we are at the moment: the network thread's word, but for the wish to be in.

    Attributes:
        rebalances: How often what we own was shared out anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._identity = NOBODY
        self.rebalances: Rebalances = Rebalances()

    @property
    def identity(self) -> Identity:
        """The present one."""
        with self._lock:
            return self._identity

    def counted(self, identity: Identity, *, anew: bool = False) -> None:
        """The group counts us as this.

        Args:
            identity: Whatever the incarnation it has, it gets the present one.
            anew: Whether what was owned before may be another's.
        """
        with self._lock:
            number = self._identity.incarnation + anew
            self._identity = replace(identity, incarnation=number)

    def wants_in(self) -> None:
        """What is read is no longer assigned by hand: whoever has not joined is outside."""
        if self.identity.role is Role.ALONE:
            self._end(Role.OUTSIDE)

    def rebalancing(self) -> None:
        """The generation is over, and the next has not begun."""
        with self._lock:
            self._identity = replace(self._identity, role=Role.REBALANCING)

    def put_out(self) -> None:
        """The group does not count us, or not yet; whoever does not want in stays alone."""
        if self.identity.role is not Role.ALONE:
            self._end(Role.OUTSIDE)

    def alone(self) -> None:
        """We have left, and do not mean to come back."""
        self._end(Role.ALONE)

    def _end(self, role: Role) -> None:
        with self._lock:
            self._identity = Identity(role, incarnation=self._identity.incarnation + 1)

    def __repr__(self) -> str:
        identity = self.identity
        return f"Enrolment({identity.role.value}, epoch {identity.epoch})"


class PollActivity:
    """When the application was in `poll` last, and whether somebody waits for the next.

    Attributes:
        wanted: Whether somebody waits. Written under the lock; an iteration reads it
            between any two records without, and at the worst sees it one record later.
        steady: Whether an iteration may go on without a look here.
    """

    def __init__(self) -> None:
        self.steady: Steady = make_steady()
        self.wanted: bool = False
        self._lock = threading.Lock()
        self._inside = False
        self._left_at: float | None = None
        self._asked = False

    # --- the application thread ------------------------------------------------------

    def enter(self) -> bool:
        """A poll begins, or looks again: whether somebody waits for it."""
        with self._lock:
            self._inside, self.wanted = True, False
            asked, self._asked = self._asked, False
            return asked

    def leave(self, now: float) -> None:
        """It has ended."""
        with self._lock:
            self._inside = False
            self._left_at = now

    # --- either ----------------------------------------------------------------------

    def ask(self) -> None:
        """Have the next poll, or the next look of one that waits, tell that it has come."""
        with self._lock:
            self._asked = self.wanted = True
            self.steady.off()

    def summon(self) -> None:
        """Have an iteration make its next step a poll: there is something for one to do."""
        with self._lock:
            self.wanted = True
            self.steady.off()

    # --- the network thread ----------------------------------------------------------

    def absent_since(self) -> float | None:
        """When the last poll ended; None while one is inside, or before the first."""
        with self._lock:
            return None if self._inside else self._left_at

    # --- any thread --------------------------------------------------------------------

    def age(self, now: float) -> float | None:
        """Seconds since the last poll ended; 0 while one is inside, None before the first."""
        with self._lock:
            if self._inside:
                return 0.0
            return None if self._left_at is None else max(0.0, now - self._left_at)

    def __repr__(self) -> str:
        where = "inside" if self._inside else f"left at {self._left_at}"
        return f"Presence({where}{', asked for' * self._asked})"
