"""ListOffsets and OffsetForLeaderEpoch: offsets of a partition's log.

Thread: any; frozen values.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import ClassVar, Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import (
    by_partition,
    by_topic,
    known,
    milliseconds,
    or_minus_one,
    throttle,
)
from prokurist.types import TopicPartition

CONSUMER: Final = -1
"""The replica id of a client that is no replica."""


class Moment(IntEnum):
    """The special timestamps of ListOffsets."""

    LATEST = -1
    """The log's end: the next offset to be written, or the last stable one."""
    EARLIEST = -2
    """The log's start."""
    MAX_TIMESTAMP = -3
    """The record with the greatest timestamp."""
    EARLIEST_LOCAL = -4
    """The first offset that is not only in tiered storage."""
    LATEST_TIERED = -5
    """The last offset in tiered storage."""
    EARLIEST_PENDING_UPLOAD = -6
    """The first offset not yet in tiered storage."""


SINCE: Final = {
    Moment.MAX_TIMESTAMP: 7,
    Moment.EARLIEST_LOCAL: 8,
    Moment.LATEST_TIERED: 9,
    Moment.EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version in which a moment is understood, where that is not the first."""


@dataclass(frozen=True, slots=True)
class OffsetQuestion:
    """A partition, and the timestamp of the wanted offset.

    Attributes:
        partition: The partition.
        timestamp: That of the first record at or after this time, in
            milliseconds since the epoch; or a `Moment`.
        leader_epoch: The epoch that we believe its leader to be in, by which the
            broker fences a question based on stale metadata.
    """

    partition: TopicPartition
    timestamp: int
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """The offset that ListOffsets has found in one partition.

    Attributes:
        partition: The partition.
        error: 0, or why it is not known.
        offset: The offset; None if there is no such record.
        timestamp: The record's timestamp; None for most moments.
        leader_epoch: The epoch that the record was written in, where it is known.
        asked_in: The epoch that we believed its leader to be in, set by the caller.
    """

    partition: TopicPartition
    error: int
    offset: int | None
    timestamp: int | None = None
    leader_epoch: int | None = None
    asked_in: int | None = None


@dataclass(frozen=True, slots=True)
class ListOffsetsAnswer:
    """The answer to ListOffsets.

    Attributes:
        offsets: A row for each partition that the broker names.
        throttle: Seconds that the broker wants to be left alone.
    """

    offsets: tuple[ListedOffset, ...]
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class ListOffsets:
    """Asks for offsets of partitions by timestamp.

    Left out where a version lacks it: the believed leader epoch (below 4; fewer
    stale questions are noticed) and the timeout (below 10; the broker then waits
    for tiered storage as it sees fit, and we stop waiting by ourselves). Refused:
    read_committed below 2, where the answer would lie behind open transactions;
    moments that the version takes for times.

    Attributes:
        questions: The timestamps, for each partition once.
        read_committed: True if the log ends at its last stable offset.
        timeout: Seconds that the broker may take.
    """

    api: ClassVar[Api] = LIST_OFFSETS

    questions: tuple[OffsetQuestion, ...]
    read_committed: bool
    timeout: float

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.read_committed:
            yield Limit("read_committed", oldest=2)
        for moment, since in SINCE.items():
            if any(question.timestamp == moment for question in self.questions):
                yield Limit(f"asking for {moment.name}", oldest=since)

    def body(self) -> Body:
        """The fields of every version at once."""
        rows = by_topic((question.partition, question) for question in self.questions)
        return {
            "replica_id": CONSUMER,
            "isolation_level": int(self.read_committed),
            "timeout": milliseconds(self.timeout),
            "topics": tuple(
                {
                    "name": topic,
                    "partitions": tuple(
                        {
                            "partition_index": partition,
                            "timestamp": int(question.timestamp),
                            "current_leader_epoch": or_minus_one(question.leader_epoch),
                        }
                        for partition, question in questions
                    ),
                }
                for topic, questions in rows.items()
            ),
        }

    def answer(self, body: Body) -> ListOffsetsAnswer:
        """Read an answer of any version."""
        return ListOffsetsAnswer(
            offsets=tuple(
                ListedOffset(
                    partition=partition,
                    error=row["error_code"],
                    offset=known(row["offset"]),
                    timestamp=known(row["timestamp"]),
                    leader_epoch=known(row.get("leader_epoch", -1)),
                )
                for partition, row in by_partition(body["topics"])
            ),
            throttle=throttle(body),
        )


@dataclass(frozen=True, slots=True)
class EpochQuestion:
    """A partition, and the epoch of the wanted end offset.

    Attributes:
        partition: The partition.
        epoch: The epoch.
        leader_epoch: The epoch that we believe its leader to be in.
    """

    partition: TopicPartition
    epoch: int
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """The end offset of an epoch in one partition.

    Attributes:
        partition: The partition.
        error: 0, or why it is not known.
        epoch: The greatest epoch in the log that is not after the one asked for;
            None if the log has none.
        end_offset: Its end; None likewise.
    """

    partition: TopicPartition
    error: int
    epoch: int | None
    end_offset: int | None


@dataclass(frozen=True, slots=True)
class OffsetForLeaderEpochAnswer:
    """The answer to OffsetForLeaderEpoch.

    Attributes:
        ends: A row for each partition that the broker names.
        throttle: Seconds that the broker wants to be left alone.
    """

    ends: tuple[EpochEnd, ...]
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class OffsetForLeaderEpoch:
    """Asks for the end offsets of leader epochs.

    Nothing is ever left out.
    """

    api: ClassVar[Api] = OFFSET_FOR_LEADER_EPOCH

    questions: tuple[EpochQuestion, ...]

    def limits(self) -> Iterable[Limit]:
        """Nothing: every version can carry it."""
        return ()

    def body(self) -> Body:
        """The fields of every version at once."""
        rows = by_topic((question.partition, question) for question in self.questions)
        return {
            "replica_id": CONSUMER,
            "topics": tuple(
                {
                    "topic": topic,
                    "partitions": tuple(
                        {
                            "partition": partition,
                            "current_leader_epoch": or_minus_one(question.leader_epoch),
                            "leader_epoch": question.epoch,
                        }
                        for partition, question in questions
                    ),
                }
                for topic, questions in rows.items()
            ),
        }

    def answer(self, body: Body) -> OffsetForLeaderEpochAnswer:
        """Read an answer of any version."""
        return OffsetForLeaderEpochAnswer(
            ends=tuple(
                EpochEnd(
                    partition=TopicPartition(topic["topic"], row["partition"]),
                    error=row["error_code"],
                    epoch=known(row["leader_epoch"]),
                    end_offset=known(row["end_offset"]),
                )
                for topic in body["topics"]
                for row in topic["partitions"]
            ),
            throttle=throttle(body),
        )
