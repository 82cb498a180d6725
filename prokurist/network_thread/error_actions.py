"""Actions for error codes: data, not ifs.

One table per API, a row per code, each with its reason. A code outside its row is
judged by the class it has in `prokurist.errors`: retriable ones are tried again,
with fresh metadata where their class says so; all others are fatal to the call.
So a code that is newer than we are is fatal, with its number, and never a loop.
A table may name another action for all codes outside its rows (`otherwise`).

Thread: any; tables.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from prokurist.errors import CommitFailedException, KafkaException, error_for
from prokurist.errors.codes import NONE, by_code
from prokurist.lazy_dataclasses import dataclass


class Action(Enum):
    """Actions of the client after an error code."""

    DONE = "done"
    RETRY = "try again after the backoff"
    REFRESH = "fetch metadata, then try again"
    REDISCOVER = "look up the coordinator, then try again"
    REBOOTSTRAP = "bootstrap again, then try again"
    NOTHING = "there is no such thing: the answer is None"
    RENEW = "go on with the new epoch, where the membership is the same"
    REJOIN = "the membership is over: join again"
    UNRELEASED = "wait until the static member's name is free, for a minute at most"
    SURFACE = "tell the next poll, and go on"
    COMMIT_FAILED = "the group no longer counts the member: CommitFailedException"
    IDENTIFY = "join again at once, with the id that came with the answer"
    ROUND = "the group is rebalancing: join with the same member id"
    OUTDATED = "the partitions may be assigned to others: join again with the same member id"
    RESET = "the same, with a new member id"
    OUT_OF_RANGE = "the offset is not in the log: apply the reset policy"
    NEW_SESSION = "open a new fetch session with all partitions"
    SPLIT = "split the batch, then send its parts"
    DUPLICATE = "it was appended by an earlier attempt: its offset is not known"
    OUT_OF_ORDER = "what the sequence numbers say decides"
    FORGOTTEN = "the broker has forgotten the producer: the sequence numbers decide"
    NEW_EPOCH = "send it again under a new epoch of the producer"
    REFUSED_RECORDS = "single records were refused, and with them their batch"
    REFUSED_PRODUCER = "fail all batches; the next record asks for a producer id again"
    LATER = "leave it until the interval is over"
    SUBSCRIBE = "ask for the telemetry subscription again"
    ANOTHER_CODEC = "the same, and compress the next push otherwise"
    END = "push no metrics any more"
    ECHO = "what was asked for is there: an earlier attempt may have done it"
    FATAL = "raise it"


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One row of a table of error codes."""

    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """The table of error codes of one API.

    Attributes:
        api: The API's name.
        rows: The codes that have a row.
        otherwise: The action for all others; None to judge them by their class.
    """

    api: str
    rows: Mapping[int, ErrorRow]
    otherwise: Action | None = None

    def of(self, code: int) -> Action:
        """The action for an error code."""
        if code == NONE:
            return Action.DONE
        row = self.rows.get(code)
        if row is not None:
            return row.action
        if self.otherwise is not None:
            return self.otherwise
        cls = by_code().get(code)
        if cls is None or not cls.retriable:
            return Action.FATAL
        return Action.REFRESH if cls.refreshes_metadata else Action.RETRY

    def error(self, code: int, message: str | None = None) -> KafkaException:
        """The exception for an error code other than 0."""
        error = error_for(code, message)
        if error is None:
            raise AssertionError("success has no exception")
        if self.of(code) is Action.COMMIT_FAILED:
            return commit_failed(error)
        return error


def commit_failed(error: KafkaException) -> CommitFailedException:
    """The error for a commit that the group rejects because of its identity."""
    failed = CommitFailedException(
        f"Commit rejected: the group no longer knows this consumer as the member that made "
        f"the commit ({type(error).__name__}: {error}); its partitions may be assigned to "
        f"another member, and the offsets were not committed"
    )
    failed.__cause__ = error
    return failed


def table(
    api: str, rows: Mapping[int, tuple[Action, str]], otherwise: Action | None = None
) -> ErrorTable:
    """Make a table from plain rows."""
    read_only = MappingProxyType({code: ErrorRow(*row) for code, row in rows.items()})
    return ErrorTable(api, read_only, otherwise)


