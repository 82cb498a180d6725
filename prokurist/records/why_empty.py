"""Reasons for polls without records.

Thread: any; frozen values.
"""

from dataclasses import dataclass
from enum import Enum

from prokurist.types import TopicPartition


class EmptyCause(Enum):
    """Causes of a poll without records."""

    UNREACHABLE = "unreachable"
    """No broker can be reached."""
    THROTTLED = "throttled"
    """Brokers have asked for silence, since this client is over a quota."""
    NO_ANSWER = "no_answer"
    """A connection stands, and no broker has answered for longer than a fetch may take."""
    TOPIC_MISSING = "topic_missing"
    """A topic that is subscribed to or assigned does not exist."""
    PARTITION_MISSING = "partition_missing"
    """A partition that is assigned has a number that its topic does not have."""
    JOINING = "joining"
    """The group has not given this member any partitions yet."""
    REBALANCING = "rebalancing"
    """The group shares its partitions out, and this member has a part."""
    NOTHING_ASSIGNED = "nothing_assigned"
    """The group has given this member no partitions, as it has more members than partitions."""
    PAUSED = "paused"
    """All partitions are paused."""
    OUTSTANDING = "outstanding"
    """As many records are outstanding as `track_offsets` allows."""
    NO_POSITION = "no_position"
    """The position is being looked up."""
    NO_LEADER = "no_leader"
    """Partitions have no leader that is known."""
    FETCHING = "fetching"
    """Records have not arrived yet, or no answer has shown if there are any."""
    SKIPPED = "skipped"
    """Only transaction markers and aborted records were read, which are not returned."""
    OPEN_TRANSACTION = "open_transaction"
    """With `isolation.level=read_committed`, only records of transactions that are open, or
    behind them, are left."""
    NOTHING_NEW = "nothing_new"
    """All records that there are have been returned."""


@dataclass(frozen=True, slots=True)
class WhyEmpty:
    """Reason for a poll without records, as a sentence and for programs.

    Attributes:
        cause: What kept it from that; of several causes the one that has to end first.
        text: The same as a sentence, with names and numbers.
        partitions: The partitions that it is about, in order; none where it is about all.
    """

    cause: EmptyCause
    text: str
    partitions: tuple[TopicPartition, ...] = ()

    def __str__(self) -> str:
        return self.text


SKIPPED = WhyEmpty(
    EmptyCause.SKIPPED,
    "only transaction markers and records of aborted transactions were read, and these are not "
    "returned",
)
