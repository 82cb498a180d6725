"""ListTransactions, DescribeTransactions, DescribeProducers and WriteTxnMarkers.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar, Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.admin.tokens import time_of
from prokurist.network_thread.wire.apis import (
    DESCRIBE_PRODUCERS,
    DESCRIBE_TRANSACTIONS,
    INIT_PRODUCER_ID,
    LIST_TRANSACTIONS,
    WRITE_TXN_MARKERS,
    Api,
)
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import by_topic, known, seconds
from prokurist.types import TopicPartition
from prokurist.types.transactions import (
    ActiveProducer,
    FencedProducer,
    HangingTransaction,
    TransactionDescription,
    TransactionListing,
)

FENCING_TIMEOUT: Final = 1000
"""`transaction.timeout.ms` of the producer that fences the others."""
OF_THE_FIRST_PROTOCOL: Final = 0
"""The version of transactions whose markers need no later epoch than the producer's own."""


@dataclass(frozen=True, slots=True)
class ListTransactions:
    """Asks a broker for the transactional ids that it coordinates.

    Left out where a version lacks it: the pattern (below 2; the answer is filtered here).
    Refused: the duration below 1.

    Attributes:
        broker: The broker, as the answer's only item.
        states: Their states; empty for all.
        producer_ids: Their producer ids; empty for all.
        running_for: Milliseconds for which the transaction runs; None for any.
        pattern: A regular expression of their ids; None for all.
    """

    api: ClassVar[Api] = LIST_TRANSACTIONS

    broker: int
    states: tuple[str, ...] = ()
    producer_ids: tuple[int, ...] = ()
    running_for: int | None = None
    pattern: str | None = None

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.running_for is not None:
            yield Limit("listing transactions by their duration", oldest=1)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "state_filters": self.states,
            "producer_id_filters": self.producer_ids,
            "duration_filter": -1 if self.running_for is None else self.running_for,
            "transactional_id_pattern": self.pattern,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        code = body["error_code"]
        found = tuple(
            TransactionListing(
                row["transactional_id"],
                row["producer_id"],
                row["transaction_state"],
                self.broker,
            )
            for row in body["transaction_states"]
        )
        return answer_of(body, [] if code else [(self.broker, ItemAnswer(value=found))], code)


@dataclass(frozen=True, slots=True)
class DescribeTransactions:
    """Asks a coordinator for transactional ids.

    Nothing is ever left out.

    Attributes:
        names: The ids.
    """

    api: ClassVar[Api] = DESCRIBE_TRANSACTIONS

    names: tuple[str, ...]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"transactional_ids": self.names}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(
            body,
            (
                (
                    row["transactional_id"],
                    item_of(row, None if row["error_code"] else description_of(row)),
                )
                for row in body["transaction_states"]
            ),
        )


def description_of(row: Body) -> TransactionDescription:
    """Read a transactional id."""
    return TransactionDescription(
        transactional_id=row["transactional_id"],
        state=row["transaction_state"],
        producer_id=row["producer_id"],
        epoch=row["producer_epoch"],
        timeout=seconds(row["transaction_timeout"]),
        started=moment_of(row["transaction_start_time"]),
        partitions=frozenset(
            TopicPartition(topic["topic"], partition)
            for topic in row["topics"]
            for partition in topic["partitions"]
        ),
    )


def moment_of(milliseconds: int) -> datetime | None:
    """Read a time; None for none, and for one that no calendar has, as a record may have."""
    if milliseconds < 0:
        return None
    try:
        return time_of(milliseconds)
    except Malformed:
        return None


@dataclass(frozen=True, slots=True)
class DescribeProducers:
    """Asks a broker for the producers of partitions.

    Nothing is ever left out.

    Attributes:
        partitions: The partitions.
    """

    api: ClassVar[Api] = DESCRIBE_PRODUCERS

    partitions: tuple[TopicPartition, ...]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"topics": named_partitions(self.partitions)}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(
            body,
            (
                (TopicPartition(topic["name"], row["partition_index"]), producers_of(row))
                for topic in body["topics"]
                for row in topic["partitions"]
            ),
        )


def named_partitions(partitions: tuple[TopicPartition, ...]) -> tuple[Body, ...]:
    """The fields of partitions, topic by topic."""
    topics = by_topic((tp, None) for tp in partitions)
    return tuple(
        {"name": topic, "partition_indexes": tuple(each for each, _ in rows)}
        for topic, rows in topics.items()
    )


def producers_of(row: Body) -> ItemAnswer:
    """Read the producers of a partition."""
    return item_of(
        row,
        tuple(
            ActiveProducer(
                producer_id=each["producer_id"],
                epoch=each["producer_epoch"],
                last_sequence=known(each["last_sequence"]),
                last_at=moment_of(each["last_timestamp"]),
                coordinator_epoch=known(each["coordinator_epoch"]),
                transaction_start=known(each["current_txn_start_offset"]),
            )
            for each in row["active_producers"]
        ),
    )


@dataclass(frozen=True, slots=True)
class AbortInPartition:
    """Asks a leader to write the marker that aborts a transaction.

    Left out where a version lacks it: the version of transactions (below 2), by which a newer
    broker takes a marker in the producer's own epoch.

    Attributes:
        hanging: The transaction.
    """

    api: ClassVar[Api] = WRITE_TXN_MARKERS

    hanging: HangingTransaction

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        producer = self.hanging.producer
        return {
            "markers": (
                {
                    "producer_id": producer.producer_id,
                    "producer_epoch": producer.epoch,
                    "transaction_result": False,
                    "topics": named_partitions((self.hanging.partition,)),
                    "coordinator_epoch": producer.coordinator_epoch or 0,
                    "transaction_version": OF_THE_FIRST_PROTOCOL,
                },
            )
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(
            body,
            (
                (TopicPartition(topic["name"], row["partition_index"]), item_of(row))
                for marker in body["markers"]
                for topic in marker["topics"]
                for row in topic["partitions"]
            ),
        )


@dataclass(frozen=True, slots=True)
class FenceProducer:
    """Asks a coordinator for the next epoch of a transactional id, as a new producer does.

    Nothing is ever left out.

    Attributes:
        name: The id.
    """

    api: ClassVar[Api] = INIT_PRODUCER_ID

    name: str

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "transactional_id": self.name,
            "transaction_timeout": FENCING_TIMEOUT,
            "producer_id": -1,
            "producer_epoch": -1,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        value = FencedProducer(body["producer_id"], body["producer_epoch"])
        return answer_of(body, [(self.name, item_of(body, value))])
