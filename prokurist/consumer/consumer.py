"""The public consumer: thin methods over the caller's side of a call.

Thread: the application's, one call at a time. A method checks its arguments, makes
a Call on its first line, posts one event, and waits. All work is the network
thread's.
"""

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from prokurist.assembly import Machinery, system_machinery
from prokurist.config import ConsumerConfig, OffsetReset
from prokurist.consumer import closing
from prokurist.consumer.arguments import offsets_in, partition_in, partitions_in
from prokurist.consumer.calling import Caller
from prokurist.consumer.commits import CommitCallback, Commits
from prokurist.consumer.lookups import Lookups
from prokurist.consumer.polling import Polling
from prokurist.events.clock import CallersClock, Deadline, MonotonicClock
from prokurist.events.partition_state import Position
from prokurist.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from typing import Unpack

    from prokurist.config.typed import ConsumerKeywords

EARLIEST: Final = OffsetReset("earliest")
LATEST: Final = OffsetReset("latest")

CLOSE: Final = 30.0
"""Seconds for a `close` that is given no timeout."""


@dataclass(frozen=True, slots=True)
class Health:
    """What a liveness probe wants to know, taken without waiting.

    Attributes:
        alive: The network thread runs.
        turns: How many turns its loop has made.
        since_last_turn: Seconds since it last read the clock. A loop that waits
            for the network is asleep, not stuck: look at it beside `next_due`.
        next_due: Seconds until it has something to do by itself; negative when it
            is late, None when there is nothing.
        waiting_calls: Calls that it is working on.
        coordinator: The group's coordinator, where it is known.
        died_of: What ended it, if a bug of ours did.
    """

    alive: bool
    turns: int
    since_last_turn: float
    next_due: float | None
    waiting_calls: int
    coordinator: str | None
    died_of: str | None


