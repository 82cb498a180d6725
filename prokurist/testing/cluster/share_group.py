"""A share group (KIP-932), as its coordinator keeps it: members and assignments.

The group's epoch grows with each change; the members follow with their heartbeats, and confirm
nothing. Every partition is assigned to one member at least, and every member to one partition
where there is any.

Thread: the one that drives the model.
"""

import math
import uuid
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.consumer_group import Listed, Refused
from prokurist.testing.cluster.server_assignors import Part
from prokurist.testing.cluster.share_partition import SharePartition
from prokurist.testing.cluster.share_settings import ShareSettings

LEAVING: Final = -1


@dataclass(eq=False, slots=True)
class ShareMember:
    """One member.

    Attributes:
        member_id: Its id.
        client_id: The client id of its requests.
        names: The topics it wants.
        epoch: Its epoch.
        before: The epoch before.
        told: The assignment that it was told last; None for none.
        deadline: When its session ends, unless it is heard of.
    """

    member_id: str
    client_id: str = ""
    names: frozenset[str] = frozenset()
    epoch: int = 0
    before: int = 0
    told: tuple[Part, ...] | None = None
    deadline: float = math.inf


@dataclass(slots=True)
class ShareGroup:
    """The group.

    Attributes:
        settings: Its configuration.
        epoch: Grows with each change of a subscription or a topic.
        target_epoch: The epoch of the assignment.
        members: By id, in the order of joining.
        targets: The assignment of each member.
        partitions: The states of records, of every partition that was fetched from ever.
        joined: True once it has had a member.
    """

    settings: ShareSettings
    epoch: int = 1
    target_epoch: int = 0
    members: dict[str, ShareMember] = field(default_factory=dict)
    targets: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    partitions: dict[tuple[uuid.UUID, int], SharePartition] = field(default_factory=dict)
    joined: bool = False
    _known_at: dict[Part, float] = field(default_factory=dict)
    _assigned_at: float = -math.inf

    def __repr__(self) -> str:
        return f"ShareGroup(epoch {self.epoch}, {len(self.members)} members)"

    @property
    def state(self) -> str:
        """As an administrator sees it."""
        return "Stable" if self.members else "Empty"

    def advance(self, now: float) -> None:
        """Remove who was not heard of by now."""
        for each in [each for each in self.members.values() if each.deadline <= now]:
            self.remove(each)

    def heartbeat(
        self,
        member_id: str,
        epoch: int,
        names: frozenset[str] | None,
        topics: Mapping[str, Listed],
        now: float,
        interval: float,
        client_id: str = "",
    ) -> tuple[ShareMember, bool]:
        """Answer a heartbeat of a member, or of a client that joins.

        Args:
            member_id: The member.
            epoch: The epoch it believes in; 0 to join.
            names: The topics it wants, where they have changed.
            topics: The topics that there are.
            now: The time.
            interval: The least time between two assignments.
            client_id: The client id of the request.

        Returns:
            The member, and True if the answer carries its assignment.

        Raises:
            Refused: It has no effect.
        """
        self.advance(now)
        member = self.members.get(member_id)
        if member is None:
            member = self._join(member_id, epoch)
            member.client_id = client_id
        elif epoch not in (0, member.epoch, member.before):
            raise Refused(f"epoch {epoch} is not {member.epoch}", ErrorCode.fenced_member_epoch)
        if names is not None and names != member.names:
            member.names = names
            self.epoch += 1
        self._look_at(topics, now)
        if self.target_epoch < self.epoch and now >= self._assigned_at + interval:
            self._assign(topics, now)
        member.deadline = now + self.settings.session_timeout
        if member.epoch != self.target_epoch:
            member.before, member.epoch = member.epoch, self.target_epoch
        target = self.targets.get(member_id, ())
        tell = epoch == 0 or names is not None or target != member.told
        member.told = target
        return member, tell

    def _join(self, member_id: str, epoch: int) -> ShareMember:
        if epoch != 0:
            raise Refused(f"there is no member {member_id}", ErrorCode.unknown_member_id)
        if len(self.members) >= self.settings.most_members:
            raise Refused("the group is full", ErrorCode.group_max_size_reached)
        member = self.members[member_id] = ShareMember(member_id)
        self.joined = True
        self.epoch += 1
        return member

    def leave(self, member_id: str) -> None:
        """A heartbeat that says goodbye.

        Raises:
            Refused: There is no such member.
        """
        member = self.members.get(member_id)
        if member is None:
            raise Refused(f"there is no member {member_id}", ErrorCode.unknown_member_id)
        self.remove(member)

    def remove(self, member: ShareMember) -> None:
        """Remove a member; acquired records stay its own until the locks end."""
        del self.members[member.member_id]
        self.targets.pop(member.member_id, None)
        self.epoch += 1

    def _parts(self, topics: Mapping[str, Listed], names: frozenset[str]) -> list[Part]:
        return [
            Part(topics[name].id, index)
            for name in sorted(names & topics.keys())
            for index in range(topics[name].size)
        ]

    def _look_at(self, topics: Mapping[str, Listed], now: float) -> None:
        """Begin the state of partitions that are new; the group's epoch grows behind that."""
        wanted = frozenset[str]().union(*(each.names for each in self.members.values()))
        for part in self._parts(topics, wanted):
            if part not in self._known_at:
                self._known_at[part] = now + self.settings.initializing
        if any(at <= now and at > self._assigned_at for at in self._known_at.values()):
            self.epoch = max(self.epoch, self.target_epoch + 1)

    def _assign(self, topics: Mapping[str, Listed], now: float) -> None:
        self.target_epoch, self._assigned_at = self.epoch, now
        targets: dict[str, list[Part]] = {each: [] for each in self.members}
        names = frozenset[str]().union(*(each.names for each in self.members.values()))
        for nth, part in enumerate(self._parts(topics, names)):
            if self._known_at.get(part, math.inf) > now:
                continue
            wanting = [
                each.member_id
                for each in self.members.values()
                if part in self._parts(topics, each.names)
            ]
            if wanting:
                targets[wanting[nth % len(wanting)]].append(part)
        for nth, (member_id, given) in enumerate(targets.items()):
            ready = [
                each
                for each in self._parts(topics, self.members[member_id].names)
                if self._known_at.get(each, math.inf) <= now
            ]
            if not given and ready:
                given.append(ready[nth % len(ready)])
        self.targets = {each: tuple(sorted(given)) for each, given in targets.items()}
