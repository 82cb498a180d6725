"""The public share consumer: a member of a share group (KIP-932).

Thread: the application's, one call at a time; records may be marked from any. All work is the
network thread's.
"""

import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, Self

from prokurist.application import at_exit
from prokurist.application.call_runner import CallRunner
from prokurist.application.deserializing import Deserializers
from prokurist.application.driving import Steps
from prokurist.application.health import ClientHealth
from prokurist.application.instruments import WatchedClient, instrument_of_consumer
from prokurist.application.monkey_patches import refuse_patched
from prokurist.application.open_clients import OPEN
from prokurist.application.single_thread_guard import GuardedCall
from prokurist.assembly.share import ShareSide, open_share_side
from prokurist.config import ShareConsumerConfig
from prokurist.errors import IllegalStateException
from prokurist.errors.local_variables import without_locals
from prokurist.events.application_events import AskForRecords, Polled
from prokurist.events.assigned import AssignedPartition, SubscribedTopic
from prokurist.events.call import Call
from prokurist.events.clock import (
    CallersClock,
    MonotonicClock,
    as_seconds,
    epoch_milliseconds,
)
from prokurist.events.lent.batch import LentBatch
from prokurist.events.log_events import CLIENT_STARTED
from prokurist.events.positions import PositionRequest
from prokurist.events.trace import Trace
from prokurist.records.allocator import keep_free_memory
from prokurist.records.consumer_records import Run
from prokurist.share.acknowledging import AcknowledgeCallback, Acknowledging, Offsets
from prokurist.share.closing import ShareClosing
from prokurist.share.collecting import ShareCollector
from prokurist.share.records import ShareRecord, ShareRecords
from prokurist.share.share_counters import CountedShareConsumer
from prokurist.share.why_empty import why_empty
from prokurist.types import Acknowledge, TopicPartition
from prokurist.version import VERSION

if TYPE_CHECKING:
    from typing import Unpack

    from prokurist.config.typed import ShareConsumerKeywords

CLOSE: Final = 30.0
"""Seconds for a `close` that is given no timeout."""


