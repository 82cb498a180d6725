"""Broker errors about topics, partitions, leaders, offsets and records."""

from collections.abc import Mapping

from prokurist.errors.tree import (
    ApiException,
    InvalidMetadataException,
    InvalidOffsetException,
    RetriableException,
)
from prokurist.types import OffsetAndMetadata, TopicPartition


class OffsetOutOfRangeException(ApiException, InvalidOffsetException):
    """The position lies outside the partition's log.

    Attributes:
        offsets: The position of each partition that is out of range.
        log_start: Where the log begins, where that was looked up (by `read_range`).
        log_end: Where it ends, likewise.
    """

    error_code: int | None = 1

    def __init__(
        self,
        message: str = "",
        *,
        offsets: Mapping[TopicPartition, int] | None = None,
        log_start: int | None = None,
        log_end: int | None = None,
    ) -> None:
        self.offsets: dict[TopicPartition, int] = dict(offsets or {})
        self.log_start: int | None = log_start
        self.log_end: int | None = log_end
        super().__init__(message, partitions=tuple(self.offsets))


class LogTruncationException(OffsetOutOfRangeException):
    """The log was cut back below the position: records read before are gone from it.

    Attributes:
        divergent_offsets: Where each log parts from what was read, where the
            broker could tell.
    """

    error_code: int | None = None

    def __init__(
        self,
        message: str = "",
        *,
        offsets: Mapping[TopicPartition, int] | None = None,
        divergent_offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
    ) -> None:
        super().__init__(message, offsets=offsets)
        self.divergent_offsets: dict[TopicPartition, OffsetAndMetadata] = dict(
            divergent_offsets or {}
        )


class CorruptRecordException(RetriableException):
    """A record batch failed its checksum, or is otherwise damaged."""

    error_code: int | None = 2


class UnknownTopicOrPartitionException(InvalidMetadataException):
    """This broker does not host the topic or partition, or hides it from us."""

    error_code: int | None = 3


class InvalidFetchSizeException(ApiException):
    """A fetch asked for an impossible number of bytes."""

    error_code: int | None = 4


class LeaderNotAvailableException(InvalidMetadataException):
    """The partition has no leader just now: an election is on its way."""

    error_code: int | None = 5


class NotLeaderOrFollowerException(InvalidMetadataException):
    """The partition's leader, or replica, is on another broker by now."""

    error_code: int | None = 6


class BrokerNotAvailableException(ApiException):
    """The broker in question is not in the cluster."""

    error_code: int | None = 8


class ReplicaNotAvailableException(InvalidMetadataException):
    """The replica is not on this broker."""

    error_code: int | None = 9


class RecordTooLargeException(ApiException):
    """A record, or its batch, is larger than the broker or the client allows."""

    error_code: int | None = 10


class OffsetMetadataTooLarge(ApiException):
    """The note beside a committed offset is longer than the broker keeps."""

    error_code: int | None = 12


class NetworkException(InvalidMetadataException):
    """The broker hung up before it answered."""

    error_code: int | None = 13


class InvalidTopicException(ApiException):
    """A topic's name is not allowed, or the topic cannot be used this way.

    Attributes:
        topics: The names in question.
    """

    error_code: int | None = 17

    def __init__(self, message: str = "", *, topics: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.topics = topics


class RecordBatchTooLargeException(ApiException):
    """A batch is larger than a log segment."""

    error_code: int | None = 18


class NotEnoughReplicasException(RetriableException):
    """Fewer replicas are in sync than `min.insync.replicas` asks: nothing was written."""

    error_code: int | None = 19


class NotEnoughReplicasAfterAppendException(RetriableException):
    """The record was written, and then too few replicas were in sync."""

    error_code: int | None = 20


class InvalidRequiredAcksException(ApiException):
    """`acks` was none of 0, 1 and all."""

    error_code: int | None = 21


class InvalidTimestampException(ApiException):
    """A record's timestamp is further off than the topic allows."""

    error_code: int | None = 32


class UnsupportedForMessageFormatException(ApiException):
    """The partition's log is in a format too old for the question."""

    error_code: int | None = 43


class KafkaStorageException(InvalidMetadataException):
    """The broker cannot read or write its disk; another replica may serve."""

    error_code: int | None = 56


class FetchSessionIdNotFoundException(RetriableException):
    """The broker has dropped the fetch session; a full fetch makes a new one."""

    error_code: int | None = 70


class InvalidFetchSessionEpochException(RetriableException):
    """A fetch came out of turn in its session."""

    error_code: int | None = 71


class ListenerNotFoundException(InvalidMetadataException):
    """The leader has no listener of the name that we connected to."""

    error_code: int | None = 72


class FencedLeaderEpochException(InvalidMetadataException):
    """The leader epoch we know is older than the broker's."""

    error_code: int | None = 74


class UnknownLeaderEpochException(RetriableException):
    """The leader epoch we know is newer than the broker's: it has yet to catch up."""

    error_code: int | None = 75


class UnsupportedCompressionTypeException(ApiException):
    """The broker, or the topic's version, cannot take this compression."""

    error_code: int | None = 76


class OffsetNotAvailableException(RetriableException):
    """A new leader does not know its high watermark yet."""

    error_code: int | None = 78


class PreferredLeaderNotAvailableException(InvalidMetadataException):
    """The preferred leader is down."""

    error_code: int | None = 80


class EligibleLeadersNotAvailableException(InvalidMetadataException):
    """No replica that may lead is up."""

    error_code: int | None = 83


class ElectionNotNeededException(InvalidMetadataException):
    """The leader that was asked for leads already."""

    error_code: int | None = 84


class InvalidRecordException(ApiException):
    """The broker's check of a record failed."""

    error_code: int | None = 87


class PositionOutOfRangeException(ApiException):
    """A snapshot was asked for at a position it does not reach."""

    error_code: int | None = 99


class UnknownTopicIdException(InvalidMetadataException):
    """The broker does not know the topic id: too new for it, or deleted."""

    error_code: int | None = 100


class InconsistentTopicIdException(InvalidMetadataException):
    """The topic id belongs to another topic: it was deleted and created again."""

    error_code: int | None = 103


class FetchSessionTopicIdException(RetriableException):
    """A fetch session mixed topic names and topic ids."""

    error_code: int | None = 106


class OffsetMovedToTieredStorageException(ApiException):
    """The records asked for lie in tiered storage only."""

    error_code: int | None = 109
