"""Open transactions of topics, for `prokurist doctor` and `prokurist lag`.

Leaders know which producers have a transaction open in their partitions, to whoever may read
these; coordinators know the transactional id and the beginning, to whoever may describe it. A
transaction that no coordinator knows ends by nobody: it *hangs*.

Thread: the main one.
"""

from collections.abc import Collection, Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Final

from prokurist.admin import ActiveProducer, KafkaAdmin, TransactionDescription, TransactionState
from prokurist.errors import (
    KafkaException,
    TopicAuthorizationException,
    TransactionalIdNotFoundException,
    UnknownTopicOrPartitionException,
    UnsupportedVersionException,
)
from prokurist.events.clock import epoch_milliseconds
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition

LONG: Final = 60.0
"""Seconds from which on an open transaction is a finding."""
HANGS_AFTER: Final = 900.0
"""Seconds from which on one that no coordinator knows hangs; a younger one may be about to end.
Brokers allow no longer `transaction.timeout.ms` by default."""
SHOWN: Final = 3
"""Transactions in a sentence."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that is open in a partition.

    Attributes:
        partition: The partition.
        producer: Its producer, by the partition's leader.
        coordinated: The same by its coordinator; None if none tells of it.
        now: The present.
        all_asked: True if every broker was asked for it.
    """

    partition: TopicPartition
    producer: ActiveProducer
    coordinated: TransactionDescription | None
    now: datetime
    all_asked: bool = True

    @property
    def age(self) -> float | None:
        """Seconds since it began, or since its last record where no coordinator tells."""
        since = self.producer.last_at
        if self.coordinated is not None:
            since = self.coordinated.started
        return None if since is None else max(0.0, (self.now - since).total_seconds())

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
        where = f"in {self.partition} from offset {self.producer.transaction_start} on"
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


def find(admin: KafkaAdmin, topics: Collection[str], seconds: float) -> OpenTransactions:
    """Ask the leaders of topics, and then all coordinators.

    Args:
        admin: The admin client.
        topics: The topics.
        seconds: The time for it; half of it is kept for the coordinators.

    Raises:
        KafkaException: No bootstrap server answers.
    """
    result = OpenTransactions()
    now = datetime.fromtimestamp(epoch_milliseconds() / 1000, UTC)
    try:
        producers = open_producers(admin, topics, seconds / 2, result)
        if not producers:
            return result
        ids = sorted({each.producer_id for _, each in producers})
        coordinated, all_asked = coordinated_ones(admin, ids, seconds / 4, result)
    except UnsupportedVersionException:
        result.is_told = False
        return result
    for tp, producer in sorted(producers, key=lambda each: each[0]):
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


def open_producers(
    admin: KafkaAdmin, topics: Collection[str], seconds: float, result: OpenTransactions
) -> list[tuple[TopicPartition, ActiveProducer]]:
    """The producers with an open transaction in a partition, the first ones first.

    Raises:
        KafkaException: No broker answers.
        UnsupportedVersionException: A broker is older than Kafka 2.8.
    """
    described = admin.describe_topics(sorted(topics), timeout=seconds / 2)
    partitions = [
        TopicPartition(info.topic, info.partition)
        for topic in described.succeeded.values()
        for info in topic.partitions
        if info.leader is not None
    ]
    told = admin.describe_producers(partitions, timeout=seconds / 2)
    refused = {
        tp.topic
        for tp, error in told.errors.items()
        if isinstance(error, TopicAuthorizationException)
    }
    tell_failures(
        {str(error): error for error in (*described.errors.values(), *told.errors.values())},
        result,
        TopicAuthorizationException,
        UnknownTopicOrPartitionException,
    )
    if refused:
        result.failures.append(f"{', '.join(sorted(refused))}: the right to read is missing")
    found = [
        (tp, each)
        for tp, producers in told.succeeded.items()
        for each in producers
        if each.transaction_start is not None
    ]
    return sorted(found, key=lambda each: each[1].transaction_start or 0)


def coordinated_ones(
    admin: KafkaAdmin, ids: Collection[int], seconds: float, result: OpenTransactions
) -> tuple[list[TransactionDescription], bool]:
    """The transactions of producers, by their coordinators; and whether all were asked.

    Raises:
        UnsupportedVersionException: A broker is older than Kafka 3.0.
    """
    listed = admin.list_transactions(producer_ids=ids, partial=True, timeout=seconds)
    names = [each.transactional_id for each in listed]
    described = admin.describe_transactions(names, timeout=seconds)
    errors = {f"broker {number}: {error}": error for number, error in listed.errors.items()}
    errors |= {str(error): error for error in described.errors.values()}
    silent = tell_failures(errors, result, TransactionalIdNotFoundException)
    return list(described.succeeded.values()), not silent


def tell_failures(
    errors: Mapping[str, KafkaException],
    result: OpenTransactions,
    *other_than: type[KafkaException],
) -> bool:
    """Note errors that leave something untold; return True if there is one.

    Raises:
        UnsupportedVersionException: A broker is too old to tell.
    """
    for error in errors.values():
        if isinstance(error, UnsupportedVersionException):
            raise error
    texts = [text for text, error in errors.items() if not isinstance(error, other_than)]
    result.failures += texts
    return bool(texts)


def is_of(known: TransactionDescription, tp: TopicPartition, producer: ActiveProducer) -> bool:
    """True if a coordinator's transaction is the one that a leader has open.

    While markers are written the coordinator has the producer's next epoch already.
    """
    if known.producer_id != producer.producer_id or tp not in known.partitions:
        return False
    return known.state != TransactionState.ONGOING or known.epoch == producer.epoch
