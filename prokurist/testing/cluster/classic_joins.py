"""JoinGroup in a classic group, by kind of member and phase of the group.

Thread: the one that drives the model.
"""

import uuid
from typing import Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.classic_group import ClassicGroup, Phase
from prokurist.testing.cluster.classic_members import (
    ClassicMember,
    Joining,
    Parked,
    elected_protocol,
    refused_join,
    refused_sync,
    shared_protocols,
)
from prokurist.testing.cluster.wire import Values

MEMBER_IDS: Final = uuid.UUID("6d656d62-6572-4964-a973-206f66206772")
"""Namespace of member ids: the same calls give the same ids."""


def join(group: ClassicGroup, asked: Joining, name: str, now: float) -> Parked | Values:
    """Let a member into a group, at once or once a rebalance is complete.

    Args:
        group: The group.
        asked: The request.
        name: Basis of a new member's id; unique within the model.
        now: The time.
    """
    if not accepts(group, asked.member_id):
        if asked.member_id in group.members:
            # It was slower than others that are new, and is out.
            group.forget(group.members[asked.member_id])
        return refused_join(ErrorCode.group_max_size_reached, "")
    if not speaks(group, asked):
        return refused_join(ErrorCode.inconsistent_group_protocol, asked.member_id)
    if asked.member_id:
        return join_again(group, asked, now)
    new_id = f"{asked.instance_id or asked.client_id}-{uuid.uuid5(MEMBER_IDS, name)}"
    holder = group.static(asked.instance_id)
    if holder is not None:
        return take_over(group, holder, asked, new_id, now)
    if asked.instance_id is None and asked.needs_id:
        group.pending[new_id] = now + asked.session_timeout
        return refused_join(ErrorCode.member_id_required, new_id)
    return add(group, asked, new_id, now)


def accepts(group: ClassicGroup, member_id: str) -> bool:
    """True if the group has room; during a rebalance the first to join again take it."""
    member = group.members.get(member_id)
    room = group.settings.max_size
    match group.phase:
        case Phase.EMPTY:
            return True
        case Phase.PREPARING:
            waiting = sum(each.joining is not None for each in group.members.values())
            return waiting < room or (member is not None and member.joining is not None)
        case _:
            return member is not None or len(group.members) < room


def speaks(group: ClassicGroup, asked: Joining) -> bool:
    """True if a new member shares a protocol with all members."""
    if group.empty:
        return bool(asked.protocol_type and asked.protocols)
    names = {name for name, _ in asked.protocols}
    shared = shared_protocols(group.members.values())
    return asked.protocol_type == group.protocol_type and bool(
        names & shared if group.members else names
    )


def add(group: ClassicGroup, asked: Joining, member_id: str, now: float) -> Parked:
    """A new member."""
    if group.empty:
        group.protocol_type = asked.protocol_type
    if group.initial:
        group.newcomer = True
    deadline = now + group.settings.new_member_timeout
    parked = Parked()
    group.members[member_id] = ClassicMember(member_id, asked, deadline, joining=parked)
    if group.leader is None:
        group.leader = member_id
    group.rebalance(now)
    return parked


def join_again(group: ClassicGroup, asked: Joining, now: float) -> Parked | Values:
    """Let a member with an id join again."""
    if asked.member_id in group.pending:
        del group.pending[asked.member_id]
        return add(group, asked, asked.member_id, now)
    found = group.find(asked.member_id, asked.instance_id)
    if isinstance(found, ErrorCode):
        return refused_join(found, asked.member_id)
    same = found.asked.protocols == asked.protocols
    leads = group.phase is Phase.STABLE and found.member_id == group.leader
    if group.phase is Phase.PREPARING or leads or not same:
        # A leader that joins again has seen something that the others have not.
        return update(group, found, asked, now)
    # It did not hear the answer to its last one.
    found.heard_of(now)
    return group.joined(found)


def update(group: ClassicGroup, member: ClassicMember, asked: Joining, now: float) -> Parked:
    """A member joins the next generation."""
    member.asked = asked
    parked = member.joining = Parked()
    member.heard_of(now)
    group.rebalance(now)
    return parked


def take_over(
    group: ClassicGroup, holder: ClassicMember, asked: Joining, new_id: str, now: float
) -> Parked | Values:
    """A static member has come back under a new id; the user of the old one is fenced."""
    if holder.joining is not None:
        fenced = refused_join(ErrorCode.fenced_instance_id, holder.member_id)
        holder.joining.answer = fenced
    if holder.syncing is not None:
        holder.syncing.answer = refused_sync(ErrorCode.fenced_instance_id)
    holder.joining = holder.syncing = None
    old_id, holder.member_id = holder.member_id, new_id
    group.members = {each.member_id: each for each in group.members.values()}
    led = group.leader == old_id
    if led:
        group.leader = new_id
    holder.asked = asked
    holder.heard_of(now)
    if group.phase is not Phase.STABLE or group.protocol != elected_protocol(
        group.members.values()
    ):
        return update(group, holder, asked, now)
    group.write_down()
    answer = group.joined(holder)
    if led and not asked.may_skip:
        # An old client that learns that it leads would assign, and no other member would
        # learn of it: so it is told that a member leads that has gone.
        return {**answer, "leader": old_id, "members": []}
    return {**answer, "skip_assignment": led}
