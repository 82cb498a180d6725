"""Base of share consumers of threads and of tasks: wiring, marks, and steps.

Thread: the application's, one call at a time; records may be marked from any. All work is the
network thread's.
"""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NoReturn, Self

from prokurist.application import at_exit
from prokurist.application.call_runner import CallRunner
from prokurist.application.deserializing import Deserializers
from prokurist.application.driving import Steps
from prokurist.application.health import MembershipHealth, age
from prokurist.application.instruments import WatchedClient, instrument_of_consumer
from prokurist.application.monkey_patches import refuse_patched
from prokurist.application.open_clients import OPEN
from prokurist.assembly.share import ShareSide, open_share_side
from prokurist.config import ShareConsumerConfig
from prokurist.errors import IllegalStateException
from prokurist.errors.local_variables import without_locals
from prokurist.events.application_events import AskForRecords, Polled
from prokurist.events.assigned import AssignedPartition, SubscribedTopic
from prokurist.events.call import Call
from prokurist.events.clock import CallersClock, MonotonicClock, epoch_milliseconds
from prokurist.events.lent.batch import LentBatch
from prokurist.events.log_events import CLIENT_STARTED
from prokurist.events.positions import PositionRequest
from prokurist.events.trace import Trace
from prokurist.records.allocator import keep_free_memory
from prokurist.records.consumer_records import Run
from prokurist.share.acknowledging import Acknowledging, Offsets
from prokurist.share.closing import ShareClosing, Thread
from prokurist.share.collecting import Piece, ShareCollector
from prokurist.share.health import ShareHealth
from prokurist.share.records import ShareRecord, ShareRecords, batch_of
from prokurist.share.share_counters import CountedShareConsumer
from prokurist.share.why_empty import why_empty
from prokurist.types import Acknowledge, TopicPartition
from prokurist.version import VERSION

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Unpack

    from prokurist.config.typed import ShareConsumerKeywords

CLOSE: Final = 30.0
"""Seconds for a `close` that is given no timeout."""


