"""AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit and EndTxn: the steps of a transaction.

Thread: any; frozen values.

The version of a request decides the protocol of its transaction (KIP-890), regardless of the
features of the cluster: Produce 12 and TxnOffsetCommit 5 add partitions and groups; EndTxn 5
answers with the next epoch. A transaction keeps its protocol to its end, so each of these
requests names the protocol.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final, NamedTuple

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    TXN_OFFSET_COMMIT,
    Api,
)
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import (
    by_partition,
    by_topic,
    or_minus_one,
    throttle,
)
from prokurist.types import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition

IMPLICIT_COMMIT_SINCE: Final = 5
NEXT_EPOCH_SINCE: Final = 5


class TransactionalProducer(NamedTuple):
    """The producer of a transaction, as named in its requests.

    Attributes:
        transactional_id: `transactional.id`.
        producer_id: Its id, given by the coordinator.
        epoch: The epoch of this id.
    """

    transactional_id: str
    producer_id: int
    epoch: int

    def body(self) -> dict[str, object]:
        """The first fields of a request to a coordinator."""
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }


@dataclass(frozen=True, slots=True)
class PartitionErrors:
    """Error codes of the partitions of a transactional request.

    Attributes:
        errors: A code for each partition, 0 for success.
        throttle: Seconds in which the broker wants no requests.
    """

    errors: Mapping[TopicPartition, int]
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxn:
    """Adds partitions to a transaction, before their first batch.

    Nothing is ever left out.
    """

    api: ClassVar[Api] = ADD_PARTITIONS_TO_TXN

    producer: TransactionalProducer
    partitions: tuple[TopicPartition, ...]

    def limits(self) -> Iterator[Limit]:
        """Return no limits: every version will do."""
        return iter(())

    def body(self) -> Body:
        """The fields of every version at once."""
        topics = by_topic((each, None) for each in self.partitions)
        return {
            "v3_and_below_transactional_id": self.producer.transactional_id,
            "v3_and_below_producer_id": self.producer.producer_id,
            "v3_and_below_producer_epoch": self.producer.epoch,
            "v3_and_below_topics": tuple(
                {"name": topic, "partitions": tuple(partition for partition, _ in rows)}
                for topic, rows in topics.items()
            ),
        }

    def answer(self, body: Body) -> PartitionErrors:
        """Read an answer of any version.

        Raises:
            Malformed: Its partitions differ from those sent.
        """
        errors = {
            TopicPartition(topic["name"], row["partition_index"]): row["partition_error_code"]
            for topic in body["results_by_topic_v3_and_below"]
            for row in topic["results_by_partition"]
        }
        require_all(errors, self.partitions)
        return PartitionErrors(errors, throttle(body))


@dataclass(frozen=True, slots=True)
class CoordinatorAnswer:
    """An error code, and nothing else.

    Attributes:
        error: 0, or why nothing was done.
        throttle: Seconds in which the broker wants no requests.
    """

    error: int
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class AddOffsetsToTxn:
    """Adds a group to a transaction, before its offsets are committed.

    Nothing is ever left out.
    """

    api: ClassVar[Api] = ADD_OFFSETS_TO_TXN

    producer: TransactionalProducer
    group_id: str

    def limits(self) -> Iterator[Limit]:
        """Return no limits: every version will do."""
        return iter(())

    def body(self) -> Body:
        """The fields of every version at once."""
        return {**self.producer.body(), "group_id": self.group_id}

    def answer(self, body: Body) -> CoordinatorAnswer:
        """Read an answer of any version."""
        return CoordinatorAnswer(body["error_code"], throttle(body))


@dataclass(frozen=True, slots=True)
class TxnOffsetCommit:
    """Commits offsets of a group as part of a transaction.

    Nothing is ever left out.

    Attributes:
        producer: The producer.
        group: The group and the member of the offsets.
        offsets: The offsets, for each partition once.
        adds_group: True if the request adds the group to the transaction (KIP-890).
    """

    api: ClassVar[Api] = TXN_OFFSET_COMMIT

    producer: TransactionalProducer
    group: ConsumerGroupMetadata
    offsets: tuple[tuple[TopicPartition, OffsetAndMetadata], ...]
    adds_group: bool

    def limits(self) -> Iterator[Limit]:
        """The fields in use with limits on versions."""
        yield of_protocol(IMPLICIT_COMMIT_SINCE, implicit=self.adds_group)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            **self.producer.body(),
            "group_id": self.group.group_id,
            "generation_id": self.group.generation_id,
            "member_id": self.group.member_id,
            "group_instance_id": self.group.group_instance_id,
            "topics": tuple(
                {
                    "name": topic,
                    "partitions": tuple(
                        {
                            "partition_index": partition,
                            "committed_offset": kept.offset,
                            "committed_leader_epoch": or_minus_one(kept.leader_epoch),
                            "committed_metadata": kept.metadata,
                        }
                        for partition, kept in rows
                    ),
                }
                for topic, rows in by_topic(self.offsets).items()
            ),
        }

    def answer(self, body: Body) -> PartitionErrors:
        """Read an answer of any version.

        Raises:
            Malformed: Its partitions differ from those sent.
        """
        errors = {
            partition: row["error_code"] for partition, row in by_partition(body["topics"])
        }
        require_all(errors, [partition for partition, _ in self.offsets])
        return PartitionErrors(errors, throttle(body))


@dataclass(frozen=True, slots=True)
class EndTxnAnswer:
    """The end of a transaction.

    Attributes:
        error: 0, or the reason for a transaction without an end.
        producer_id: The id for the next transaction; None for the same.
        epoch: The epoch of this id.
        throttle: Seconds in which the broker wants no requests.
    """

    error: int
    producer_id: int | None = None
    epoch: int | None = None
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class EndTxn:
    """Commits or aborts a transaction.

    Attributes:
        producer: The producer.
        committed: True for a commit, False for an abort.
        raises_epoch: True if the answer brings the next epoch (KIP-890).
    """

    api: ClassVar[Api] = END_TXN

    producer: TransactionalProducer
    committed: bool
    raises_epoch: bool

    def limits(self) -> Iterator[Limit]:
        """The fields in use with limits on versions."""
        yield of_protocol(NEXT_EPOCH_SINCE, implicit=self.raises_epoch)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {**self.producer.body(), "committed": self.committed}

    def answer(self, body: Body) -> EndTxnAnswer:
        """Read an answer of any version.

        Raises:
            Malformed: A success without the next epoch.
        """
        error, given = body["error_code"], body.get("producer_id", -1)
        if error or "producer_id" not in body:
            return EndTxnAnswer(error, throttle=throttle(body))
        if given < 0 or body["producer_epoch"] < 0:
            raise Malformed(f"producer id {given} and epoch {body['producer_epoch']}")
        return EndTxnAnswer(error, given, body["producer_epoch"], throttle(body))


def of_protocol(since: int, *, implicit: bool) -> Limit:
    """The versions of a protocol of transactions.

    Args:
        since: The first version of the later protocol.
        implicit: True for the later protocol.
    """
    if implicit:
        return Limit("a transaction of transaction.version 2", oldest=since)
    return Limit("a transaction of transaction.version 0 or 1", newest=since - 1)


def require_all(
    errors: Mapping[TopicPartition, int],
    sent: tuple[TopicPartition, ...] | list[TopicPartition],
) -> None:
    """Compare the partitions of an answer with those sent.

    Raises:
        Malformed: A partition is missing, or was not sent.
    """
    if errors.keys() != set(sent):
        raise Malformed(f"{len(errors)} partitions where {len(sent)} were sent")
