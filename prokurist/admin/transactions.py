"""Transactions: list, describe, find hanging ones, abort, fence.

Thread: any application thread.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Final
from uuid import UUID

from prokurist.admin.arguments import listed, named, require_kind
from prokurist.admin.calls import AdminCalls
from prokurist.admin.groups import words
from prokurist.admin.records import partition_of
from prokurist.admin.results import Listing, Results, value_of
from prokurist.errors import IllegalStateException
from prokurist.errors.transactions import TransactionalIdNotFoundException
from prokurist.events.admin.topics import TopicsToDescribe, TopicsToList
from prokurist.events.admin.transactions import (
    ProducersToDescribe,
    ProducersToFence,
    ReplicasProducersToDescribe,
    TransactionsToDescribe,
    TransactionsToList,
    TransactionToAbort,
)
from prokurist.events.clock import Deadline, as_seconds, epoch_milliseconds
from prokurist.types import TopicPartition, require_int
from prokurist.types.topics import TopicDescription
from prokurist.types.transactions import (
    ActiveProducer,
    FencedProducer,
    HangingTransaction,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)

OLDER: Final = 900.0
"""Seconds: the brokers' `transaction.max.timeout.ms`, by default."""
IDS = '["billing-1"]'
PARTITIONS = '[TopicPartition("orders", 0)]'


