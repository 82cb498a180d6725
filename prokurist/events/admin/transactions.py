"""Work on transactions and producers.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from dataclasses import field

from prokurist.events.admin.groups import NONE
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition
from prokurist.types.transactions import HangingTransaction


@dataclass(frozen=True, slots=True)
class TransactionsToList:
    """List the transactional ids of all brokers.

    Attributes:
        states: Their states; empty for all.
        producer_ids: Their producer ids; empty for all.
        running_for: Milliseconds for which the transaction runs, at least; None for any.
        pattern: A regular expression of their ids; None for all.
    """

    states: frozenset[str]
    producer_ids: frozenset[int]
    running_for: int | None
    pattern: str | None
    items: Mapping[int, None] = field(default_factory=lambda: NONE)


@dataclass(frozen=True, slots=True)
class TransactionsToDescribe:
    """Describe transactional ids."""

    items: Mapping[str, None]


@dataclass(frozen=True, slots=True)
class ProducersToDescribe:
    """Describe the producers of partitions, as their leaders know them."""

    items: Mapping[TopicPartition, None]


@dataclass(frozen=True, slots=True)
class ReplicasProducersToDescribe:
    """Describe the producers of partitions, as one broker's replicas know them.

    Attributes:
        items: The partitions.
        broker: The broker's id.
    """

    items: Mapping[TopicPartition, None]
    broker: int


@dataclass(frozen=True, slots=True)
class TransactionToAbort:
    """Write the marker that aborts a transaction in one partition.

    Attributes:
        hanging: The transaction.
        items: Its partition.
    """

    hanging: HangingTransaction
    items: Mapping[TopicPartition, None]


@dataclass(frozen=True, slots=True)
class ProducersToFence:
    """Fence the producers of transactional ids."""

    items: Mapping[str, None]
