"""Fetch: records from where a client stands, waiting for them if it wants to.

A follower answers only where the cluster lets clients read from followers; there the
leader names the follower in the client's rack (KIP-392).
"""

from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.answers import Context, Result, Wait
from prokurist.testing.cluster.epochs import UNDEFINED, EpochEnd
from prokurist.testing.cluster.fetch_sessions import (
    FINAL,
    FULL,
    NO_SESSION,
    FetchSession,
    RequestedPartition,
    name_of,
    named_in,
)
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.leadership import (
    NO_EPOCH,
    Place,
    endpoints,
    leader_hint,
    place,
)
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import Partition
from prokurist.testing.cluster.wire import Values

WHOLE: Final = frozenset(
    {
        ErrorCode.fetch_session_id_not_found,
        ErrorCode.invalid_fetch_session_epoch,
        ErrorCode.fetch_session_topic_id_error,
    }
)
"""Codes about the fetch session: Kafka says them about the request as a whole."""

SESSIONS_FROM: Final = 7
FOLLOWERS_FROM: Final = 11
IDS_FROM: Final = 13
LEADER_FROM: Final = 16
"""First version with leaders in answers, though older answers have a field for it."""
READ_COMMITTED: Final = 1
INDEX_INTERVAL: Final = 4096
"""Bytes between two entries of a log's index (`index.interval.bytes`): as far as that a broker
looks for aborted transactions behind the records of an answer."""


def handle(state: State, request: Any, context: Context) -> Result:
    """Answer at once if there is enough, or an error; else park the request."""
    session = session_of(request, context)
    if isinstance(session, int):
        return {"error_code": session, "session_id": NO_SESSION, "responses": []}

    def name(topic_id: UUID) -> str | None:
        topic = state.topic_by_id(topic_id)
        return topic.name if topic else None

    if session is None:
        wants = tuple(each.resolved(name) for each in named_in(request))
    else:
        session.resolve(name)
        wants = tuple(session.wanted.values())
    missing = {each.key: values for each in wants if (values := absent(state, context, each))}
    until = context.now + request.max_wait.total_seconds()
    return Parked(state, request, context, session, wants, missing, until)(context.now)


def absent(state: State, context: Context, wanted: RequestedPartition) -> Values | None:
    """The answer about a partition that there is not; None for one that there is."""
    each = wanted.each
    where = place(state, context, wanted.asked, each.partition, known_as=wanted.topic)
    if where.partition is not None:
        return None
    # A list, here alone: a broker answers this without asking any log.
    return {**bare(each.partition, where.code), "aborted_transactions": []}


@dataclass(frozen=True, slots=True)
class Parked:
    """A fetch that is looked at again whenever something changes.

    Attributes:
        wants: Its partitions, with those remembered by its session.
        missing: Answers for partitions that did not exist when it came.
        until: When it is answered at the latest.
    """

    state: State
    request: Any
    context: Context
    session: FetchSession | None
    wants: tuple[RequestedPartition, ...]
    missing: dict[tuple[object, int], Values]
    until: float

    def __call__(self, now: float) -> Result:
        """Answer if there is enough, or the time is over."""
        code = self.context.refusals.whole(usual=False, codes=WHOLE)
        if code:
            return {"error_code": code, "session_id": NO_SESSION, "responses": []}
        session = self.session
        is_full = session is None or field(self.request, "session_epoch", FULL) <= FULL
        state = self.state.latest.seen_by(self.context.broker)
        told, enough = collect(replace(self, state=state))
        if not enough and now < self.until:
            return Wait(self.until, self)
        if session is not None:
            told = told if is_full else news(session, told)
            # The first answer, which is full, leaves the order in which is served.
            rows = ((wanted.key, *ends_of(values)) for wanted, values in told)
            session.tell((key, ends, served and not is_full) for key, ends, served in rows)
        return {
            "error_code": ErrorCode.none,
            "session_id": NO_SESSION if session is None else session.id,
            "responses": by_topic(told),
            "node_endpoints": endpoints(state, [values for _, values in told]),
        }


