"""The public admin client: each call ends by its deadline, item by item.

Thread: the application's; many threads may use one admin client.
"""

import os
import threading
import warnings
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, Protocol, Self

from prokurist.admin.access import Access
from prokurist.admin.cluster import ClusterCalls
from prokurist.admin.configs import Configs
from prokurist.admin.groups import Groups
from prokurist.admin.lag import Lag
from prokurist.admin.plans import Plans
from prokurist.admin.quorum import Quorum
from prokurist.admin.records import Records
from prokurist.admin.replicas import Replicas
from prokurist.admin.share import Share
from prokurist.admin.topics import Topics
from prokurist.admin.transactions import Transactions
from prokurist.application import at_exit
from prokurist.application.call_runner import LAST_TURN, TURN
from prokurist.application.caller_counters import CLOSED, CallerCounters
from prokurist.application.driving import Run, Steps
from prokurist.application.health import ClientHealth
from prokurist.application.monkey_patches import refuse_patched
from prokurist.application.open_clients import OPEN
from prokurist.application.single_thread_guard import PROCESS
from prokurist.application.telemetry import client_instance_id, require_push
from prokurist.assembly.admin import AdminSide, open_admin_side
from prokurist.assembly.counted_core import CountedCore
from prokurist.config import AdminConfig
from prokurist.errors import KafkaException
from prokurist.errors.local_variables import without_locals
from prokurist.events.application_events import Close
from prokurist.events.call import Call
from prokurist.events.clock import (
    CallersClock,
    Deadline,
    MonotonicClock,
    as_seconds,
    epoch_milliseconds,
)
from prokurist.events.log_events import CLIENT_CLOSED, CLIENT_STARTED
from prokurist.version import VERSION

if TYPE_CHECKING:
    from typing import Unpack
    from uuid import UUID

    from prokurist.config.typed import AdminKeywords

CLOSE: Final = 5.0
"""Seconds for a `close` that is given no timeout: nothing is left to do but to end a thread."""


class Thread(Protocol):
    """Interface of the network thread, for `close`."""

    def join(self, seconds: float) -> object:
        """Wait for its end, or return what waits for it."""
        ...


