"""The public producer: records in, deliveries out, each call within its time.

Thread: the application's; many threads may use one producer. Work on the network is the
network thread's, which also runs delivery callbacks.
"""

import os
import threading
import warnings
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakSet

from prokurist.application import at_exit
from prokurist.application.caller_counters import CallerCounters
from prokurist.application.health import age
from prokurist.application.monkey_patches import refuse_patched
from prokurist.application.open_clients import OPEN
from prokurist.application.single_thread_guard import PROCESS
from prokurist.assembly.producer_machinery import (
    ProducerMachinery,
    system_producer_machinery,
)
from prokurist.config import ProducerConfig
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.implementation import Delivery
from prokurist.events.accumulator.record_metadata import OnDelivery
from prokurist.events.clock import (
    CallersClock,
    MonotonicClock,
    as_seconds,
    epoch_milliseconds,
)
from prokurist.events.log_events import CLIENT_STARTED
from prokurist.events.producer_log_events import ORDER_NOT_KEPT
from prokurist.producer import closing
from prokurist.producer.health import ProducerHealth
from prokurist.producer.producer_counters import CountedProducer
from prokurist.producer.sending import Sending
from prokurist.producer.serializing import Serializers
from prokurist.producer.user_code import UserCode
from prokurist.producer.waiting_calls import WaitingCalls
from prokurist.version import VERSION

if TYPE_CHECKING:
    from typing import Unpack

    from prokurist.config.typed import ProducerKeywords
    from prokurist.events.accumulator.appending import Headers

AT_EXIT: Final = 1.0
"""Seconds in which a producer that was not closed is flushed when the interpreter ends, and
for what is on the wire when a `with` block is left by an exception."""


ACCUMULATORS: Final = WeakSet[RecordAccumulator]()
"""Those of this process's producers."""


def _forked() -> None:
    """In a copy of the process nothing can be sent: the network threads stayed behind."""
    for accumulator in ACCUMULATORS:
        # Without its lock, which another thread may have held at the fork.
        accumulator.appender.refusal = accumulator.refuse


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class KafkaProducer(WaitingCalls):
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

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ProducerKeywords]",
    ) -> None:
        self._machinery: ProducerMachinery | None = None
        refuse_patched()
        settings = ProducerConfig(config, **keywords)
        clock = MonotonicClock()
        machinery = system_producer_machinery(settings, clock)
        try:
            self._wire(settings, clock, machinery)
            machinery.thread.start()
            at_exit.remember(self, KafkaProducer._close_at_exit, machinery.trace)
            self._counted.started = epoch_milliseconds()
            OPEN.add(self._counted)
            self._tell_start(settings)
        except BaseException:
            machinery.thread.abandon()
            self._machinery = None
            raise

    @classmethod
    def wired(
        cls, config: ProducerConfig, clock: CallersClock, machinery: ProducerMachinery
    ) -> Self:
        """A producer on machinery that something else runs: a simulation, in virtual time."""
        self = cls.__new__(cls)
        self._wire(config, clock, machinery)
        return self

    def _wire(
        self, config: ProducerConfig, clock: CallersClock, machinery: ProducerMachinery
    ) -> None:
        self._config = config
        self._clock = clock
        self._machinery = machinery
        self._process = PROCESS.id
        self._closed = False
        self._closing = threading.Lock()
        self._max_block = config.max_block_ms / 1000
        self._delivery_timeout = config.delivery_timeout_ms / 1000
        self._counters = CallerCounters()
        self._accumulator = machinery.accumulator
        self._accumulator.refuse = self._refuse
        self._accumulator.refuse_in_callback = self._refuse_in_callback
        self._sending = Sending(
            self._accumulator, self._runner, self._max_block, self._may_wait, machinery.trace
        )
        self._appender = machinery.accumulator.appender
        self._appender.slow = self._sending.send
        self._counted = CountedProducer(
            config, machinery, self._counters, self._sending.counters
        )
        code = UserCode(
            Serializers(config.key_serializer, config.value_serializer),
            config.partitioner_class,
            config.interceptor_classes,
            cluster=lambda: machinery.metadata.cluster,
            know=self._know_topic,
            failed=self._sending.failed,
            trace=machinery.trace,
        )
        self._user_code = code if code.is_there else None
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
            return self._appender.send(
                topic, value, key, headers, partition, timestamp, on_delivery
            )
        return self._user_code.send(
            self._appender.send, topic, value, key, headers, partition, timestamp, on_delivery
        )

    # --- the end ---------------------------------------------------------------------------

    def close(self, timeout: float | timedelta | None = None) -> int:
        """Close the producer, by its time, and never later.

        What was sent is flushed; what is left when the time is nearly over fails, and its
        handles and callbacks tell whether it may have been written all the same. Called in a
        delivery callback it waits for nothing. A second time does nothing.

        Args:
            timeout: Seconds; None for `delivery.timeout.ms`.

        Returns:
            How many records were given up; if there are any, the log has an error.
        """
        seconds = self._delivery_timeout if timeout is None else as_seconds(timeout)
        if PROCESS.id != self._process:
            self._check_usable("close")
        with self._closing:
            if self._closed:
                return 0
            self._closed = True
        try:
            return closing.close(
                self._accumulator,
                self._runner(),
                self._built().thread,
                seconds,
                may_wait=self._may_wait(),
            )
        finally:
            OPEN.remove(self._counted)
            if self._user_code is not None:
                self._user_code.close()

    def _close_at_exit(self, seconds: float, *, last_commit: bool) -> None:
        """Flush for a moment at the end of the interpreter."""
        del last_commit
        self.close(min(seconds, AT_EXIT))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close(min(AT_EXIT, self._delivery_timeout))
        except Exception as own:  # noqa: BLE001 - whatever it is, the first error goes on
            error.add_note(f"and closing the producer failed: {own}")

    def __del__(self) -> None:
        # Of a half-built producer there may be nothing; of a forked one, nothing is ours.
        machinery = getattr(self, "_machinery", None)
        if machinery is None or self._closed or os.getpid() != self._process:
            return
        unclosed = f"{self!r} was never closed: close it, or use it in a with statement"
        self._closed = True
        machinery.thread.abandon()
        warnings.warn(unclosed, ResourceWarning, source=self, stacklevel=2)

    def __repr__(self) -> str:
        machinery = self._built()
        return f"KafkaProducer({machinery.client_id}, {machinery.thread.life.value})"

    # --- what it is doing ----------------------------------------------------------------

    def health(self) -> ProducerHealth:
        """A snapshot for a liveness probe: from any thread, at once, also after `close`."""
        machinery = self._built()
        now, accumulator = self._clock.now(), machinery.accumulator
        return ProducerHealth.of(
            machinery,
            now,
            buffer_total=accumulator.memory.total,
            buffer_free=accumulator.memory.free,
            waiting_threads=accumulator.memory.waiting,
            undelivered_batches=len(accumulator.snapshot()),
            oldest_batch_age=age(accumulator.oldest, now),
        )

    def metrics(self) -> dict[str, float]:
        """What this client has counted: from any thread, at once, also after `close`.

        The keys are those of the exposition that Prometheus scrapes, without `client_id`:
        `prokurist_producer_records_sent_total{topic="orders"}`. Histograms have their
        `_bucket`, `_sum` and `_count`. See docs/metrics.md for what there is.
        """
        # Imported here, so that only this call loads the catalogue: the core only counts.
        from prokurist.metrics.mapping import as_mapping  # noqa: PLC0415

        return as_mapping(self._counted)