def session_of(request: Any, context: Context) -> FetchSession | int | None:
    """The session of a request; None for none, or the code that refuses it."""
    if context.version < SESSIONS_FROM:
        return None
    sessions = context.broker.fetch_sessions
    by_id = context.version >= IDS_FROM
    if request.session_epoch in (FULL, FINAL):
        return sessions.begin(request, by_id=by_id)
    return sessions.go_on(request, by_id=by_id)


def collect(parked: Parked) -> tuple[list[tuple[RequestedPartition, Values]], bool]:
    """Collect the partitions of the answer; the second value is True if it is due now.

    Partitions that did not exist when the request came are answered last. They are no reason to
    answer at once, unless nothing else is asked for.
    """
    room = parked.request.max_bytes
    size = 0
    wrong = False
    told: list[tuple[RequestedPartition, Values]] = []
    missing = parked.missing
    for wanted in parked.wants:
        if not missing or wanted.key not in missing:
            values = one(parked, wanted, room, first=size == 0)
            size += len(values["records"])
            room -= len(values["records"])
            wrong = wrong or calls_for_answer(values)
            told.append((wanted, values))
    request = parked.request
    enough = wrong or not told or size >= min(request.min_bytes, request.max_bytes)
    if missing:
        told += [(each, missing[each.key]) for each in parked.wants if each.key in missing]
    return told, enough


def calls_for_answer(values: Values) -> bool:
    """True if a partition's answer is due before there are records."""
    preferred = values["preferred_read_replica"] != UNDEFINED
    return bool(values["error_code"]) or "diverging_epoch" in values or preferred


def news(
    session: FetchSession, told: list[tuple[RequestedPartition, Values]]
) -> list[tuple[RequestedPartition, Values]]:
    """Select the partitions of an incremental answer: records, errors or moved ends."""
    return [
        (wanted, values)
        for wanted, values in told
        if values["records"]
        or calls_for_answer(values)
        or session.told.get(wanted.key) != ends_of(values)[0]
    ]


def ends_of(values: Values) -> tuple[tuple[int, int, int], bool]:
    """Return the log's ends as answered, and True if there are records."""
    ends = (
        values["high_watermark"],
        values["last_stable_offset"],
        values["log_start_offset"],
    )
    return ends, bool(values["records"])


def by_topic(told: list[tuple[RequestedPartition, Values]]) -> list[Values]:
    """Rows of partitions as the protocol wants them: neighbours of one topic together."""
    topics: list[tuple[Any, list[Values]]] = []
    for wanted, values in told:
        if not topics or name_of(topics[-1][0]) != name_of(wanted.asked):
            topics.append((wanted.asked, []))
        topics[-1][1].append(values)
    return [
        {
            "topic": field(asked, "topic"),
            "topic_id": field(asked, "topic_id"),
            "partitions": rows,
        }
        for asked, rows in topics
    ]


def one(parked: Parked, wanted: RequestedPartition, room: int, *, first: bool) -> Values:
    """The part of the answer about a partition that was there when the request came.

    Args:
        parked: The request and its circumstances.
        wanted: The requested partition.
        room: Bytes left in the answer.
        first: True if nothing is in it yet: then one batch goes in, however large, so that a
            client with a small limit gets on.
    """
    state, context = parked.state, parked.context
    asked, each, known_as = wanted
    epoch = field(each, "current_leader_epoch", NO_EPOCH)
    followers = state.followers_serve and context.version >= FOLLOWERS_FROM
    where = place(
        state, context, asked, each.partition, epoch, followers=followers, known_as=known_as
    )
    if where.code:
        hint = leader_hint(where) if context.version >= LEADER_FROM else {}
        return {**bare(each.partition, where.code), **hint}
    return read(parked, wanted, where, room, first=first)


