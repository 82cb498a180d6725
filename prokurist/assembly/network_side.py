"""Wires the core of a client: all that every kind of client has beside its thread.

Thread: the application's, while a client is being built. Parts of the network thread belong to
that thread alone once it runs.
"""

import math
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

from prokurist.application.health import ClientHealth, age
from prokurist.assembly.security import (
    authenticator_of,
    credentials_of,
    tls_contexts,
    tls_of,
)
from prokurist.config import (
    AdminConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
)
from prokurist.config.connection import ConnectionKeys
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.backoff import Backoff
from prokurist.events.client_id import default_client_id
from prokurist.events.clock import CallersClock, Clock, epoch_milliseconds
from prokurist.events.trace import Trace
from prokurist.lazy_dataclasses import dataclass
from prokurist.logs.log import Log, wants_calls
from prokurist.network_thread.cluster.attempts import Attempts
from prokurist.network_thread.cluster.coordinators import Coordinators
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.topic_interest import TopicInterest
from prokurist.network_thread.cluster.topic_manager import TopicManager
from prokurist.network_thread.connections.bootstrap import Bootstrap
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Limits
from prokurist.network_thread.error_actions import METADATA, ErrorTable
from prokurist.network_thread.io.network import Network
from prokurist.network_thread.io.resolver import HostLookups, Resolver
from prokurist.network_thread.io.selector import LARGEST_FRAME_BYTES, SelectorNetwork
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.dispatch import Dispatch, Taker
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.thread import EventManager, NetworkThread
from prokurist.network_thread.wire.api_versions import ApiVersions
from prokurist.network_thread.wire.versions import Versions
from prokurist.version import VERSION

if TYPE_CHECKING:
    from prokurist.network_thread.connections.authentication import Authenticator
    from prokurist.network_thread.telemetry.manager import TelemetryManager

HealthT = TypeVar("HealthT", bound=ClientHealth)

