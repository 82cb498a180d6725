"""ConsumerGroupHeartbeat: all that a member of the consumer protocol says (KIP-848).

An invalid request is refused before the group is looked up. A classic
group that has members is not turned into one of this protocol, as on a broker whose
`group.consumer.migration.policy` is `disabled`.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.consumer_group import ConsumerGroup, Refused
from prokurist.testing.cluster.consumer_members import LEFT_FOR_NOW, Beat, ConsumerMember
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.coordination import refusal
from prokurist.testing.cluster.re2j import PatternRefused, compiled
from prokurist.testing.cluster.server_assignors import SERVER_ASSIGNORS, Part
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

OWN_IDS_FROM: Final = 1
"""Before it, who joins may leave it to the broker to name it."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Take a heartbeat, and say where the member stands."""
    try:
        check(request, context)
        check_standing(state, request, context)
        group = consumer_group(state, request, context.now)
        beat = read(request, context, state)
        if beat.epoch < 0:
            group.leave(beat)
            return answered(beat.member_id, beat.epoch)
        member, tell = group.heartbeat(beat, state.listed_topics(), context.now)
    except Refused as refused:
        return {
            **answered(None, 0),
            "error_code": refused.code,
            "error_message": str(refused),
        }
    return {
        **answered(member.member_id, member.epoch),
        "heartbeat_interval": state.group_settings.consumer_heartbeat_interval,
        "assignment": {"topic_partitions": by_topic(member)} if tell else None,
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


def check(request: Any, context: Context) -> None:
    """Refuse requests that no client may send.

    Raises:
        Refused: It is asked for.
    """
    epoch = request.member_epoch
    named = request.subscribed_topic_names is not None
    pattern = field(request, "subscribed_topic_regex")
    wrong: Mapping[str, bool] = {
        "the group id is empty": not request.group_id,
        "the instance id is empty": request.instance_id == "",
        "the rack is empty": request.rack_id == "",
        "the member id is empty": not request.member_id
        and (epoch != 0 or context.version >= OWN_IDS_FROM),
        "who joins has to give a rebalance timeout": epoch == 0
        and request.rebalance_timeout.total_seconds() < 0,
        "who joins owns nothing, and has to say so": epoch == 0
        and request.topic_partitions != (),
        "who joins has to want topics, by name or by a pattern": epoch == 0
        and not named
        and pattern is None,
        "only a static member can come back": epoch == LEFT_FOR_NOW
        and request.instance_id is None,
        f"there is no epoch {epoch}": epoch < LEFT_FOR_NOW,
    }
    for text, so in wrong.items():
        if so:
            raise Refused(text, ErrorCode.invalid_request)
    assignor = request.server_assignor
    if assignor is not None and assignor not in SERVER_ASSIGNORS:
        raise Refused(
            f"there is no assignor {assignor!r}, but {', '.join(SERVER_ASSIGNORS)}",
            ErrorCode.unsupported_assignor,
        )
    try:
        compiled(pattern or "")
    except PatternRefused as error:
        raise Refused(f"{pattern!r}: {error}", ErrorCode.invalid_regular_expression) from None


def check_standing(state: State, request: Any, context: Context) -> None:
    """Refuse groups that this broker does not coordinate, and topics hidden from the client.

    Raises:
        Refused: It is so.
    """
    code = refusal(state, request.group_id, context)
    if code:
        raise Refused(f"this broker does not work on {request.group_id!r} now", code)
    denied = state.denied_topics.intersection(request.subscribed_topic_names or ())
    if denied:
        raise Refused(
            f"not authorized: {', '.join(sorted(denied))}", ErrorCode.topic_authorization_failed
        )


def consumer_group(state: State, request: Any, now: float) -> ConsumerGroup:
    """The group, made for who joins; an empty classic one becomes one of this protocol.

    Raises:
        Refused: There is none, or it is a classic one with members.
    """
    group = state.group_now(request.group_id, now)
    if isinstance(group.membership, ConsumerGroup):
        return group.membership
    if request.member_epoch != 0 or not group.membership.empty:
        what = "is a classic group" if group.known else "does not exist"
        raise Refused(f"{request.group_id} {what}", ErrorCode.group_id_not_found)
    made = group.membership = ConsumerGroup(state.group_settings)
    return made


def read(request: Any, context: Context, state: State) -> Beat:
    """Read the request, with defaults for fields that its version lacks."""
    timeout = request.rebalance_timeout.total_seconds()
    names = request.subscribed_topic_names
    owned = request.topic_partitions
    return Beat(
        member_id=request.member_id or f"member-{state.next_member_name()}",
        instance_id=request.instance_id,
        client_id=context.client_id,
        epoch=request.member_epoch,
        rebalance_timeout=None if timeout < 0 else timeout,
        names=None if names is None else frozenset(names),
        regex=field(request, "subscribed_topic_regex"),
        assignor=request.server_assignor,
        owned=None
        if owned is None
        else frozenset(
            Part(each.topic_id, index) for each in owned for index in each.partitions
        ),
    )


def by_topic(member: ConsumerMember) -> list[Values]:
    """Return a member's assigned partitions by topic."""
    topics: dict[UUID, list[int]] = {}
    for part in sorted(member.assigned):
        topics.setdefault(part.topic_id, []).append(part.partition)
    return [{"topic_id": each, "partitions": parts} for each, parts in topics.items()]
