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
from prokurist.application.call_runner import TURN, CallRunner
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
from prokurist.errors import (
    ForkedClientError,
    IllegalStateException,
    KafkaException,
    NetworkThreadDiedException,
)
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.implementation import Delivery
from prokurist.events.accumulator.record_metadata import OnDelivery
from prokurist.events.application_events import AwaitTopic, Purge
from prokurist.events.call import Call
from prokurist.events.clock import (
    CallersClock,
    Deadline,
    MonotonicClock,
    as_seconds,
    epoch_milliseconds,
)
from prokurist.events.log_events import CLIENT_STARTED
from prokurist.events.producer_log_events import ORDER_NOT_KEPT
from prokurist.producer import closing
from prokurist.producer.flushing import flush, out_of_time
from prokurist.producer.health import ProducerHealth
from prokurist.producer.producer_counters import CountedProducer
from prokurist.producer.sending import Sending
from prokurist.producer.serializing import Serializers
from prokurist.producer.user_code import UserCode
from prokurist.types import PartitionInfo
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


class KafkaProducer:
    """A producer in which every call answers by its deadline.

    Many threads may use one. A record is in a batch when `send` returns; its `Delivery` tells
    what becomes of it, by `delivery.timeout.ms` at the latest. Keys and values are bytes, or
    what `key_serializer` and `value_serializer` make bytes of.

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

    def _know_topic(self, topic: str) -> KafkaException | None:
        """Wait until a topic is known, for a partitioner; why it is not."""
        if topic in self._appender.topics:
            return None
        began = self._clock.now()
        call = Call(
            "send",
            began,
            Deadline(began + (self._max_block if self._may_wait() else 0.0)),
            topic=topic,
            config_key="max.block.ms",
        )
        try:
            self._runner().ask(call, AwaitTopic(call, topic))
        except IllegalStateException:
            raise
        except KafkaException as error:
            return error
        return None

    # --- waiting ---------------------------------------------------------------------------

    def flush(self, timeout: float | timedelta | None = None) -> None:
        """Wait until all that was sent before is delivered or has failed, callbacks included.

        Nothing lingers meanwhile. A record that has failed does not make this raise: its
        handle and callback tell it.

        Args:
            timeout: Seconds; None for `delivery.timeout.ms`.

        Raises:
            IllegalStateException: The producer is closed, or this is a delivery callback.
            TimeoutException: Something is still on its way, and stays so: it can be flushed
                again. The text and the fields say what, and what was tried.
        """
        self._check_usable("flush")
        self._refuse_in_callback("flush")
        began = self._clock.now()
        deadline = Deadline.after(began, self._delivery_timeout if timeout is None else timeout)
        left = flush(self._accumulator, deadline)
        now = self._clock.now()
        self._counters.calls.of("flush").seconds.observe(now - began)
        if left:
            self._counters.calls.of("flush").timed_out += 1
            raise out_of_time(left, began, deadline, now)

    def purge(self) -> int:
        """Fail all records that are not on the wire, at once.

        Returns:
            How many records have failed.

        Raises:
            IllegalStateException: The producer is closed.
        """
        self._check_usable("purge")
        if not self._may_wait():
            return self._built().produce.purge(
                KafkaException("purged: the record was not sent"), everything=False
            )
        now = self._clock.now()
        call = Call("purge", now, Deadline(now + TURN))
        purged: int = self._runner().ask(call, Purge(call))
        return purged

    def partitions_for(
        self, topic: str, timeout: float | timedelta | None = None
    ) -> list[PartitionInfo]:
        """Look up the partitions of a topic.

        Args:
            topic: Its name.
            timeout: Seconds; None for `max.block.ms`.

        Raises:
            IllegalStateException: The producer is closed, or this is a delivery callback.
            InvalidTopicException: No topic can have this name.
            TimeoutException: The time is over; its cause says so if the topic does not exist.
            TopicAuthorizationException: Not allowed on the topic.
        """
        self._check_usable("partitions_for")
        self._refuse_in_callback("partitions_for")
        if not isinstance(topic, str):
            raise TypeError(f"a topic is a str, not {topic!r}")
        now = self._clock.now()
        deadline = Deadline.after(now, self._max_block if timeout is None else timeout)
        call = Call("partitions_for", now, deadline, topic=topic, config_key="max.block.ms")
        self._runner().ask(call, AwaitTopic(call, topic))
        return self._built().metadata.cluster.partitions_of(topic)

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

    # --- within ----------------------------------------------------------------------------

    def _built(self) -> ProducerMachinery:
        if self._machinery is None:
            raise AssertionError("a producer that was never built")
        return self._machinery

    def _runner(self) -> CallRunner:
        """For one call: many threads may be inside, each with a wait of its own."""
        machinery = self._built()
        runner = CallRunner(
            self._clock, machinery.thread.mailbox, self._max_block, machinery.trace
        )
        runner.counters = self._counters
        return runner

    def _may_wait(self) -> bool:
        """Whether this is not the thread that delivers."""
        return not self._built().thread.is_current

    def _refuse_in_callback(self, what: str) -> None:
        if not self._may_wait():
            raise IllegalStateException(
                f"{what} inside a delivery callback would wait for its own thread: leave it to "
                f"the thread that sends"
            )

    def _check_usable(self, operation: str) -> None:
        """Refuse a call of a producer that is closed, was copied by a fork, or has died."""
        if PROCESS.id != self._process:
            raise ForkedClientError(
                f"{operation} of a producer that process {self._process} built, in process "
                f"{PROCESS.id}: its thread and connections stayed there; build a producer "
                f"after the fork"
            )
        if self._closed:
            raise IllegalStateException(
                f"{operation} of a producer that is closed: build another"
            )

    def _refuse(self) -> None:
        """Raise why nothing can be sent any more."""
        self._check_usable("send")
        died = self._built().thread.died_of
        if died is None:
            raise IllegalStateException("send of a producer that is closed: build another")
        raise NetworkThreadDiedException(
            f"the network thread died of a bug in prokurist ({died!r}): close this producer "
            f"and build another, and please report the cause"
        )
