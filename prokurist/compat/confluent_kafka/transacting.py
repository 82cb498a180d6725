"""confluent-kafka's calls of transactions over ours.

Thread: one at a time makes these calls; delivery callbacks run in `commit_transaction` and
`abort_transaction`, as in `flush`.
"""

from abc import abstractmethod
from collections.abc import Callable

from prokurist.compat.confluent_kafka.client import ConfluentClient
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.errors_of import exception_of
from prokurist.compat.confluent_kafka.offsets import from_bytes, offsets_in
from prokurist.compat.confluent_kafka.settings import Settings
from prokurist.compat.confluent_kafka.values import TopicPartition
from prokurist.compat.waiting import seconds
from prokurist.errors import KafkaException as OurException
from prokurist.producer.producer import KafkaProducer
from prokurist.types import ConsumerGroupMetadata


class Transacting(ConfluentClient):
    """The part of `Producer` with transactions.

    A call without a timeout, or with −1, ends by `delivery.timeout.ms`. Errors are a
    `KafkaException` whose argument says with `retriable()` that the same call may be made
    again, with `txn_requires_abort()` that `abort_transaction` is next, and with `fatal()` that
    only another producer is left.
    """

    _producer: KafkaProducer
    _settings: Settings

    @abstractmethod
    def _require_open(self) -> None:
        """Refuse a call of a closed producer."""

    @abstractmethod
    def _serve(self, wait: float = 0.0) -> int:
        """Call the callbacks of messages that have ended."""

    def init_transactions(self, timeout: float | None = None) -> None:
        """Get ready for transactions, once, before the first.

        Args:
            timeout: Seconds.

        Raises:
            KafkaException: It was not possible.
        """
        wait = seconds(timeout, self._settings.wait)
        self._transact(lambda: self._producer.init_transactions(wait))

    def begin_transaction(self, timeout: float | None = None) -> None:
        """Begin a transaction; messages produced from now on belong to it.

        Args:
            timeout: It waits for nothing.

        Raises:
            KafkaException: No transaction can begin now.
        """
        del timeout
        self._transact(self._producer.begin_transaction)

    def send_offsets_to_transaction(
        self,
        positions: list[TopicPartition],
        group_metadata: bytes | ConsumerGroupMetadata,
        timeout: float | None = None,
    ) -> None:
        """Add offsets of a consumer group, to be committed with the transaction or never.

        Args:
            positions: The next offset to read, for each partition; without one it is left out.
            group_metadata: The result of the consumer's `consumer_group_metadata()`.
            timeout: Seconds.

        Raises:
            KafkaException: It was not possible.
            TypeError: An argument is of a wrong type.
        """
        if not isinstance(positions, list):
            raise TypeError(f"positions are a list of TopicPartition, not {positions!r}")
        offsets = offsets_in(None, positions)
        group = (
            group_metadata
            if isinstance(group_metadata, ConsumerGroupMetadata)
            else from_bytes(group_metadata)
        )
        wait = seconds(timeout, self._settings.wait)
        self._transact(lambda: self._producer.send_offsets_to_transaction(offsets, group, wait))

    def commit_transaction(self, timeout: float | None = None) -> None:
        """Have all messages delivered, and commit them with the offsets.

        Args:
            timeout: Seconds.

        Raises:
            KafkaException: It was not possible.
        """
        wait = seconds(timeout, self._settings.wait)
        self._transact(lambda: self._producer.commit_transaction(wait))

    def abort_transaction(self, timeout: float | None = None) -> None:
        """Abort the transaction: messages that are not on the wire fail.

        Args:
            timeout: Seconds.

        Raises:
            KafkaException: It was not possible.
        """
        wait = seconds(timeout, self._settings.wait)
        self._transact(lambda: self._producer.abort_transaction(wait))

    def _transact(self, call: Callable[[], None]) -> None:
        """Make a call, and call the callbacks of the messages that have ended by then.

        Raises:
            KafkaException: The call has failed.
        """
        self._require_open()
        if not self._settings.is_transactional:
            raise KafkaException(
                KafkaError(
                    KafkaError._NOT_CONFIGURED,
                    "transactions need a transactional.id in the configuration",
                )
            )
        try:
            call()
        except OurException as error:
            raise exception_of(error) from error
        finally:
            self._serve()
