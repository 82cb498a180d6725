"""A group of the classic protocol, as its coordinator keeps it.

Phases, and the events that end them:

- EMPTY: a member joins;
- PREPARING: all members have joined again, or the rebalance timeout;
- COMPLETING: the leader's SyncGroup, or the rebalance timeout; in a STABLE group too, every
  member has to send SyncGroup within that timeout;
- STABLE: a member joins, leaves, or changes its subscription.

The coordinator's log has the last STABLE or EMPTY state, restored when another broker takes
over. `classic_joins` has the handling of JoinGroup.

The caller passes the time: `advance` applies due events, in order.

Thread: the one that drives the model.
"""

import math
from collections.abc import Callable
from enum import Enum
from typing import Final
from zlib import crc32

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.classic_members import (
    ClassicMember,
    Parked,
    elected_protocol,
    refused_join,
    refused_sync,
)
from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.testing.cluster.wire import Values


class Phase(Enum):
    """Phases of a group; the module describes how each ends."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


MOVES: Final = {
    Phase.EMPTY: frozenset({Phase.PREPARING}),
    Phase.PREPARING: frozenset({Phase.COMPLETING, Phase.EMPTY}),
    Phase.COMPLETING: frozenset({Phase.STABLE, Phase.PREPARING}),
    Phase.STABLE: frozenset({Phase.PREPARING}),
}
"""Phases allowed after each phase; a failover starts again from the coordinator's log."""


