"""The core of both consumers: their parts, their end, and calls that do not wait.

Thread: the application's, one call at a time. Calls that wait are written as steps
(`application/driving.py`): `KafkaConsumer` takes them on its thread, and
`aio.KafkaConsumer` in a task. All work is the network thread's.
"""

import os
import sys
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn, Self

from prokurist.application import at_exit
from prokurist.application.call_runner import CallRunner
from prokurist.application.deserializing import Deserializers
from prokurist.application.driving import Steps
from prokurist.application.health import MembershipHealth, age
from prokurist.application.instruments import WatchedClient, instrument_of_consumer
from prokurist.application.monkey_patches import refuse_patched
from prokurist.application.open_clients import OPEN
from prokurist.application.single_thread_guard import PROCESS, STEADY
from prokurist.assembly.consumer import ConsumerSide, open_consumer_side
from prokurist.config import ConsumerConfig
from prokurist.consumer.auto_commit import AutoCommitter
from prokurist.consumer.closing import Closing, Thread
from prokurist.consumer.commit_api import CommitApi
from prokurist.consumer.commit_queue import CommitQueue
from prokurist.consumer.consumer_counters import CountedConsumer
from prokurist.consumer.event_callback import EventCallback
from prokurist.consumer.fetch_collector import FetchCollector
from prokurist.consumer.health import Health
from prokurist.consumer.interceptors import Interceptors
from prokurist.consumer.listeners import Listeners
from prokurist.consumer.lookups import Lookups
from prokurist.consumer.obstacles import GroupPlace, Obstacles
from prokurist.consumer.ranges import Ranges
from prokurist.consumer.readiness import Readiness
from prokurist.consumer.subscribing import Subscribing
from prokurist.errors import KafkaException
from prokurist.errors.local_variables import without_locals
from prokurist.events.application_events import LookUpTransactions
from prokurist.events.clock import (
    CallersClock,
    MonotonicClock,
    epoch_milliseconds,
)
from prokurist.events.hand import NOTHING, make_hand
from prokurist.events.log_events import CLIENT_STARTED
from prokurist.events.trace import Trace
from prokurist.records.allocator import keep_free_memory
from prokurist.types import GroupMembershipOperation, TopicPartition
from prokurist.version import VERSION

if TYPE_CHECKING:
    from typing import Unpack

    from prokurist.config.typed import ConsumerKeywords

CLOSE: Final = 30.0
"""Seconds for a `close` that is given no timeout."""


