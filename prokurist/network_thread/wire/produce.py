"""Produce and InitProducerId: batches to their leaders, and the ids of producers.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import ClassVar, Final
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import INIT_PRODUCER_ID, PRODUCE, Api
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.fetch import LeaderHint
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.transactions import of_protocol
from prokurist.network_thread.wire.translation import (
    by_topic,
    known,
    milliseconds,
    node,
    said,
    throttle,
)
from prokurist.types import Node, TopicPartition

IMPLICIT_SINCE: Final = 12
IDS_SINCE: Final = 13
ZSTD_SINCE: Final = 7
NO_PRODUCER: Final = -1
OWN_ID_SINCE: Final = 3


@dataclass(frozen=True, slots=True)
class ProducedPartition:
    """Answer for one partition.

    Attributes:
        partition: The partition.
        error: 0, or why its batch was not appended.
        base_offset: The offset of the batch's first record.
        append_time: The broker's timestamp for all its records; None where it kept theirs.
        log_start: Where the partition's log begins.
        record_errors: Refused records by their index, each with its reason (KIP-467).
        message: Why, in the broker's words.
        leader: Who leads it, if another does.
    """

    partition: TopicPartition
    error: int
    base_offset: int | None = None
    append_time: int | None = None
    log_start: int | None = None
    record_errors: Mapping[int, str | None] = field(default_factory=dict)
    message: str | None = None
    leader: LeaderHint | None = None


@dataclass(frozen=True, slots=True)
class ProduceAnswer:
    """Answer to Produce: a row for each partition.

    Attributes:
        partitions: A row for each partition.
        nodes: The addresses of the leaders that were told.
        throttle: Seconds that the broker wants to be left alone.
    """

    partitions: tuple[ProducedPartition, ...]
    nodes: tuple[Node, ...] = ()
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class Produce:
    """Append these batches.

    Nothing is ever left out: topic ids are for versions that name topics by them, and the
    name goes with all others.

    Attributes:
        acks: How many replicas must have a batch before the answer: −1 for all in sync.
        timeout: Seconds that the leader may wait for them.
        batches: One batch for each partition, as it is on the wire.
        topic_ids: The id of each topic; complete, or empty.
        zstd: True if a batch is compressed by zstd.
        transactional_id: `transactional.id`; None outside of transactions.
        adds_partitions: True if the request adds its partitions to the transaction (KIP-890).
    """

    api: ClassVar[Api] = PRODUCE

    acks: int
    timeout: float
    batches: Mapping[TopicPartition, bytes | memoryview]
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    zstd: bool = False
    transactional_id: str | None = None
    adds_partitions: bool = False

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.transactional_id is not None:
            yield of_protocol(IMPLICIT_SINCE, implicit=self.adds_partitions)
        if not self.topic_ids:
            yield Limit("a topic without an id", newest=IDS_SINCE - 1)
        if self.zstd:
            yield Limit("compression.type=zstd", oldest=ZSTD_SINCE)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "transactional_id": self.transactional_id,
            "acks": self.acks,
            "timeout": milliseconds(self.timeout),
            "topic_data": tuple(
                {
                    "name": topic,
                    "topic_id": self.topic_ids.get(topic),
                    "partition_data": tuple(
                        {"index": partition, "records": batch} for partition, batch in rows
                    ),
                }
                for topic, rows in by_topic(self.batches.items()).items()
            ),
        }

    def answer(self, body: Body) -> ProduceAnswer:
        """Read an answer of any version.

        Raises:
            Malformed: It names a topic id that was not sent, or lacks a partition.
        """
        names = {topic_id: name for name, topic_id in self.topic_ids.items()}
        rows: list[ProducedPartition] = []
        for topic in body["responses"]:
            name = topic["name"] if "name" in topic else names.get(topic["topic_id"])
            if name is None:
                raise Malformed(f"topic id {topic['topic_id']} was not asked for")
            rows += [produced(name, row) for row in topic["partition_responses"]]
        if {row.partition for row in rows} != set(self.batches) or len(rows) > len(
            self.batches
        ):
            raise Malformed(f"{len(rows)} partitions where {len(self.batches)} were sent")
        return ProduceAnswer(
            partitions=tuple(rows),
            nodes=tuple(
                node(each["node_id"], each["host"], each["port"], each["rack"])
                for each in body.get("node_endpoints", ())
            ),
            throttle=throttle(body),
        )


def produced(topic: str, row: Body) -> ProducedPartition:
    """One partition of the answer."""
    leader = row.get("current_leader")
    return ProducedPartition(
        partition=TopicPartition(topic, row["index"]),
        error=row["error_code"],
        base_offset=known(row["base_offset"]),
        append_time=known(row["log_append_time"]),
        log_start=known(row.get("log_start_offset", -1)),
        record_errors={
            each["batch_index"]: said(each["batch_index_error_message"])
            for each in row.get("record_errors", ())
        },
        message=said(row.get("error_message")),
        leader=None
        if leader is None or leader["leader_id"] < 0
        else LeaderHint(leader["leader_id"], leader["leader_epoch"]),
    )


@dataclass(frozen=True, slots=True)
class ProducerIdAnswer:
    """An id for a producer.

    Attributes:
        error: 0, or why there is none.
        producer_id: The id.
        epoch: Its epoch.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    producer_id: int
    epoch: int
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """Give a producer an id, or the next epoch of its id.

    Refused: an id and epoch of its own below 3, where the broker would ignore both.

    Attributes:
        transactional_id: `transactional.id`; None for a producer without transactions.
        transaction_timeout: `transaction.timeout.ms`, in seconds.
        producer_id: The producer's present id; −1 for none.
        epoch: The epoch of this id.
    """

    api: ClassVar[Api] = INIT_PRODUCER_ID

    transactional_id: str | None = None
    # Without a transactional id it means nothing; Java sends the largest there is.
    transaction_timeout: float = 0x7FFFFFFF / 1000
    producer_id: int = NO_PRODUCER
    epoch: int = NO_PRODUCER

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.producer_id != NO_PRODUCER:
            yield Limit("a producer's own id and epoch", oldest=OWN_ID_SINCE)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "transactional_id": self.transactional_id,
            "transaction_timeout": milliseconds(self.transaction_timeout),
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    def answer(self, body: Body) -> ProducerIdAnswer:
        """Read an answer of any version."""
        return ProducerIdAnswer(
            body["error_code"], body["producer_id"], body["producer_epoch"], throttle(body)
        )
