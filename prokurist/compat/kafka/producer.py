"""kafka-python's producer over ours.

Thread: any thread sends; callbacks of futures run on the network thread, as there.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from prokurist.compat.absent import Client
from prokurist.compat.kafka.errors import as_theirs
from prokurist.compat.kafka.future import FutureRecordMetadata
from prokurist.compat.kafka.settings import producer_settings
from prokurist.compat.kafka.structs import OffsetAndMetadata
from prokurist.compat.user_code import OfNull
from prokurist.compat.waiting import seconds
from prokurist.config import ProducerConfig
from prokurist.errors import KafkaException, RecordTooLargeException, TimeoutException
from prokurist.errors.local_variables import without_locals
from prokurist.producer.producer import KafkaProducer as OurProducer
from prokurist.types import ConsumerGroupMetadata, TopicPartition


class KafkaProducer(Client):
    """A producer with the calls of kafka-python's.

    A call without a timeout ends by `delivery_timeout_ms`; those of transactions by
    `max_block_ms`.

    Args:
        configs: Keys of kafka-python, or ours.

    Raises:
        KafkaConfigurationError: The configuration cannot be used.
    """

    _left_out: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "config": "prokurist.ProducerConfig has every value",
            "metrics": "metrics() of a prokurist.KafkaProducer, and docs/metrics.md",
        }
    )

    @without_locals
    def __init__(self, **configs: Any) -> None:
        rest, found = producer_settings(configs)
        self._wire(OurProducer(rest), found)

    @classmethod
    def over(cls, producer: OurProducer, found: ProducerConfig) -> Self:
        """The face of a producer that is there already."""
        self = cls.__new__(cls)
        self._wire(producer, found)
        return self

    def _wire(self, producer: OurProducer, found: ProducerConfig) -> None:
        self._producer = producer
        self._wait = found.delivery_timeout_ms / 1000
        # What is sent for None: a serializer is asked for it.
        self._no_key = None if found.key_serializer is None else OfNull.NULL
        self._no_value = None if found.value_serializer is None else OfNull.NULL

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FutureRecordMetadata:
        """Send a record: it is in a batch when this returns.

        Returns:
            What becomes of it.

        Raises:
            KafkaTimeoutError: No metadata, or no room, by `max_block_ms`.
            MessageSizeTooLargeError: The record is larger than `max_request_size`.
            KafkaError: The producer is closed.
            ValueError: Neither a value nor a key.
        """
        if value is None and key is None:
            raise ValueError("send a value, or a key, or both")
        value = self._no_value if value is None else value
        key = self._no_key if key is None else key
        pairs = None if headers is None else list(headers)
        try:
            delivery = self._producer.send(topic, value, key, pairs, partition, timestamp_ms)
        except KafkaException as error:
            raise as_theirs(error) from error
        if delivery.done():
            failure = delivery.exception(0)
            if isinstance(failure, TimeoutException | RecordTooLargeException):
                raise as_theirs(failure) from failure
        return FutureRecordMetadata(delivery, self._wait)

    def flush(self, timeout: float | None = None) -> None:
        """Wait until all that was sent is delivered or has failed.

        Args:
            timeout: Seconds.

        Raises:
            KafkaTimeoutError: The time is over.
        """
        try:
            self._producer.flush(seconds(timeout, self._wait))
        except KafkaException as error:
            raise as_theirs(error) from error

    # --- transactions ------------------------------------------------------------------------

    def init_transactions(self) -> None:
        """Get ready for transactions, once, before the first; by `max_block_ms`.

        Raises:
            IllegalStateError: There is no `transactional_id`, or it was called before.
            KafkaTimeoutError: The time is over; call it again.
        """
        self._transact(self._producer.init_transactions)

    def begin_transaction(self) -> None:
        """Begin a transaction; records sent from now on belong to it.

        Raises:
            IllegalStateError: `init_transactions` comes first, or a transaction is open.
            KafkaError: The producer is over.
        """
        self._transact(self._producer.begin_transaction)

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_metadata: ConsumerGroupMetadata | str,
    ) -> None:
        """Add offsets of a consumer group, to be committed with the transaction or never.

        Args:
            offsets: The next offset to read, for each partition.
            group_metadata: The result of the consumer's `group_metadata()`; or the name of the
                group, with which offsets of a member that has lost its partitions are taken.

        Raises:
            KafkaError: It was not possible.
            TypeError: An argument is of a wrong type.
            ValueError: The name of the group is empty.
        """
        group = group_metadata
        if isinstance(group, str):
            if not group:
                raise ValueError("group_metadata names no group")
            group = ConsumerGroupMetadata(group)
        given = {tp: OffsetAndMetadata.given(each).ours() for tp, each in offsets.items()}
        self._transact(lambda: self._producer.send_offsets_to_transaction(given, group))

    def commit_transaction(self) -> None:
        """Have all records delivered, and commit them with the offsets; by `max_block_ms`.

        Raises:
            KafkaError: It was not possible; a KafkaTimeoutError where the same call goes on.
        """
        self._transact(self._producer.commit_transaction)

    def abort_transaction(self) -> None:
        """Abort the transaction, by `max_block_ms`: records that are not on the wire fail.

        Raises:
            KafkaError: It was not possible; a KafkaTimeoutError where the same call goes on.
        """
        self._transact(self._producer.abort_transaction)

    def _transact(self, call: Callable[[], None]) -> None:
        """Make a call of a transaction."""
        try:
            call()
        except KafkaException as error:
            raise as_theirs(error) from error

    # --- the rest ----------------------------------------------------------------------------

    def partitions_for(self, topic: str) -> set[int]:
        """The partitions of a topic, by `max_block_ms`."""
        try:
            return {each.partition for each in self._producer.partitions_for(topic)}
        except KafkaException as error:
            raise as_theirs(error) from error

    def bootstrap_connected(self) -> bool:
        """Return True if a broker has answered, and no needed broker is out of reach."""
        health = self._producer.health()
        return health.answer_age is not None and health.unreachable_for is None

    def close(self, timeout: float | None = None) -> None:
        """Flush and close.

        Args:
            timeout: Seconds.
        """
        try:
            self._producer.close(seconds(timeout, self._wait))
        except KafkaException as error:
            raise as_theirs(error) from error

    def __repr__(self) -> str:
        return f"KafkaProducer({self.__dict__.get('_producer')!r})"
