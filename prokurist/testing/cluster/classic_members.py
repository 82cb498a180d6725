"""Members of a classic group, their requests, and their votes.

Thread: the one that drives the model.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.wire import Values


@dataclass(eq=False, slots=True)
class Parked:
    """A request with a later answer.

    Attributes:
        answer: The answer, once there is one.
    """

    answer: Values | None = None


@dataclass(frozen=True, slots=True)
class Joining:
    """Fields of a JoinGroup, for every version.

    Attributes:
        member_id: Who asks; empty for the first time.
        instance_id: The static name, if there is one.
        client_id: Its `client.id`.
        protocol_type: The kind of group.
        protocols: The protocols of the member, the preferred one first, each with its metadata.
        session_timeout: Seconds without a request until it is removed.
        rebalance_timeout: Seconds that a rebalance waits for it.
        needs_id: True if a new dynamic member has to join again with an id.
        may_skip: True if a returning static leader may be told not to assign.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    session_timeout: float
    rebalance_timeout: float
    needs_id: bool
    may_skip: bool


@dataclass(eq=False, slots=True)
class ClassicMember:
    """One member.

    Attributes:
        member_id: Its id.
        asked: Its last JoinGroup.
        deadline: When its session ends, unless it is heard of.
        assignment: Its assignment by the leader.
        joining: Its JoinGroup, while that is parked.
        syncing: Its SyncGroup, while that is parked.
        is_new: True if it has not been in a generation yet.
        owes_sync: True if it has a generation and has not sent SyncGroup.
    """

    member_id: str
    asked: Joining
    deadline: float = math.inf
    assignment: bytes = b""
    joining: Parked | None = None
    syncing: Parked | None = None
    is_new: bool = True
    owes_sync: bool = False

    def __repr__(self) -> str:
        waits = "joining" if self.joining else "syncing" if self.syncing else "not waiting"
        return f"ClassicMember({self.member_id}, {waits}, until {self.deadline:.3f})"

    @property
    def instance_id(self) -> str | None:
        """The static name, if it has one."""
        return self.asked.instance_id

    @property
    def due(self) -> float:
        """When it is forgotten: never while the broker itself keeps it waiting.

        But for a new member: it knows no id yet, so it would never be missed.
        """
        waiting = self.joining is not None or self.syncing is not None
        return math.inf if waiting and not self.is_new else self.deadline

    def heard_of(self, now: float) -> None:
        """Restart its session."""
        self.deadline = now + self.asked.session_timeout

    def metadata(self, protocol: str) -> bytes:
        """Return the member's metadata for a protocol."""
        return dict(self.asked.protocols).get(protocol, b"")

    def copy(self) -> "ClassicMember":
        """Return the member as the coordinator's log keeps it."""
        return replace(self, joining=None, syncing=None, is_new=False, owes_sync=False)


def shared_protocols(members: Iterable[ClassicMember]) -> set[str]:
    """The names that all members know."""
    sets = [{name for name, _ in each.asked.protocols} for each in members]
    return set.intersection(*sets) if sets else set()


def elected_protocol(members: Iterable[ClassicMember]) -> str:
    """The protocol that most members like best among those that all know."""
    everyone = list(members)
    known = shared_protocols(everyone)
    votes: dict[str, int] = {}
    for each in everyone:
        best = next(name for name, _ in each.asked.protocols if name in known)
        votes[best] = votes.get(best, 0) + 1
    return max(votes, key=lambda name: votes[name])


def refused_join(code: int, member_id: str) -> Values:
    """A JoinGroup answer that refuses the member."""
    return {
        "error_code": code,
        "generation_id": -1,
        "protocol_type": None,
        "protocol_name": None,
        "leader": "",
        "skip_assignment": False,
        "member_id": member_id,
        "members": [],
    }


def refused_sync(code: int) -> Values:
    """A SyncGroup's answer without a part."""
    return {
        "error_code": code,
        "protocol_type": None,
        "protocol_name": None,
        "assignment": b"",
    }