class KafkaShareConsumer:
    """A member of a share group, in which every call answers by its deadline.

    The group's members share partitions, and each record is lent to one of them for a time (30
    seconds by default; a configuration of the group). It is accepted, released to be delivered
    again, or rejected; a record whose lock ends is delivered again, and one that has come back
    too often is not delivered any more (five times by default). Records are not in order.

    With `share.acknowledgement.mode=implicit`, the default, the next poll and a commit accept
    returned records without a mark; with `explicit` each record has to have one before the
    next poll. Marks may be set from any thread. They are sent with polls and commits, and by
    themselves before their locks end.

    One thread makes calls at a time; `wakeup`, `health` and `repr` may come from any.

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
            at_exit.remember(self, KafkaShareConsumer._close_at_exit, side.trace)
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
        self._caller = CallRunner(
            clock, side.thread.mailbox, config.default_api_timeout_ms / 1000, side.trace
        )
        client = WatchedClient(
            config, side.client_id, lambda: side.metadata.cluster, clock.now, config.group_id
        )
        self._instrument = instrument_of_consumer(client)
        self._acknowledging = Acknowledging(
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

    # --- topics --------------------------------------------------------------------------

    def subscribe(self, topics: str | Iterable[str]) -> None:
        """Subscribe to topics, as a member of the group; the next `poll` joins.

        It replaces the former subscription. No request is sent here.

        Args:
            topics: One topic, or several.

        Raises:
            TypeError: A topic is no str.
            ValueError: There is no topic, or an empty one; to leave the group, `unsubscribe`.
        """
        wanted = topics_in(topics)
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

    def unsubscribe(self, timeout: float | timedelta | None = None) -> None:
        """Send all marks, release the other records, and leave the group.

        It never raises TimeoutException: when the time is over it is done here, and the
        locks end by themselves.

        Args:
            timeout: Seconds; None for `default.api.timeout.ms`.
        """
        if timeout is not None:
            as_seconds(timeout)
        with self._inside("unsubscribe"):
            closing = ShareClosing(self._caller, self._built(), self._acknowledging)
            call = self._caller.call("unsubscribe", timeout)
            self._caller.drive(closing.leave(call))
            self._collector.clear()
            closing.raise_interrupt()

    # --- records -------------------------------------------------------------------------

    def poll(
        self, timeout: float | timedelta, *, max_records: int | None = None
    ) -> ShareRecords:
        """Wait for records, and return them.

        It returns as soon as there are some, and without any when the time is over; it never
        raises TimeoutException. In the implicit mode it accepts, first of all, records of
        earlier polls without a mark; it waits for no answer to that. Callbacks of
        acknowledgements run in it.

        Args:
            timeout: Seconds; there is no default.
            max_records: The most that it returns; None for `max.poll.records`. Unless
                `share.acquire.mode=record_limit`, it is rounded up to whole batches.

        Returns:
            Records, each locked for this consumer. Where there are none, `why_empty` says why.

        Raises:
            CorruptRecordException: A batch was damaged, and is rejected.
            GroupAuthorizationException: Not allowed in the group.
            GroupIdNotFoundException: The id belongs to a group of another type.
            IllegalStateException: Nothing is subscribed to; or in the explicit mode a record
                has no mark.
            RecordDeserializationException: A deserializer has refused a record. It is released,
                unless `acknowledge` rejects it before the next poll.
            RecordTooLargeException: A batch takes more memory than
                `fetch.decoded.batch.max.bytes`, and is rejected.
            TopicAuthorizationException: Not allowed on some topics.
            UnsupportedVersionException: The brokers have no share groups, or not what the
                configuration asks for.
            WakeupException: `wakeup` was called; no record is lost by that.
        """
        seconds = as_seconds(timeout)
        if max_records is not None and max_records < 1:
            raise ValueError(f"max_records is at least 1, not {max_records}")
        with self._inside("poll"):
            return self._drive_poll("poll", seconds, max_records)

    def records(self, idle_timeout: float | timedelta | None = None) -> Iterator[ShareRecord]:
        """Records one by one; each is accepted when the next is asked for, without a mark.

        Where the loop is left, by `break` or by an exception, its last record and those behind
        it are released, unless they have a mark: the group delivers them again. The iteration
        raises the errors of `poll`, and polls in between.

        Args:
            idle_timeout: Seconds without a record after which it ends; None for never.
        """
        return self._records(math.inf if idle_timeout is None else as_seconds(idle_timeout))

    def _records(self, idle: float) -> Iterator[ShareRecord]:
        while True:
            with self._inside("records"):
                records = self._drive_poll("records", idle, None)
            if not records:
                return
            try:
                for record in records:
                    yield record
                    if record.mark is None:
                        record.accept()
            finally:
                records.release()

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

    def _drive_poll(self, operation: str, seconds: float, most: int | None) -> ShareRecords:
        collector = self._collector
        try:
            return self._caller.drive(self._poll(operation, seconds, most))
        except Exception:
            raise
        except BaseException:
            collector.take_back()
            raise

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
        self._acknowledging.run_callbacks()
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
        runs: list[tuple[LentBatch, Run]] = []
        try:
            runs = self._collector.collect(most)
        finally:
            if not runs or has_marks:
                caller.post(AskForRecords(call))
        return runs

    def _still_wanted(
        self, wanted: PositionRequest | AssignedPartition | SubscribedTopic
    ) -> bool:
        return not isinstance(wanted, PositionRequest) and self._built().assigned.still_wanted(
            wanted
        )

    # --- acknowledgements ----------------------------------------------------------------

    def commit_sync(self, timeout: float | timedelta | None = None) -> Offsets:
        """Send all marks, and wait until the brokers have taken them.

        In the implicit mode returned records without a mark are accepted first.

        Args:
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The offsets of each partition whose acknowledgements were taken. Kafka's answer
            says that it has no objection; it does not say that no other member has had the
            record.

        Raises:
            AcknowledgeException: Some were refused or lost: `refused` and `done` have the
                offsets. So do those of earlier polls that no callback has heard of.
            AcknowledgeTimeoutException: The time is over: `done` has the offsets that were
                taken. Unsent marks stay.
            WakeupException: `wakeup` was called.
        """
        with self._inside("commit_sync"):
            call = self._caller.call("commit_sync", timeout)
            settled: Offsets = {}
            error: Exception | None = None
            try:
                settled = self._caller.drive(self._acknowledging.commit_sync(call))
            except Exception as raised:
                error = raised
                raise
            finally:
                if self._instrument is not None:
                    seconds = self._caller.now() - call.began
                    self._instrument.acknowledged(seconds, settled, error)
            return settled

    def commit_async(self, callback: AcknowledgeCallback | None = None) -> None:
        """Send all marks, and wait for nothing.

        Args:
            callback: Called in a later poll, `commit_sync` or `close` with the offsets that
                were taken and None, and with those that were refused or lost and their error;
                None for `on_acknowledged`.
        """
        with self._inside("commit_async"):
            self._acknowledging.commit_async(callback)

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

    def health(self) -> ClientHealth:
        """A snapshot for a liveness probe: from any thread, at once, also after `close`."""
        return self._built().health(ClientHealth, self._caller.now())

    def metrics(self) -> dict[str, float]:
        """Return the counters of this client: from any thread, at once, also after `close`.

        The keys are those of the Prometheus exposition, without `client_id`:
        `prokurist_share_acknowledged_total{type="accept"}`. docs/metrics.md lists all of them.
        """
        # Imported here, so that only this call loads the catalogue.
        from prokurist.metrics.mapping import as_mapping  # noqa: PLC0415

        return as_mapping(self._counted)

    # --- the end -------------------------------------------------------------------------

    def close(self, timeout: float | timedelta | None = None) -> None:
        """Send all marks, release the other records, leave the group, and close.

        It ends by its time, and accepts nothing that has no mark. Acknowledgements that no
        broker has confirmed by then are logged with their number. A second call does nothing.

        Args:
            timeout: Seconds; None for 30, and `request.timeout.ms` at most.

        Raises:
            IllegalStateException: It is called inside the callback of an acknowledgement.
        """
        self._close(CLOSE if timeout is None else as_seconds(timeout))

    def _close(self, seconds: float) -> None:
        if self._caller.closed:
            return
        with self._inside("close"):
            self._caller.closing = True
            side = self._built()
            closing = ShareClosing(self._caller, side, self._acknowledging)
            try:
                self._caller.drive(
                    closing.run(min(seconds, self._config.request_timeout_ms / 1000))
                )
            finally:
                self._caller.closing = False
                OPEN.remove(self._counted)
                self._collector.clear()

    def _close_at_exit(self, /, seconds: float, *, last_commit: bool) -> None:
        del last_commit
        self._close(seconds)

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
            self._close(CLOSE)
        except Exception as own:  # noqa: BLE001 - any error of the close; the first one goes on
            error.add_note(f"and closing the share consumer failed: {own}")

    # --- within --------------------------------------------------------------------------

    def _inside(self, operation: str) -> GuardedCall:
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
            return "KafkaShareConsumer(not built)"
        return f"KafkaShareConsumer({side.client_id}, {side.thread.life.value})"


def share_trace_of(consumer: KafkaShareConsumer) -> Trace | None:
    """The trace of a share consumer; None once it is closed."""
    return None if consumer._caller.closed else consumer._caller.trace  # noqa: SLF001 - ours


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
