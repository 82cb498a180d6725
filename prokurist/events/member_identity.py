"""The member's identity in its group, and the times of its polls, for both threads.

Thread: both. Each object has one lock, held for a few assignments.

- The network thread sets the identity (`MemberIdentity`). Each request to the group in the name
  of a membership carries the `Identity` of its own beginning: a commit made before the member
  was fenced is never sent with a later identity.
- The application thread notes its polls (`PollActivity`). The network thread is not woken for
  that: the guard of `max.poll.interval.ms` looks when the interval is over, and a membership
  that waits for a poll asks for it beforehand.
"""

import threading
from dataclasses import replace
from enum import Enum
from typing import Final

from prokurist.events.hand import Steady, make_steady
from prokurist.events.rebalances import Rebalances
from prokurist.lazy_dataclasses import dataclass


class Role(Enum):
    """The member's role in its group."""

    ALONE = "alone"
    """No member, and none to be: partitions were assigned by hand."""
    MEMBER = "member"
    """A member."""
    REBALANCING = "rebalancing"
    """A member that waits, in the classic protocol, for the next generation."""
    OUTSIDE = "outside"
    """No member: it has yet to join, or was put out."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity in requests to the group's coordinator.

    Attributes:
        role: Its role in the group.
        member_id: Its id; empty where it has none.
        epoch: The classic generation, or the member epoch; −1 where there is none.
        instance_id: The static member's name, where there is one.
        by_epoch: True if `epoch` is a member epoch (KIP-848).
        incarnation: Never sent: it grows whenever another member may have got owned partitions,
            so two identities with the same one own the same partitions.
        departing: True if the member is about to leave: the last commit has no next poll to
            repeat it.
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
        """True if the group counts this client among its members."""
        return self.role in (Role.MEMBER, Role.REBALANCING)

    @property
    def at_departure(self) -> "Identity":
        """The same for the last commit, in the generation before a round under way.

        Until every member has joined, the coordinator takes commits of that generation.
        """
        role = Role.MEMBER if self.role is Role.REBALANCING else self.role
        return replace(self, role=role, departing=True)


NO_MEMBER: Final = Identity()
"""The identity of a client that is in no group, and does not want to be."""


class MemberIdentity:
    """The member's present identity, set by the network thread.

    Attributes:
        rebalances: How often the partitions were assigned again, and how long that took.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._identity = NO_MEMBER
        # The membership that polls, or calls of the listener in them, have found last.
        self._polled: Identity | None = None
        self.rebalances: Rebalances = Rebalances()

    @property
    def identity(self) -> Identity:
        """The present identity."""
        with self._lock:
            return self._identity

    def polled(self) -> None:
        """Note that a poll is about to collect records, as this member."""
        with self._lock:
            if self._identity.is_counted:
                self._polled = self._identity

    def heard(self, incarnation: int) -> None:
        """Note that the listener is called, with partitions that this incarnation owns.

        A member that was put out since has lost them, and keeps the name that is refused.
        """
        with self._lock:
            if self._identity.incarnation == incarnation:
                self.polled()

    @property
    def of_records(self) -> Identity:
        """The identity for offsets of the records that polls have returned.

        It is that of the last poll, or of a call of the listener since. A member that was put
        out since, or that has given partitions back without a poll (KIP-848), is refused in
        that name. Without any name its coordinator takes offsets, and with a later one too: it
        cannot know which epoch the records were read in.
        """
        with self._lock:
            return self._polled or self._identity

    def counted(self, identity: Identity, *, reassigned: bool = False) -> None:
        """Set the identity of a member counted by the group.

        Args:
            identity: Its incarnation is replaced by the present one.
            reassigned: True if another member may own the former partitions.
        """
        with self._lock:
            number = self._identity.incarnation + reassigned
            self._identity = replace(identity, incarnation=number)

    def wants_in(self) -> None:
        """Note that partitions are no longer assigned by hand: outside until it joins."""
        if self.identity.role is Role.ALONE:
            self._end(Role.OUTSIDE)

    def rebalancing(self) -> None:
        """Note that the generation is over, and the next has not begun."""
        with self._lock:
            self._identity = replace(self._identity, role=Role.REBALANCING)

    def put_out(self) -> None:
        """Note that the group does not count this client, unless it is not to join at all."""
        if self.identity.role is not Role.ALONE:
            self._end(Role.OUTSIDE)

    def alone(self) -> None:
        """Note that the client has left the group for good."""
        with self._lock:
            self._end(Role.ALONE)
            self._polled = None

    def _end(self, role: Role) -> None:
        with self._lock:
            self._identity = Identity(role, incarnation=self._identity.incarnation + 1)

    def __repr__(self) -> str:
        identity = self.identity
        return f"MemberIdentity({identity.role.value}, epoch {identity.epoch})"


class PollActivity:
    """Time of the application's last `poll`, and the membership's wait for the next.

    Attributes:
        wanted: True if the membership waits. Written under the lock; an iteration reads it
            between any two records without, and at worst sees it one record later.
        steady: The iteration's fast path, which skips a look here.
    """

    def __init__(self) -> None:
        self.steady: Steady = make_steady()
        self.wanted: bool = False
        self._lock = threading.RLock()
        self._inside = False
        self._left_at: float | None = None
        self._asked = False

    # --- the application thread ------------------------------------------------------

    def enter(self) -> bool:
        """Note that a poll begins, or looks again; return True if it is awaited."""
        with self._lock:
            self._inside, self.wanted = True, False
            asked, self._asked = self._asked, False
            return asked

    def leave(self, now: float) -> None:
        """Note that a poll has ended."""
        with self._lock:
            self._inside = False
            self._left_at = now

    # --- either ----------------------------------------------------------------------

    def ask(self) -> None:
        """Have the next poll, or one that waits, post `Polled`."""
        with self._lock:
            self._asked = self.wanted = True
            self.steady.off()

    def summon(self) -> None:
        """Have an iteration's next step be a poll, since there is a step for it."""
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
        return f"PollActivity({where}{', asked for' * self._asked})"