_RELOADING: Final = (Action.RETRY, "the right coordinator, which is still loading its log")
_MOVED: Final = (Action.REDISCOVER, "another broker is the coordinator now")
_ABSENT: Final = (Action.REDISCOVER, "the group has no coordinator at present")
_STALE: Final = (Action.RENEW, "the epoch has moved on, and the next heartbeat tells it")
_REBALANCED: Final = (Action.RENEW, "the generation is over, or about to be")

FIND_COORDINATOR: Final = table(
    "FindCoordinator",
    {
        15: (Action.RETRY, "an election is on its way"),
        14: (Action.RETRY, "the broker is still loading its log"),
        30: (Action.FATAL, "no rights on the group: an ACL is missing"),
    },
)

OFFSET_COMMIT: Final = table(
    "OffsetCommit",
    {
        3: (Action.RETRY, "the topic may be on its way to the coordinator's metadata"),
        7: (Action.REDISCOVER, "the coordinator could not replicate: it may be cut off"),
        14: _RELOADING,
        15: _ABSENT,
        16: _MOVED,
        100: (Action.REFRESH, "the topic was created again, or the coordinator lags behind"),
        12: (Action.FATAL, "the metadata is too long, and will be the next time"),
        22: _REBALANCED,
        24: (Action.FATAL, "no such group"),
        25: (Action.COMMIT_FAILED, "the coordinator no longer knows the member"),
        27: _REBALANCED,
        28: (Action.FATAL, "too large, and will be the next time too"),
        29: (Action.FATAL, "no rights on the topic"),
        30: (Action.FATAL, "no rights on the group"),
        69: (Action.FATAL, "no such group"),
        82: (Action.COMMIT_FAILED, "another has taken the instance id"),
        113: _STALE,
    },
)

_GONE: Final = (Action.FATAL, "the topic is gone: what comes back is another one")

UNASKED_COMMIT: Final = table(
    "OffsetCommit",
    {
        **{code: (row.action, row.reason) for code, row in OFFSET_COMMIT.rows.items()},
        3: _GONE,
        100: _GONE,
    },
)
"""The same for an automatic commit, for whose end other commits may wait."""

OFFSET_FETCH: Final = table(
    "OffsetFetch",
    {
        7: (Action.REDISCOVER, "the coordinator may be cut off"),
        14: _RELOADING,
        15: _ABSENT,
        16: _MOVED,
        29: (Action.FATAL, "no rights on the topic"),
        30: (Action.FATAL, "no rights on the group"),
        25: (Action.FATAL, "the coordinator no longer knows the member"),
        113: _STALE,
        88: (Action.RETRY, "a transaction has yet to settle these offsets"),
    },
)

CONSUMER_GROUP_HEARTBEAT: Final = table(
    "ConsumerGroupHeartbeat",
    {
        14: _RELOADING,
        15: _ABSENT,
        16: _MOVED,
        25: (Action.REJOIN, "the coordinator no longer knows the member"),
        29: (Action.SURFACE, "no rights on a topic, until an ACL grants them"),
        30: (Action.FATAL, "no rights on the group"),
        35: (Action.FATAL, "the broker does not support the protocol, or this request"),
        42: (Action.FATAL, "the broker rejects the request's contents"),
        69: (Action.FATAL, "no such group"),
        81: (Action.FATAL, "the group is full"),
        82: (Action.FATAL, "another has taken the instance id"),
        110: (Action.REJOIN, "the epoch is over"),
        111: (Action.UNRELEASED, "a predecessor may have crashed: its session expires soon"),
        112: (Action.FATAL, "the broker has no such assignor"),
        128: (Action.FATAL, "the pattern will be no better the next time"),
    },
)

SHARE_GROUP_HEARTBEAT: Final = table(
    "ShareGroupHeartbeat",
    {
        14: _RELOADING,
        15: _ABSENT,
        16: _MOVED,
        25: (Action.REJOIN, "the coordinator no longer knows the member"),
        29: (Action.SURFACE, "no rights on a topic, until an ACL grants them"),
        30: (Action.FATAL, "no rights on the group"),
        35: (Action.FATAL, "the broker has no share groups, or they are not finalised"),
        42: (Action.FATAL, "the broker rejects the request's contents"),
        69: (Action.FATAL, "the id belongs to a group of another type"),
        81: (Action.FATAL, "the group is full"),
        110: (Action.REJOIN, "the epoch is over"),
    },
)