class KafkaConsumer(Polling, Lookups):
    """A consumer in which every call answers by its deadline.

    This version commits, looks up, assigns, seeks and knows its positions; it does
    not read records yet, and joins no group. One thread uses it at a time;
    `wakeup`, `health` and `repr` may come from any.

    Args:
        config: Configuration keys and their values; see docs/config.md.
        keywords: More keys, with underscores.

    Raises:
        ConfigException: A key is unknown, a value breaks its rule, or two
            contradict each other.
    """

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ConsumerKeywords]",
    ) -> None:
        self._machinery: Machinery | None = None
        settings = ConsumerConfig(config, **keywords)
        clock = MonotonicClock()
        machinery = system_machinery(settings, clock)
        try:
            machinery.thread.start()
        except BaseException:
            machinery.thread.abandon()
            raise
        self._wire(settings, clock, machinery)

    @classmethod
    def wired(cls, config: ConsumerConfig, clock: CallersClock, machinery: Machinery) -> Self:
        """A consumer on machinery that somebody else runs: a simulation, in virtual time."""
        self = cls.__new__(cls)
        self._wire(config, clock, machinery)
        return self

    def _wire(self, config: ConsumerConfig, clock: CallersClock, machinery: Machinery) -> None:
        self._config = config
        self._machinery = machinery
        self._process = os.getpid()
        self._subscription = machinery.subscription
        self._background = machinery.background
        self._caller = Caller(
            clock, machinery.thread.mailbox, config.default_api_timeout_ms / 1000
        )
        self._commits = Commits(self._caller)

    # --- what is read ----------------------------------------------------------------

    def assign(self, partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        """Read these partitions and no others; those that stay keep their place.

        Args:
            partitions: One partition, or several; of none it is `unsubscribe`.
        """
        wanted = partitions_in(partitions)
        with self._caller.inside("assign"):
            self._change_assignment(wanted)

    def assignment(self) -> frozenset[TopicPartition]:
        """What is assigned."""
        with self._caller.inside("assignment"):
            return self._subscription.assigned()

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Read on from an offset.

        Args:
            partition: An assigned one.
            offset: The next offset to read; with its leader epoch, if that is known.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        tp = partition_in(partition)
        to = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
        with self._caller.inside("seek"):
            self._subscription.seek(tp, Position(to.offset, to.leader_epoch))
            self._drop_stale()

    def seek_to_beginning(
        self, partitions: TopicPartition | Iterable[TopicPartition] = ()
    ) -> None:
        """Read on from the beginning of each log; it is looked up when it is needed.

        Args:
            partitions: Assigned ones; of none, all that are assigned.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        self._seek_by("seek_to_beginning", partitions, EARLIEST)

    def seek_to_end(self, partitions: TopicPartition | Iterable[TopicPartition] = ()) -> None:
        """Read on from the end of each log; it is looked up when it is needed.

        Args:
            partitions: Assigned ones; of none, all that are assigned.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        self._seek_by("seek_to_end", partitions, LATEST)

    def _seek_by(
        self,
        operation: str,
        partitions: TopicPartition | Iterable[TopicPartition],
        reset: OffsetReset,
    ) -> None:
        wanted = partitions_in(partitions)
        with self._caller.inside(operation):
            self._subscription.seek_by(wanted or self._subscription.assigned(), reset)
            self._drop_stale()

    def pause(self, partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        """Want no records of these partitions for now.

        Args:
            partitions: Assigned ones.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        wanted = partitions_in(partitions)
        with self._caller.inside("pause"):
            self._subscription.pause(wanted, paused=True)

    def resume(self, partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        """Want records of these partitions again.

        Args:
            partitions: Assigned ones.

        Raises:
            IllegalStateException: A partition is not assigned.
        """
        wanted = partitions_in(partitions)
        with self._caller.inside("resume"):
            self._subscription.pause(wanted, paused=False)

    def paused(self) -> frozenset[TopicPartition]:
        """What is paused."""
        with self._caller.inside("paused"):
            return self._subscription.paused()

    # --- commits ---------------------------------------------------------------------

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
            wanted = self._subscription.returned() if given is None else given
            self._commits.sync(wanted, timeout)

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """Have offsets committed, once, and do not wait for it.

        Args:
            offsets: For each partition the next offset to read; None for the
                present place of all that are assigned.
            callback: Called with the offsets, and with None or the error, on this
                thread inside a later `poll`, `commit_sync`, `commit_async` or
                `close`; in the order of the commits. A passing failure comes as
                RetriableCommitFailedException. Without one it is logged.
        """
        given = None if offsets is None else offsets_in(offsets)
        if callback is not None and not callable(callback):
            raise TypeError(f"a commit callback is callable, not {callback!r}")
        with self._caller.inside("commit_async"):
            wanted = self._subscription.returned() if given is None else given
            self._commits.later(wanted, callback)
            self._commits.run_callbacks()

    # --- from anywhere ---------------------------------------------------------------

    def wakeup(self) -> None:
        """End the present wait of this consumer, or else the next one, once.

        From any thread, and from a signal handler. The call that waits raises
        WakeupException; one that has its result keeps it. `close` is never ended.
        """
        self._caller.wakeup()

    def health(self) -> Health:
        """A snapshot for a liveness probe: from any thread, at once, also after `close`."""
        machinery = self._built()
        thread, timer = machinery.thread, machinery.timer
        now = self._caller.now()
        due = timer.next_at
        coordinator = machinery.coordinator
        return Health(
            alive=thread.alive,
            turns=thread.turns,
            since_last_turn=now - timer.now,
            next_due=None if due is None else due - now,
            waiting_calls=len(machinery.calls),
            coordinator=None if coordinator is None else coordinator.name,
            died_of=None if thread.died_of is None else repr(thread.died_of),
        )

    # --- the end ---------------------------------------------------------------------

    def close(self, timeout: float | timedelta | None = None) -> None:
        """Close the consumer, by min(timeout, `request.timeout.ms`), and never late.

        Asynchronous commits are waited for, and all their callbacks run. A second
        time does nothing.

        Args:
            timeout: Seconds; None for 30.

        Raises:
            KafkaException: The first failure on the way, as its cause; never a
                TimeoutException. Everything is closed all the same.
        """
        if self._caller.closed:
            return
        with self._caller.inside("close"):
            budget = min(
                Deadline.after(0.0, CLOSE if timeout is None else timeout).at,
                self._config.request_timeout_ms / 1000,
            )
            closing.close(self._caller, self._commits, self._built().thread, budget)

    def _built(self) -> Machinery:
        if self._machinery is None:
            raise AssertionError("a consumer that was never built")
        return self._machinery

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # Of a half-built consumer there may be nothing; of a forked one, nothing is ours.
        machinery = getattr(self, "_machinery", None)
        if machinery is None or self._caller.closed or os.getpid() != self._process:
            return
        warnings.warn(f"{self!r} was never closed", ResourceWarning, source=self, stacklevel=2)
        self._caller.closed = True
        machinery.thread.abandon()

    def __repr__(self) -> str:
        machinery = self._built()
        return f"KafkaConsumer({machinery.client_id}, {machinery.thread.life.value})"