class ConsumerCore(Subscribing, Readiness, Ranges, CommitApi, Lookups):
    """Core of both consumers, of threads and of coroutines: all but how they wait.

    Args:
        config: Configuration keys and their values.
        keywords: More keys, with underscores.
    """

    _runner_type: type[CallRunner] = CallRunner
    _commits_type: type[CommitQueue] = CommitQueue

    @without_locals
    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ConsumerKeywords]",
    ) -> None:
        self._side: ConsumerSide | None = None
        refuse_patched()
        settings = ConsumerConfig(config, **keywords)
        keep_free_memory()
        clock = MonotonicClock()
        side = open_consumer_side(settings, clock)
        try:
            self._wire(settings, clock, side)
            side.thread.start()
            at_exit.remember(self, close_at_exit, side.trace)
            self._counted.started = epoch_milliseconds()
            OPEN.add(self._counted)
            self._tell_start(settings, side.trace)
        except BaseException:
            side.thread.abandon()
            self._side = None
            raise

    def _tell_start(self, config: ConsumerConfig, trace: Trace) -> None:
        servers = ",".join(f"{each.host}:{each.port}" for each in config.bootstrap_servers)
        trace.emit(CLIENT_STARTED, version=VERSION, bootstrap=servers)

    @classmethod
    def wired(cls, config: ConsumerConfig, clock: CallersClock, side: ConsumerSide) -> Self:
        """A consumer on side that a simulation runs, in virtual time."""
        self = cls.__new__(cls)
        self._wire(config, clock, side)
        return self

    def _wire(self, config: ConsumerConfig, clock: CallersClock, side: ConsumerSide) -> None:
        self._config = config
        self._side = side
        self._process = os.getpid()
        self._assigned = side.assigned
        self._positions = side.positions
        self._fetching = side.fetching
        self._committable = side.committable
        self._background = side.background
        self._member_identity = side.member_identity
        self._poll_activity = side.poll_activity
        self._buffer = side.buffer
        self._collector = FetchCollector(
            self._fetching,
            self._committable,
            self._buffer,
            Deserializers(config.key_deserializer, config.value_deserializer, may_pend=True),
            most=config.max_poll_records,
            check_crcs=config.check_crcs,
            cap=config.fetch_decoded_batch_max_bytes,
            now=clock.now,
        )
        self._caller = self._runner_type(
            clock,
            side.thread.mailbox,
            config.default_api_timeout_ms / 1000,
            side.trace,
        )
        # One for all that ends quick steps: calls, wake-ups, polls that are wanted, partitions.
        steady = self._caller.steady = self._poll_activity.steady = self._assigned.steady
        self._hand = make_hand(steady, NOTHING, clock.now)
        STEADY.add(self._caller)
        self._interceptors = Interceptors(config.interceptor_classes, side.trace)
        client = WatchedClient(
            config, side.client_id, lambda: side.metadata.cluster, clock.now, config.group_id
        )
        self._instrument = instrument_of_consumer(client)
        interval = config.auto_commit_interval_ms / 1000
        self._auto = AutoCommitter(
            self._caller,
            self._committable,
            self._interceptors,
            self._member_identity,
            interval if config.enable_auto_commit else None,
            config.on_committed,
            self._instrument,
        )
        self._commits = self._commits_type(
            self._caller,
            self._auto,
            self._interceptors,
            self._member_identity,
            self._committable,
            config.on_committed,
            self._instrument,
        )
        self._listeners = Listeners(
            self._caller, self._background, self._auto, self._assigned, self._member_identity
        )
        self._counted = CountedConsumer(config, side, self._caller, self._collector.topics)
        if side.telemetry is not None:
            # Imported here, as for `metrics`: the network thread imports nothing later.
            from prokurist.metrics.telemetry import TelemetrySource  # noqa: PLC0415

            side.telemetry.source = TelemetrySource(self._counted, side.time_of_day)
        self._events = EventCallback(
            self._caller,
            self._listeners,
            config.on_event,
            side.log_events,
            interval=config.statistics_interval_ms / 1000,
            # Not the method: a consumer that is forgotten would keep itself.
            metrics=partial(counts_of, self._counted),
        )
        self._obstacles = Obstacles(
            side.positions,
            side.committable,
            side.client.reachability,
            cluster=lambda: side.metadata.cluster,
            place=lambda: place_of(side),
            longest=config.fetch_max_wait_ms / 1000,
            now=self._caller.now,
            look_up=partial(look_up_transactions, self._caller),
        )

    # --- from anywhere ---------------------------------------------------------------

    def wakeup(self) -> None:
        """End the present wait of this consumer, or else the next one, once.

        From any thread, and from a signal handler. The call that waits raises
        WakeupException; one that has its result keeps it. `close` is never ended.
        """
        self._caller.wakeup()

    def health(self) -> Health:
        """A snapshot for a liveness probe: from any thread, at once, also after `close`."""
        side, now = self._built(), self._caller.now()
        coordinator = side.coordinator
        return side.health(
            Health,
            now,
            coordinator=None if coordinator is None else coordinator.name,
            consumer_protocol=side.client.features.consumer_protocol,
            membership=self._membership_health(now),
            poll_age=self._poll_activity.age(now),
        )

    def _membership_health(self, now: float) -> MembershipHealth | None:
        membership = self._built().membership
        if membership is None:
            return None
        identity, heard_at = self._member_identity.identity, membership.heard_at
        return MembershipHealth(
            self._config.group_protocol,
            membership.standing,
            identity.member_id,
            identity.epoch,
            age(heard_at, now),
        )

    def metrics(self) -> dict[str, float]:
        """Return the counters of this client: from any thread, at once, also after `close`.

        The keys are those of the Prometheus exposition, without `client_id`:
        `prokurist_consumer_records_lag{topic="orders",partition="3"}`. Histograms have their
        `_bucket`, `_sum` and `_count`. docs/metrics.md lists all of them.

        Raises:
            ForkedClientError: It was built before a fork.
        """
        if PROCESS.id != self._process:
            # The locks that are read under may be held for good.
            self._caller.check_usable("metrics")
        return counts_of(self._counted)

    # --- the end ---------------------------------------------------------------------

    def _close(
        self,
        seconds: float,
        *,
        last_commit: bool,
        membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Close the consumer on this thread; see `KafkaConsumer.close`."""
        if self._caller.closed:
            return
        with self._caller.inside("close"):
            # With no error on its way out, the loop that had a record is done with it.
            counts = last_commit and sys.exception() is None
            self._caller.drive(
                self._close_steps(
                    seconds, last_commit=last_commit, counts=counts, membership=membership
                )
            )

    def _close_steps(
        self,
        seconds: float,
        *,
        last_commit: bool,
        counts: bool,
        membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> Steps[None]:
        """Close the consumer; see `KafkaConsumer.close`.

        Args:
            seconds: How long that may take.
            last_commit: True to commit the returned positions.
            counts: True if the record that an iteration handed out last counts as returned.
            membership: Leave the group, or stay in it.
        """
        self._listeners.refuse_inside("close")
        self._assigned.begin_close()
        if counts:
            self._collector.count()
        # Those in callbacks included: the last commit of a listener is made.
        self._caller.closing = True
        closing = Closing(
            self._caller,
            self._auto,
            self._commits,
            self._interceptors,
            self._thread(),
            part=self._part,
            tell=self._events.finish,
            leave=lambda call: self._leave(call, membership),
            pushes=self._pushes,
        )
        try:
            yield from closing.run(
                min(seconds, self._config.request_timeout_ms / 1000),
                last_commit=last_commit,
            )
        finally:
            self._caller.closing = False
            OPEN.remove(self._counted)
            self._collector.close()

    def _thread(self) -> Thread:
        """The network thread, for `close`."""
        return self._built().thread

    def _pushes(self) -> bool:
        """Return True if brokers want metrics of this client."""
        telemetry = self._built().telemetry
        return telemetry is not None and telemetry.pushes

    def _built(self) -> ConsumerSide:
        if self._side is None:
            raise AssertionError("a consumer that was never built")
        return self._side

    def __del__(self) -> None:
        # Of a half-built consumer there may be nothing; of a forked one, nothing is ours.
        side = getattr(self, "_side", None)
        if side is None or self._caller.closed or os.getpid() != self._process:
            return
        unclosed = f"{self!r} was never closed: close it, or use it in a with statement"
        # Ended before the warning is issued: `python -W error` turns that into an exception.
        self._caller.closed = True
        side.thread.abandon()
        warnings.warn(unclosed, ResourceWarning, source=self, stacklevel=2)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied; its thread and connections are of this process.

        Raises:
            TypeError: In any case.
        """
        raise TypeError(
            "a KafkaConsumer cannot be pickled or copied, since its thread and connections "
            "stay where it was built: build one in the process that uses it"
        )

    def __repr__(self) -> str:
        # Printed with a traceback's locals, it may be one whose constructor has raised.
        side: ConsumerSide | None = self.__dict__.get("_side")
        if side is None:
            return f"{type(self).__name__}(not built)"
        return f"{type(self).__name__}({side.client_id}, {side.thread.life.value})"


def close_at_exit(consumer: ConsumerCore, /, seconds: float, *, last_commit: bool) -> None:
    """Close a consumer as the interpreter exits."""
    consumer._close(seconds, last_commit=last_commit)  # noqa: SLF001 - of this very module


def place_of(side: ConsumerSide) -> GroupPlace | None:
    """The membership state of a consumer; None without a `group.id`."""
    commits, membership = side.commits, side.membership
    if commits is None or membership is None:
        return None
    epoch = side.member_identity.identity.epoch
    return GroupPlace(
        membership.standing,
        epoch,
        commits.coordinator.name,
        commits.commits.counters.unsettled,
    )


def look_up_transactions(caller: CallRunner, partitions: Collection[TopicPartition]) -> None:
    """Have open transactions looked up; the reason of a later empty poll names them."""
    if caller.closed or PROCESS.id != caller.process:
        return
    with suppress(KafkaException):
        call = caller.call("why_empty", None, partitions=tuple(partitions))
        caller.post(LookUpTransactions(call, call.partitions))


def counts_of(counted: CountedConsumer) -> dict[str, float]:
    """Return a consumer's counters, for `metrics`."""
    # Imported here, so that only this call loads the catalogue: the core only counts.
    from prokurist.metrics.mapping import as_mapping  # noqa: PLC0415

    return as_mapping(counted)
