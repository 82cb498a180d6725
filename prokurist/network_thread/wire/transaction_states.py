"""ListTransactions and DescribeTransactions: transactions, as their coordinators know them.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import known, seconds, throttle
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class ListTransactionsAnswer:
    """The transactional ids that a broker coordinates and this user may describe.

    Attributes:
        error: 0, or why there are none.
        transactional_ids: The ids.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    transactional_ids: tuple[str, ...]
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class ListTransactions:
    """Asks a broker for the transactional ids of some producers.

    Transactions of all states and ages are asked for, so nothing is ever left out.

    Attributes:
        producer_ids: The ids of the producers.
    """

    api: ClassVar[Api] = LIST_TRANSACTIONS

    producer_ids: tuple[int, ...]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "state_filters": (),
            "producer_id_filters": self.producer_ids,
            "duration_filter": -1,
            "transactional_id_pattern": None,
        }

    def answer(self, body: Body) -> ListTransactionsAnswer:
        """Read an answer of any version."""
        return ListTransactionsAnswer(
            body["error_code"],
            tuple(row["transactional_id"] for row in body["transaction_states"]),
            throttle(body),
        )


class TransactionState(NamedTuple):
    """A transactional id, with its present or last transaction.

    Attributes:
        transactional_id: The id.
        error: 0, or why it is not described.
        state: Kafka's word: Empty, Ongoing, PrepareCommit, CompleteCommit and so on.
        producer_id: The id of its producer.
        epoch: The epoch of its producer.
        started: When its transaction began, in milliseconds since the epoch; None without one.
        timeout: Seconds after which its coordinator aborts it.
        partitions: The partitions of its transaction.
    """

    transactional_id: str
    error: int
    state: str
    producer_id: int
    epoch: int
    started: int | None
    timeout: float
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class DescribeTransactionsAnswer:
    """The answer to DescribeTransactions.

    Attributes:
        transactions: A row for each id that the broker names.
        throttle: Seconds that the broker wants to be left alone.
    """

    transactions: tuple[TransactionState, ...]
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class DescribeTransactions:
    """Asks their coordinator about transactional ids.

    Nothing is ever left out.

    Attributes:
        transactional_ids: The ids.
    """

    api: ClassVar[Api] = DESCRIBE_TRANSACTIONS

    transactional_ids: tuple[str, ...]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"transactional_ids": self.transactional_ids}

    def answer(self, body: Body) -> DescribeTransactionsAnswer:
        """Read an answer of any version."""
        return DescribeTransactionsAnswer(
            tuple(map(state_of, body["transaction_states"])), throttle(body)
        )


def state_of(row: Body) -> TransactionState:
    """Read one transactional id."""
    return TransactionState(
        row["transactional_id"],
        row["error_code"],
        row["transaction_state"],
        row["producer_id"],
        row["producer_epoch"],
        known(row["transaction_start_time"]),
        seconds(row["transaction_timeout"]),
        frozenset(
            TopicPartition(topic["topic"], index)
            for topic in row["topics"]
            for index in topic["partitions"]
        ),
    )
