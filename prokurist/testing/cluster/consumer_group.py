"""A group of the consumer protocol (KIP-848), as its coordinator keeps it.

The group's epoch grows with each change of a subscription or a topic; the target assignment is
made for an epoch; each member follows at its own speed, heartbeat by heartbeat
(`consumer_members`). All of it stands in the coordinator's log, so another broker goes on with
it; only the sessions restart.

Two things are quicker than in Kafka: a pattern is looked at with the first heartbeat
of the group after the one that brought it, and new topics with the next one.

Thread: the one that drives the model.
"""

import math
import uuid
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.consumer_members import (
    LEFT_FOR_NOW,
    Beat,
    ConsumerMember,
    MemberPhase,
)
from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.testing.cluster.re2j import compiled
from prokurist.testing.cluster.server_assignors import SERVER_ASSIGNORS, Part


class Listed(NamedTuple):
    """A topic there is.

    Attributes:
        id: Its id.
        size: How many partitions it has.
    """

    id: uuid.UUID
    size: int


class Refused(Exception):
    """A heartbeat that has no effect.

    Attributes:
        code: The error code.
    """

    def __init__(self, message: str, code: int = ErrorCode.unknown_member_id) -> None:
        super().__init__(message)
        self.code: int = code


class ConsumerGroup:
    """The group.

    Attributes:
        settings: The broker's configuration.
        epoch: Grows with each change of a subscription or a topic.
        target_epoch: The epoch of the target assignment.
        members: By id, in the order of joining.
        targets: The target assignment of each member.
    """

    kind: Final = "consumer"
    protocol_type: Final = "consumer"

    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self.epoch: int = 1
        self.target_epoch: int = 0
        self.members: dict[str, ConsumerMember] = {}
        self.targets: dict[str, frozenset[Part]] = {}
        self._assigned_at = -math.inf
        self._seen: Mapping[str, Listed] | None = None
        self._matched: dict[str, frozenset[str]] = {}

    def __repr__(self) -> str:
        epochs = f"epoch {self.epoch}, target of {self.target_epoch}"
        return f"ConsumerGroup({epochs}, {len(self.members)} members)"

    # --- what others ask of either kind of group ----------------------------------

    @property
    def empty(self) -> bool:
        """True if the group has no members."""
        return not self.members

    @property
    def known(self) -> bool:
        """Always True: a group of this protocol begins with a member."""
        return True

    def next_due(self) -> float:
        """When `advance` has something to do."""
        dues = (min(each.deadline, each.revoke_by) for each in self.members.values())
        return min(dues, default=math.inf)

    def advance(self, now: float) -> bool:
        """Remove who was not heard of, or did not give up in time, by now."""
        late = [
            each for each in self.members.values() if min(each.deadline, each.revoke_by) <= now
        ]
        for each in late:
            self.remove(each)
        return bool(late)

    def fail_over(self, now: float) -> None:
        """Another broker reads the log: the sessions restart."""
        for each in self.members.values():
            each.deadline = now + self.settings.consumer_session_timeout
            if each.standing is MemberPhase.UNREVOKED:
                each.revoke_by = now + each.rebalance_timeout

    @property
    def assignor(self) -> str:
        """The server's assignor that most members would like now."""
        wishes = [each.assignor for each in self.members.values() if each.assignor]
        return max(wishes, key=wishes.count, default=next(iter(SERVER_ASSIGNORS)))

    @property
    def state(self) -> str:
        """Kafka's word for where it stands."""
        if self.empty:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        settled = all(
            each.standing is MemberPhase.STABLE and each.epoch == self.target_epoch
            for each in self.members.values()
        )
        return "Stable" if settled else "Reconciling"

    # --- heartbeats -------------------------------------------------------------------

    def heartbeat(
        self, beat: Beat, topics: Mapping[str, Listed], now: float
    ) -> tuple[ConsumerMember, bool]:
        """Answer a heartbeat of a member, or of a client that joins.

        Args:
            beat: The heartbeat.
            topics: The topics that there are for this group.
            now: The time.

        Returns:
            The member, and True if the answer carries its assignment.

        Raises:
            Refused: It has no effect.
        """
        member = self._speaker(beat)
        before = set(member.assigned)
        patterns = {each.regex for each in self.members.values() if each.regex}
        changed = member.hears(beat)
        self.members[member.member_id] = member
        if self._looks_around(patterns, topics) or changed:
            self.epoch += 1
        if (
            self.target_epoch < self.epoch
            and now >= self._assigned_at + self.settings.assignment_interval
        ):
            self._assign(topics)
            self._assigned_at = now
        target = self.targets.get(member.member_id, frozenset())
        taken = self._taken(member)
        member.reconcile(sorted(target), self.target_epoch, taken, beat.owned, now)
        member.deadline = now + self.settings.consumer_session_timeout
        return member, beat.full or set(member.assigned) != before

    def leave(self, beat: Beat) -> None:
        """A heartbeat that says goodbye, for good or for now.

        Raises:
            Refused: There is no such member.
        """
        member = self._present(beat)
        if beat.epoch == LEFT_FOR_NOW:
            member.epoch = LEFT_FOR_NOW
            member.standing = MemberPhase.STABLE
            member.revoking = {}
            member.revoke_by = math.inf
        else:
            self.remove(member)

    def remove(self, member: ConsumerMember) -> None:
        """Remove a member; its partitions are for others."""
        del self.members[member.member_id]
        self.targets.pop(member.member_id, None)
        self.epoch += 1
        # What the others want has not changed by that.
        self._seen = None

    def expire(self, name: str, now: float) -> bool:
        """End the session of a member, by its id or instance id; False if there is none."""
        del now
        member = self.members.get(name) or self.static(name)
        if member is not None:
            self.remove(member)
        return member is not None

    def static(self, instance_id: str | None) -> ConsumerMember | None:
        """Return the member with a static name."""
        holders = (each for each in self.members.values() if each.instance_id == instance_id)
        return None if instance_id is None else next(holders, None)

    # --- offsets ------------------------------------------------------------------------

    def commit_refusal(
        self, member_id: str, epoch: int, parts: list[Part], version: int
    ) -> int:
        """Return the error code for an offset commit, `none` if it is accepted.

        A client outside the group commits with a negative epoch.
        """
        if epoch < 0 and self.empty:
            return ErrorCode.none
        if member_id in self.members and version < 9:
            return ErrorCode.unsupported_version
        return self._epoch_refusal(member_id, epoch, parts)

    def transactional_commit_refusal(
        self, member_id: str, instance_id: str | None, epoch: int, parts: list[Part]
    ) -> int:
        """Return the error code for an offset commit in a transaction, `none` if accepted."""
        if epoch < 0 and (self.empty or (not member_id and instance_id is None)):
            return ErrorCode.none
        code = self._epoch_refusal(member_id, epoch, parts)
        stale = code == ErrorCode.stale_member_epoch
        return ErrorCode.illegal_generation if stale else code

    def _epoch_refusal(self, member_id: str, epoch: int, parts: list[Part]) -> int:
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.unknown_member_id
        older = self.settings.older_epochs_commit
        kept = older and epoch >= 0 and all(member.may_commit(epoch, each) for each in parts)
        return ErrorCode.none if epoch == member.epoch or kept else ErrorCode.stale_member_epoch

    def fetch_refusal(self, member_id: str | None, epoch: int) -> int:
        """Return the error code for an OffsetFetch, `none` if it is answered."""
        if member_id is None and epoch < 0:
            return ErrorCode.none
        member = self.members.get(member_id or "")
        if member is None:
            return ErrorCode.unknown_member_id
        return ErrorCode.none if epoch == member.epoch else ErrorCode.stale_member_epoch

    # --- inside -------------------------------------------------------------------------

    def _speaker(self, beat: Beat) -> ConsumerMember:
        """Return the member of a heartbeat; make it if it joins."""
        if beat.epoch != 0:
            member = self._present(beat)
        elif beat.instance_id is not None:
            return self._static_joins(beat)
        else:
            self._has_room(beat)
            member = self.members.get(beat.member_id) or ConsumerMember(beat.member_id)
        if member.refuses_epoch(beat):
            raise Refused(
                f"{member.member_id} is in epoch {member.epoch} and speaks in {beat.epoch}: "
                "it has to give up everything and join again",
                ErrorCode.fenced_member_epoch,
            )
        return member

    def _present(self, beat: Beat) -> ConsumerMember:
        """A member that is there, and under a static name its present holder."""
        if beat.instance_id is None:
            member = self.members.get(beat.member_id)
            if member is None:
                raise Refused(f"{beat.member_id} is no member")
            return member
        holder = self.static(beat.instance_id)
        if holder is None:
            raise Refused(f"no member has the instance id {beat.instance_id}")
        if holder.member_id != beat.member_id:
            raise Refused(
                f"{beat.instance_id} is {holder.member_id} now, not {beat.member_id}",
                ErrorCode.fenced_instance_id,
            )
        return holder

    def _static_joins(self, beat: Beat) -> ConsumerMember:
        holder = self.static(beat.instance_id)
        if holder is None:
            self._has_room(beat)
            return ConsumerMember(beat.member_id, beat.instance_id)
        if holder.epoch != LEFT_FOR_NOW:
            raise Refused(
                f"{beat.instance_id} is {holder.member_id}, who has not left",
                ErrorCode.unreleased_instance_id,
            )
        # It takes the place of the one who left, with all that stood there.
        del self.members[holder.member_id]
        self.targets[beat.member_id] = self.targets.pop(holder.member_id, frozenset())
        holder.member_id, holder.epoch, holder.before = beat.member_id, 0, 0
        return holder

    def _has_room(self, beat: Beat) -> None:
        if beat.member_id not in self.members and len(self.members) >= self.settings.max_size:
            raise Refused(
                f"{len(self.members)} members are as many as there may be",
                ErrorCode.group_max_size_reached,
            )

    def _looks_around(self, patterns: set[str], topics: Mapping[str, Listed]) -> bool:
        """Match the patterns again; return True if topics, or their sizes, have changed."""
        matched = {
            each: frozenset(name for name in topics if compiled(each).fullmatch(name))
            for each in sorted(patterns)
        }
        fresh = any(
            self._matched.get(each, frozenset()) != names for each, names in matched.items()
        )
        self._matched = matched
        wanted = {name for each in self.members.values() for name in self._wanted(each)}
        seen = {name: topics[name] for name in sorted(wanted) if name in topics}
        other = self._seen is not None and self._seen != seen
        self._seen = seen
        return fresh or other

    def _wanted(self, member: ConsumerMember) -> frozenset[str]:
        return member.names | self._matched.get(member.regex, frozenset())

    def _assign(self, topics: Mapping[str, Listed]) -> None:
        wanted = {
            member_id: frozenset(topics[n].id for n in self._wanted(each) if n in topics)
            for member_id, each in self.members.items()
        }
        asked_for = frozenset().union(*wanted.values())
        sizes = {each.id: each.size for each in topics.values() if each.id in asked_for}
        made = SERVER_ASSIGNORS[self.assignor](wanted, sizes, self.targets)
        self.targets = dict(made)
        self.target_epoch = self.epoch

    def _taken(self, member: ConsumerMember) -> set[Part]:
        return {part for part, holder in self._held() if holder is not member}

    def _held(self) -> Iterator[tuple[Part, ConsumerMember]]:
        for each in self.members.values():
            for part in (*each.assigned, *each.revoking):
                yield part, each
