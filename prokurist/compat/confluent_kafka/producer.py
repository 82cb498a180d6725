"""confluent-kafka's producer over ours.

Thread: any thread sends; delivery callbacks run on the one that calls `poll` or `flush`.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import Any, ClassVar, Final

from prokurist.compat.confluent_kafka.client import ConfluentClient
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

_RAISED: Final = (KafkaError._QUEUE_FULL, KafkaError.MSG_SIZE_TOO_LARGE)
"""Error codes that `produce` itself raises, without any callback."""
_LAST: Final = 1.0
"""Seconds for `flush` after the last message's time is over, so that it is told."""
_BYTES: Final = (bytes, bytearray, memoryview)
_TRANSACTIONS: Final = "transactions are calls of prokurist.KafkaProducer"


class Producer(ConfluentClient):
    """A producer with the calls of confluent-kafka's.

    A call without a timeout, or with −1, ends by `delivery.timeout.ms`. `produce` waits for
    room by `max.block.ms`, and a moment for a topic that it meets for the first time.

    Args:
        config: Keys of librdkafka, or ours.
        logger: Accepted without effect.
        keywords: More keys.

    Raises:
        KafkaException: The configuration cannot be used.
    """

    _left_out: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "abort_transaction": _TRANSACTIONS,
            "begin_transaction": _TRANSACTIONS,
            "cluster_id": "`prokurist brokers` tells it",
            "commit_transaction": _TRANSACTIONS,
            "init_transactions": _TRANSACTIONS,
            "send_offsets_to_transaction": _TRANSACTIONS,
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
            topic, raw_value, raw_key, pairs, partition, timestamp, sent, self._now()
        )
        self._waiting.add(sent)
        try:
            if not self._parked.park(parcel, self._send_parked):
                self._send(parcel)
        except OurException as error:
            self._waiting.discard(sent)
            raise exception_of(error) from error
        except BaseException:
            self._waiting.discard(sent)
            raise

    def _send_parked(self, parcel: Parcel) -> None:
        """Send a message that was parked; what `produce` would raise its callback is told."""
        try:
            self._send(parcel)
        except BufferError as error:
            failure = KafkaError(KafkaError._QUEUE_FULL, str(error))
        except KafkaException as error:
            failure = error.args[0]
        except OurException as error:
            failure = error_of(error, delivery=True)
        else:
            return
        parcel.sent.end(parcel.place, failure)

    def _send(self, parcel: Parcel) -> None:
        """Send a message of a topic that is known.

        Raises:
            BufferError: As `produce`.
            KafkaException: As `produce`.
        """
        topic, partition, sent = parcel.topic, parcel.partition, parcel.sent
        if partition >= self._counts.get(topic, 0) and self._lacks(sent, topic, partition):
            return
        delivery = self._producer.send(
            topic,
            parcel.value,
            parcel.key,
            parcel.headers,
            None if partition < 0 else partition,
            parcel.timestamp or None,
            sent,
        )
        if sent.ended is not None and sent.ended[0] in _RAISED:
            failure = delivery.exception(0)
            if isinstance(failure, BufferExhaustedException):
                sent.callback = None
                raise BufferError(str(failure)) from failure
            if isinstance(failure, RecordTooLargeException):
                sent.callback = None
                raise exception_of(failure) from failure

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
        if served or wait <= 0:
            return served
        try:
            first = self._ended.get(timeout=wait)
        except Empty:
            return 0
        self._tell(first)
        return 1 + self._serve()

    def flush(self, timeout: float | None = None) -> int:
        """Wait until all messages have ended, and call their callbacks.

        Args:
            timeout: Seconds.

        Returns:
            How many are left.
        """
        self._require_open()
        deadline = Deadline.after(self._now(), seconds(timeout, self._settings.wait + _LAST))
        self._send_all_parked(deadline)
        while True:
            try:
                self._producer.flush(deadline.remaining(self._now()))
            except TimeoutException:
                self._serve()
                return len(self)
            except OurException as error:
                raise exception_of(error) from error
            # A callback may have sent more.
            if not self._serve() or not self._waiting:
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
            self._producer.purge()

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
        """
        deadline = Deadline.after(self._now(), seconds(timeout, self._settings.wait))
        self._send_all_parked(deadline)
        had_parked = bool(self._parked)
        self._parked.fail(KafkaError(KafkaError._PURGE_QUEUE, "the producer was closed first"))
        self._closed = True
        given_up = self._producer.close(deadline.remaining(self._now()))
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

    def _serve(self) -> int:
        served = 0
        while True:
            try:
                sent = self._ended.get_nowait()
            except Empty:
                return served
            self._tell(sent)
            served += 1

    def _tell(self, sent: Sent) -> None:
        self._waiting.discard(sent)
        if sent.callback is None or sent.ended is None:
            return
        failure, message = sent.ended
        if failure is not None or not self._settings.only_errors:
            sent.callback(failure, message)


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
