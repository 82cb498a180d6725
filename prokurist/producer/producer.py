"""The public producer: records in, deliveries out, each call within its time.

Thread: the application's; many threads may use one producer. Work on the network is the
network thread's, which also runs delivery callbacks.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self
from weakref import WeakSet

from prokurist.application import at_exit
from prokurist.application.caller_counters import CallerCounters
from prokurist.application.driving import Steps
from prokurist.application.health import age
from prokurist.application.instruments import (
    WatchedClient,
    all_taken,
    instrument_of_producer,
    watched,
)
from prokurist.application.monkey_patches import refuse_patched
from prokurist.application.open_clients import OPEN
from prokurist.application.peers_words import PRODUCER_WORDS, no_attribute
from prokurist.application.single_thread_guard import PROCESS
from prokurist.application.weak_call import WeakCall
from prokurist.assembly.producer import (
    ProducerSide,
    open_producer_side,
)
from prokurist.config import ProducerConfig
from prokurist.errors import IllegalStateException
from prokurist.errors.local_variables import without_locals
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.appending import as_headers
from prokurist.events.accumulator.deliveries import Deliveries
from prokurist.events.accumulator.implementation import Delivery, Sender
from prokurist.events.accumulator.record_metadata import OnDelivery, require_callback
from prokurist.events.clock import (
    CallersClock,
    MonotonicClock,
    epoch_milliseconds,
)
from prokurist.events.log_events import CLIENT_STARTED
from prokurist.events.producer_log_events import ORDER_NOT_KEPT
from prokurist.producer.columns import Columns
from prokurist.producer.ending_calls import EndingCalls
from prokurist.producer.flushing import undelivered
from prokurist.producer.health import ProducerHealth
from prokurist.producer.producer_counters import CountedProducer
from prokurist.producer.read_process_write import Reader, ReadProcessWrite
from prokurist.producer.sending import Sending
from prokurist.producer.sending_many import SendingMany, listed_of, rows_of
from prokurist.producer.serializing import Serializers
from prokurist.producer.transacting import TransactionBlock, Transactions
from prokurist.producer.user_code import ProducerRecord, UserCode
from prokurist.types import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from prokurist.version import VERSION

if TYPE_CHECKING:
    from typing import Unpack

    from prokurist.config.typed import ProducerKeywords
    from prokurist.events.accumulator.appending import Headers

ACCUMULATORS: Final = WeakSet[RecordAccumulator]()
"""Those of this process's producers."""


