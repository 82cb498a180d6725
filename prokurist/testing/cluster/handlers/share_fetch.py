"""ShareFetch: records lent to a member of a share group, and acknowledgements before them."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.answers import Context, Result, Wait
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.leadership import endpoints, leader_hint, place
from prokurist.testing.cluster.handlers.share_acknowledge import (
    NO_LEADER,
    Outcome,
    lock_of,
    parts_named,
    refusal,
    taken,
    whole,
)
from prokurist.testing.cluster.share_group import ShareGroup
from prokurist.testing.cluster.share_partition import Acquired, SharePartition
from prokurist.testing.cluster.share_sessions import (
    CLOSING,
    OPENING,
    Holder,
    Part,
    ShareSession,
)
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import Partition
from prokurist.testing.cluster.wire import Values

RECORD_LIMIT: Final = 1
SESSION_LIMIT_REACHED: Final = 133


@dataclass(frozen=True, slots=True)
class NamedTopic:
    """A topic as a session remembers it, by its id."""

    topic_id: Any


def handle(state: State, request: Any, context: Context) -> Result:
    """Take acknowledgements, and answer as soon as there are records or the time is over."""
    holder = Holder(request.group_id, request.member_id)
    code = refusal(state, request, context) or renewal_refusal(request)
    if code:
        return whole(code, 0.0)
    session = session_of(state, request, context, holder)
    if isinstance(session, int):
        return whole(session, 0.0)
    outcomes = taken(state, context, request)
    if request.share_session_epoch == CLOSING:
        state.end_share_session(context.broker, holder, context.now)
        return ShareParked(state, request, context, session, outcomes, context.now).answer({})
    for part in parts_named(request.topics):
        session.parts.setdefault(part, None)
    for topic in request.forgotten_topics_data:
        for number in topic.partitions:
            session.parts.pop(Part(topic.topic_id, number), None)
    until = context.now + request.max_wait.total_seconds()
    parked = ShareParked(state, request, context, session, outcomes, until)
    return parked.answer({}) if field(request, "is_renew_ack", False) else parked(context.now)


def renewal_refusal(request: Any) -> int:
    """Return the code for a renewal that would fetch as well, or `none`."""
    limits = (
        request.max_wait.total_seconds(),
        request.min_bytes,
        request.max_bytes,
        request.max_records,
    )
    wrong = field(request, "is_renew_ack", False) and any(limits)
    return ErrorCode.invalid_request if wrong else ErrorCode.none


def session_of(
    state: State, request: Any, context: Context, holder: Holder
) -> ShareSession | int:
    """The session of a request, or the code that refuses it."""
    sessions = context.broker.share_sessions
    if request.share_session_epoch != OPENING:
        return sessions.take(holder, request.share_session_epoch)
    if any(
        each.acknowledgement_batches for topic in request.topics for each in topic.partitions
    ):
        return ErrorCode.invalid_request
    if holder not in sessions.kept and len(sessions.kept) >= state.share_settings.most_sessions:
        return SESSION_LIMIT_REACHED
    session = sessions.kept[holder] = ShareSession(context.connection)
    return session


@dataclass(frozen=True, slots=True)
class ShareParked:
    """A fetch that is looked at again whenever something changes.

    Attributes:
        session: Its session.
        outcomes: Outcomes of its acknowledgements.
        until: When it is answered at the latest.
    """

    state: State
    request: Any
    context: Context
    session: ShareSession
    outcomes: dict[Part, Outcome]
    until: float

    def __call__(self, now: float) -> Result:
        """Answer if records are acquired, or the time is over."""
        rows: dict[Part, Values] = {}
        most = self.request.max_records
        for part in tuple(self.session.parts):
            row = self._one(part, most, now)
            if row is None:
                continue
            rows[part] = row
            most -= sum(
                each["last_offset"] - each["first_offset"] + 1
                for each in row["acquired_records"]
            )
            if most <= 0:
                # The others come first the next time.
                self.session.parts.pop(part)
                self.session.parts[part] = None
                break
        if not rows and not self._refused and now < self.until:
            return Wait(self.until, self)
        return self.answer(rows)

    @property
    def _refused(self) -> bool:
        return any(each.code for each in self.outcomes.values())

    def _one(self, part: Part, most: int, now: float) -> Values | None:
        """The row of a partition with news."""
        state, context = self.state, self.context
        where = place(state, context, NamedTopic(part.topic_id), part.partition)
        if where.code:
            return {**bare(part, where.code), **leader_hint(where)}
        group = state.share_groups.get(self.request.group_id)
        if group is None or not group.joined:
            return bare(part, ErrorCode.unknown_server_error)
        if where.topic is None:
            raise AssertionError("a partition that is led has a topic")
        known = known_partition(group, where.topic.id, where.led, context.node)
        known.lead(context.node, group.settings)
        known.expire(now, group.settings)
        acquired, data = acquire(
            known,
            where.led,
            context.node,
            self.request,
            most,
            now,
            group,
        )
        if not acquired:
            return None
        at = now + group.settings.lock_duration
        state.latest.agenda.plan(at, state.latest.changed)
        return {
            **bare(part, ErrorCode.none),
            "records": data,
            "acquired_records": [
                {
                    "first_offset": each.first,
                    "last_offset": each.last,
                    "delivery_count": each.deliveries,
                }
                for each in acquired
            ],
        }

    def answer(self, rows: dict[Part, Values]) -> Values:
        """The answer with these rows, and those of the acknowledgements."""
        topics: dict[Any, list[Values]] = {}
        hints: list[Values] = []
        for part in {**self.outcomes, **rows}:
            row = {**(rows.get(part) or bare(part, ErrorCode.none))}
            outcome = self.outcomes.get(part)
            if outcome is not None:
                row |= {
                    "acknowledge_error_code": outcome.code,
                    "acknowledge_error_message": outcome.message,
                    **leader_hint(outcome.where),
                }
            if row["current_leader"] is not NO_LEADER:
                hints.append({"current_leader": row["current_leader"]})
            topics.setdefault(part.topic_id, []).append(row)
        return {
            **whole(ErrorCode.none, lock_of(self.state, self.request.group_id)),
            "responses": [
                {"topic_id": topic_id, "partitions": partitions}
                for topic_id, partitions in topics.items()
            ],
            "node_endpoints": endpoints(self.state, hints),
        }


def bare(part: Part, code: int) -> Values:
    """A partition without records."""
    return {
        "partition_index": part.partition,
        "error_code": code,
        "error_message": None,
        "acknowledge_error_code": 0,
        "acknowledge_error_message": None,
        "current_leader": NO_LEADER,
        "records": b"",
        "acquired_records": [],
    }


def known_partition(
    group: ShareGroup, topic_id: Any, led: Partition, node: int
) -> SharePartition:
    """The states of a partition; one that was never fetched from begins by the reset policy."""
    key = (topic_id, led.index)
    found = group.partitions.get(key)
    if found is None:
        watermark = led.copy_of(node).watermark
        start = led.log.start if group.settings.from_earliest else watermark
        found = group.partitions[key] = SharePartition(start, node)
    return found


def acquire(
    known: SharePartition,
    led: Partition,
    node: int,
    request: Any,
    most: int,
    now: float,
    group: ShareGroup,
) -> tuple[list[Acquired], bytes]:
    """Acquire records of a partition; return the ranges, and whole batches of bytes."""
    log, settings = led.log, group.settings
    upto = led.copy_of(node).watermark
    aborted: frozenset[int] = frozenset()
    if settings.read_committed:
        upto = log.stable_end(upto)
        aborted = frozenset(
            offset
            for over in log.settled
            if not over.committed
            for batch in log.batches
            if batch.producer_id == over.producer
            and over.first <= batch.base_offset < over.last
            for offset in range(batch.base_offset, batch.last_offset + 1)
        )
    readable = [each for each in log.batches if each.last_offset < upto]
    acquired = known.acquire(
        request.member_id,
        readable,
        aborted,
        most,
        now,
        settings,
        exact=field(request, "share_acquire_mode", 0) == RECORD_LIMIT,
    )
    if not acquired:
        return [], b""
    data = b"".join(
        each.data
        for each in readable
        if any(
            each.base_offset <= its.last and each.last_offset >= its.first for its in acquired
        )
    )
    return acquired, data
