"""The events that the application thread posts to the network thread, one class for each.

Thread: made by one, read by the other; frozen. An event with a waiting caller carries its Call,
and so its deadline.
"""

from collections.abc import Collection, Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from prokurist.events.admin.items_call import ItemsCall
from prokurist.events.admin.work import Work
from prokurist.events.background_events import Step
from prokurist.events.call import Call
from prokurist.events.lent.outcome import AcknowledgeOutcome
from prokurist.events.member_identity import NO_MEMBER, Identity
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import (
    ConsumerGroupMetadata,
    GroupMembershipOperation,
    OffsetAndMetadata,
    TopicPartition,
)

BY_NAME: Final[Mapping[str, UUID]] = MappingProxyType({})
"""No topic is known by its id."""


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit these offsets; the call ends when the coordinator has them.

    Attributes:
        identity: Who we were when they were to be committed.
        topics: The ids of the topics that were read so far, where that is known; of
            offsets that the user has named, it is not known.
    """

    call: Call
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    identity: Identity = NO_MEMBER
    topics: Mapping[str, UUID] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommitOnce:
    """Commit these offsets in one attempt, once the coordinator is known."""

    call: Call
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    identity: Identity = NO_MEMBER
    topics: Mapping[str, UUID] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AutoCommit:
    """Commit a snapshot of positions, except for those replaced by newer commits.

    Each later commit of a partition, of any kind, overtakes it: it is not tried again then. The
    answer is `{partition: OffsetAndMetadata}`: the committed offsets.
    """

    call: Call
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    identity: Identity = NO_MEMBER
    topics: Mapping[str, UUID] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LookUpCommitted:
    """Look up committed offsets; the answer is `{partition: OffsetAndMetadata | None}`.

    Attributes:
        stable: True to wait for open transactions that commit their offsets.
    """

    call: Call
    partitions: tuple[TopicPartition, ...]
    stable: bool = True


class Edge(Enum):
    """The beginning and the end of a log, in place of a time."""

    BEGINNING = "beginning"
    """The first offset that is still there."""
    END = "end"
    """The offset that will be written next; for readers of committed records only,
    the one that an open transaction has not let them pass."""


@dataclass(frozen=True, slots=True)
class LookUpOffsets:
    """Look up the beginning or the end of logs, or the first record from a time on.

    The answer has a value for each partition: for an `Edge` its offset, an int; for
    a time `OffsetAndTimestamp`, or None where no record is that young.

    Attributes:
        moments: The timestamp or moment for each partition; times in milliseconds since the
            epoch, not negative.
        read_committed: True if logs end at their last stable offset.
    """

    call: Call
    moments: Mapping[TopicPartition, Edge | int]
    read_committed: bool = False


@dataclass(frozen=True, slots=True)
class LookUpTopic:
    """Look up a topic's partitions: a list of `PartitionInfo`, empty for no such topic."""

    call: Call
    topic: str


@dataclass(frozen=True, slots=True)
class ListTopics:
    """Look up topics as a broker tells them now: `{topic: [PartitionInfo]}`.

    Attributes:
        topics: Their names; None for all that the user may see.
    """

    call: Call
    topics: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class LookUpPosition:
    """Look up the position of a partition; the answer is an offset."""

    call: Call
    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class LookUpPositions:
    """Look up all missing positions: for `poll`, which does not wait for them.

    The call says who wishes it, and is ended only if the thread ends first. That
    holds for the next two as well.
    """

    call: Call


@dataclass(frozen=True, slots=True)
class LookUpEnd:
    """Look up a log's end offset, for its lag; no caller waits for the result.

    Attributes:
        born: The ticket of the assignment that the answer is for.
    """

    call: Call
    partition: TopicPartition
    born: int


@dataclass(frozen=True, slots=True)
class LookUpTransactions:
    """Look up the first open transaction of partitions; no caller waits for the result."""

    call: Call
    partitions: Collection[TopicPartition]


@dataclass(frozen=True, slots=True)
class DropStale:
    """Stop looking up positions that are not wanted any more."""

    call: Call


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A poll has begun, and some of the partitions that it reads are not being fetched.

    The call is ended only if the thread ends first. That holds for `Polled`, `StepDone` and
    `Rejoin` as well.
    """

    call: Call


@dataclass(frozen=True, slots=True)
class Attend:
    """A call waits for records of a partition: add the fetches of it to the call's ledger.

    The call goes on until it is withdrawn or its time is over.
    """

    call: Call
    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class Polled:
    """Report a poll to the membership, which has asked for it."""

    call: Call


@dataclass(frozen=True, slots=True)
class StepDone:
    """Tell the membership that `poll` has made one of its steps.

    Attributes:
        error: The error of the user's code in it.
        answer: The result of the step, where it has one.
    """

    call: Call
    step: Step
    error: BaseException | None = None
    answer: object = None


@dataclass(frozen=True, slots=True)
class Rejoin:
    """Have the group rebalance.

    Attributes:
        reason: For the broker's log.
    """

    call: Call
    reason: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave the group; the call ends when the coordinator knows, or need not.

    Attributes:
        how: The way to leave: with or without a request to the group.
        partitions: The partitions assigned until then.
        lost: True if the listener heard of them as lost, not as revoked.
    """

    call: Call
    how: GroupMembershipOperation = GroupMembershipOperation.DEFAULT
    partitions: frozenset[TopicPartition] = frozenset()
    lost: bool = False