class KafkaAdmin(
    Topics,
    Configs,
    ClusterCalls,
    Records,
    Replicas,
    Quorum,
    Groups,
    Lag,
    Access,
    Transactions,
    Share,
    Plans,
):
    """An admin client in which every call answers by its deadline, item by item.

    Many threads may use one. A call about several items returns `Results`: what has succeeded
    by the deadline is there, and each of the others has its own error, with the ledger of its
    attempts and `may_have_happened`. A call about one item returns its value, or raises.

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
        **keywords: "Unpack[AdminKeywords]",
    ) -> None:
        self._side: AdminSide | None = None
        refuse_patched()
        settings = AdminConfig(config, **keywords)
        clock = MonotonicClock()
        side = open_admin_side(settings, clock)
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
    def wired(cls, config: AdminConfig, clock: CallersClock, side: AdminSide) -> Self:
        """An admin client on a side that something else runs: a simulation."""
        self = cls.__new__(cls)
        self._wire(config, clock, side)
        return self

    def _wire(self, config: AdminConfig, clock: CallersClock, side: AdminSide) -> None:
        self._config = config
        self._clock = clock
        self._side = side
        self._process = PROCESS.id
        self._closed = False
        self._closing = threading.RLock()
        self._default = config.default_api_timeout_ms / 1000
        self._counters = CallerCounters()
        self._counted = CountedCore(config, side, self._counters, clock)
        if side.telemetry is not None:
            # Imported here, as for `metrics`: the network thread imports nothing later.
            from prokurist.metrics.telemetry import TelemetrySource  # noqa: PLC0415

            side.telemetry.source = TelemetrySource(self._counted, side.time_of_day)

    # --- its end -----------------------------------------------------------------------------

    def close(self, timeout: float | timedelta | None = None) -> None:
        """Close the admin client, by its time.

        Calls of other threads end: items without an outcome fail, and say whether they may have
        happened. Once closed, a call does nothing.

        Args:
            timeout: Seconds; None for 5.
        """
        self._run(self._end(CLOSE if timeout is None else as_seconds(timeout)))

    def _end(self, seconds: float) -> Steps[None]:
        """Take the steps of `close`."""
        if PROCESS.id != self._process:
            self._check_usable("close")
        with self._closing:
            if self._closed:
                return
            self._closed = True
        side, runner = self._built(), self._runner()
        began = runner.now()
        # The thread needs one turn to close everything, also where there is no time.
        last = Deadline(max(began + seconds, began + (LAST_TURN if seconds > 0 else TURN)))
        ending = Call("close", began, last)
        try:
            runner.post(Close(ending))
        except KafkaException:
            pass  # The thread has ended by itself: its calls have heard so.
        else:
            yield from runner.wait_for_end(ending, last)
        yield Run(self._thread().join, last.remaining(runner.now()))
        OPEN.remove(self._counted)
        CLOSED.add(self._counters)
        side.trace.emit(CLIENT_CLOSED, seconds=runner.now() - began)

    def _thread(self) -> Thread:
        """The network thread, for `close`."""
        return self._built().thread

    def _close_at_exit(self, seconds: float, *, last_commit: bool) -> None:
        """Close at the end of the interpreter."""
        del last_commit
        self.close(min(seconds, CLOSE))

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
        # Of a half-built client there may be nothing; of a forked one, nothing is ours.
        side = self.__dict__.get("_side")
        if side is None or self._closed or os.getpid() != self._process:
            return
        self._closed = True
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
            "a KafkaAdmin cannot be pickled or copied, since its thread and connections stay "
            "where it was built: build one in the process that uses it"
        )

    # --- what it is doing ----------------------------------------------------------------

    def health(self) -> ClientHealth:
        """A snapshot for a liveness probe: from any thread, at once, also after `close`."""
        return self._built().health(ClientHealth, self._clock.now())

    def metrics(self) -> dict[str, float]:
        """Return the counters of this client: from any thread, at once, also after `close`.

        The keys are those of the exposition that Prometheus scrapes, without `client_id`:
        `prokurist_connections`. See docs/metrics.md for what every client has.

        Raises:
            ForkedClientError: It was built before a fork.
        """
        if PROCESS.id != self._process:
            self._check_usable("metrics")
        # Imported here, so that only this call loads the catalogue: the core only counts.
        from prokurist.metrics.mapping import as_mapping  # noqa: PLC0415

        return as_mapping(self._counted)

    def client_instance_id(self, timeout: float | timedelta) -> "UUID":
        """The id under which brokers know the metrics that this client pushes (KIP-714).

        A broker gives it, once.

        Args:
            timeout: Seconds; there is no default.

        Raises:
            IllegalStateException: `enable.metrics.push` is off, or the client is closed.
            TimeoutException: The time is over.
            UnsupportedVersionException: The brokers take no metrics.
        """
        as_seconds(timeout)
        self._check_usable("client_instance_id")
        require_push(on=self._built().telemetry is not None)
        return self._run(self._client_instance_id(timeout))

    def _client_instance_id(self, timeout: float | timedelta) -> Steps["UUID"]:
        return (yield from client_instance_id(self._runner(), timeout))

    def __repr__(self) -> str:
        # Printed with a traceback's locals, it may be one whose constructor has raised.
        side: AdminSide | None = self.__dict__.get("_side")
        if side is None:
            return "KafkaAdmin(not built)"
        return f"KafkaAdmin({side.client_id}, {side.thread.life.value})"


def close_at_exit(admin: KafkaAdmin, /, seconds: float, *, last_commit: bool) -> None:
    """Close an admin client, of threads or of coroutines, as the interpreter exits."""
    admin._close_at_exit(seconds, last_commit=last_commit)  # noqa: SLF001 - of this very module
