"""Consumers of a chaos run: ours, and the faces over it, each read as its own programs do.

Thread: the member's main one.
Invariants: one error of the user's code or of a rebalance is no reason for a reader to skip a
record; the member that holds the journal decides whether the error was allowed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from prokurist import (
    ConsumerRebalanceListener,
    KafkaConsumer,
    OffsetAndMetadata,
    TopicPartition,
    errors,
)
from prokurist.compat import confluent_kafka, kafka

POLL: Final = 0.2
CALL: Final = 2.0
CLOSE: Final = 5.0
SOME: Final = 7
"""Records of a poll that takes few of them."""
MANY: Final = 500
EVERY: Final = 5
"""Polls with records for each commit, where the member commits by itself."""
EVERY_ONE: Final = 50
"""The same, where a poll returns one record."""

COMMON: Final[Mapping[str, Any]] = {
    "auto_offset_reset": "earliest",
    "auto_commit_interval_ms": 1000,
    "default_api_timeout_ms": int(CALL * 1000),
    "request_timeout_ms": int(CLOSE * 1000),
    "metadata_max_age_ms": 5000,
}

REFUSED: Final = (errors.CommitFailedException, errors.RebalanceInProgressException)
"""Errors with which a commit may end: another member may read the partitions by now."""


class Hiccup(Exception):
    """An error of the user's own code, which the next try does not meet."""


class Came(NamedTuple):
    """A record, as any of the clients has it."""

    partition: int
    offset: int
    value: Any


class Application(ConsumerRebalanceListener, Protocol):
    """The program around a reader; it hears of partitions, too."""

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """See `ConsumerRebalanceListener`."""

    def commit_failed(self, error: BaseException) -> None:
        """An asynchronous commit has failed as it may not."""

    def recover(self) -> None:
        """An error of the deserializer has come beside records."""


class Reader(ABC):
    """A consumer of one topic, under one client's names.

    Args:
        topic: The topic to read.
        keys: Its configuration.
        style: How it reads and commits.
        application: The program around it.

    Attributes:
        core: The consumer of ours below.
    """

    styles: ClassVar[Sequence[str]]
    """Ways to commit, by the place of a member: see each reader."""

    core: KafkaConsumer

    def __init__(
        self,
        topic: str,
        keys: Mapping[str, Any],
        style: str,
        application: Application,
    ) -> None:
        self.topic = topic
        self.style = style
        self.application = application
        self.open({**COMMON, **keys, "enable_auto_commit": style == "auto"})

    @staticmethod
    def ours(error: BaseException) -> BaseException:
        """Return the exception of ours that an error of the face has as its cause."""
        return error.__cause__ or error

    @abstractmethod
    def open(self, keys: Mapping[str, Any]) -> None:
        """Build the client, and subscribe it."""

    @abstractmethod
    def poll(self) -> Sequence[Came]:
        """Return what comes by `POLL`."""

    @abstractmethod
    def commit(self, offsets: Mapping[int, int] | None) -> None:
        """Commit these offsets, or what was returned or stored, by `CALL`."""

    @abstractmethod
    def commit_async(self) -> None:
        """Commit what was returned, without a wait."""

    @abstractmethod
    def committed(self, partitions: Sequence[int]) -> Mapping[int, int]:
        """Look up the group's offsets, by `CALL`."""

    @abstractmethod
    def position(self, partition: int) -> object:
        """Look up a position, by `CALL`."""

    @abstractmethod
    def end_offsets(self, partitions: Sequence[int]) -> object:
        """Look up ends of logs, by `CALL`."""

    @abstractmethod
    def close(self) -> None:
        """Leave, by `CLOSE`."""

    @property
    def every(self) -> int:
        """Polls with records for each commit."""
        return EVERY

    def store(self, came: Came) -> None:  # noqa: B027 - most have nothing to store
        """Note a record that was processed, where the style commits what is stored."""

    def of(self, partition: int) -> TopicPartition:
        """Our partition of a number."""
        return TopicPartition(self.topic, partition)


