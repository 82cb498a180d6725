"""ShareAcknowledge: acknowledgements of records, and the end of a share session."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.leadership import (
    Place,
    endpoints,
    leader_hint,
    place,
)
from prokurist.testing.cluster.share_partition import RENEW, TYPES, Acknowledgement
from prokurist.testing.cluster.share_sessions import CLOSING, OPENING, Holder, Part
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

RENEWS_FROM = 2


class Outcome(NamedTuple):
    """Outcome of the acknowledgements of a partition.

    Attributes:
        where: The partition, or why this broker does not lead it.
        code: Why they were refused; 0 if they were taken.
        message: The broker's words about it.
    """

    where: Place
    code: int
    message: str | None


def handle(state: State, request: Any, context: Context) -> Values:
    """Take acknowledgements, partition by partition."""
    holder = Holder(request.group_id, request.member_id)
    refused = refusal(state, request, context)
    if refused:
        return whole(refused, 0.0)
    session = context.broker.share_sessions.take(holder, request.share_session_epoch)
    if isinstance(session, int):
        return whole(session, 0.0)
    outcomes = taken(state, context, request)
    if request.share_session_epoch == CLOSING:
        state.end_share_session(context.broker, holder, context.now)
    rows: dict[Any, list[Values]] = {}
    hints: list[Values] = []
    for part, outcome in outcomes.items():
        hint = leader_hint(outcome.where)
        hints.append(hint)
        rows.setdefault(part.topic_id, []).append(
            {
                "partition_index": part.partition,
                "error_code": outcome.code,
                "error_message": outcome.message,
                "current_leader": NO_LEADER,
                **hint,
            }
        )
    lock = lock_of(state, request.group_id) if context.version >= RENEWS_FROM else 0.0
    return {
        **whole(ErrorCode.none, lock),
        "responses": [
            {"topic_id": topic_id, "partitions": partitions}
            for topic_id, partitions in rows.items()
        ],
        "node_endpoints": endpoints(state, hints),
    }


NO_LEADER: Values = {"leader_id": 0, "leader_epoch": 0}
"""Kafka leaves these fields as they are where there is nothing to tell."""


def whole(code: int, lock: float) -> Values:
    """An answer without partitions."""
    return {
        "error_code": code,
        "error_message": None,
        "acquisition_lock_timeout": lock,
        "responses": [],
        "node_endpoints": [],
    }


def refusal(state: State, request: Any, context: Context) -> int:
    """Return the code that refuses a request of a session as a whole, or `none`."""
    code = context.refusals.whole(usual=False, codes=WHOLE)
    if code:
        return code
    if request.group_id in state.denied_groups:
        return ErrorCode.group_authorization_failed
    if request.share_session_epoch == OPENING and context.api.name == "ShareAcknowledge":
        return ErrorCode.invalid_share_session_epoch
    return ErrorCode.none


WHOLE = frozenset(
    {
        ErrorCode.share_session_not_found,
        ErrorCode.invalid_share_session_epoch,
        133,  # SHARE_SESSION_LIMIT_REACHED, which kio does not know.
    }
)
"""Codes about the share session: Kafka says them about the request as a whole."""


def lock_of(state: State, group: str) -> float:
    """Seconds for which the group's records are locked."""
    found = state.share_groups.get(group)
    return (state.share_settings if found is None else found.settings).lock_duration


def taken(state: State, context: Context, request: Any) -> dict[Part, Outcome]:
    """Take the acknowledgements of a request."""
    outcomes: dict[Part, Outcome] = {}
    changed = False
    for topic in request.topics:
        for each in topic.partitions:
            rows = [
                Acknowledgement(row.first_offset, row.last_offset, row.acknowledge_types)
                for row in each.acknowledgement_batches
            ]
            if not rows and context.api.name == "ShareFetch":
                continue
            part = Part(topic.topic_id, each.partition_index)
            where = place(state, context, topic, each.partition_index)
            code, message = int(where.code), None
            if not code and is_wrong(rows, renews=field(request, "is_renew_ack", False)):
                code = int(ErrorCode.invalid_request)
            if not code:
                code, message = apply(state, context, request, where, rows)
                changed = changed or not code
            outcomes[part] = Outcome(where, code, message)
    if changed:
        state.changed(context.now)
    return outcomes


def is_wrong(rows: Iterable[Acknowledgement], *, renews: bool) -> bool:
    """True for acknowledgements that no client may send."""
    after = 0
    for row in rows:
        sizes = (1, row.last - row.first + 1)
        if row.first < after or row.last < row.first or len(row.types) not in sizes:
            return True
        if not TYPES.issuperset(row.types) or (RENEW in row.types and not renews):
            return True
        after = row.last + 1
    return False


def apply(
    state: State, context: Context, request: Any, where: Place, rows: list[Acknowledgement]
) -> tuple[int, str | None]:
    """Apply acknowledgements to a partition that this broker leads."""
    group = state.share_groups.get(request.group_id)
    topic = where.topic
    known = (
        None
        if group is None or topic is None
        else group.partitions.get((topic.id, where.led.index))
    )
    if group is None or known is None:
        return ErrorCode.invalid_record_state, None
    known.lead(context.node, group.settings)
    known.expire(context.now, group.settings)
    return known.acknowledge(request.member_id, rows, context.now, group.settings)


def parts_named(topics: Iterable[Any]) -> Iterator[Part]:
    """The partitions that a request names."""
    for topic in topics:
        for each in topic.partitions:
            yield Part(topic.topic_id, each.partition_index)
