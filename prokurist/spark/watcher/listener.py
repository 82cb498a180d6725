"""`watch`: commits the progress of streaming queries to their groups and measures their lag.

Thread: Spark's callbacks come on a thread of PySpark's, one after the other; `flush` and
`close` are called by the application. The work is the committer's thread's.
Invariants: a callback leaves an event and returns; nothing gets out of it, for through
Spark Connect an error there would cost every listener of the session its events.
"""

import atexit
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from prokurist.errors import ConfigException
from prokurist.events.clock import Deadline, MonotonicClock, as_seconds
from prokurist.spark.repeated_warnings import RepeatedWarnings
from prokurist.spark.watcher.commit_thread import CommitThread
from prokurist.spark.watcher.commit_worker import Rules
from prokurist.spark.watcher.event_queue import EventQueue
from prokurist.spark.watcher.group_consumers import GroupConsumers
from prokurist.spark.watcher.metrics_server import MetricsServer
from prokurist.spark.watcher.progress import Query, QueryBatch

if TYPE_CHECKING:
    from typing import Unpack

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from prokurist.config.typed import ConsumerKeywords

FLUSH: Final = 10.0
"""Seconds for a `flush` that is given no timeout."""

AT_EXIT: Final = 5.0
"""Seconds for all that is left when the interpreter ends."""

LAST_CALLBACK: Final = 0.5
"""Seconds at least for callbacks that are under way when a listener is removed."""

OPEN: Final = WeakSet["CommitListener"]()
"""Those that are not closed."""


def group_of(query: Query) -> str:
    """Return the default group of a query, without one named by the user."""
    return f"spark.{query.label}"


def watch(
    spark: "SparkSession",
    bootstrap: str,
    *,
    group: str | Callable[[Query], str | None] = group_of,
    sample_interval: float | timedelta = 10.0,
    commit_deadline: float | timedelta = 5.0,
    allow_rewind: bool = False,
    metrics_port: int | None = None,
    queries: Mapping[str, Mapping[str, object]] | None = None,
    **keys: "Unpack[ConsumerKeywords]",
) -> "CommitListener":
    """Commit the progress of this session's streaming queries, and measure their lag.

    For each query that reads Kafka, through any source, the end of each batch that is
    done is committed to a group of its own, and the ends of its logs are looked up again and
    again, so that its lag is seen also while a batch takes long or none comes. Nothing of
    this slows a query or fails it.

    Args:
        spark: The session, a classic one or one of Spark Connect.
        bootstrap: Where its queries' Kafka is: `bootstrap.servers`.
        group: The group of the commits, or a function that names it for a query, by its name or
            id; None from that leaves a query alone. By default `spark.` and its name, or its id
            where it has none.
        sample_interval: Seconds between two looks at the ends of the logs.
        commit_deadline: Seconds for each attempt to commit, and for each look.
        allow_rewind: True if a group may be taken back, as a checkpoint was.
        metrics_port: Serve all of prokurist's metrics at this port, for Prometheus.
        queries: Leave all others alone; for each of these, by its name or id, more keys of
            the configuration.
        keys: Keys of the consumer's configuration, such as `security_protocol`.

    Returns:
        The listener, already at work; see `flush` and `close`.

    Raises:
        ConfigException: A key or a value cannot be used.
        ImportError: There is a port and no `prometheus_client`.
        OSError: The port is taken.
    """
    listener = CommitListener(
        bootstrap,
        group=group,
        sample_interval=sample_interval,
        commit_deadline=commit_deadline,
        allow_rewind=allow_rewind,
        metrics_port=metrics_port,
        queries=queries,
        **keys,
    )
    spark.streams.addListener(listener)
    listener.spark = spark
    return listener


