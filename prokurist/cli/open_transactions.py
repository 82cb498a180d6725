"""Open transactions of topics, for `prokurist doctor` and `prokurist lag`.

Leaders know which producers have a transaction open in their partitions, to whoever may read
these; coordinators know the transactional id and the beginning, to whoever may describe it. A
transaction that no coordinator knows ends by nobody: it *hangs*.

Thread: the main one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Final

from prokurist.cli.broker_queries import BrokerQueries
from prokurist.errors import KafkaException, UnsupportedVersionException, error_for
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.metadata import MetadataAnswer
from prokurist.network_thread.wire.producer_states import DescribeProducers, ProducerState
from prokurist.network_thread.wire.transaction_states import (
    DescribeTransactions,
    ListTransactions,
    TransactionState,
)
from prokurist.types import Node, TopicPartition

LONG: Final = 60.0
"""Seconds from which on an open transaction is a finding."""
HANGS_AFTER: Final = 900.0
"""Seconds from which on one that no coordinator knows hangs; a younger one may be about to end.
Brokers allow no longer `transaction.timeout.ms` by default."""
SHOWN: Final = 3
"""Transactions in a sentence."""
ONGOING: Final = "Ongoing"
TOPIC_REFUSED: Final = 29


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that is open in a partition.

    Attributes:
        partition: The partition.
        producer: Its producer, by the partition's leader.
        coordinated: The same by its coordinator; None if none tells of it.
        now: Milliseconds since the epoch.
        all_asked: True if every broker was asked for it.
    """

    partition: TopicPartition
    producer: ProducerState
    coordinated: TransactionState | None
    now: int
    all_asked: bool = True

    @property
    def age(self) -> float | None:
        """Seconds since it began, or since its last record where no coordinator tells."""
        since = self.producer.last_timestamp
        if self.coordinated is not None:
            since = self.coordinated.started
        return None if since is None else max(0.0, (self.now - since) / 1000)

    @property
    def is_long(self) -> bool:
        """True if readers of committed records have waited for it for long."""
        return (self.age or 0.0) >= LONG

    @property
    def is_hanging(self) -> bool:
        """True if nobody is going to end it."""
        return self.coordinated is None and self.all_asked and (self.age or 0.0) >= HANGS_AFTER

    def __str__(self) -> str:
        producer = f"producer {self.producer.producer_id} (epoch {self.producer.epoch})"
        where = f"in {self.partition} from offset {self.producer.first_offset} on"
        age = "" if self.age is None else f"{self.age:.0f} s"
        if self.coordinated is not None:
            return (
                f"that of {producer}, transactional.id={self.coordinated.transactional_id}, is "
                f"open {where}{f', for {age}' if age else ''}; its coordinator has it as "
                f"{self.coordinated.state}, and transaction.timeout.ms="
                f"{self.coordinated.timeout * 1000:.0f}"
            )
        last = f"; its last record is {age} old" if age else ""
        hangs = "hangs" if self.is_hanging else "is open"
        return f"that of {producer} {hangs} {where}, and no coordinator tells of it{last}"


@dataclass(slots=True)
class OpenTransactions:
    """Open transactions in some topics, as far as brokers tell of them.

    Attributes:
        found: The transactions, by partition and offset.
        failures: Brokers and topics that were not told of, with the reasons.
        is_told: False if brokers are too old to tell.
    """

    found: list[OpenTransaction] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    is_told: bool = True


def find(ask: BrokerQueries, topics: Collection[str], now: int) -> OpenTransactions:
    """Ask the leaders of topics, and then all coordinators.

    Args:
        ask: How brokers are asked.
        topics: The topics.
        now: Milliseconds since the epoch.

    Raises:
        KafkaException: No bootstrap server answers.
    """
    result = OpenTransactions()
    cluster = ask.cluster(tuple(sorted(topics)))
    try:
        producers = open_producers(ask, leaders(cluster), result)
        if not producers:
            return result
        ids = tuple(sorted({each.producer_id for _, each in producers}))
        coordinated, all_asked = coordinated_ones(ask, cluster.brokers, ids, result)
    except UnsupportedVersionException:
        result.is_told = False
        return result
    for tp, producer in sorted(producers, key=lambda each: (each[0], each[1].first_offset)):
        own = next((each for each in coordinated if is_of(each, tp, producer)), None)
        result.found.append(OpenTransaction(tp, producer, own, now, all_asked))
    return result