class ShareCore:
    """A member of a share group, without the calls that wait.

    Args:
        config: Configuration keys and their values; see docs/config.md.
        keywords: More keys, with underscores.

    Raises:
        ConfigException: A key is unknown, a value breaks its rule, or two contradict each
            other.
        IllegalStateException: gevent or eventlet has patched threads, sockets or `select`.
    """

    _runner_type: type[CallRunner] = CallRunner
    _acknowledging_type: type[Acknowledging] = Acknowledging

    @without_locals
    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ShareConsumerKeywords]",
    ) -> None:
        self._side: ShareSide | None = None
        refuse_patched()
        settings = ShareConsumerConfig(config, **keywords)
        keep_free_memory()
        clock = MonotonicClock()
        side = open_share_side(settings, clock)
        try:
            self._wire(settings, clock, side)
            side.thread.start()
            self._counted.started = epoch_milliseconds()
            OPEN.add(self._counted)
            at_exit.remember(self, close_at_exit, side.trace)
            servers = ",".join(
                f"{each.host}:{each.port}" for each in settings.bootstrap_servers
            )
            side.trace.emit(CLIENT_STARTED, version=VERSION, bootstrap=servers)
        except BaseException:
            side.thread.abandon()
            self._side = None
            raise

    @classmethod
    def wired(cls, config: ShareConsumerConfig, clock: CallersClock, side: ShareSide) -> Self:
        """A share consumer on a side that a simulation runs, in virtual time."""
        self = cls.__new__(cls)
        self._wire(config, clock, side)
        return self

    def _wire(self, config: ShareConsumerConfig, clock: CallersClock, side: ShareSide) -> None:
        self._config = config
        self._side = side
        self._process = os.getpid()
        self._caller = self._runner_type(
            clock, side.thread.mailbox, config.default_api_timeout_ms / 1000, side.trace
        )
        client = WatchedClient(
            config, side.client_id, lambda: side.metadata.cluster, clock.now, config.group_id
        )
        self._instrument = instrument_of_consumer(client)
        self._acknowledging = self._acknowledging_type(
            self._caller,
            side.lent,
            config.on_acknowledged,
            implicit=config.share_acknowledgement_mode == "implicit",
        )
        self._collector = ShareCollector(
            side.lent,
            side.buffer,
            Deserializers(config.key_deserializer, config.value_deserializer),
            most=config.max_poll_records,
            exact=config.share_acquire_mode == "record_limit",
            check_crcs=config.check_crcs,
            cap=config.fetch_decoded_batch_max_bytes,
        )
        self._counted = CountedShareConsumer(config, side, self._caller, self._collector)
        if side.telemetry is not None:
            # Imported here, as for `metrics`: the network thread imports nothing later.
            from prokurist.metrics.telemetry import TelemetrySource  # noqa: PLC0415

            side.telemetry.source = TelemetrySource(self._counted, side.time_of_day)

    # --- topics --------------------------------------------------------------------------

    def _subscribe(self, wanted: frozenset[str]) -> None:
        with self._inside("subscribe"):
            side = self._built()
            side.assigned.subscribe(wanted, listens=False)
            side.member_identity.wants_in()
            side.poll_activity.ask()

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to."""
        with self._inside("subscription"):
            subscribed = self._built().assigned.subscribed
            return frozenset() if subscribed is None else subscribed.topics

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that the group has assigned; others may read them as well."""
        with self._inside("assignment"):
            return self._built().assigned.partitions()

    def _unsubscribe(self, call: Call) -> Steps[None]:
        closing = self._closing()
        yield from closing.leave(call)
        self._collector.clear()
        closing.raise_interrupt()

    # --- records -------------------------------------------------------------------------

    def acknowledge(
        self, topic: str, partition: int, offset: int, mark: Acknowledge = Acknowledge.ACCEPT
    ) -> None:
        """Decide on a record by its place, as one that no deserializer takes; from any thread.

        Raises:
            IllegalStateException: This consumer does not hold it, or it is acknowledged.
        """
        side, tp = self._built(), TopicPartition(topic, partition)
        found = side.lent.find(tp, offset)
        if found is None:
            raise IllegalStateException(
                f"{tp} @ {offset} is not held by this consumer: acknowledge records that its "
                f"polls have returned, or that could not be deserialized, and each once"
            )
        side.lent.mark(*found, Acknowledge(mark))

    def _poll(self, operation: str, seconds: float, most: int | None) -> Steps[ShareRecords]:
        side, caller = self._built(), self._caller
        call = caller.call(operation, seconds)
        side.background.check_open()
        if not side.assigned.is_used:
            raise IllegalStateException(
                f"{operation} with nothing to read: subscribe to topics first"
            )
        caller.raise_if_woken()
        has_marks = self._acknowledging.settle_returned()
        yield from self._acknowledging.run_callbacks()
        try:
            while True:
                runs = self._pass(call, most, has_marks=has_marks)
                if runs:
                    records = ShareRecords(runs, side.lent)
                    if self._instrument is not None:
                        self._instrument.received(caller.now() - call.began, records)
                    return records
                has_marks = False
                came = yield from caller.wait(call, call.deadline)
                if not came and call.deadline.expired(caller.now()):
                    return ShareRecords((), side.lent, why_empty(side, caller.now()))
                call = call.again()
        except Exception as error:
            caller.counters.raised(error)
            raise
        except BaseException:
            side.poll_activity.ask()
            raise
        finally:
            side.background.watch(None)
            now = caller.now()
            side.poll_activity.leave(now)
            caller.counters.polled(call, now)

    def _commit(self, call: Call) -> Steps[Offsets]:
        settled: Offsets = {}
        error: Exception | None = None
        try:
            settled = yield from self._acknowledging.commit_sync(call)
        except Exception as raised:
            error = raised
            raise
        finally:
            if self._instrument is not None:
                self._instrument.acknowledged(self._caller.now() - call.began, settled, error)
        return settled

    def _pass(
        self, call: Call, most: int | None, *, has_marks: bool
    ) -> list[tuple[LentBatch, Run]]:
        """Collect records; ask for some where there are none.

        Raises:
            KafkaException: Something has failed in the background, or with a record.
        """
        side, caller = self._built(), self._caller
        # Watched first: any change after the look at it ends the wait.
        side.background.watch(call)
        side.background.check_open()
        if side.poll_activity.enter():
            caller.post(Polled(call))
        error = side.background.take(self._still_wanted)
        if error is not None:
            raise error
        # An error goes out before anything is sent: its record may be decided on by its place.
        runs = self._collector.collect(most)
        if not runs or has_marks:
            caller.post(AskForRecords(call))
        return runs

    def _still_wanted(
        self, wanted: PositionRequest | AssignedPartition | SubscribedTopic
    ) -> bool:
        return not isinstance(wanted, PositionRequest) and self._built().assigned.still_wanted(
            wanted
        )

    @property
    def lock_duration(self) -> float | None:
        """Seconds for which records are locked, as the brokers said last."""
        return self._built().share_counters.lock_duration

    # --- from anywhere -------------------------------------------------------------------

    def wakeup(self) -> None:
        """End the present wait of this consumer, or else the next one, once.

        From any thread, and from a signal handler. The call that waits raises
        WakeupException; `close` is never ended.
        """
        self._caller.wakeup()

    def health(self) -> ShareHealth:
        """A snapshot for a liveness probe: from any thread, at once, also after `close`."""
        side, now = self._built(), self._caller.now()
        identity, membership = side.member_identity.identity, side.membership
        first_end = side.lent.oldest()
        return side.health(
            ShareHealth,
            now,
            coordinator=side.coordinator.name,
            membership=MembershipHealth(
                "share",
                membership.standing,
                identity.member_id,
                identity.epoch,
                age(membership.heard_at, now),
            ),
            poll_age=side.poll_activity.age(now),
            held=side.lent.held(),
            first_lock_ends=None if first_end is None else max(0.0, first_end - now),
        )

    def metrics(self) -> dict[str, float]:
        """Return the counters of this client: from any thread, at once, also after `close`.

        The keys are those of the Prometheus exposition, without `client_id`:
        `prokurist_share_acknowledged_total{type="accept"}`. docs/metrics.md lists all of them.
        """
        # Imported here, so that only this call loads the catalogue.
        from prokurist.metrics.mapping import as_mapping  # noqa: PLC0415

        return as_mapping(self._counted)

    def _leave(self, record: ShareRecord, pieces: Sequence[Piece]) -> None:
        """An iteration is left at a record: release it, and keep those behind it."""
        batch = batch_of(record)
        if record.mark is None and record.is_held:
            record.release()
        self._collector.give_back(pieces, batch, record.offset)

    # --- the end -------------------------------------------------------------------------

    def _closing(self) -> ShareClosing:
        return ShareClosing(self._caller, self._built(), self._acknowledging, self._thread())

    def _close_steps(self, seconds: float) -> Steps[None]:
        """Close the consumer; see `KafkaShareConsumer.close`."""
        self._caller.closing = True
        try:
            yield from self._closing().run(min(seconds, self._config.request_timeout_ms / 1000))
        finally:
            self._caller.closing = False
            OPEN.remove(self._counted)
            self._collector.clear()

    def _thread(self) -> Thread:
        """The network thread, for `close`."""
        return self._built().thread

    def _close(self, seconds: float) -> None:
        if self._caller.closed:
            return
        with self._inside("close"):
            self._caller.drive(self._close_steps(seconds))

    # --- within --------------------------------------------------------------------------

    def _inside(self, operation: str) -> "AbstractContextManager[object]":
        self._acknowledging.refuse_inside(operation)
        return self._caller.inside(operation)

    def _built(self) -> ShareSide:
        if self._side is None:
            raise AssertionError("a share consumer that was never built")
        return self._side

    def __del__(self) -> None:
        # Of a half-built consumer there may be nothing; of a forked one, nothing is ours.
        side = self.__dict__.get("_side")
        if side is None or self._caller.closed or os.getpid() != self._process:
            return
        self._caller.closed = True
        side.thread.abandon()
        warnings.warn(
            f"{self!r} was never closed: close it, or use it in a with statement",
            ResourceWarning,
            source=self,
            stacklevel=2,
        )

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied; its thread and connections are of this process.

        Raises:
            TypeError: In any case.
        """
        raise TypeError(
            "a KafkaShareConsumer cannot be pickled or copied, since its thread and "
            "connections stay where it was built: build one in the process that uses it"
        )

    def __repr__(self) -> str:
        side: ShareSide | None = self.__dict__.get("_side")
        if side is None:
            return f"{type(self).__name__}(not built)"
        return f"{type(self).__name__}({side.client_id}, {side.thread.life.value})"


def close_at_exit(consumer: ShareCore, /, seconds: float, *, last_commit: bool) -> None:
    """Close a share consumer as the interpreter exits; it accepts nothing then."""
    del last_commit
    consumer._close(seconds)  # noqa: SLF001 - of this very module


def share_trace_of(consumer: ShareCore) -> Trace | None:
    """The trace of a share consumer; None once it is closed."""
    return None if consumer._caller.closed else consumer._caller.trace  # noqa: SLF001 - ours


def most_in(max_records: int | None) -> int | None:
    """Check `max_records`.

    Raises:
        ValueError: It is below 1.
    """
    if max_records is not None and max_records < 1:
        raise ValueError(f"max_records is at least 1, not {max_records}")
    return max_records


def topics_in(given: str | Iterable[str]) -> frozenset[str]:
    """Check one or several topics.

    Raises:
        TypeError: Something in it is no str.
        ValueError: There is none, or an empty one.
    """
    topics = (given,) if isinstance(given, str) else tuple(given)
    for each in topics:
        if not isinstance(each, str):
            raise TypeError(f"a topic is a str, not {each!r}; share groups know no patterns")
        if not each:
            raise ValueError("a topic's name is not empty")
    if not topics:
        raise ValueError("subscribe to one topic at least; unsubscribe() leaves the group")
    return frozenset(topics)