def _forked() -> None:
    """In a copy of the process nothing can be sent: the network threads stayed behind."""
    for accumulator in ACCUMULATORS:
        # Without its lock, which another thread may have held at the fork.
        accumulator.appender.refusal = accumulator.refuse


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class KafkaProducer(EndingCalls):
    """A producer in which every call answers by its deadline.

    Many threads may use one. A record is in a batch when `send` returns; its `Delivery` tells
    what becomes of it, by `delivery.timeout.ms` at the latest. Keys and values are bytes, or
    what `key_serializer` and `value_serializer` make bytes of: callables of the object, of the
    topic and the object, or of the topic, the headers and the object; or objects with
    `serialize(topic, data)` or `serialize(topic, headers, data)`. The headers are a list of
    pairs, which they may add to.

    Args:
        config: Configuration keys and their values; see docs/config.md.
        keywords: More keys, with underscores.

    Raises:
        ConfigException: A key is unknown, a value breaks its rule, or two contradict each
            other.
        IllegalStateException: gevent or eventlet has patched threads, sockets or `select`.
    """

    @without_locals
    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ProducerKeywords]",
    ) -> None:
        self._side: ProducerSide | None = None
        refuse_patched()
        settings = ProducerConfig(config, **keywords)
        clock = MonotonicClock()
        side = open_producer_side(settings, clock)
        try:
            self._wire(settings, clock, side)
            side.thread.start()
            at_exit.remember(self, KafkaProducer._close_at_exit, side.trace)
            self._counted.started = epoch_milliseconds()
            OPEN.add(self._counted)
            self._tell_start(settings)
        except BaseException:
            side.thread.abandon()
            self._side = None
            raise

    @classmethod
    def wired(cls, config: ProducerConfig, clock: CallersClock, side: ProducerSide) -> Self:
        """A producer on side that something else runs: a simulation, in virtual time."""
        self = cls.__new__(cls)
        self._wire(config, clock, side)
        return self

    def _wire(self, config: ProducerConfig, clock: CallersClock, side: ProducerSide) -> None:
        self._config = config
        self._clock = clock
        self._side = side
        self._process = PROCESS.id
        self._closed = self._is_closing = self._ended = False
        self._closing = threading.RLock()
        self._max_block = config.max_block_ms / 1000
        self._delivery_timeout = config.delivery_timeout_ms / 1000
        self._counters = CallerCounters()
        self._accumulator = side.accumulator
        self._accumulator.refuse = WeakCall(self._refuse)
        self._accumulator.refuse_in_callback = WeakCall(self._refuse_in_callback)
        self._sending = Sending(
            self._accumulator,
            WeakCall(self._runner),
            self._max_block,
            WeakCall(self._may_wait),
            side.trace,
        )
        self._appender = side.accumulator.appender
        self._appender.slow = self._sending.send
        client = WatchedClient(config, side.client_id, lambda: side.metadata.cluster, clock.now)
        self._instrument = instrument_of_producer(client)
        self._append = watched(self._appender.send, self._instrument)
        self._many = SendingMany(self._accumulator, self._sending)
        self._transactions = None
        if self._accumulator.transaction is not None:
            self._transactions = Transactions(
                self._accumulator.transaction,
                WeakCall(self._runner),
                clock,
                self._max_block,
                WeakCall(self._note_callback),
                partial(undelivered, self._accumulator),
            )
        self._counted = CountedProducer(config, side, self._counters, self._sending.counters)
        if side.telemetry is not None:
            # Imported here, as for `metrics`: the network thread imports nothing later.
            from prokurist.metrics.telemetry import TelemetrySource  # noqa: PLC0415

            side.telemetry.source = TelemetrySource(self._counted, side.time_of_day)
        code = UserCode(
            Serializers(config.key_serializer, config.value_serializer),
            config.partitioner_class,
            config.interceptor_classes,
            cluster=lambda: side.metadata.cluster,
            know=self._sending.know,
            failed=self._sending.failed,
            trace=side.trace,
        )
        self._user_code = code if code.is_there else None
        is_plain = self._user_code is None and self._instrument is None
        if is_plain and type(self).send is SEND:
            # The way of each record is then without this class; neither a subclass nor what
            # instruments `send` is passed by.
            vars(self)["send"] = Sender(self._appender, self).send
        ACCUMULATORS.add(self._accumulator)

    def _tell_start(self, config: ProducerConfig) -> None:
        trace = self._built().trace
        servers = ",".join(f"{each.host}:{each.port}" for each in config.bootstrap_servers)
        trace.emit(CLIENT_STARTED, version=VERSION, bootstrap=servers)
        in_flight = config.max_in_flight_requests_per_connection
        if not config.enable_idempotence and in_flight > 1 and config.retries:
            trace.emit(ORDER_NOT_KEPT, in_flight=in_flight)

    # --- sending ---------------------------------------------------------------------------

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: "Headers" = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """Send a record: it is in a batch when this returns.

        It waits for the topic's metadata, and for room in `buffer.memory`, for `max.block.ms`
        together, and for nothing else. Inside a delivery callback it does not wait.

        Args:
            topic: The topic.
            value: Bytes, or what `value_serializer` takes; None for a tombstone.
            key: Bytes, or what `key_serializer` takes; records with equal keys go to one
                partition.
            headers: Pairs of a name and bytes, or a mapping.
            partition: The partition; None to have one chosen.
            timestamp: Epoch milliseconds; None for now.
            on_delivery: Called with a RecordMetadata and None, or the error that the record
                has failed with, on the network thread.

        Returns:
            What becomes of it. Where the wait was too long, or the cluster refuses the record,
            it has failed already: with a TimeoutException, a BufferExhaustedException, or what
            the cluster says. Nothing was sent then.

        Raises:
            IllegalStateException: The producer is closed.
            SerializationException: A serializer has raised.
            TypeError: An argument is of a wrong type.
            ValueError: A partition or timestamp is negative, or there are too many headers.
        """
        if self._user_code is None:
            return self._append(topic, value, key, headers, partition, timestamp, on_delivery)
        # Before code of the user's, and a wait for a network thread that may not be there.
        if self._appender.refusal is not None:
            self._appender.refusal()
        require_callback(on_delivery)
        record = topic, value, key, headers, partition, timestamp, on_delivery
        return self._drive(self._user_code.send(self._append, *record))

    def send_many(
        self,
        topic: str,
        values: Iterable[Any],
        *,
        keys: Iterable[Any] | None = None,
        headers: "Headers" = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Deliveries:
        """Send many records for one topic, for about half of what a `send` of each costs.

        They go where a `send` of each would have them go, in their order. All waits share one
        `max.block.ms`; where that is over, `Deliveries.count` says how many were taken, and
        none behind them is sent.

        Args:
            topic: The topic.
            values: What `send` takes as a value, for each record.
            keys: As many keys; None where no record has one.
            headers: The headers of each record, the same for all.
            partition: The partition of all; None to have them chosen.
            timestamp: Epoch milliseconds, for all; None for now.
            on_delivery: Called for each record that was taken, as by `send`.

        Returns:
            What becomes of them.

        Raises:
            IllegalStateException: The producer is closed.
            SerializationException: A serializer has raised; none was sent.
            TypeError: An argument, or one value, is of a wrong type; none was sent.
            ValueError: There are not as many keys as values; none was sent.
        """
        return self._drive(
            self._send_many(topic, values, keys, headers, partition, timestamp, on_delivery)
        )

    def _send_many(
        self,
        topic: str,
        values: Iterable[Any],
        keys: Iterable[Any] | None,
        headers: "Headers",
        partition: int | None,
        timestamp: int | None,
        on_delivery: OnDelivery | None,
    ) -> Steps[Deliveries]:
        require_callback(on_delivery)
        record = headers, partition, timestamp, on_delivery
        if self._instrument is None:
            return (yield from self._send_listed(topic, values, keys, *record))
        sent = self._instrument.begin_many(topic, headers, partition)
        record = sent.headers, partition, timestamp, sent.heard(on_delivery)
        return (yield from all_taken(sent, self._send_listed(topic, values, keys, *record)))

    def _send_listed(
        self,
        topic: str,
        values: Iterable[Any],
        keys: Iterable[Any] | None,
        headers: "Headers",
        partition: int | None,
        timestamp: int | None,
        on_delivery: OnDelivery | None,
    ) -> Steps[Deliveries]:
        if self._user_code is None:
            rows = rows_of(values, keys, headers, timestamp)
            return (yield from self._many.send(topic, [rows], partition, on_delivery))
        listed, key_list = listed_of(values, keys)
        if headers is not None and not isinstance(headers, Mapping):
            headers = list(headers)
        records = (
            ProducerRecord(topic, value, key, headers, partition, timestamp)
            for value, key in zip(listed, key_list or repeat(None, len(listed)), strict=True)
        )
        return (yield from self._many.send_by(self._user_code, records, on_delivery))

    def send_batch(
        self,
        topic: str,
        data: Any,
        *,
        value: str = "value",
        key: str = "key",
        headers: str | None = None,
        partition: int | None = None,
        timestamp: str | int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Deliveries:
        """Send columns of byte strings: no object is made for a record.

        The rest is as in `send_many`.

        Args:
            topic: The topic.
            data: What speaks Arrow's C interface, such as a table of pyarrow or a frame of
                polars, or the RecordColumns of a consumer.
            value: Which column has the values, of binary or text.
            key: Which has the keys; there need be none.
            headers: Which has the headers: lists of key and value, or maps.
            partition: The partition of all; None to have them chosen.
            timestamp: Which column has the timestamps, or one for all; None for now.
            on_delivery: Called for each record that was taken, as by `send`.

        Returns:
            What becomes of them.

        Raises:
            IllegalStateException: The producer is closed, or has serializers, interceptors or
                a partitioner, which see objects: use `send_many`.
            TypeError: The data has no such interface, or a column is of another type.
            ValueError: There is no such column, or there are several of that name.
        """
        columns = Columns(value, key, headers, timestamp)
        return self._drive(self._send_batch(topic, data, columns, partition, on_delivery))

    def _send_batch(
        self,
        topic: str,
        data: Any,
        columns: Columns,
        partition: int | None,
        on_delivery: OnDelivery | None,
    ) -> Steps[Deliveries]:
        require_callback(on_delivery)
        if self._user_code is not None:
            raise IllegalStateException(
                "send_batch sends bytes as they lie, past serializers, interceptors and "
                "partitioner.class, which this producer has: use send_many"
            )
        record = topic, data, columns, partition, on_delivery
        if self._instrument is None:
            return (yield from self._many.send_columns(*record))
        sent = self._instrument.begin_many(topic, None, partition)
        columns = replace(columns, own_headers=as_headers(sent.headers))
        record = topic, data, columns, partition, sent.heard(on_delivery)
        return (yield from all_taken(sent, self._many.send_columns(*record)))

    # --- transactions ------------------------------------------------------------------------

    def init_transactions(self, timeout: float | timedelta | None = None) -> None:
        """Get ready for transactions, once, before the first.

        A transaction that an earlier producer with this `transactional.id` has left open is
        completed, and that producer is fenced.

        Args:
            timeout: Seconds; None for `max.block.ms`.

        Raises:
            IllegalStateException: There is no `transactional.id`, it was called before, the
                producer is closed, or this is a delivery callback.
            InvalidTxnTimeoutException: The brokers allow no such `transaction.timeout.ms`.
            TimeoutException: The time is over; call it again.
            TransactionalIdAuthorizationException: Not allowed to use the `transactional.id`.
        """
        self._transacting("init_transactions").init(timeout)

    def begin_transaction(self) -> None:
        """Begin a transaction, without waiting; records sent from now on belong to it.

        Raises:
            IllegalStateException: `init_transactions` has not succeeded, a transaction is open,
                or the producer is closed.
            KafkaException: The producer is over, by a fatal error.
            ProducerInDoubtException: The last commit has no known outcome.
        """
        self._transacting("begin_transaction").begin()

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_metadata: ConsumerGroupMetadata,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Add offsets of a consumer group, to be committed with the transaction or never.

        Args:
            offsets: The next offset to read, for each partition.
            group_metadata: The result of the consumer's `group_metadata()`.
            timeout: Seconds; None for `max.block.ms`.

        Raises:
            CommitFailedException: The member has lost its partitions; abortable.
            IllegalStateException: No transaction is open, the producer is closed, or this is a
                delivery callback.
            KafkaException: The transaction has failed, or the producer.
            TimeoutException: The time is over. Where `may_have_happened` is true, only the same
                call again is left, or `abort_transaction`; else it is as if never called.
            TypeError: An argument is of a wrong type.
        """
        transactions = self._transacting("send_offsets_to_transaction")
        transactions.send_offsets(offsets, group_metadata, timeout)

    def commit_transaction(self, timeout: float | timedelta | None = None) -> None:
        """Have all records delivered, and commit them, and offsets, together.

        Args:
            timeout: Seconds; None for `max.block.ms`.

        Raises:
            IllegalStateException: No transaction is open, the producer is closed, or this is a
                delivery callback.
            KafkaException: The transaction has failed, with `abortable`, or the producer, with
                `fatal`. Nothing of the transaction is visible.
            TimeoutException: The time is over. Where `may_have_happened` is false, the
                transaction is open as before; else only another commit is left, or `close`.
        """
        self._transacting("commit_transaction").commit(timeout)

    def abort_transaction(self, timeout: float | timedelta | None = None) -> None:
        """Abort the transaction: records not on the wire fail, and none is visible.

        Args:
            timeout: Seconds; None for `max.block.ms`.

        Raises:
            IllegalStateException: No transaction is open, the producer is closed, or this is a
                delivery callback.
            KafkaException: The producer is over, by a fatal error.
            ProducerInDoubtException: A commit has no known outcome.
            TimeoutException: The time is over; call it again.
        """
        self._transacting("abort_transaction").abort(timeout)

    def transaction(self, timeout: float | timedelta | None = None) -> TransactionBlock:
        """Return a context manager of one transaction.

        It begins the transaction, commits it at the end of the block, and aborts it after an
        exception, also where the commit has failed. A commit in doubt is left as it is.

        Args:
            timeout: Seconds for each call at the end; None for `max.block.ms`.

        Raises:
            IllegalStateException: There is no `transactional.id`, or the producer is closed.
        """
        return TransactionBlock(self._transacting("transaction"), timeout)

    def read_process_write(
        self, consumer: Reader, timeout: float | timedelta | None = None
    ) -> ReadProcessWrite:
        """Return a loop's way to read with a consumer, and to commit that with what it writes.

        Each `poll` of it is a context manager of one transaction; `init_transactions` comes
        first.

        Args:
            consumer: A `KafkaConsumer` with a group, and without automatic commits.
            timeout: Seconds for each call at the end; None for `max.block.ms`.

        Raises:
            ConfigException: The consumer has no `group.id`, or `enable.auto.commit` is on.
            IllegalStateException: There is no `transactional.id`, or the producer is closed.
        """
        return ReadProcessWrite(self._transacting("read_process_write"), consumer, timeout)

    def _transacting(self, operation: str) -> Transactions:
        """The calls of transactions, where they are possible."""
        self._check_usable(operation)
        self._refuse_in_callback(operation)
        if self._transactions is None:
            raise IllegalStateException(
                f"{operation} needs a producer with a transactional.id: set one in its "
                f"configuration"
            )
        return self._transactions

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied; its thread and connections are of this process.

        Raises:
            TypeError: In any case.
        """
        raise TypeError(
            "a KafkaProducer cannot be pickled or copied, since its thread and connections "
            "stay where it was built: build one in the process that uses it"
        )

    def __repr__(self) -> str:
        # Printed with a traceback's locals, it may be one whose constructor has raised.
        side: ProducerSide | None = self.__dict__.get("_side")
        if side is None:
            return "KafkaProducer(not built)"
        return f"KafkaProducer({side.client_id}, {side.thread.life.value})"

    if not TYPE_CHECKING:  # To a type checker it would have every attribute.

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name, PRODUCER_WORDS)

    # --- what it is doing ----------------------------------------------------------------

    def health(self) -> ProducerHealth:
        """A snapshot for a liveness probe: from any thread, at once, also after `close`."""
        side = self._built()
        now, accumulator = self._clock.now(), side.accumulator
        batches = accumulator.snapshot(alone=PROCESS.id != self._process)
        return side.health(
            ProducerHealth,
            now,
            buffer_total=accumulator.memory.total,
            buffer_free=accumulator.memory.free,
            waiting_threads=accumulator.memory.waiting,
            undelivered_batches=len(batches),
            oldest_batch_age=age(min((each.created for each in batches), default=None), now),
            transaction_age=age(side.transaction_since, now),
            transaction_timeout=self._config.transaction_timeout_ms / 1000,
        )

    def metrics(self) -> dict[str, float]:
        """Return the counters of this client: from any thread, at once, also after `close`.

        The keys are those of the exposition that Prometheus scrapes, without `client_id`:
        `prokurist_producer_records_sent_total{topic="orders"}`. Histograms have their
        `_bucket`, `_sum` and `_count`. See docs/metrics.md for what there is.

        Raises:
            ForkedClientError: It was built before a fork.
        """
        if PROCESS.id != self._process:
            # The locks that are read under may be held for good.
            self._check_usable("metrics")
        # Imported here, so that only this call loads the catalogue: the core only counts.
        from prokurist.metrics.mapping import as_mapping  # noqa: PLC0415

        return as_mapping(self._counted)


SEND: Final[Callable[..., Delivery]] = KafkaProducer.send
"""The method as it is defined here."""
