"""confluent-kafka's producer over ours.

Thread: any thread sends; delivery callbacks run on the one that calls `poll` or `flush`.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import Any, ClassVar, Final

from prokurist.compat.confluent_kafka.cluster import ClusterMetadata
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.errors_of import error_of, exception_of
from prokurist.compat.confluent_kafka.outages import Outages
from prokurist.compat.confluent_kafka.parked import LOOK, Parcel, ParkedMessages
from prokurist.compat.confluent_kafka.sent import OnDelivery, Sent
from prokurist.compat.confluent_kafka.settings import (
    Settings,
    connections_of,
    producer_settings,
)
from prokurist.compat.confluent_kafka.statistics import PRODUCER, Statistics
from prokurist.compat.confluent_kafka.transacting import Transacting
from prokurist.compat.confluent_kafka.values import Headers, whole
from prokurist.compat.waiting import seconds
from prokurist.config import ProducerConfig
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import (
    BufferExhaustedException,
    RecordTooLargeException,
    TimeoutException,
)
from prokurist.errors import KafkaException as OurException
from prokurist.events.accumulator.record_metadata import RecordMetadata
from prokurist.events.clock import CallersClock, Deadline, MonotonicClock
from prokurist.producer.producer import KafkaProducer

_LAST: Final = 1.0
"""Seconds for `flush` after the last message's time is over, so that it is told."""
_BYTES: Final = (bytes, bytearray, memoryview)