def read(
    parked: Parked, wanted: RequestedPartition, where: Place, room: int, *, first: bool
) -> Values:
    """Answer for a partition that this broker may serve; `one` describes the arguments."""
    state, context, request, each = parked.state, parked.context, parked.request, wanted.each
    followers = state.followers_serve and context.version >= FOLLOWERS_FROM
    log, copy = where.led.log, where.led.copy_of(context.node)
    stable_end = log.stable_end(copy.watermark)
    known = {
        "high_watermark": copy.watermark,
        "last_stable_offset": stable_end,
        "log_start_offset": log.start,
    }
    committed = request.isolation_level == READ_COMMITTED
    values = {**bare(each.partition, 0), **known}
    if committed:
        values["aborted_transactions"] = []
    if followers:
        rack = field(request, "rack_id", "")
        nearer = nearer_replica(state, where.led, context.node, rack, each.fetch_offset)
        if nearer is not None:
            return {**values, "preferred_read_replica": nearer}
    ended = last_fetched(where, each, context.node)
    if ended is not None and ended.end_offset == UNDEFINED:
        # An epoch that this copy does not know: a follower has it from its first record on.
        return bare(each.partition, ErrorCode.offset_out_of_range)
    if each.fetch_offset < log.start:
        return bare(each.partition, ErrorCode.offset_out_of_range)
    if ended is not None and parted(ended, each):
        diverging = {"epoch": ended.epoch, "end_offset": ended.end_offset}
        return {**bare(each.partition, 0), **known, "diverging_epoch": diverging}
    if each.fetch_offset > copy.end:
        return bare(each.partition, ErrorCode.offset_out_of_range)
    limit = min(room, each.partition_max_bytes)
    upto = stable_end if committed else copy.watermark
    values["records"] = log.read(each.fetch_offset, limit, at_least_one=first, upto=upto)
    if committed and values["records"]:
        size = len(values["records"]) + INDEX_INTERVAL
        behind = log.offset_after(each.fetch_offset, size)
        values["aborted_transactions"] = [
            {"producer_id": producer, "first_offset": offset}
            for producer, offset in log.aborted_between(each.fetch_offset, behind)
        ]
    return values


def nearer_replica(
    state: State, partition: Partition, node: int, rack: str, offset: int
) -> int | None:
    """The follower that a leader names to a consumer in a rack, if there is one.

    It is in sync, has what lies before the offset, and the leader knows its address;
    of several the one that has most, and then the one with the highest id.
    """
    brokers = state.brokers
    if partition.leader != node or not rack or brokers[node].node.rack == rack:
        return None
    near = [
        (partition.copy_of(each).end, each)
        for each in partition.isr
        if brokers[each].node.rack == rack
        and brokers[each].registered
        and partition.log.start <= offset <= partition.copy_of(each).end
    ]
    return max(near)[1] if near else None


def bare(index: int, code: int) -> dict[str, Any]:
    """A partition without records."""
    return {
        "partition_index": index,
        "error_code": code,
        "high_watermark": UNDEFINED,
        "last_stable_offset": UNDEFINED,
        "log_start_offset": UNDEFINED,
        # Null for who reads uncommitted records; the others get a list.
        "aborted_transactions": None,
        "preferred_read_replica": -1,
        "records": b"",
    }


def last_fetched(where: Place, each: Any, node: int) -> EpochEnd | None:
    """Return the end of the last fetched epoch in this broker's copy; None if not given."""
    epoch = field(each, "last_fetched_epoch", NO_EPOCH)
    if epoch == NO_EPOCH:
        return None
    return where.led.epochs_of(node).end_of(epoch, where.led.copy_of(node).end)


def parted(ended: EpochEnd, each: Any) -> bool:
    """True if the client has read records that this log lacks."""
    return bool(ended.epoch < each.last_fetched_epoch or ended.end_offset < each.fetch_offset)