@dataclass(frozen=True, slots=True)
class CloseBegins:
    """End the commits that are under way by the call's deadline: the consumer closes."""

    call: Call


@dataclass(frozen=True, slots=True)
class AskForRecords:
    """A poll of a share group waits for records, or has decided on some.

    The call is ended only if the thread ends first.
    """

    call: Call


@dataclass(frozen=True, slots=True)
class Acknowledgements:
    """Send all decisions on records of a share group.

    Attributes:
        outcome: Takes what became of each; the answer is that.
        by_itself: True if no caller waits: what is not sent at the deadline goes on.
    """

    call: Call
    outcome: AcknowledgeOutcome
    by_itself: bool = False


@dataclass(frozen=True, slots=True)
class EndSharing:
    """Send all decisions, release the other records, and close the share sessions.

    Attributes:
        outcome: Takes what became of each.
    """

    call: Call
    outcome: AcknowledgeOutcome


@dataclass(frozen=True, slots=True)
class AwaitTopic:
    """The call of a producer ends when it can append to a topic.

    Attributes:
        topic: The topic.
        partition: A partition that it must have; None for any.
    """

    call: Call
    topic: str
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Purge:
    """Fail all records of a producer that are not on the wire."""

    call: Call


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Fail all records of a producer, also those on the wire: it closes."""

    call: Call


@dataclass(frozen=True, slots=True)
class InitTransactions:
    """Get the id and epoch of a transactional producer; fences former producers of the id."""

    call: Call


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """Commit or abort a transaction, once nothing of it is on the wire.

    Attributes:
        number: The number of the transaction.
        committed: True for a commit.
    """

    call: Call
    number: int
    committed: bool


@dataclass(frozen=True, slots=True)
class SendOffsets:
    """Add committed offsets of a group to a transaction.

    Attributes:
        group: The group, and the member that owns the partitions.
        offsets: The offsets.
    """

    call: Call
    group: ConsumerGroupMetadata
    offsets: Mapping[TopicPartition, OffsetAndMetadata]


@dataclass(frozen=True, slots=True)
class DeliverAndEnd:
    """End a producer that nothing refers to any more, once all of its records have ended."""

    call: Call


@dataclass(frozen=True, slots=True)
class Administer:
    """Do administrative work; each item of the call gets an outcome of its own.

    Attributes:
        work: The work.
    """

    call: ItemsCall
    work: Work


@dataclass(frozen=True, slots=True)
class InstanceId:
    """Wait for the client instance id of this client's metrics; the answer is a UUID."""

    call: Call


@dataclass(frozen=True, slots=True)
class PushLast:
    """Push metrics once more, where brokers want them: the client closes."""

    call: Call


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The caller has left before its deadline: stop working on the call."""

    call: Call


@dataclass(frozen=True, slots=True)
class Close:
    """End the thread; the call ends when everything is closed."""

    call: Call


GroupEvent: TypeAlias = (
    Commit
    | CommitOnce
    | AutoCommit
    | LookUpCommitted
    | Polled
    | StepDone
    | Rejoin
    | Leave
    | CloseBegins
)
"""The events that only a client with a group can take."""

ConsumerEvent: TypeAlias = (
    GroupEvent
    | LookUpOffsets
    | LookUpPosition
    | LookUpPositions
    | DropStale
    | Prefetch
    | Attend
    | LookUpEnd
    | LookUpTransactions
)
"""The events of a consumer."""

TransactionEvent: TypeAlias = InitTransactions | EndTransaction | SendOffsets
"""The events of a producer with a transactional id."""

ProducerEvent: TypeAlias = AwaitTopic | Purge | GiveUp | DeliverAndEnd
"""The events of a producer."""

ShareEvent: TypeAlias = AskForRecords | Acknowledgements | EndSharing
"""The events of a share consumer, beside some of a consumer's group."""

AdminEvent: TypeAlias = Administer
"""The events of an administrator."""

TelemetryEvent: TypeAlias = InstanceId | PushLast
"""The events of a client that pushes metrics."""

ApplicationEvent: TypeAlias = (
    ConsumerEvent
    | ShareEvent
    | ProducerEvent
    | TransactionEvent
    | AdminEvent
    | TelemetryEvent
    | LookUpTopic
    | ListTopics
    | Withdraw
    | Close
)