class CommitListener(StreamingQueryListener):
    """The listener that `watch` adds to a session."""

    def __init__(
        self,
        bootstrap: str,
        *,
        group: str | Callable[[Query], str | None] = group_of,
        sample_interval: float | timedelta = 10.0,
        commit_deadline: float | timedelta = 5.0,
        allow_rewind: bool = False,
        metrics_port: int | None = None,
        queries: Mapping[str, Mapping[str, object]] | None = None,
        **keys: "Unpack[ConsumerKeywords]",
    ) -> None:
        common: dict[str, object] = {"bootstrap.servers": bootstrap, **keys}
        clients = GroupConsumers(common, queries)
        rules = Rules(
            clients.connect,
            group if callable(group) else lambda _: group,
            positive("sample_interval", sample_interval),
            positive("commit_deadline", commit_deadline),
            allow_rewind,
        )
        self._clock = MonotonicClock()
        self._committer = CommitThread(rules, self._clock)
        self._warnings = RepeatedWarnings()
        self._server = None if metrics_port is None else MetricsServer(metrics_port)
        OPEN.add(self)

    @property
    def metrics_port(self) -> int | None:
        """The port of the metrics; None without one."""
        return None if self._server is None else self._server.port

    # --- Spark's callbacks -------------------------------------------------------------

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's
        """Post that a query has started; its `start` waits for this."""
        self._hear(lambda queue: queue.started(query_of(event, event.name)))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Post the batch that is done to the committer."""

        def progressed(queue: EventQueue) -> None:
            batch = QueryBatch.done(event.progress)
            if batch is not None:
                queue.progressed(batch)

        self._hear(progressed)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Post an idle trigger, so that the logs are looked at."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Post that a query has ended."""
        self._hear(lambda queue: queue.ended(query_of(event, None)))

    def _hear(self, of: "Callable[[EventQueue], None]") -> None:
        try:
            of(self._committer.queue)
        except Exception as error:  # noqa: BLE001 - a listener must not break Spark's
            text = f"an event was passed over: {error!r}"
            self._warnings.met("Spark's listener", "events are read", text, self._clock.now())

    # --- the application ---------------------------------------------------------------

    def flush(
        self, query: "StreamingQuery | None" = None, timeout: float | timedelta = FLUSH
    ) -> None:
        """Wait until all batches done by now are committed.

        Spark tells of batches a little after they are done, also after `awaitTermination`
        has returned. This asks the query itself.

        Args:
            query: The query, running or ended; None for all that run.
            timeout: Seconds.

        Raises:
            GroupInUseException: A group has members that are alive.
            KafkaException: A group says no for another reason.
            TimeoutException: The time is over.
        """
        deadline = Deadline.after(self._clock.now(), timeout)
        for each in self._running() if query is None else [query]:
            over = not each.isActive
            batch = last_batch(each)
            if batch is not None:
                self._committer.flush(batch, deadline, as_seconds(timeout), over=over)

    def _running(self) -> "list[StreamingQuery]":
        return [] if self.spark is None else list(self.spark.streams.active)

    def _look(self) -> tuple[frozenset[str], list[QueryBatch]]:
        running = self._running()
        last = [last_batch(each) for each in running]
        return (
            frozenset(str(each.runId) for each in running),
            [batch for batch in last if batch is not None],
        )

    def close(self, timeout: float | timedelta = FLUSH) -> None:
        """Stop watching, after committing all that is done if there is time.

        Args:
            timeout: Seconds.
        """
        deadline = Deadline.after(self._clock.now(), timeout)
        if self not in OPEN:
            return
        OPEN.discard(self)
        self._committer.drain(self._look, deadline)
        self._leave_session(deadline)
        self._committer.close(deadline)
        if self._server is not None:
            self._server.close()

    def _end(self, deadline: Deadline) -> None:
        """Commit the last batches as the interpreter exits, and Spark with it."""
        self._committer.drain(self._look, deadline)
        self._committer.close(deadline)
        # Spark's JVM ends a little later than its callbacks, and would log that they fail.
        self._leave_session(deadline)

    def _leave_session(self, deadline: Deadline) -> None:
        """Remove the listener, and wait until Spark has ended the callbacks under way.

        The removal does not end a callback that has begun, nor one with an event in delivery;
        if the interpreter ends during it, Spark logs a stack trace. An ended session knows no
        listeners, and one of Spark Connect has no queue of events.
        """
        if self.spark is None:
            return
        with suppress(Exception):
            self.spark.streams.removeListener(self)
            left = deadline.remaining(self._clock.now())
            milliseconds = int(max(left, LAST_CALLBACK) * 1000)
            jvm_context = self.spark.sparkContext._jsc.sc()  # noqa: SLF001 - not public in Spark
            jvm_context.listenerBus().waitUntilEmpty(milliseconds)

    def __repr__(self) -> str:
        return f"CommitListener({self._committer})"


def last_batch(query: "StreamingQuery") -> QueryBatch | None:
    """The last batch that a query has done; None if there is none."""
    progress = query.lastProgress
    return None if progress is None else QueryBatch.done(progress)


def query_of(event: Any, name: str | None) -> Query:
    """The query of an event."""
    return Query(str(event.id), str(event.runId), name)


def positive(name: str, given: float | timedelta) -> float:
    """Check that a duration is above zero.

    Raises:
        ConfigException: It is nothing.
    """
    seconds = as_seconds(given)
    if not seconds:
        raise ConfigException(f"{name} is more than 0 seconds, such as 5.0")
    return seconds


@atexit.register
def end_all() -> None:
    """Commit all that is done, as the interpreter exits."""
    clock = MonotonicClock()
    deadline = Deadline.after(clock.now(), AT_EXIT)
    for listener in list(OPEN):
        listener._end(deadline)  # noqa: SLF001 - ours
