"""Commit calls of the consumer, waiting and asynchronous, and stored offsets.

Thread: the application's. A part of `KafkaConsumer`, whose attributes it uses.
"""

from collections.abc import Iterable
from datetime import timedelta

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Steps
from prokurist.config import ConsumerConfig
from prokurist.consumer.arguments import Offsets, done_in
from prokurist.consumer.commit_queue import CommitCallback, CommitQueue
from prokurist.errors import IllegalStateException, InvalidGroupIdException
from prokurist.events.application_events import BY_NAME
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.committable import Committable, CommittableOffsets, Tracking
from prokurist.records.consumer_records import ConsumerRecord
from prokurist.types import OffsetAndMetadata, TopicPartition


class CommitApi:
    """The part of a consumer that commits and stores offsets."""

    _config: ConsumerConfig
    _caller: CallRunner
    _commits: CommitQueue
    _committable: Committable
    _background: BackgroundEvents

    def _commit_sync(
        self,
        given: dict[TopicPartition, OffsetAndMetadata] | None,
        timeout: float | timedelta | None,
    ) -> Steps[None]:
        yield from self._commits.sync(self._to_commit("commit_sync", given), timeout)

    def _commit_async(
        self,
        given: dict[TopicPartition, OffsetAndMetadata] | None,
        callback: CommitCallback | None,
    ) -> Steps[None]:
        own = self._commits.later(self._to_commit("commit_async", given), callback)
        # The answer may be here already: its callback runs in a later call all the same.
        yield from self._commits.run_callbacks(before=own)

    def _to_commit(
        self, operation: str, given: dict[TopicPartition, OffsetAndMetadata] | None
    ) -> CommittableOffsets:
        self._check_group(operation)
        if given is None:
            return self._committable.snapshot()
        return CommittableOffsets(given, BY_NAME)

    def store_offsets(
        self, offsets: ConsumerRecord | Iterable[ConsumerRecord] | Offsets
    ) -> None:
        """Store offsets to commit, with `enable.auto.offset.store=false`; it does not wait.

        Commits without offsets commit the stored ones: the automatic ones, in their interval,
        before partitions are revoked and in `close`; `commit_sync()` and `commit_async()`. An
        offset replaces the stored one of its partition, be that higher or lower. It is
        forgotten with the assignment, and when reading goes on elsewhere: after a seek, or a
        reset by `auto.offset.reset`.

        Args:
            offsets: A record, or several: all up to the last of each partition are done. Or for
                each partition the next offset to read.

        Raises:
            IllegalStateException: A partition is not assigned, and nothing is stored then;
                `enable.auto.offset.store` is true; or an OffsetTracker tracks the records.
        """
        given = done_in(offsets)
        with self._caller.inside("store_offsets"):
            self._check_stores("store_offsets")
            if self._committable.tracking is not None:
                raise IllegalStateException(
                    "store_offsets after track_offsets: the tracker stores what is done; tell "
                    "it with done(record)"
                )
            self._committable.store(given)

    def _track(self, max_outstanding: int, max_uncommitted: int) -> None:
        """Have the returned records tracked from now on."""
        for name, bound in (
            ("max_outstanding", max_outstanding),
            ("max_uncommitted", max_uncommitted),
        ):
            if isinstance(bound, bool) or not isinstance(bound, int):
                raise TypeError(f"{name} is an int, not {bound!r}")
            if bound < 1:
                raise ValueError(f"{name} is at least 1, not {bound}")
        with self._caller.inside("track_offsets"):
            self._check_stores("track_offsets")
            self._committable.track(Tracking(max_outstanding, max_uncommitted))

    def _check_stores(self, operation: str) -> None:
        """Refuse calls that mark records as done where all returned records count as done.

        Raises:
            IllegalStateException: They do.
        """
        if self._config.enable_auto_offset_store:
            raise IllegalStateException(
                f"{operation} with enable.auto.offset.store=true, where what is returned "
                f"counts as done: set enable.auto.offset.store=false"
            )

    def _check_group(self, operation: str) -> None:
        """Refuse a commit of a consumer without a group, even of no offsets.

        Raises:
            InvalidGroupIdException: There is no `group.id`.
        """
        if self._config.group_id is None:
            raise InvalidGroupIdException(
                f"{operation} needs a group: set group.id in the configuration"
            )
