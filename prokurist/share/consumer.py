"""The public share consumer: a member of a share group (KIP-932).

Thread: the application's, one call at a time; records may be marked from any. All work is the
network thread's.
"""

import math
from collections.abc import Iterable, Iterator
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from prokurist.application.telemetry import client_instance_id, require_push
from prokurist.events.clock import as_seconds
from prokurist.share.acknowledging import AcknowledgeCallback, Offsets
from prokurist.share.core import CLOSE, ShareCore, most_in, topics_in
from prokurist.share.records import ShareRecord, ShareRecords

if TYPE_CHECKING:
    from uuid import UUID


class KafkaShareConsumer(ShareCore):
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
        self._subscribe(topics_in(topics))

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
            call = self._caller.call("unsubscribe", timeout)
            self._caller.drive(self._unsubscribe(call))

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
        seconds, most = as_seconds(timeout), most_in(max_records)
        with self._inside("poll"):
            return self._drive_poll("poll", seconds, most)

    def records(self, idle_timeout: float | timedelta | None = None) -> Iterator[ShareRecord]:
        """Records one by one; each is accepted when the next is asked for, without a mark.

        Where the loop is left, by `break` or by an exception, its last record is released,
        unless it has a mark: the group delivers it again. Those behind it stay locked for the
        next call that reads. The iteration raises the errors of `poll`, and polls in between.

        Args:
            idle_timeout: Seconds without a record after which it ends; None for never.
        """
        return self._records(math.inf if idle_timeout is None else as_seconds(idle_timeout))

    def _records(self, idle: float) -> Iterator[ShareRecord]:
        while True:
            with self._inside("records"):
                records = self._drive_poll("records", idle, None)
                pieces = self._collector.last
            if not records:
                return
            for record in records:
                handed = True
                try:
                    yield record
                    handed = False
                finally:
                    if handed:
                        self._leave(record, pieces)
                if record.mark is None:
                    record.accept()

    def _drive_poll(self, operation: str, seconds: float, most: int | None) -> ShareRecords:
        collector = self._collector
        collector.begin()
        try:
            return self._caller.drive(self._poll(operation, seconds, most))
        except Exception:
            raise
        except BaseException:
            collector.take_back()
            raise

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
            return self._caller.drive(self._commit(call))

    def commit_async(self, callback: AcknowledgeCallback | None = None) -> None:
        """Send all marks, and wait for nothing.

        Args:
            callback: Called in a later poll, `commit_sync` or `close` with the offsets that
                were taken and None, and with those that were refused or lost and their error;
                None for `on_acknowledged`.
        """
        with self._inside("commit_async"):
            self._acknowledging.commit_async(callback)

    def client_instance_id(self, timeout: float | timedelta) -> "UUID":
        """Return the id by which brokers know the metrics that this client pushes (KIP-714).

        Args:
            timeout: Seconds; there is no default.

        Raises:
            IllegalStateException: `enable.metrics.push` is off.
            TimeoutException: No broker has given one in time.
            UnsupportedVersionException: The brokers take no metrics.
        """
        as_seconds(timeout)
        with self._inside("client_instance_id"):
            require_push(on=self._built().telemetry is not None)
            return self._caller.drive(client_instance_id(self._caller, timeout))

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