class Transactions(AdminCalls):
    """Calls of `KafkaAdmin` about transactions."""

    def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        running_for: float | timedelta | None = None,
        pattern: str | None = None,
        partial: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Listing[TransactionListing]:
        """List the transactional ids that this user may describe.

        Each broker knows those that it coordinates, so all are asked.

        Args:
            states: States, as `TransactionState.ONGOING`; none for all.
            producer_ids: Producer ids; none for all.
            running_for: Seconds for which the transaction has been open, at least; None for any
                (Kafka 3.8 and newer).
            pattern: A regular expression that the whole id fits; None for all.
            partial: True to return what there is although a broker has not answered.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            IncompleteListingException: A broker has not answered, or does not know durations.
            ValueError: There is no such state, or the pattern cannot be read.
        """
        numbers = listed("producer ids", producer_ids, example="[4711]")
        for each in numbers:
            require_int("a producer id", each)
        if pattern is not None:
            require_kind("pattern", pattern, str)
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(
                    f"pattern is a regular expression: {pattern!r}, {error}"
                ) from None
        least = None if running_for is None else round(as_seconds(running_for) * 1000)
        work = TransactionsToList(
            words("states", states, TransactionState), frozenset(numbers), least, pattern
        )
        return self._listing("list_transactions", work, timeout, partial=partial)

    def describe_transactions(
        self,
        transactional_ids: Iterable[str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, TransactionDescription]:
        """Describe transactional ids and their transactions.

        Args:
            transactional_ids: The ids.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The description of each, or its error, as TransactionalIdNotFoundException.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        names = named("transactional ids", transactional_ids, example=IDS)
        work = TransactionsToDescribe(dict.fromkeys(names))
        return self._results("describe_transactions", work, timeout)

    def describe_producers(
        self,
        partitions: Iterable[TopicPartition],
        *,
        broker: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, tuple[ActiveProducer, ...]]:
        """Describe the producers that partitions know.

        Args:
            partitions: The partitions.
            broker: The id of a broker with replicas of them; None for the leaders.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The producers of each partition.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        asked = listed("partitions", partitions, example=PARTITIONS)
        items = dict.fromkeys(map(partition_of, asked))
        if broker is None:
            return self._results("describe_producers", ProducersToDescribe(items), timeout)
        require_int("a broker's id", broker, 31)
        work = ReplicasProducersToDescribe(items, broker)
        return self._results("describe_producers", work, timeout)

    def fence_producers(
        self,
        transactional_ids: Iterable[str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, FencedProducer]:
        """Fence the producers of transactional ids, and abort their open transactions.

        A request is written once: a repetition would fence a producer that has begun meanwhile.
        Where its answer is lost, the error has `may_have_happened`.

        Args:
            transactional_ids: The ids.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The epoch of each by which older producers are refused.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        names = named("transactional ids", transactional_ids, example=IDS)
        return self._results("fence_producers", ProducersToFence(dict.fromkeys(names)), timeout)

    def find_hanging(
        self,
        topics: Iterable[str] | None = None,
        *,
        broker: int | None = None,
        older: float | timedelta = OLDER,
        timeout: float | timedelta | None = None,
    ) -> tuple[HangingTransaction, ...]:
        """Find transactions that are open in a partition, and that no coordinator will end.

        They hold back readers of committed records. One is found if its producer has written
        nothing for the given time, and its coordinator does not know the partition as a part of
        its transaction.

        Args:
            topics: The topics to look at; None for all that have a replica at the broker.
            broker: The id of the broker that is asked; None for the leaders.
            older: Seconds since the producer's last record, at least; choose no less than the
                brokers' `transaction.max.timeout.ms`.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            AdminException: The producers of some partition are not known.
            IncompleteListingException: A broker has not listed its transactional ids.
            TimeoutException: The time is over.
            ValueError: Neither topics nor a broker are named.
        """
        deadline = self._until(timeout)
        least = as_seconds(older)
        partitions = self._partitions_to_search(topics, broker, deadline)
        found = self.describe_producers(
            partitions, broker=broker, timeout=self._left(deadline)
        ).check()
        now = epoch_milliseconds() / 1000
        open_ones = [
            (tp, each)
            for tp, producers in found.items()
            for each in producers
            if each.transaction_start is not None
            and (each.last_at is None or now - each.last_at.timestamp() >= least)
        ]
        if not open_ones:
            return ()
        numbers = {each.producer_id for _, each in open_ones}
        known = self.list_transactions(producer_ids=numbers, timeout=self._left(deadline))
        names = {each.producer_id: each.transactional_id for each in known}
        described = self.describe_transactions(
            dict.fromkeys(names.values()), timeout=self._left(deadline)
        )
        return tuple(
            HangingTransaction(tp, each, names.get(each.producer_id))
            for tp, each in open_ones
            if not is_known(tp, each, names, described)
        )

    def _partitions_to_search(
        self, topics: Iterable[str] | None, broker: int | None, deadline: Deadline
    ) -> list[TopicPartition]:
        """The partitions of topics, of which a broker has a replica if one is named."""
        if topics is None and broker is None:
            raise ValueError(
                "hanging transactions are looked for by topic or broker, such as "
                'find_hanging(["orders"]) or find_hanging(broker=2)'
            )
        if topics is None:
            every = TopicsToList(internal=True)
            names = list(self._one("find_hanging", every, self._left(deadline)))
        else:
            names = named("topics", topics, example='["orders"]')
        asked: dict[str | UUID, None] = dict.fromkeys(names)
        described: Results[str, TopicDescription] = self._results(
            "find_hanging", TopicsToDescribe(asked), self._left(deadline)
        )
        return [
            TopicPartition(each.topic, each.partition)
            for topic in described.check().values()
            for each in topic.partitions
            if broker is None or broker in {node.id for node in each.replicas}
        ]

    def abort_transaction(
        self,
        hanging: HangingTransaction,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Abort a transaction that `find_hanging` has found, in its partition.

        The partition is looked at again first: a transaction that has gone on is refused, since
        the marker would end one that is alive. The marker is written once.

        Args:
            hanging: The transaction.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            IllegalStateException: The transaction is over, or its producer has gone on.
            KafkaException: The leader refuses it.
            TimeoutException: The time is over; `may_have_happened` says whether the marker may
                have been written.
        """
        require_kind("the transaction", hanging, HangingTransaction)
        deadline = self._until(timeout)
        tp, before = hanging.partition, hanging.producer
        look = ProducersToDescribe({tp: None})
        producers: tuple[ActiveProducer, ...] = value_of(
            self._ended("abort_transaction", look, self._left(deadline))[tp]
        )
        now = next((each for each in producers if each.producer_id == before.producer_id), None)
        if now is None or now.transaction_start is None:
            raise IllegalStateException(f"{hanging}: it is over by now, and is not aborted")
        if (now.transaction_start, now.epoch) != (before.transaction_start, before.epoch):
            raise IllegalStateException(
                f"{hanging}: its producer has gone on, to offset {now.transaction_start} and "
                f"epoch {now.epoch}; it is not aborted"
            )
        self._one(
            "abort_transaction", TransactionToAbort(hanging, {tp: None}), self._left(deadline)
        )


def is_known(
    tp: TopicPartition,
    producer: ActiveProducer,
    names: dict[int, str],
    described: Results[str, TransactionDescription],
) -> bool:
    """True if a coordinator knows the partition as a part of the producer's transaction.

    An error of the coordinator counts as knowledge: nothing is aborted for want of an answer.
    """
    name = names.get(producer.producer_id)
    if name is None:
        return False
    error = described.errors.get(name)
    if error is not None:
        return not isinstance(error, TransactionalIdNotFoundException)
    found = described[name]
    return found.producer_id == producer.producer_id and tp in found.partitions