IN_FLIGHT: Final = 100
"""Requests on one connection at once; Java's consumer has the same bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """The surroundings of a client: sockets, time and chance; a simulation has others.

    Attributes:
        clock: The clock of all threads.
        network: All that knows sockets.
        resolver: Looks hosts up, and wakes the network when it has found one.
        random: For the jitter of pauses and the choice of partitions.
        software: The name and version that brokers are told.
        cap: Upper bounds on versions, in tests of old protocols.
        time_of_day: Milliseconds since the epoch.
        authenticator: Authenticates connections; None where SASL is not wanted.
    """

    clock: CallersClock
    network: Network
    resolver: HostLookups
    random: Random
    software: tuple[str, str] = ("prokurist", VERSION)
    cap: Versions | None = None
    time_of_day: Callable[[], int] = epoch_milliseconds
    authenticator: "Authenticator | None" = None


class NetworkSide:
    """The network side of a client, wired and not started.

    Args:
        config: The configuration.
        trace: Where both threads tell what happens.
        system: What the client runs on.
        create_topics: Whether asking for a topic may make it.
        codes: What the error codes of topics mean for this kind of client.

    Attributes:
        client_id: The `client.id`.
        trace: The client's trace.
        time_of_day: Milliseconds since the epoch.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        calls: The calls in progress.
        client: The network client.
        metadata: The metadata of the cluster.
        attempts: Asks brokers until they have answered.
        coordinators: The coordinators of groups and transactional ids.
        telemetry: Pushes metrics to brokers; None where that is off.
        background: Events for the next poll.
        dispatch: The managers by event.
        thread: The network thread; its mailbox takes the application's events.
    """

    def __init__(
        self,
        config: ConnectionKeys,
        trace: Trace,
        system: System,
        *,
        create_topics: bool,
        codes: ErrorTable = METADATA,
    ) -> None:
        random = system.random
        self._request_timeout = config.request_timeout_ms / 1000
        self.client_id: str = trace.client_id
        self.trace: Trace = trace
        self.time_of_day: Callable[[], int] = system.time_of_day
        self.timer: Timer = Timer(system.clock.now())
        self.backoff: Backoff = Backoff.of_milliseconds(
            config.retry_backoff_ms, config.retry_backoff_max_ms, random
        )
        self.calls: Calls = Calls(self.timer, credentials_of(config))
        self.client: NetworkClient = NetworkClient(
            system.network,
            system.resolver,
            self.timer,
            limits_of(config, random),
            ApiVersions(*system.software),
            trace.client_id,
            random.random,
            system.cap,
            trace,
            system.authenticator,
        )
        canonical = config.client_dns_lookup == "resolve_canonical_bootstrap_servers_only"
        bootstrap = Bootstrap(
            ((each.host, each.port) for each in config.bootstrap_servers),
            self.client.canonical_names if canonical else None,
        )
        self.metadata: MetadataManager = MetadataManager(
            self.client,
            TopicInterest(),
            self.timer,
            self.backoff,
            bootstrap,
            max_age=config.metadata_max_age_ms / 1000,
            rebootstrap=config.metadata_recovery_strategy == "rebootstrap",
            trigger=config.metadata_recovery_rebootstrap_trigger_ms / 1000,
            create=create_topics,
            codes=codes,
        )
        self.attempts: Attempts = Attempts(self.client, self.timer, self.backoff)
        self.coordinators: Coordinators = Coordinators(
            self.client, self.metadata, self.attempts, self.timer
        )
        self.telemetry: TelemetryManager | None = None
        if config.enable_metrics_push:
            self.telemetry = self._telemetry_of(bootstrap, random)
        self.background: BackgroundEvents = BackgroundEvents(credentials_of(config))
        self.dispatch: Dispatch = Dispatch(self.calls)
        self.thread: NetworkThread = NetworkThread(
            f"{trace.client_id}-network",
            clock=system.clock,
            timer=self.timer,
            network=system.network,
            client=self.client,
            calls=self.calls,
            take=self.dispatch.take,
            background=self.background,
            trace=trace,
        )
        self.register(
            TopicManager(self.metadata, self.attempts, self.timer, create=create_topics)
        )
        if self.telemetry is not None:
            self.add(self.telemetry)
        self.thread.add(self.metadata)

    def _telemetry_of(self, bootstrap: Bootstrap, random: Random) -> "TelemetryManager":
        # A client that pushes nothing imports nothing of it.
        from prokurist.network_thread.telemetry.manager import TelemetryManager  # noqa: PLC0415

        return TelemetryManager(
            self.client, self.metadata, bootstrap, self.timer, self.backoff, random
        )

    def add(self, manager: EventManager) -> None:
        """Poll a manager in each turn, and pass it the events that it takes."""
        self.thread.add(manager)
        self.dispatch.register(manager)

    def register(self, *takers: Taker) -> None:
        """Pass managers the events that they take; they do nothing unasked."""
        self.dispatch.register(*takers)

    def health(self, kind: type[HealthT], now: float, **more: Any) -> HealthT:
        """Read the health of the client; for any thread.

        Args:
            kind: The snapshot of its kind of client.
            now: The client's clock.
            more: What that snapshot has beside `ClientHealth`.
        """
        thread, timer, reachability = self.thread, self.timer, self.client.reachability
        # In this order: a turn that begins in between has read the clock before it works.
        is_stuck = thread.works and now - timer.now > self._request_timeout
        due, failure = timer.next_at, reachability.last_failure
        return kind(
            alive=thread.alive and not is_stuck,
            turns=thread.turns,
            since_last_turn=now - timer.now,
            next_due=None if due is None else due - now,
            waiting_calls=len(self.calls),
            died_of=None if thread.died_of is None else repr(thread.died_of),
            unreachable_for=age(reachability.unreachable_since, now),
            answer_age=age(reachability.answered_at, now),
            last_error=None if failure is None else str(failure[0]),
            last_error_age=None if failure is None else age(failure[1], now),
            **more,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.client_id}, {self.thread})"


def trace_of(config: ConnectionKeys, kind: str, group: str | None, clock: Clock) -> Trace:
    """Make the trace of a client, with its log as a reader."""
    client_id = config.client_id or default_client_id(kind)
    trace = Trace.of(client_id, group, clock)
    trace.read_by(Log(), fine=wants_calls())
    return trace


def open_system(
    config: ConsumerConfig | ProducerConfig | AdminConfig | ShareConsumerConfig,
    trace: Trace,
    clock: CallersClock,
    largest_frame_bytes: int = LARGEST_FRAME_BYTES,
) -> System:
    """Open the sockets of this system for a client."""
    network = SelectorNetwork(
        receive_buffer_bytes=config.receive_buffer_bytes,
        send_buffer_bytes=config.send_buffer_bytes,
        largest_frame_bytes=largest_frame_bytes,
        tls=tls_of(tls_contexts(config, clock, trace)),
        keepalive=keepalive_of(config),
    )
    try:
        return System(
            clock=clock,
            network=network,
            resolver=Resolver(network.wake, family=config.broker_address_family),
            random=Random(),  # noqa: S311 - jitter is no secret
            authenticator=authenticator_of(config, network.wake),
        )
    except BaseException:
        network.shutdown()
        raise


def keepalive_of(config: ConnectionKeys) -> int | None:
    """Seconds without traffic until the system probes a connection; None for no probes."""
    return config.socket_keepalive_idle_ms // 1000 if config.socket_keepalive_enable else None


def limits_of(config: ConnectionKeys, random: Random) -> Limits:
    """The limits of a connection, in seconds."""
    idle = config.connections_max_idle_ms
    return Limits(
        request=config.request_timeout_ms / 1000,
        setup=Backoff.of_milliseconds(
            config.socket_connection_setup_timeout_ms,
            config.socket_connection_setup_timeout_max_ms,
            random,
        ),
        reconnect=Backoff.of_milliseconds(
            config.reconnect_backoff_ms, config.reconnect_backoff_max_ms, random
        ),
        idle=math.inf if idle < 0 else idle / 1000,
        in_flight=IN_FLIGHT,
    )
