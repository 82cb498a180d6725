"""ShareGroupHeartbeat: all that a member of a share group says (KIP-932)."""

from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.configs import ResourceType
from prokurist.testing.cluster.consumer_group import Refused
from prokurist.testing.cluster.handlers.coordination import refusal
from prokurist.testing.cluster.server_assignors import Part
from prokurist.testing.cluster.share_group import LEAVING, ShareGroup
from prokurist.testing.cluster.share_settings import configured
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

LONGEST_ID: Final = 36


def handle(state: State, request: Any, context: Context) -> Values:
    """Take a heartbeat, and say where the member stands."""
    try:
        check(request)
        check_standing(state, request, context)
        names = request.subscribed_topic_names
        group = share_group(state, request)
        if request.member_epoch == LEAVING:
            group.leave(request.member_id)
            return answered(request.member_id, LEAVING)
        member, tell = group.heartbeat(
            request.member_id,
            request.member_epoch,
            None if names is None else frozenset(names),
            state.listed_topics(),
            context.now,
            state.group_settings.assignment_interval,
            context.client_id,
        )
    except Refused as refused:
        return {
            **answered(None, 0),
            "error_code": refused.code,
            "error_message": str(refused),
        }
    return {
        **answered(member.member_id, member.epoch),
        "heartbeat_interval": group.settings.heartbeat_interval,
        "assignment": {"topic_partitions": by_topic(member.told or ())} if tell else None,
    }


def answered(member_id: str | None, epoch: int) -> Values:
    """An answer without anything to do."""
    return {
        "error_code": ErrorCode.none,
        "error_message": None,
        "member_id": member_id,
        "member_epoch": epoch,
        "heartbeat_interval": 0.0,
        "assignment": None,
    }


def check(request: Any) -> None:
    """Refuse requests that no client may send.

    Raises:
        Refused: It is asked for.
    """
    epoch = request.member_epoch
    wrong = {
        "the group id is empty": not request.group_id,
        "a member id has 1 to 36 characters": not 0 < len(request.member_id) <= LONGEST_ID,
        "the rack is empty": request.rack_id == "",
        "SubscribedTopicNames must be set in first request.": epoch == 0
        and not request.subscribed_topic_names,
        "MemberEpoch is invalid.": epoch < LEAVING,
    }
    for text, so in wrong.items():
        if so:
            raise Refused(text, ErrorCode.invalid_request)


def check_standing(state: State, request: Any, context: Context) -> None:
    """Refuse groups that this broker does not coordinate, and topics hidden from the client.

    Raises:
        Refused: It is so.
    """
    code = refusal(state, request.group_id, context)
    if code:
        raise Refused("this broker does not work on the group now", code)
    denied = state.denied_topics.intersection(request.subscribed_topic_names or ())
    if denied:
        raise Refused(
            f"not authorized: {', '.join(sorted(denied))}", ErrorCode.topic_authorization_failed
        )


def share_group(state: State, request: Any) -> ShareGroup:
    """The group, made for who joins.

    Raises:
        Refused: There is none, or it is of another type.
    """
    name = request.group_id
    other = state.groups.get(name)
    if other is not None and other.known:
        raise Refused(f"Group {name} is not a share group.", ErrorCode.group_id_not_found)
    found = state.share_groups.get(name)
    if found is None:
        if request.member_epoch != 0:
            raise Refused(f"Group {name} not found.", ErrorCode.group_id_not_found)
        given = state.configs.of(ResourceType.GROUP, name)
        settings = configured(state.share_settings, given)
        found = state.share_groups[name] = ShareGroup(settings)
    return found


def by_topic(parts: tuple[Part, ...]) -> list[Values]:
    """Return assigned partitions by topic."""
    topics: dict[UUID, list[int]] = {}
    for part in parts:
        topics.setdefault(part.topic_id, []).append(part.partition)
    return [{"topic_id": each, "partitions": numbers} for each, numbers in topics.items()]