_UNKNOWN: Final = (Action.RETRY, "not there, or not yet known to the broker that was asked")

METADATA: Final = table(
    "Metadata",
    {
        3: _UNKNOWN,
        5: (Action.RETRY, "an election is on its way"),
        100: _UNKNOWN,
        129: (Action.REBOOTSTRAP, "the broker is not of our cluster any more (KIP-1102)"),
        17: (Action.FATAL, "not a legal name of a topic"),
        29: (Action.FATAL, "no rights on the topic, until an ACL grants them"),
    },
)

PRODUCER_METADATA: Final = table(
    "Metadata",
    {
        -1: (Action.RETRY, "the broker met an unexpected error; the next answer may be right"),
        3: _UNKNOWN,
        5: (Action.RETRY, "an election is on its way"),
        17: (Action.FATAL, "not a legal name of a topic, and will not become one"),
        29: (
            Action.FATAL,
            "no rights on the topic, until an ACL grants them",
        ),
        31: (Action.RETRY, "no rights to create it; of a topic that exists no broker says so"),
        37: (Action.RETRY, "num.partitions of this broker is wrong; others may have it right"),
        38: (Action.RETRY, "too few brokers are up to create it, as while they start"),
        44: (Action.RETRY, "a policy refuses to create it; it may have been created otherwise"),
        100: _UNKNOWN,
        129: (Action.REBOOTSTRAP, "the broker is not of our cluster any more (KIP-1102)"),
    },
    otherwise=Action.RETRY,
)
"""The same for topics that a producer writes to.

Records wait in memory meanwhile, each until `delivery.timeout.ms`, or its `send` until
`max.block.ms`. An answer that may be another one the next time must not fail them; an error
that lasts is in the text of their TimeoutException. So a code without a row, also one that is
newer than we are, is asked about again: the pauses grow, and each wait has an end. As in Java,
a name that is refused and a missing right end the wait at once.
"""

_MOVED_ON: Final = (Action.REFRESH, "another broker leads the partition by now")
_OUT_OF_STEP: Final = (Action.REFRESH, "client and leader know different epochs")

_OF_A_LEADER: Final[Mapping[int, tuple[Action, str]]] = {
    3: (Action.REFRESH, "not there, or not yet known to its leader"),
    5: (Action.REFRESH, "an election is on its way"),
    6: _MOVED_ON,
    9: _MOVED_ON,
    56: (Action.REFRESH, "the leader's disk has failed: another will lead"),
    74: _OUT_OF_STEP,
    75: _OUT_OF_STEP,
    78: (Action.REFRESH, "a new leader does not know its high watermark yet"),
    29: (Action.FATAL, "no rights on the topic"),
}

LIST_OFFSETS: Final = table(
    "ListOffsets",
    {
        **_OF_A_LEADER,
        43: (Action.NOTHING, "records this old have no timestamps to be found by"),
    },
)

FETCH: Final = table(
    "Fetch",
    {
        -1: (Action.RETRY, "the broker met an unexpected error; the next attempt may succeed"),
        1: (Action.OUT_OF_RANGE, "deleted by now, or not written yet"),
        2: (Action.FATAL, "damaged on the broker's disk, and will be the next time too"),
        3: (Action.REFRESH, "not there, or not yet known to its leader"),
        5: (Action.REFRESH, "an election is on its way"),
        6: _MOVED_ON,
        9: _MOVED_ON,
        29: (Action.FATAL, "no rights on the topic"),
        56: (Action.REFRESH, "the leader's disk has failed: another will lead"),
        70: (Action.NEW_SESSION, "the broker has forgotten the session"),
        71: (Action.NEW_SESSION, "client and broker disagree about the session's requests"),
        74: _OUT_OF_STEP,
        75: (Action.REFRESH, "the leader does not know of its election yet"),
        78: (Action.REFRESH, "a new leader does not know its high watermark yet"),
        100: (Action.REFRESH, "the topic was created again, or the broker lags behind"),
        103: (Action.REFRESH, "the topic was created again"),
        106: (
            Action.NEW_SESSION,
            "the session names topics by name and not by id, or the reverse",
        ),
        109: (Action.RETRY, "moved to tiered storage: the broker will find it there"),
    },
)
OFFSET_FOR_LEADER_EPOCH: Final = table("OffsetForLeaderEpoch", _OF_A_LEADER)
DESCRIBE_PRODUCERS: Final = table("DescribeProducers", _OF_A_LEADER)