def told(result: OpenTransactions) -> str:
    """Describe the open transactions, the oldest first."""
    failures = f"; not told of: {'; '.join(result.failures)}" if result.failures else ""
    if not result.found:
        return f"none is open{failures}"
    oldest = sorted(result.found, key=lambda each: -(each.age or 0.0))
    more = f"; and {len(oldest) - SHOWN} more" if len(oldest) > SHOWN else ""
    return f"{'; '.join(map(str, oldest[:SHOWN]))}{more}{failures}"


def leaders(cluster: MetadataAnswer) -> dict[Node, list[TopicPartition]]:
    """The partitions of each leader."""
    nodes = {node.id: node for node in cluster.brokers}
    found: dict[Node, list[TopicPartition]] = {}
    for topic in cluster.topics:
        for each in topic.partitions:
            tp = TopicPartition(topic.name or "", each.partition)
            node = None if each.leader_id is None else nodes.get(each.leader_id)
            if node is not None:
                found.setdefault(node, []).append(tp)
    return found


def open_producers(
    ask: BrokerQueries,
    by_leader: Mapping[Node, Sequence[TopicPartition]],
    result: OpenTransactions,
) -> list[tuple[TopicPartition, ProducerState]]:
    """The producers with an open transaction in a partition.

    Raises:
        UnsupportedVersionException: A broker is older than Kafka 2.8.
    """
    found: list[tuple[TopicPartition, ProducerState]] = []
    refused: set[str] = set()
    for nth, (node, partitions) in enumerate(by_leader.items()):
        question = DescribeProducers(tuple(partitions))
        try:
            # Coordinators come next, and want as much time again.
            answer = ask.ask(node.host, node.port, question, 2 * (len(by_leader) - nth))
        except UnsupportedVersionException:
            raise
        except KafkaException as error:
            result.failures.append(f"{node}: {error}")
            continue
        for row in answer.partitions:
            if row.error == TOPIC_REFUSED:
                refused.add(row.partition.topic)
            found += [
                (row.partition, each) for each in row.producers if each.first_offset is not None
            ]
    if refused:
        result.failures.append(f"{', '.join(sorted(refused))}: the right to read is missing")
    return found


def coordinated_ones(
    ask: BrokerQueries, brokers: Sequence[Node], ids: tuple[int, ...], result: OpenTransactions
) -> tuple[list[TransactionState], bool]:
    """The transactions of producers, by their coordinators; and whether all were asked."""
    found: list[TransactionState] = []
    all_asked = True
    for nth, node in enumerate(brokers):
        share = 2 * (len(brokers) - nth)
        try:
            listed = ask.ask(node.host, node.port, ListTransactions(ids), share)
            if (refusal := error_for(listed.error)) is not None:
                raise refusal
            if listed.transactional_ids:
                question = DescribeTransactions(listed.transactional_ids)
                described = ask.ask(node.host, node.port, question, share - 1)
                found += [each for each in described.transactions if not each.error]
        except KafkaException as error:
            result.failures.append(f"{node}: {error}")
            all_asked = False
    return found, all_asked


def is_of(known: TransactionState, tp: TopicPartition, producer: ProducerState) -> bool:
    """True if a coordinator's transaction is the one that a leader has open.

    While markers are written the coordinator has the producer's next epoch already.
    """
    if known.producer_id != producer.producer_id or tp not in known.partitions:
        return False
    return known.state != ONGOING or known.epoch == producer.epoch