class CoreReader(Reader):
    """Our consumer.

    It commits after some polls, only when it gives partitions up, by `enable.auto.commit`, in
    the middle of what a poll has returned, or without waiting.
    """

    styles = ("sync", "listener", "auto", "explicit", "async")

    @staticmethod
    def ours(error: BaseException) -> BaseException:
        """Return the error: it is ours."""
        return error

    def open(self, keys: Mapping[str, Any]) -> None:
        """See `Reader`."""
        self.core = KafkaConsumer(dict(keys))
        self.core.subscribe(self.topic, self.application)

    def poll(self) -> Sequence[Came]:
        """See `Reader`."""
        return [Came(each.partition, each.offset, each.value) for each in self.core.poll(POLL)]

    def commit(self, offsets: Mapping[int, int] | None) -> None:
        """See `Reader`."""
        given = None
        if offsets is not None:
            given = {self.of(each): OffsetAndMetadata(at) for each, at in offsets.items()}
        self.core.commit_sync(given, timeout=CALL)

    def commit_async(self) -> None:
        """See `Reader`."""

        def done(_offsets: object, error: BaseException | None) -> None:
            fine = (*REFUSED, errors.RetriableCommitFailedException)
            if error is not None and not isinstance(error, fine):
                self.application.commit_failed(error)

        self.core.commit_async(callback=done)

    def committed(self, partitions: Sequence[int]) -> Mapping[int, int]:
        """See `Reader`."""
        found = self.core.committed(map(self.of, partitions), timeout=CALL)
        return {tp.partition: at.offset for tp, at in found.items() if at}

    def position(self, partition: int) -> object:
        """See `Reader`."""
        return self.core.position(self.of(partition), timeout=CALL)

    def end_offsets(self, partitions: Sequence[int]) -> object:
        """See `Reader`."""
        return self.core.end_offsets(map(self.of, partitions), timeout=CALL)

    def close(self) -> None:
        """See `Reader`."""
        self.core.close(timeout=CLOSE)


class ConfluentReader(Reader):
    """confluent-kafka's consumer.

    It commits the message in hand, what it has stored, by `enable.auto.commit`, offsets in the
    middle of what `consume` has returned, or without waiting.
    """

    styles = ("sync", "stored", "auto", "explicit", "async")

    _consumes: ClassVar = frozenset({"stored", "auto", "explicit"})
    _retried: ClassVar = frozenset(
        {
            confluent_kafka.KafkaError._ASSIGNMENT_LOST,
            confluent_kafka.KafkaError.ILLEGAL_GENERATION,
            confluent_kafka.KafkaError.REBALANCE_IN_PROGRESS,
            confluent_kafka.KafkaError.UNKNOWN_MEMBER_ID,
            confluent_kafka.KafkaError.FENCED_INSTANCE_ID,
            confluent_kafka.KafkaError._TIMED_OUT,
        }
    )
    """Errors of an asynchronous commit, beside those that another try may not meet."""

    def open(self, keys: Mapping[str, Any]) -> None:
        """See `Reader`."""

        def hear(call: Callable[[frozenset[TopicPartition]], object]) -> Callable[..., None]:
            def heard(_consumer: object, partitions: Iterable[Any]) -> None:
                call(frozenset(self.of(each.partition) for each in partitions))

            return heard

        self._face = confluent_kafka.Consumer(
            {"enable.auto.offset.store": self.style != "stored", "on_commit": self._on_commit},
            **keys,
        )
        self.core = self._face._consumer
        self._face.subscribe(
            [self.topic],
            on_assign=hear(self.application.on_partitions_assigned),
            on_revoke=hear(self.application.on_partitions_revoked),
            on_lost=hear(self.application.on_partitions_lost),
        )

    def _on_commit(self, error: Any, _partitions: object) -> None:
        if error is None or error.retriable() or error.code() in self._retried:
            return
        self.application.commit_failed(error)

    def poll(self) -> Sequence[Came]:
        """See `Reader`."""
        if self.style in self._consumes:
            messages = self._face.consume(MANY, POLL)
        else:
            message = self._face.poll(POLL)
            messages = [] if message is None else [message]
        came = []
        for each in messages:
            error = each.error()
            if error is None:
                place: Any = (each.partition(), each.offset(), each.value())
                came.append(Came(*place))
            elif error.code() != confluent_kafka.KafkaError._VALUE_DESERIALIZATION:
                raise confluent_kafka.KafkaException(error)
        if not came and messages:
            raise Hiccup(messages)
        if len(came) < len(messages):
            self.application.recover()
        return came

    def commit(self, offsets: Mapping[int, int] | None) -> None:
        """See `Reader`."""
        given = None
        if offsets is not None:
            given = [
                confluent_kafka.TopicPartition(self.topic, each, at)
                for each, at in offsets.items()
            ]
        try:
            self._face.commit(offsets=given, asynchronous=False)
        except confluent_kafka.KafkaException as error:
            if error.args[0].code() != confluent_kafka.KafkaError._NO_OFFSET:
                raise

    @property
    def every(self) -> int:
        """See `Reader`; what is stored is committed behind each `consume`."""
        if self.style == "stored":
            return 1
        return EVERY if self.style in self._consumes else EVERY_ONE

    def commit_async(self) -> None:
        """See `Reader`."""
        self._face.commit()

    def store(self, came: Came) -> None:
        """See `Reader`."""
        if self.style == "stored":
            at = confluent_kafka.TopicPartition(self.topic, came.partition, came.offset + 1)
            self._face.store_offsets(offsets=[at])

    def committed(self, partitions: Sequence[int]) -> Mapping[int, int]:
        """See `Reader`."""
        asked = [confluent_kafka.TopicPartition(self.topic, each) for each in partitions]
        found = self._face.committed(asked, CALL)
        return {each.partition: each.offset for each in found if each.offset >= 0}

    def position(self, partition: int) -> object:
        """See `Reader`."""
        return self._face.position([confluent_kafka.TopicPartition(self.topic, partition)])

    def end_offsets(self, partitions: Sequence[int]) -> object:
        """See `Reader`."""
        at = confluent_kafka.TopicPartition(self.topic, partitions[0])
        return self._face.get_watermark_offsets(at, CALL)

    def close(self) -> None:
        """See `Reader`."""
        self._face.close()