_RENAMED: Final = (Action.FATAL, "another client has taken the instance id")
_FORBIDDEN: Final = (Action.FATAL, "no rights on the group")
_OF_THE_GROUP: Final[Mapping[int, tuple[Action, str]]] = {
    14: _RELOADING,
    15: _ABSENT,
    16: _MOVED,
    22: (Action.OUTDATED, "the group is in another generation by now"),
    25: (Action.RESET, "the group has no member of that id"),
    30: _FORBIDDEN,
    82: _RENAMED,
}

JOIN_GROUP: Final = table(
    "JoinGroup",
    {
        **_OF_THE_GROUP,
        23: (Action.FATAL, "no assignor that all members know, or another kind of group"),
        24: (Action.FATAL, "not a legal name of a group"),
        26: (Action.FATAL, "session.timeout.ms lies outside what the broker allows"),
        27: (Action.RETRY, "the group is between two rebalances"),
        79: (Action.IDENTIFY, "the broker assigns a member id before it lets the member join"),
        81: (Action.FATAL, "the group is full"),
    },
)

SYNC_GROUP: Final = table(
    "SyncGroup",
    {
        **_OF_THE_GROUP,
        23: (Action.FATAL, "the group uses another protocol (KIP-559)"),
        27: (Action.ROUND, "the next rebalance has begun"),
    },
)

HEARTBEAT: Final = table(
    "Heartbeat",
    {**_OF_THE_GROUP, 27: (Action.ROUND, "a rebalance has begun")},
)

PRODUCE: Final = table(
    "Produce",
    {
        2: (Action.RETRY, "the batch was damaged on its way"),
        3: (Action.REFRESH, "not there, or not yet known to its leader"),
        5: (Action.REFRESH, "an election is on its way"),
        6: _MOVED_ON,
        7: (Action.RETRY, "the other replicas did not have it in time"),
        10: (Action.SPLIT, "larger than the topic's max.message.bytes"),
        17: (Action.FATAL, "not a legal name of a topic"),
        19: (Action.RETRY, "too few replicas are in sync"),
        20: (Action.RETRY, "appended, and then too few replicas were in sync"),
        21: (Action.FATAL, "the broker takes no such acks"),
        29: (Action.FATAL, "no rights on the topic"),
        31: (Action.REFUSED_PRODUCER, "no rights to write idempotently"),
        32: (Action.REFUSED_RECORDS, "the topic does not take such timestamps"),
        44: (Action.FATAL, "a policy of the cluster refuses it, and will again"),
        45: (Action.OUT_OF_ORDER, "the leader lacks what came before, or has not seen it yet"),
        46: (Action.DUPLICATE, "the leader has it, and has forgotten where"),
        47: (Action.NEW_EPOCH, "the leader knows a later epoch of the producer"),
        56: (Action.REFRESH, "the leader's disk has failed: another will lead"),
        59: (Action.FORGOTTEN, "all that the producer wrote has been deleted"),
        74: _MOVED_ON,
        76: (Action.FATAL, "the broker cannot read this compression.type"),
        87: (Action.REFUSED_RECORDS, "the topic does not take such records"),
        100: (Action.REFRESH, "the topic was created again, or the broker lags behind"),
    },
)

_BUSY: Final = (Action.RETRY, "the transaction before is still being completed")
_WITHOUT_RIGHT: Final = (Action.FATAL, "no rights on the transactional id")
_FENCED: Final = (Action.FATAL, "the coordinator knows a later epoch of the producer")
_OF_THE_TRANSACTION: Final[Mapping[int, tuple[Action, str]]] = {
    14: _RELOADING,
    15: (Action.REDISCOVER, "the transactional id has no coordinator at present"),
    16: _MOVED,
    47: _FENCED,
    48: (Action.FATAL, "the coordinator's state of the transaction rules it out"),
    49: (Action.FATAL, "the coordinator knows another producer id, or none"),
    51: _BUSY,
    53: _WITHOUT_RIGHT,
    90: _FENCED,
    120: (Action.FATAL, "the transaction can only be aborted"),
}

