"""The consumer's positions, and the poll that makes them progress.

Thread: the application's. A part of `KafkaConsumer`, which holds what it stands on.
"""

import logging
import warnings
from collections.abc import Collection
from datetime import timedelta
from typing import Any, Final, overload

from prokurist.consumer.arguments import partition_in
from prokurist.consumer.calling import Caller
from prokurist.consumer.commits import Commits
from prokurist.errors import IllegalStateException, KafkaException
from prokurist.events.application_events import (
    DropStale,
    LookUpEnd,
    LookUpPosition,
    LookUpPositions,
)
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.call import Call
from prokurist.events.clock import as_seconds
from prokurist.events.subscription import Subscription
from prokurist.types import TopicPartition

LOG: Final = logging.getLogger("prokurist.consumer")


class Polling:
    """See the module."""

    _caller: Caller
    _commits: Commits
    _subscription: Subscription
    _background: BackgroundEvents

    def position(
        self, partition: TopicPartition, timeout: float | timedelta | None = None
    ) -> int:
        """The offset at which reading a partition goes on.

        One that is known is returned at once. Otherwise it is looked up: what the
        group has committed, or else what `auto.offset.reset` says.

        Args:
            partition: An assigned one.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            GroupAuthorizationException: Not allowed in the group.
            IllegalStateException: The partition is not assigned.
            NoOffsetForPartitionException: Nothing is committed, and
                `auto.offset.reset` is `none`; it names all such partitions.
            TimeoutException: The time is over.
            TopicAuthorizationException: Not allowed on the topic.
            WakeupException: `wakeup` was called.
        """
        tp = partition_in(partition)
        with self._caller.inside("position"):
            call = self._caller.call("position", timeout, partitions=(tp,))
            known = self._subscription.position(tp)
            if known is None:
                known = int(self._caller.ask(call, LookUpPosition(call, tp)))
            return known

    def current_lag(self, partition: TopicPartition) -> int | None:
        """How many offsets lie between a partition's position and the end of its log.

        With `isolation.level=read_committed` the log ends at its last stable offset.
        It waits for nothing: while the end is not known, it is looked up in the
        background, once.

        Args:
            partition: An assigned one.

        Returns:
            A number, or None while position or end are not known.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        tp = partition_in(partition)
        with self._caller.inside("current_lag"):
            lag, born = self._subscription.lag(tp)
            if born is not None:
                call = self._caller.call("current_lag", None, partitions=(tp,))
                self._caller.post(LookUpEnd(call, tp, born))
            return lag

    @overload
    def poll(self, timeout: float | timedelta) -> list[Any]: ...

    @overload
    def poll(self, *, timeout_ms: float) -> list[Any]: ...

    def poll(
        self, timeout: float | timedelta | None = None, *, timeout_ms: float | None = None
    ) -> list[Any]:
        """Wait for records.

        This version reads none yet: it makes positions known, runs the callbacks
        of commits, raises what has failed in the background, and returns an empty
        list when the time is over. It never raises TimeoutException.

        Args:
            timeout: Seconds; there is no default.
            timeout_ms: Deprecated; the same in milliseconds.

        Raises:
            GroupAuthorizationException: Not allowed in the group.
            IllegalStateException: Nothing is assigned.
            NoOffsetForPartitionException: Nothing is committed for some partitions,
                and `auto.offset.reset` is `none`; it names all of them.
            TopicAuthorizationException: Not allowed on some topics.
            TypeError: No timeout is given, or both are.
            WakeupException: `wakeup` was called.
        """
        seconds = poll_timeout(timeout, timeout_ms)
        with self._caller.inside("poll"):
            call = self._caller.call("poll", seconds)
            self._background.check_open()
            if not self._subscription.assigned():
                raise IllegalStateException("poll with nothing assigned: assign partitions")
            self._caller.raise_if_woken()
            self._commits.run_callbacks()
            try:
                while not self._pass(call):
                    # Something has come that is no error: look what it is.
                    call = Call("poll", call.began, call.deadline)
            finally:
                self._background.watch(None)
            return []

    def _pass(self, call: Call) -> bool:
        """Ask for what is missing, and wait: whether the time is over.

        Raises:
            KafkaException: Something has failed in the background.
        """
        # Watched first: whatever comes after the look at it ends the wait.
        self._background.watch(call)
        self._background.check_open()
        error = self._background.take(self._subscription.still_wanted)
        if error is not None:
            raise error
        if self._subscription.ask_missing():
            self._caller.post(LookUpPositions(call))
        return not self._caller.wait(call, call.deadline)

    def unsubscribe(self, timeout: float | timedelta | None = None) -> None:
        """Read nothing any more; what is assigned by hand is let go at once.

        Errors that have met what was read are logged, and not raised.

        Args:
            timeout: Seconds; None for `default.api.timeout.ms`.
        """
        if timeout is not None:
            as_seconds(timeout)
        with self._caller.inside("unsubscribe"):
            self._change_assignment(())

    def subscribe(self, *_topics: object, **_keywords: object) -> None:
        """Join a group and read what it assigns: not built yet.

        Raises:
            IllegalStateException: Always.
        """
        with self._caller.inside("subscribe"):
            raise IllegalStateException(
                "group membership is not built yet: assign partitions instead"
            )

    def _change_assignment(self, partitions: Collection[TopicPartition]) -> None:
        if not partitions:
            while error := self._background.take(self._subscription.still_wanted):
                LOG.warning("unsubscribed before this was raised: %s", error)
        self._subscription.assign(partitions)
        self._drop_stale()

    def _drop_stale(self) -> None:
        """Have nobody look for what is not wanted any more."""
        if self._subscription.take_stale():
            try:
                self._caller.post(DropStale(self._caller.call("assign", None)))
            except KafkaException:
                return  # The thread has ended, and looks for nothing.


def poll_timeout(
    timeout: float | timedelta | None, timeout_ms: float | None
) -> float | timedelta:
    """How long a poll may take, of two ways to say so.

    Raises:
        TypeError: Neither is given, or both are, or what is given is no time.
        ValueError: It is negative or NaN.
    """
    if timeout_ms is None:
        if timeout is None:
            raise TypeError("poll has no default timeout: give it one, in seconds")
        return timeout
    if timeout is not None:
        raise TypeError("poll is given timeout or timeout_ms, not both")
    given: object = timeout_ms
    if isinstance(given, timedelta):
        # It would be read as seconds, and then divided.
        raise TypeError("timeout_ms is a number of milliseconds; timeout takes a timedelta")
    seconds = as_seconds(timeout_ms) / 1000
    warnings.warn(
        "poll(timeout_ms=...) is deprecated: poll(timeout) takes seconds",
        DeprecationWarning,
        stacklevel=3,
    )
    return seconds