class ClassicGroup:
    """The group.

    Attributes:
        settings: The broker's configuration.
        phase: Where it stands.
        generation: Counts completed rebalances.
        protocol_type: Its protocol type; empty before the first member.
        protocol: The protocol that the generation elected.
        leader: The member that assigns.
        members: By id, in the order of joining.
        pending: Ids that were given out and not used yet, and until when they hold.
        newcomer: True if a member joined during the delay of a first rebalance.
        initial: True for a first rebalance, ended by that delay.
    """

    kind: Final = "classic"

    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self.phase: Phase = Phase.EMPTY
        self.generation: int = 0
        self.protocol_type: str = ""
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.pending: dict[str, float] = {}
        self.newcomer: bool = False
        self.initial: bool = False
        self._joins_end = math.inf
        self._syncs_end = math.inf
        self._delays_left = 0.0
        self._written: tuple[ClassicMember, ...] = ()
        self._written_head: tuple[int, str, str | None, str | None] = (0, "", None, None)

    def __repr__(self) -> str:
        return (
            f"ClassicGroup({self.phase.value}, generation {self.generation}, "
            f"{len(self.members)} members, {len(self.pending)} pending)"
        )

    # --- what others ask of either kind of group ----------------------------------

    @property
    def empty(self) -> bool:
        """True if the group has no members."""
        return self.phase is Phase.EMPTY

    @property
    def state(self) -> str:
        """Kafka's word for where it stands."""
        return self.phase.value

    @property
    def known(self) -> bool:
        """True if a client has ever joined."""
        return bool(self.generation or self.members or self.pending)

    def next_due(self) -> float:
        """When `advance` has something to do."""
        return min(
            (
                self._joins_end,
                self._syncs_end,
                *self.pending.values(),
                *(m.due for m in self.members.values()),
            )
        )

    def advance(self, now: float) -> bool:
        """Apply everything due by now; return True if anything was."""
        busy = False
        while (due := self.next_due()) <= now:
            busy = True
            self._happen(due)
        return busy

    def fail_over(self, now: float) -> None:
        """Reload from the log on another broker: unwritten changes are lost."""
        self.generation, self.protocol_type, self.protocol, self.leader = self._written_head
        self.members = {each.member_id: each.copy() for each in self._written}
        self.pending = {}
        self.phase = Phase.STABLE if self.members else Phase.EMPTY
        self._joins_end = self._syncs_end = math.inf
        self.initial = self.newcomer = False
        for each in self.members.values():
            each.heard_of(now)

    def find(self, member_id: str, instance_id: str | None) -> ClassicMember | ErrorCode:
        """The member of an id, who under a static name has to be its present holder."""
        if instance_id is not None:
            holder = self.static(instance_id)
            if holder is None:
                return ErrorCode.unknown_member_id
            if holder.member_id != member_id:
                return ErrorCode.fenced_instance_id
        return self.members.get(member_id, ErrorCode.unknown_member_id)

    def static(self, instance_id: str | None) -> ClassicMember | None:
        """Return the member with a static name."""
        holders = (each for each in self.members.values() if each.instance_id == instance_id)
        return None if instance_id is None else next(holders, None)

    # --- requests -------------------------------------------------------------------

    def sync(
        self, member: ClassicMember, assignments: dict[str, bytes], now: float
    ) -> Parked | Values:
        """A SyncGroup of a member in the present generation."""
        if self.phase is Phase.PREPARING:
            return refused_sync(ErrorCode.rebalance_in_progress)
        member.owes_sync = False
        if not any(each.owes_sync for each in self.members.values()):
            self._syncs_end = math.inf
        if self.phase is Phase.STABLE:
            member.heard_of(now)
            return self._part_of(member)
        parked = member.syncing = Parked()
        if member.member_id == self.leader:
            for each in self.members.values():
                each.assignment = assignments.get(each.member_id, b"")
            self._move(Phase.STABLE)
            self.write_down()
            self._answer_syncs(now, self._part_of)
        return parked

    def heartbeat(self, member: ClassicMember, now: float) -> int:
        """A Heartbeat of a member in the present generation."""
        member.heard_of(now)
        preparing = self.phase is Phase.PREPARING
        return ErrorCode.rebalance_in_progress if preparing else ErrorCode.none

    def leave(self, member_id: str, instance_id: str | None, now: float) -> int:
        """One member of a LeaveGroup; a static one may be named by its name alone."""
        if self.pending.pop(member_id, None) is not None:
            self._someone_went(now)
            return ErrorCode.none
        if not member_id and instance_id is not None:
            holder = self.static(instance_id)
            member_id = holder.member_id if holder else ""
        found = self.find(member_id, instance_id)
        if isinstance(found, ErrorCode):
            return found
        self.remove(found, now)
        return ErrorCode.none

    def commit_refusal(
        self, member_id: str, instance_id: str | None, generation: int, now: float
    ) -> int:
        """Return the error code for an offset commit, `none` if it is accepted.

        A client outside the group commits with a negative generation.
        """
        if generation < 0 and self.empty:
            return ErrorCode.none
        if generation < 0 and not member_id and instance_id is None:
            return ErrorCode.unknown_member_id
        found = self.find(member_id, instance_id)
        if isinstance(found, ErrorCode):
            return found
        if generation != self.generation:
            return ErrorCode.illegal_generation
        found.heard_of(now)
        if self.phase is Phase.COMPLETING:
            return ErrorCode.rebalance_in_progress
        return ErrorCode.none

    def transactional_commit_refusal(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> int:
        """Return the error code for an offset commit in a transaction, `none` if accepted.

        A rebalance in progress does not matter, and the commit is no sign of life.
        """
        if generation < 0 and (self.empty or (not member_id and instance_id is None)):
            return ErrorCode.none
        found = self.find(member_id, instance_id)
        if isinstance(found, ErrorCode):
            return found
        same = generation == self.generation
        return ErrorCode.none if same else ErrorCode.illegal_generation

    # --- rebalances -----------------------------------------------------------------

    def rebalance(self, now: float) -> None:
        """Begin a rebalance, or check the present one for completion."""
        if self.phase is Phase.PREPARING:
            self.complete_if_joined(now)
            return
        for each in self.members.values():
            each.owes_sync = False
        self._syncs_end = math.inf
        if self.phase is Phase.COMPLETING:
            for each in self.members.values():
                each.assignment = b""
            self._answer_syncs(now, lambda _: refused_sync(ErrorCode.rebalance_in_progress))
        self.initial = self.phase is Phase.EMPTY
        self._move(Phase.PREPARING)
        timeout = self._rebalance_timeout()
        if self.initial:
            delay = min(self.settings.initial_rebalance_delay, timeout)
            self._joins_end = now + delay
            self._delays_left = timeout - delay
            if not delay:
                self._complete(now)
        else:
            self._joins_end = now + timeout
            self.complete_if_joined(now)

    def complete_if_joined(self, now: float) -> None:
        """End the preparation if no member is left to wait for."""
        joined = all(each.joining for each in self.members.values())
        if self.phase is Phase.PREPARING and not self.initial and joined and not self.pending:
            self._complete(now)

    def remove(self, member: ClassicMember, now: float) -> None:
        """A member left, or was not heard of for too long."""
        self.forget(member)
        self._someone_went(now)

    def forget(self, member: ClassicMember) -> None:
        """Take a member out; no rebalance is begun for it."""
        if member.joining is not None:
            refused = refused_join(ErrorCode.unknown_member_id, member.member_id)
            member.joining.answer = refused
        if member.syncing is not None:
            member.syncing.answer = refused_sync(ErrorCode.unknown_member_id)
        del self.members[member.member_id]
        if self.leader == member.member_id:
            self.leader = next(iter(self.members), None)

    def expire(self, name: str, now: float) -> bool:
        """End the session of a member, by its id or instance id; False if there is none."""
        member = self.members.get(name) or self.static(name)
        if member is not None:
            self.remove(member, now)
        return member is not None

    def write_down(self) -> None:
        """Write the present generation and its members to the coordinator's log."""
        self._written_head = (self.generation, self.protocol_type, self.protocol, self.leader)
        self._written = tuple(each.copy() for each in self.members.values())

    def joined(self, member: ClassicMember) -> Values:
        """Return the answer to a JoinGroup, from the present generation."""
        leads = member.member_id == self.leader
        return {
            **refused_join(ErrorCode.none, member.member_id),
            "generation_id": self.generation,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "leader": self.leader,
            "members": self.told_to_leader() if leads else [],
        }

    def told_to_leader(self) -> list[Values]:
        """Members and their metadata for the protocol, in the order of a hash as in Kafka."""
        members = sorted(self.members.values(), key=lambda m: crc32(m.member_id.encode()))
        return [
            {
                "member_id": each.member_id,
                "group_instance_id": each.instance_id,
                "metadata": each.metadata(self.protocol or ""),
            }
            for each in members
        ]

    # --- inside ---------------------------------------------------------------------

    def _move(self, phase: Phase) -> None:
        if phase not in MOVES[self.phase]:
            raise AssertionError(f"{self} cannot become {phase.value}")
        self.phase = phase
        self._joins_end = math.inf

    def _rebalance_timeout(self) -> float:
        timeouts = [each.asked.rebalance_timeout for each in self.members.values()]
        return max(timeouts, default=0.0)

    def _happen(self, now: float) -> None:
        """The one thing that is due first."""
        if self._joins_end <= now:
            self._joins_over(now)
            return
        if self._syncs_end <= now:
            self._give_up_syncs(now)
            return
        for member_id, until in self.pending.items():
            if until <= now:
                del self.pending[member_id]
                self.complete_if_joined(now)
                return
        self.remove(next(each for each in self.members.values() if each.due <= now), now)

    def _joins_over(self, now: float) -> None:
        if self.initial and self.newcomer and self._delays_left > 0:
            delay = min(self.settings.initial_rebalance_delay, self._delays_left)
            self.newcomer = False
            self._delays_left -= delay
            self._joins_end = now + delay
        else:
            self._complete(now)

    def _give_up_syncs(self, now: float) -> None:
        for each in [each for each in self.members.values() if each.owes_sync]:
            self.forget(each)
        self.rebalance(now)

    def _complete(self, now: float) -> None:
        """Begin the next generation: no further member is expected to join."""
        for each in list(self.members.values()):
            if each.joining is None and each.instance_id is None:
                self.forget(each)
        if self.members and not self._elect():
            # Static members alone, and none of them is there: their sessions decide.
            # Not at once again where a client gave 0: it would never be later.
            self._joins_end = now + max(self._rebalance_timeout(), 1.0)
            self.initial = False
            return
        self.generation += 1
        self.initial = self.newcomer = False
        if not self.members:
            self._move(Phase.EMPTY)
            self.protocol = self.leader = None
            self.write_down()
            return
        self.protocol = elected_protocol(self.members.values())
        self._move(Phase.COMPLETING)
        self._syncs_end = now + self._rebalance_timeout()
        for each in self.members.values():
            if each.joining is not None:
                each.joining.answer = self.joined(each)
                each.joining = None
            each.is_new = False
            each.owes_sync = True
            each.heard_of(now)

    def _elect(self) -> bool:
        """Choose a leader among the members that have joined; False if there is none."""
        there = [each.member_id for each in self.members.values() if each.joining]
        if self.leader not in there:
            self.leader = there[0] if there else self.leader
        return bool(there)

    def _someone_went(self, now: float) -> None:
        if self.phase in (Phase.STABLE, Phase.COMPLETING):
            self.rebalance(now)
        else:
            self.complete_if_joined(now)

    def _part_of(self, member: ClassicMember) -> Values:
        return {
            "error_code": ErrorCode.none,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "assignment": member.assignment,
        }

    def _answer_syncs(self, now: float, answer: Callable[[ClassicMember], Values]) -> None:
        for each in self.members.values():
            if each.syncing is not None:
                each.syncing.answer = answer(each)
                each.syncing = None
                each.heard_of(now)
