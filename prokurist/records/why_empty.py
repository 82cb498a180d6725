"""Reasons for polls without records.

Thread: any; frozen values.
"""

from datetime import UTC, datetime
from enum import Enum
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition

FORM: Final = "%Y-%m-%d %H:%M:%S UTC"
LAST_MOMENT: Final = 253_402_300_799_999
"""The last millisecond that a calendar of four digits has: timestamps are a producer's word."""


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
    DESERIALIZING = "deserializing"
    """A deserializer waits for what another thread fetches, such as a schema."""
    SKIPPED = "skipped"
    """Only transaction markers and aborted records were read, which are not returned."""
    OPEN_TRANSACTION = "open_transaction"
    """With `isolation.level=read_committed`, only records of transactions that are open, or
    behind them, are left."""
    NOTHING_NEW = "nothing_new"
    """All records that there are have been returned."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """The first open transaction of a partition, as its leader describes it.

    Attributes:
        partition: The partition.
        producer_id: The id of its producer.
        producer_epoch: The epoch of its producer.
        first_offset: Its first offset in the partition.
        last_timestamp: The timestamp of its last record there, in milliseconds since the epoch;
            None where it is not known.
    """

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    first_offset: int
    last_timestamp: int | None

    def __str__(self) -> str:
        last = ""
        if self.last_timestamp is not None and 0 <= self.last_timestamp <= LAST_MOMENT:
            seconds = self.last_timestamp // 1000
            last = f", and its last record is of {datetime.fromtimestamp(seconds, UTC):{FORM}}"
        return (
            f"that of producer {self.producer_id} (epoch {self.producer_epoch}) in "
            f"{self.partition} begins at offset {self.first_offset}{last}"
        )


@dataclass(frozen=True, slots=True)
class WhyEmpty:
    """Reason for a poll without records, as a sentence and for programs.

    Attributes:
        cause: What kept it from that; of several causes the one that has to end first.
        text: The same as a sentence, with names and numbers.
        partitions: The partitions that it is about, in order; none where it is about all.
        transactions: With `open_transaction`, the first open transaction of each of these
            partitions, once its leader has been asked: of the first such result there are none
            yet.
    """

    cause: EmptyCause
    text: str
    partitions: tuple[TopicPartition, ...] = ()
    transactions: tuple[OpenTransaction, ...] = ()

    def __str__(self) -> str:
        return self.text


SKIPPED = WhyEmpty(
    EmptyCause.SKIPPED,
    "only transaction markers and records of aborted transactions were read, and these are not "
    "returned",
)
