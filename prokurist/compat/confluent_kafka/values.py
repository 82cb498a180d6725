"""confluent-kafka's values: partitions with an offset, messages, and what a cluster has."""

from dataclasses import field
from functools import total_ordering
from operator import index
from typing import Any, Final

from prokurist.compat.confluent_kafka.error import KafkaError
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.consumer_records import ConsumerRecord
from prokurist.types import TopicPartition as OurPartition

OFFSET_BEGINNING: Final = -2
OFFSET_END: Final = -1
OFFSET_STORED: Final = -1000
OFFSET_INVALID: Final = -1001

TIMESTAMP_NOT_AVAILABLE: Final = 0
TIMESTAMP_CREATE_TIME: Final = 1
TIMESTAMP_LOG_APPEND_TIME: Final = 2

Headers = list[tuple[str, bytes | None]]


@total_ordering
class TopicPartition:
    """A partition with an offset, which equality leaves out.

    Args:
        topic: The topic.
        partition: Its number.
        offset: An offset, a time, or one of the `OFFSET_` constants.
        metadata: What is committed beside the offset.
        leader_epoch: The offset's leader epoch; a negative one is none.

    Raises:
        OverflowError: A number has more bits than the protocol has for it.
        TypeError: An argument is of a wrong type.
    """

    __slots__ = ("_offset", "_partition", "error", "leader_epoch", "metadata", "topic")

    def __init__(
        self,
        topic: str,
        partition: int = -1,
        offset: int = OFFSET_INVALID,
        metadata: str | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        if not isinstance(topic, str):
            raise TypeError(f"a topic is a str, not {topic!r}")
        if metadata is not None and not isinstance(metadata, str):
            raise TypeError(f"metadata is a str, not {metadata!r}")
        epoch = -1 if leader_epoch is None else whole("leader_epoch", leader_epoch, 32)
        self.topic: str = topic
        self.partition = partition
        self.offset = offset
        self.metadata: str | None = metadata
        self.leader_epoch: int | None = None if epoch < 0 else epoch
        self.error: KafkaError | None = None

    @property
    def partition(self) -> int:
        """Its number."""
        return self._partition

    @partition.setter
    def partition(self, partition: int) -> None:
        self._partition = whole("partition", partition, 32)

    @property
    def offset(self) -> int:
        """An offset, a time, or one of the `OFFSET_` constants."""
        return self._offset

    @offset.setter
    def offset(self, offset: int) -> None:
        self._offset = whole("offset", offset, 64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicPartition):
            return NotImplemented
        return (self.topic, self.partition) == (other.topic, other.partition)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, TopicPartition):
            return NotImplemented
        return (self.topic, self.partition) < (other.topic, other.partition)

    def __hash__(self) -> int:
        return hash((self.topic, self.partition))

    def __repr__(self) -> str:
        return (
            f"TopicPartition{{topic={self.topic},partition={self.partition},"
            f"offset={self.offset},leader_epoch={self.leader_epoch},error={self.error}}}"
        )


def whole(name: str, given: Any, bits: int) -> int:
    """A whole number that fits into a signed field of so many bits.

    Raises:
        OverflowError: It does not fit.
        TypeError: It is no whole number.
    """
    try:
        number = index(given)
    except TypeError:
        raise TypeError(f"{name} is an int, not {given!r}") from None
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise OverflowError(f"{name} has {bits} bits with its sign, and {number} has more")
    return number


def ours(partition: TopicPartition) -> OurPartition:
    """A partition without its offset.

    Raises:
        TypeError: It is not one of this face.
    """
    if not isinstance(partition, TopicPartition):
        raise TypeError(f"expected {TopicPartition.__module__}.TopicPartition: {partition!r}")
    return OurPartition(partition.topic, partition.partition)


class Message:
    """A record, or an error in its place: each part is a call.

    Args:
        topic: The topic.
        partition: Its partition.
        offset: Its offset.
        key: The key.
        value: The value; of an error its text.
        headers: Pairs of a name and bytes.
        error: What is wrong; None for a record.
        timestamp: The kind of a timestamp, and milliseconds since the epoch.
        latency: Seconds that its delivery took.
        leader_epoch: The leader epoch that it was written in.
    """

    __slots__ = (
        "_error",
        "_headers",
        "_key",
        "_latency",
        "_leader_epoch",
        "_offset",
        "_partition",
        "_timestamp",
        "_topic",
        "_value",
    )

    def __init__(
        self,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        key: Any = None,
        value: Any = None,
        headers: Headers | None = None,
        error: KafkaError | None = None,
        timestamp: tuple[int, int] = (TIMESTAMP_NOT_AVAILABLE, 0),
        latency: float | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._offset = offset
        self._key = key
        self._value = value
        self._headers = headers
        self._error = error
        self._timestamp = timestamp
        self._latency = latency
        self._leader_epoch = leader_epoch

    @classmethod
    def of(cls, record: ConsumerRecord) -> "Message":
        """A record of ours."""
        stamp = record.timestamp
        kind = record.timestamp_type.value + 1 if stamp >= 0 else TIMESTAMP_NOT_AVAILABLE
        return cls(
            record.topic,
            record.partition,
            record.offset,
            record.key,
            record.value,
            list(record.headers) or None,
            None,
            (kind, stamp),
            None,
            record.leader_epoch,
        )

    def topic(self) -> str | None:
        """The topic."""
        return self._topic

    def partition(self) -> int | None:
        """The partition's number."""
        return self._partition

    def offset(self) -> int | None:
        """The offset."""
        return self._offset

    def key(self) -> Any:
        """The key."""
        return self._key

    def value(self) -> Any:
        """The value; of an error its text."""
        return self._value

    def headers(self) -> Headers | None:
        """Pairs of a name and bytes; None where there are none."""
        return self._headers

    def error(self) -> KafkaError | None:
        """Return the error of the message; None for a record."""
        return self._error

    def timestamp(self) -> tuple[int, int]:
        """One of the `TIMESTAMP_` constants, and milliseconds since the epoch."""
        return self._timestamp

    def latency(self) -> float | None:
        """Seconds from `produce` to the delivery; None for what was consumed."""
        return self._latency

    def leader_epoch(self) -> int | None:
        """The leader epoch in which the record was written."""
        return self._leader_epoch

    def set_topic(self, topic: str) -> None:
        """Put another topic in."""
        self._topic = topic

    def set_key(self, key: Any) -> None:
        """Put another key in, such as a deserialized one."""
        self._key = key

    def set_value(self, value: Any) -> None:
        """Put another value in, such as a deserialized one."""
        self._value = value

    def set_headers(self, headers: Headers | None) -> None:
        """Put other headers in."""
        self._headers = headers

    def set_error(self, error: KafkaError | None) -> None:
        """Put another error in."""
        self._error = error

    def __len__(self) -> int:
        return 0 if self._value is None else len(self._value)

    def __repr__(self) -> str:
        where = f"{self._topic}-{self._partition}@{self._offset}"
        return f"Message({where if self._error is None else self._error!r})"


@dataclass
class BrokerMetadata:
    """A broker, as `list_topics` has it."""

    id: int
    host: str
    port: int


@dataclass
class PartitionMetadata:
    """A partition, as `list_topics` has it; brokers by their ids."""

    id: int
    leader: int
    replicas: list[int]
    isrs: list[int]
    error: KafkaError | None = None


@dataclass
class TopicMetadata:
    """A topic, as `list_topics` has it."""

    topic: str
    partitions: dict[int, PartitionMetadata] = field(default_factory=dict)
    error: KafkaError | None = None
