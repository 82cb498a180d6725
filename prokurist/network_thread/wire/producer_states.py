"""DescribeProducers: the producers of partitions, as their leaders know them.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import DESCRIBE_PRODUCERS, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import by_partition, by_topic, known, throttle
from prokurist.types import TopicPartition


class ProducerState(NamedTuple):
    """A producer that has written to a partition.

    Attributes:
        producer_id: Its id.
        epoch: The epoch of its last batch.
        last_sequence: The last sequence number; None after a marker alone.
        last_timestamp: The timestamp of its last batch, in milliseconds since the epoch; None
            where it is not known.
        coordinator_epoch: The epoch of the coordinator that has written its last marker; None
            without one.
        first_offset: The first offset of its open transaction; None if none is open here.
    """

    producer_id: int
    epoch: int
    last_sequence: int | None
    last_timestamp: int | None
    coordinator_epoch: int | None
    first_offset: int | None


@dataclass(frozen=True, slots=True)
class PartitionProducers:
    """The producers of one partition.

    Attributes:
        partition: The partition.
        error: 0, or why they are not known.
        producers: The producers.
    """

    partition: TopicPartition
    error: int
    producers: tuple[ProducerState, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeProducersAnswer:
    """The answer to DescribeProducers.

    Attributes:
        partitions: A row for each partition that the broker names.
        throttle: Seconds that the broker wants to be left alone.
    """

    partitions: tuple[PartitionProducers, ...]
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class DescribeProducers:
    """Asks a leader for the producers of its partitions; it takes the right to read them.

    Nothing is ever left out.
    """

    api: ClassVar[Api] = DESCRIBE_PRODUCERS

    partitions: tuple[TopicPartition, ...]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        rows = by_topic((tp, None) for tp in self.partitions)
        return {
            "topics": tuple(
                {"name": topic, "partition_indexes": tuple(index for index, _ in indexes)}
                for topic, indexes in rows.items()
            )
        }

    def answer(self, body: Body) -> DescribeProducersAnswer:
        """Read an answer of any version."""
        return DescribeProducersAnswer(
            tuple(
                PartitionProducers(
                    tp, row["error_code"], tuple(map(state_of, row["active_producers"]))
                )
                for tp, row in by_partition(body["topics"])
            ),
            throttle(body),
        )


def state_of(row: Body) -> ProducerState:
    """Read one producer."""
    return ProducerState(
        row["producer_id"],
        row["producer_epoch"],
        known(row["last_sequence"]),
        known(row["last_timestamp"]),
        known(row["coordinator_epoch"]),
        known(row["current_txn_start_offset"]),
    )