class Producer(Transacting):
    """A producer with the calls of confluent-kafka's.

    A call without a timeout, or with −1, ends by `delivery.timeout.ms`. `produce` waits for
    room by `max.block.ms`, and a moment for a topic that it meets for the first time; with a
    `transactional.id` it waits for a topic by `max.block.ms`, too.

    Args:
        config: Keys of librdkafka, or ours.
        logger: Accepted without effect.
        keywords: More keys.

    Raises:
        KafkaException: The configuration cannot be used.
    """

    _left_out: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "cluster_id": "`prokurist brokers` tells it",
            "set_sasl_credentials": "build a producer with the new ones, or give oauth_cb",
        }
    )

    _settings_of = staticmethod(producer_settings)
    _kind = KafkaProducer

    def _wire(self, client: KafkaProducer, settings: Settings, clock: CallersClock) -> None:
        self._producer = client
        self._settings = settings
        self._outages = Outages(settings.error_cb)
        self._statistics = Statistics(
            settings.stats_cb, settings.stats_interval, PRODUCER, clock.now
        )
        self._waiting: set[Sent] = set()
        self._is_torn = False
        self._counts: dict[str, int] = {}
        self._now: Callable[[], float] = clock.now
        self._ended: SimpleQueue[Sent] = SimpleQueue()
        self._closed = False
        self._parked = ParkedMessages(
            client.partitions_for,
            clock.now,
            unknown=settings.block,
            longest=settings.wait,
            # Virtual time is turned by the thread that calls.
            has_thread=isinstance(clock, MonotonicClock),
        )

    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = -1,
        on_delivery: OnDelivery | None = None,
        timestamp: int = 0,
        headers: dict[str, Any] | list[tuple[str, Any]] | None = None,
        *,
        callback: OnDelivery | None = None,
    ) -> None:
        """Send a message: it is in a batch, or parked until its topic is known.

        Args:
            topic: The topic.
            value: Bytes, or text, which is sent as UTF-8; None for a tombstone.
            key: The same.
            partition: The partition; −1 to have one chosen.
            on_delivery: Called in `poll` or `flush`, with an error or None, and the message.
            timestamp: Milliseconds since the epoch; 0 for now.
            headers: A list of pairs of a name and bytes, text or None, or a dict of them.
            callback: The same as `on_delivery`.

        Raises:
            BufferError: There was no room by `max.block.ms`; or
                `queue.buffering.max.messages` have not ended, or wait to be told in `poll`.
            KafkaException: The message is too large, or the topic is known and has no such
                partition.
            OverflowError: `partition` or `timestamp` has more bits than the protocol has.
            RuntimeError: The producer is closed.
            TypeError: An argument is of a wrong type.
            ValueError: `timestamp` is negative.
        """
        self._require_open()
        if not isinstance(topic, str):
            raise TypeError(f"a topic is a str, not {topic!r}")
        partition = whole("partition", partition, 32)
        timestamp = whole("timestamp", timestamp, 64)
        if partition < -1:
            raise KafkaException(
                KafkaError(
                    KafkaError._UNKNOWN_PARTITION,
                    f"no partition is {partition}; -1 has one chosen",
                )
            )
        pairs = _headers_in(headers)
        raw_key, raw_value = _as_bytes("key", key), _as_bytes("value", value)
        largest = self._settings.largest
        if largest is not None and len(raw_key or b"") + len(raw_value or b"") > largest:
            raise KafkaException(
                KafkaError(
                    KafkaError.MSG_SIZE_TOO_LARGE,
                    f"key and value are larger than message.max.bytes={largest}",
                )
            )
        if len(self) >= self._settings.most:
            raise BufferError(
                f"queue.buffering.max.messages={self._settings.most} are on their way, or have "
                "ended and wait for a poll"
            )
        on_delivery = on_delivery or callback or self._settings.on_delivery
        sent = Sent(self._ended, self._now, raw_key, raw_value, on_delivery)
        parcel = Parcel(
            topic,
            raw_value,
            raw_key,
            pairs,
            partition,
            timestamp,
            sent,
            self._now(),
            copy_context(),
        )
        self._waiting.add(sent)
        try:
            # A commit covers what was sent: nothing of a transaction is parked.
            if self._settings.is_transactional or not self._parked.park(
                parcel, self._send_parked
            ):
                self._raise_refusal(sent, self._send(parcel))
        except OurException as error:
            self._waiting.discard(sent)
            raise exception_of(error) from error
        except BaseException:
            self._waiting.discard(sent)
            raise

    def _raise_refusal(self, sent: Sent, refusal: OurException | None) -> None:
        """Raise the reason why a message was refused; its callback is not called then.

        Raises:
            BufferError: As `produce`.
            KafkaException: As `produce`.
        """
        if refusal is None:
            return
        sent.callback = None
        raise (
            BufferError(str(refusal)) if sent.ended is None else exception_of(refusal)
        ) from refusal

    def _send_parked(self, parcel: Parcel) -> OurException | None:
        """Send a message that was parked; what `produce` would raise its callback is told.

        Returns:
            The reason why there is no room for it; None where it is sent or has failed.
        """
        try:
            refusal = parcel.context.run(self._send, parcel)
        except KafkaException as error:
            failure = error.args[0]
        except OurException as error:
            failure = error_of(error, delivery=True)
        except Exception as error:  # noqa: BLE001 - a user's partitioner has raised it
            failure = KafkaError(KafkaError._FAIL, f"{type(error).__name__}: {error}")
        else:
            return refusal if isinstance(refusal, BufferExhaustedException) else None
        parcel.sent.end(parcel.place, failure)
        return None

    def _send(self, parcel: Parcel) -> OurException | None:
        """Send a message of a topic that is known.

        Returns:
            The reason why it was refused: there is no room, or it is too large. Of the latter
            the message has ended.

        Raises:
            KafkaException: `_UNKNOWN_PARTITION`.
        """
        topic, partition, sent = parcel.topic, parcel.partition, parcel.sent
        # In a transaction the client below has to know of what fails: it is not committed then.
        is_free = not self._settings.is_transactional
        if (
            is_free
            and partition >= self._counts.get(topic, 0)
            and self._lacks(sent, topic, partition)
        ):
            return None
        delivery = self._producer.send(
            topic,
            parcel.value,
            parcel.key,
            parcel.headers,
            None if partition < 0 else partition,
            parcel.timestamp or None,
            sent,
        )
        if sent.refused is not None:
            refusal, sent.refused = sent.refused, None
            return refusal
        if sent.ended is not None and sent.ended[0] == KafkaError.MSG_SIZE_TOO_LARGE:
            failure = delivery.exception(0)
            if isinstance(failure, RecordTooLargeException):
                return failure
        return None

    def _lacks(self, sent: Sent, topic: str, partition: int) -> bool:
        """Return True if a topic lacks a partition, after its error was reported or raised.

        Raises:
            KafkaException: `_UNKNOWN_PARTITION`.
        """
        is_known = topic in self._counts
        where = RecordMetadata(topic, partition, -1, -1)
        try:
            count = self._counts[topic] = len(self._producer.partitions_for(topic))
        except TimeoutException as late:
            sent(where, late)
            return True
        if partition < count:
            return False
        error = KafkaError(
            KafkaError._UNKNOWN_PARTITION, f"{topic} has no partition {partition}"
        )
        if is_known:
            raise KafkaException(error)
        sent.end(where, error)
        return True

    def produce_batch(
        self,
        topic: str,
        messages: Any,
        partition: int = -1,
        on_delivery: OnDelivery | None = None,
        *,
        callback: OnDelivery | None = None,
    ) -> int:
        """Send messages, each of them a dict with the arguments of `produce` by their names.

        Args:
            topic: The topic.
            messages: One that is refused is given its error as `_error`.
            partition: Where those go that name no partition; −1 to have one chosen.
            on_delivery: Called for those that have no `callback`.
            callback: The same as `on_delivery`.

        Returns:
            How many are in batches.

        Raises:
            TypeError: The messages are no list of dicts.
        """
        if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            raise TypeError("messages are a list of dicts")
        sent = 0
        for each in messages:
            try:
                self.produce(
                    topic,
                    each.get("value"),
                    each.get("key"),
                    each.get("partition", partition),
                    each.get("callback") or on_delivery or callback,
                    each.get("timestamp", 0),
                )
            except BufferError as error:
                each["_error"] = KafkaError(KafkaError._QUEUE_FULL, str(error))
            except KafkaException as error:
                each["_error"] = error.args[0]
            else:
                sent += 1
        return sent

    def poll(self, timeout: float | None = None) -> int:
        """Call the callbacks of messages that have ended; wait for the first.

        Args:
            timeout: Seconds.

        Returns:
            How many messages have ended.
        """
        self._require_open()
        wait = seconds(timeout, self._settings.wait)
        if self._statistics.are_due:
            self._statistics.tell(self._producer.metrics())
        if self._outages.are_heard:
            self._outages.look(self._producer.health())
        deadline = Deadline.after(self._now(), wait)
        self._parked.advance(self._send_parked, 0)
        while not (served := self._serve()) and self._parked and wait > 0:
            self._parked.advance(self._send_parked, min(wait, LOOK))
            wait = deadline.remaining(self._now())
        return served or self._serve(wait)

    def flush(self, timeout: float | None = None) -> int:
        """Wait until all messages have ended, and call their callbacks.

        Args:
            timeout: Seconds.

        Returns:
            How many are left.
        """
        self._require_open()
        deadline = Deadline.after(self._now(), seconds(timeout, self._settings.wait + _LAST))
        while True:
            self._send_all_parked(deadline)
            try:
                self._producer.flush(deadline.remaining(self._now()))
            except TimeoutException:
                self._serve()
                return len(self)
            except OurException as error:
                raise exception_of(error) from error
            served = self._serve()
            # A callback may have sent or parked more.
            has_more = served or self._parked
            if not (self._waiting and has_more) or deadline.expired(self._now()):
                return len(self)

    def purge(
        self,
        in_queue: bool = True,
        in_flight: bool = True,
        blocking: bool = True,
    ) -> None:
        """Fail all messages that are not on the wire; those that are go on.

        Args:
            in_queue: Nothing happens without it.
            in_flight: What is on the wire is never given up: it may be written.
            blocking: It is done when this returns.
        """
        del in_flight, blocking
        if in_queue:
            self._parked.fail(KafkaError(KafkaError._PURGE_QUEUE, "purge() gave it up"))
            try:
                self._producer.purge()
            except OurException as error:
                raise exception_of(error) from error

    def list_topics(
        self, topic: str | None = None, timeout: float | None = None
    ) -> ClusterMetadata:
        """All topics, or one, and the brokers that they are on.

        They are asked for by a consumer, on connections of its own.

        Raises:
            KafkaException: They cannot be looked up.
        """
        self._require_open()
        wait = seconds(timeout, self._settings.wait)
        try:
            config = connections_of(ProducerConfig, self._settings.rest)
            with KafkaConsumer(config) as consumer:
                if topic is None:
                    return ClusterMetadata(consumer.list_topics(wait))
                return ClusterMetadata({topic: consumer.partitions_for(topic, wait)})
        except OurException as error:
            raise exception_of(error) from error

    def close(self, timeout: float | None = None) -> bool:
        """Flush, call all callbacks, and close.

        Args:
            timeout: Seconds.

        Raises:
            KafkaException: Another process has built it.
        """
        deadline = Deadline.after(self._now(), seconds(timeout, self._settings.wait))
        self._send_all_parked(deadline)
        had_parked = bool(self._parked)
        self._parked.fail(KafkaError(KafkaError._PURGE_QUEUE, "the producer was closed first"))
        self._closed = True
        try:
            given_up = self._producer.close(deadline.remaining(self._now()))
        except OurException as error:
            raise exception_of(error) from error
        self._parked.join(_LAST)
        self._serve()
        return given_up == 0 and not had_parked

    def _send_all_parked(self, deadline: Deadline) -> None:
        """Wait until no message is parked any more, or the time is over."""
        while self._parked and not deadline.expired(self._now()):
            self._parked.advance(self._send_parked, deadline.remaining(self._now()))

    def _require_open(self) -> None:
        """Refuse a call of a closed producer.

        Raises:
            RuntimeError: As confluent-kafka has it.
        """
        if self._closed:
            raise RuntimeError("Producer has been closed")

    def __len__(self) -> int:
        return len(self._waiting)

    def __bool__(self) -> bool:
        return True

    def __del__(self) -> None:
        # Those of confluent-kafka are flushed and left; what is on its way keeps this one.
        producer = getattr(self, "_producer", None)
        if producer is not None:
            with suppress(OurException):  # In a copy of the process nothing is ours.
                producer.close(0)

    def __repr__(self) -> str:
        return f"Producer({self.__dict__.get('_producer')!r})"

    def _serve(self, wait: float = 0.0) -> int:
        """Call the callbacks of messages that have ended.

        Args:
            wait: Seconds for the first of them.

        Returns:
            How many have ended.
        """
        served = 0
        sent: Sent | None = None
        if self._is_torn:
            self._mend()
        try:
            while True:
                sent = None
                sent = self._ended.get(timeout=wait) if wait > 0 else self._ended.get_nowait()
                wait = 0.0
                self._tell(sent)
                served += 1
        except Empty:
            return served
        except BaseException:
            # An interrupt, or a callback that has raised: the latter takes nothing along.
            self._is_torn = sent is None or sent in self._waiting
            raise

    def _mend(self) -> None:
        """Queue again what an interrupt took out of the queue before it was told."""
        for sent in tuple(self._waiting):
            if sent.is_told:
                self._waiting.discard(sent)
            elif sent.ended is not None:
                self._ended.put(sent)
        self._is_torn = False

    def _tell(self, sent: Sent) -> None:
        if sent.is_told:
            return  # It was in the queue twice, after an interrupt.
        # No interrupt comes between this and the callback's first line.
        sent.is_told = True
        callback, ended = sent.callback, sent.ended
        has_failed = ended is not None and ended[0] is not None
        try:
            if (
                callback is not None
                and ended
                and (has_failed or not self._settings.only_errors)
            ):
                callback(*ended)
        finally:
            self._waiting.discard(sent)


def _as_bytes(name: str, given: Any) -> Any:
    if given is None or isinstance(given, _BYTES):
        return given
    if isinstance(given, str):
        return given.encode()
    raise TypeError(f"a {name} is bytes, text or None, not {type(given).__name__}: encode it")


def _headers_in(given: Any) -> Headers | None:
    """A message's headers as ours.

    Raises:
        TypeError: They are neither a dict nor a list of pairs, or a value is of a wrong type.
    """
    if given is None:
        return None
    if not isinstance(given, dict | list):
        raise TypeError(f"headers are a dict or a list of (name, value) tuples, not {given!r}")
    pairs = given.items() if isinstance(given, dict) else given
    found: Headers = []
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"a header is a tuple of a name and a value, not {pair!r}")
        name, value = pair
        if value is not None and not isinstance(value, str | bytes):
            raise TypeError(
                f"the value of header {name!r} is bytes, text or None, not "
                f"{type(value).__name__}: encode it"
            )
        # librdkafka's Python writes what is no name as its text, None as "None".
        found.append((str(name), value.encode() if isinstance(value, str) else value))
    return found