TRANSACTIONAL_PRODUCE: Final = table(
    "Produce",
    {
        **{code: (row.action, row.reason) for code, row in PRODUCE.rows.items()},
        31: (Action.FATAL, "no rights to write idempotently"),
        47: (Action.FATAL, "the epoch is over: of a coordinator's abort, or another producer"),
        48: (Action.FATAL, "the transaction is over, or the partition was not added"),
        49: (Action.FATAL, "the coordinator knows another producer id, or none"),
        51: _BUSY,
        53: _WITHOUT_RIGHT,
        90: _FENCED,
        120: (Action.FATAL, "the transaction can only be aborted"),
    },
)
"""The same for batches of transactions.

No epoch begins within a transaction, so a code that asks for one fails the batch, and the
transaction with it.
"""

INIT_TRANSACTIONS: Final = table(
    "InitProducerId",
    {**_OF_THE_TRANSACTION, 50: (Action.FATAL, "longer than transaction.max.timeout.ms")},
)

ADD_PARTITIONS_TO_TXN: Final = table(
    "AddPartitionsToTxn",
    {
        **_OF_THE_TRANSACTION,
        3: (Action.RETRY, "the topic may be on its way to the coordinator's metadata"),
        29: (Action.FATAL, "no rights on the topic"),
        55: (Action.RETRY, "not tried, since another partition was refused"),
    },
)

ADD_OFFSETS_TO_TXN: Final = table(
    "AddOffsetsToTxn", {**_OF_THE_TRANSACTION, 30: (Action.FATAL, "no rights on the group")}
)

END_TXN: Final = table("EndTxn", _OF_THE_TRANSACTION)

TXN_OFFSET_COMMIT: Final = table(
    "TxnOffsetCommit",
    {
        **_OF_THE_TRANSACTION,
        3: (Action.RETRY, "the topic may be on its way to the coordinator's metadata"),
        7: (Action.REDISCOVER, "the coordinator could not replicate: it may be cut off"),
        12: (Action.FATAL, "the metadata is too long, and will be the next time"),
        15: _ABSENT,
        22: (Action.COMMIT_FAILED, "the group is in another generation by now"),
        25: (Action.COMMIT_FAILED, "the coordinator no longer knows the member"),
        28: (Action.FATAL, "too large, and will be the next time too"),
        29: (Action.FATAL, "no rights on the topic"),
        30: (Action.FATAL, "no rights on the group"),
        82: (Action.COMMIT_FAILED, "another has taken the instance id"),
        113: (Action.COMMIT_FAILED, "the epoch has moved on"),
    },
)

INIT_PRODUCER_ID: Final = table(
    "InitProducerId",
    {
        14: (Action.RETRY, "the broker has no block of ids yet"),
        15: (Action.RETRY, "the broker has no block of ids yet"),
        31: (Action.FATAL, "no rights to write idempotently"),
    },
)

_EARLY: Final = (Action.LATER, "less than the interval has passed since the last one")

GET_TELEMETRY_SUBSCRIPTIONS: Final = table(
    "GetTelemetrySubscriptions",
    {
        35: (Action.FATAL, "the broker does not know the request"),
        42: (Action.FATAL, "the broker rejects the request's contents"),
        89: _EARLY,
    },
)

PUSH_TELEMETRY: Final = table(
    "PushTelemetry",
    {
        35: (Action.END, "the broker does not know the request"),
        42: (Action.END, "the broker rejects the request's contents"),
        76: (Action.ANOTHER_CODEC, "the broker has no such compression"),
        87: (Action.END, "the broker's receiver cannot read the metrics"),
        89: _EARLY,
        117: (Action.SUBSCRIBE, "another subscription is configured by now"),
        118: (Action.LATER, "more bytes than the broker takes at once"),
    },
)
