"""The consumer's commits: with a wait, and without one.

Thread: the application's. A part of `KafkaConsumer`, which holds what it stands on.
"""

from collections.abc import Mapping
from datetime import timedelta

from prokurist.application.call_runner import CallRunner
from prokurist.config import ConsumerConfig
from prokurist.consumer.arguments import offsets_in
from prokurist.consumer.commit_queue import CommitCallback, CommitQueue
from prokurist.errors import InvalidGroupIdException
from prokurist.events.application_events import BY_NAME
from prokurist.events.subscription import Returned, Subscription
from prokurist.types import OffsetAndMetadata, TopicPartition


class CommitApi:
    """The part of `KafkaConsumer` with `commit_sync` and `commit_async`."""

    _config: ConsumerConfig
    _caller: CallRunner
    _commits: CommitQueue
    _subscription: Subscription

    def commit_sync(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Commit offsets, and return when the coordinator has them.

        Args:
            offsets: For each partition the next offset to read; None for the
                present place of all that are assigned.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            CommitFailedException: The group no longer counts this member.
            GroupAuthorizationException: Not allowed in the group.
            InvalidGroupIdException: There is no `group.id`.
            TimeoutException: The time is over; `may_have_happened` says whether
                the offsets may have been committed all the same.
            TopicAuthorizationException: Not allowed on some topics: all of them.
            WakeupException: `wakeup` was called.
        """
        given = None if offsets is None else offsets_in(offsets)
        with self._caller.inside("commit_sync"):
            self._check_group("commit_sync")
            wanted = (
                self._subscription.returned() if given is None else Returned(given, BY_NAME)
            )
            self._commits.sync(wanted, timeout)

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """Commit offsets in one attempt, without waiting.

        Args:
            offsets: For each partition the next offset to read; None for the
                present place of all that are assigned.
            callback: Called with the offsets, and with None or the error, on this
                thread inside a later `poll`, `commit_sync`, `commit_async` or
                `close`; in the order of the commits. A passing failure comes as
                RetriableCommitFailedException. Without one it is logged.

        Raises:
            InvalidGroupIdException: There is no `group.id`.
        """
        given = None if offsets is None else offsets_in(offsets)
        if callback is not None and not callable(callback):
            raise TypeError(f"a commit callback is callable, not {callback!r}")
        with self._caller.inside("commit_async"):
            self._check_group("commit_async")
            wanted = (
                self._subscription.returned() if given is None else Returned(given, BY_NAME)
            )
            own = self._commits.later(wanted, callback)
            # The answer may be here already: its callback runs in a later call all the same.
            self._commits.run_callbacks(before=own)

    def _check_group(self, operation: str) -> None:
        """Refuse a commit of a consumer without a group, even of no offsets.

        Raises:
            InvalidGroupIdException: There is no `group.id`.
        """
        if self._config.group_id is None:
            raise InvalidGroupIdException(
                f"{operation} needs a group: set group.id in the configuration"
            )