class KafkaPythonReader(Reader):
    """kafka-python's consumer.

    It commits after some polls of few records, only when it gives partitions up, by
    `enable_auto_commit`, in the middle of what a poll has returned, or what an iteration has
    returned, without waiting.
    """

    styles = ("sync", "listener", "auto", "explicit", "async")

    _most: ClassVar[Mapping[str, int | None]] = {"sync": SOME, "auto": SOME, "explicit": 50}
    _may_fail: ClassVar = (
        kafka.errors.CommitFailedError,
        kafka.errors.RebalanceInProgressError,
        kafka.errors.RetriableError,
    )
    """Errors of an asynchronous commit."""

    def open(self, keys: Mapping[str, Any]) -> None:
        """See `Reader`."""
        self._face = kafka.KafkaConsumer(**keys, consumer_timeout_ms=POLL * 1000)
        self.core = self._face._consumer
        self._face.subscribe([self.topic], listener=self.application)

    def poll(self) -> Sequence[Came]:
        """See `Reader`."""
        if self.style == "async":
            with suppress(StopIteration):
                return [came_of(next(self._face))]
            return []
        found = self._face.poll(POLL * 1000, max_records=self._most.get(self.style))
        return [came_of(each) for records in found.values() for each in records]

    def commit(self, offsets: Mapping[int, int] | None) -> None:
        """See `Reader`."""
        given = None
        if offsets is not None:
            given = {
                self.of(each): kafka.OffsetAndMetadata(at, "", -1)
                for each, at in offsets.items()
            }
        self._face.commit(given, timeout_ms=CALL * 1000)

    @property
    def every(self) -> int:
        """See `Reader`."""
        return EVERY_ONE if self.style == "async" else EVERY

    def commit_async(self) -> None:
        """See `Reader`."""

        def done(_offsets: object, error: BaseException | None) -> None:
            if error is not None and not isinstance(error, self._may_fail):
                self.application.commit_failed(error)

        self._face.commit_async(callback=done)

    def committed(self, partitions: Sequence[int]) -> Mapping[int, int]:
        """See `Reader`; it looks up one, as there."""
        first = partitions[0]
        at: Any = self._face.committed(self.of(first), timeout_ms=CALL * 1000)
        return {} if at is None else {first: at}

    def position(self, partition: int) -> object:
        """See `Reader`."""
        return self._face.position(self.of(partition), timeout_ms=CALL * 1000)

    def end_offsets(self, partitions: Sequence[int]) -> object:
        """See `Reader`."""
        asked = map(self.of, partitions)
        return self._face.end_offsets(asked, timeout_ms=CALL * 1000)

    def close(self) -> None:
        """See `Reader`."""
        self._face.close(timeout_ms=CLOSE * 1000)


def came_of(record: Any) -> Came:
    """A record of kafka-python's."""
    return Came(record.partition, record.offset, record.value)
