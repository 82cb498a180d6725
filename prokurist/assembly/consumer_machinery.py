"""Wires the network side of a consumer.

Thread: the application's, while a client is being built. What is made here for
the network thread is not touched by other threads once that thread runs.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from prokurist.assembly.shared import (
    authenticator_of,
    credentials_of,
    keepalive_of,
    limits_of,
    telemetry_of,
    tell_of_security,
    tls_contexts,
    tls_of,
)
from prokurist.config import ConsumerConfig
from prokurist.errors import KafkaException
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.backoff import Backoff
from prokurist.events.client_id import default_client_id
from prokurist.events.clock import Clock, epoch_milliseconds
from prokurist.events.cluster import Cluster
from prokurist.events.fetch_buffer import FetchBuffer
from prokurist.events.log_event_queue import LogEventQueue
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.events.subscription import Subscription
from prokurist.events.trace import Trace
from prokurist.logs.event_reader import EventReader
from prokurist.logs.log import Log, wants_calls
from prokurist.network_thread.cluster.coordinator_manager import CoordinatorManager
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.missing_topics import MissingTopics
from prokurist.network_thread.cluster.topic_interest import TopicInterest
from prokurist.network_thread.cluster.topic_manager import TopicManager
from prokurist.network_thread.connections.bootstrap import Bootstrap
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.pipeline import LARGEST_INT32
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.dispatch import dispatch, without_group
from prokurist.network_thread.fetch.fetch_requests import FetchLimits
from prokurist.network_thread.fetch.manager import FetchManager
from prokurist.network_thread.fetch.session import Terms
from prokurist.network_thread.group import Group
from prokurist.network_thread.io.network import Network
from prokurist.network_thread.io.resolver import HostLookups, Resolver
from prokurist.network_thread.io.selector import LARGEST_FRAME_BYTES, SelectorNetwork
from prokurist.network_thread.offsets.lag_manager import LagManager
from prokurist.network_thread.offsets.leader_queries import LeaderQueries
from prokurist.network_thread.offsets.offsets_manager import OffsetsManager
from prokurist.network_thread.offsets.positions_manager import PositionsManager
from prokurist.network_thread.offsets.validation_manager import ValidationManager
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.thread import NetworkThread
from prokurist.network_thread.wire.api_versions import ApiVersions
from prokurist.network_thread.wire.versions import Versions
from prokurist.types import Node, TopicPartition
from prokurist.version import VERSION

if TYPE_CHECKING:
    from prokurist.network_thread.connections.authentication import Authenticator
    from prokurist.network_thread.telemetry.manager import TelemetryManager


@dataclass(frozen=True, slots=True)
class Machinery:
    """A client's network side, wired and not started.

    Attributes:
        thread: The network thread; its mailbox takes the application's events.
        timer: Its Timer, for those who look at an idle client.
        client: Its network client, for the same.
        calls: What is being worked on, for the same.
        metadata: What it knows of the cluster, for the same.
        group: What it has to do with its group, where it has one, for the same.
        subscription: What it reads; both threads use it.
        member_identity: Who it is in its group; both threads use it.
        poll_activity: When it polls; both threads use it.
        background: What it has to tell the next poll.
        positions: What it looks up of positions, for those who look at an idle client.
        buffer: What it has fetched, for both threads.
        fetches: What it fetches, for those who look at an idle client.
        telemetry: What pushes metrics to brokers, where that is on.
        time_of_day: Milliseconds since the epoch.
        trace: Where both threads tell what happens.
        log_events: What `on_event` is to be told; None where there is none.
    """

    client_id: str
    thread: NetworkThread
    timer: Timer
    client: NetworkClient
    calls: Calls
    metadata: MetadataManager
    group: Group | None
    subscription: Subscription
    member_identity: MemberIdentity
    poll_activity: PollActivity
    background: BackgroundEvents
    positions: PositionsManager
    buffer: FetchBuffer[Any]
    fetches: FetchManager
    telemetry: "TelemetryManager | None"
    time_of_day: Callable[[], int]
    trace: Trace
    log_events: LogEventQueue | None

    @property
    def coordinator(self) -> CoordinatorManager | None:
        """Who coordinates its group, where it has one."""
        return None if self.group is None else self.group.coordinator


def system_machinery(config: ConsumerConfig, clock: Clock) -> Machinery:
    """Wire the network side of a consumer to the sockets of this system."""
    contexts = tls_contexts(config, clock)
    network = SelectorNetwork(
        receive_buffer_bytes=config.receive_buffer_bytes,
        send_buffer_bytes=config.send_buffer_bytes,
        # Of one batch that is larger than `fetch.max.bytes` a broker sends all the
        # same, so an answer may be that much and the largest batch there is.
        largest_frame_bytes=min(LARGEST_FRAME_BYTES + config.fetch_max_bytes, LARGEST_INT32),
        tls=tls_of(contexts),
        keepalive=keepalive_of(config),
    )
    try:
        machinery = consumer_machinery(
            config,
            clock=clock,
            network=network,
            resolver=Resolver(network.wake, family=config.broker_address_family),
            random=Random(),  # noqa: S311 - jitter is no secret
            software=("prokurist", VERSION),
            authenticator=authenticator_of(config, network.wake),
        )
    except BaseException:
        network.shutdown()
        raise
    tell_of_security(config, contexts, machinery.trace)
    return machinery


def consumer_machinery(
    config: ConsumerConfig,
    *,
    clock: Clock,
    network: Network,
    resolver: HostLookups,
    random: Random,
    software: tuple[str, str],
    cap: Versions | None = None,
    time_of_day: Callable[[], int] = epoch_milliseconds,
    authenticator: "Authenticator | None" = None,
) -> Machinery:
    """Wire the network side of a consumer.

    Args:
        config: The configuration.
        clock: The clock of both threads.
        network: All that knows sockets.
        resolver: Looks hosts up, and wakes the network when it has found one.
        random: For the jitter of pauses; seeded in a simulation.
        software: The name and version that brokers are told.
        cap: What may be used of our own versions, in tests of old protocols.
        time_of_day: Milliseconds since the epoch.
        authenticator: Authenticates connections; None where SASL is not wanted.
    """
    client_id = config.client_id or default_client_id("consumer")
    trace = Trace.of(client_id, config.group_id, clock)
    trace.read_by(Log(), fine=wants_calls())
    timer = Timer(clock.now())
    retry = Backoff.of_milliseconds(
        config.retry_backoff_ms, config.retry_backoff_max_ms, random
    )
    client = NetworkClient(
        network,
        resolver,
        timer,
        limits_of(config, random),
        ApiVersions(*software),
        client_id,
        random.random,
        cap,
        trace,
        authenticator,
    )
    canonical = config.client_dns_lookup == "resolve_canonical_bootstrap_servers_only"
    bootstrap = Bootstrap(
        ((each.host, each.port) for each in config.bootstrap_servers),
        client.canonical_names if canonical else None,
    )
    subscription = Subscription(
        config.auto_offset_reset, stores=not config.enable_auto_offset_store
    )
    background = BackgroundEvents(credentials_of(config))
    metadata = MetadataManager(
        client,
        TopicInterest(subscription.topics, subscription.follows_pattern),
        timer,
        retry,
        bootstrap,
        max_age=config.metadata_max_age_ms / 1000,
        rebootstrap=config.metadata_recovery_strategy == "rebootstrap",
        trigger=config.metadata_recovery_rebootstrap_trigger_ms / 1000,
        create=config.allow_auto_create_topics,
    )
    leaders = LeaderQueries(
        client, metadata, timer, retry, attempt=config.request_timeout_ms / 1000
    )
    offsets = OffsetsManager(leaders)
    topics = TopicManager(
        client, metadata, timer, retry, create=config.allow_auto_create_topics
    )
    calls = Calls(timer, credentials_of(config))
    member_identity, poll_activity = MemberIdentity(), PollActivity()
    log_events = None if config.on_event is None else event_queue(background, poll_activity)
    if log_events is not None:
        trace.read_by(EventReader(log_events), fine=False)
    group: Group | None = None
    if config.group_id is not None:
        group = Group(
            config,
            config.group_id,
            client=client,
            metadata=metadata,
            calls=calls,
            timer=timer,
            backoff=retry,
            subscription=subscription,
            member_identity=member_identity,
            poll_activity=poll_activity,
            background=background,
            changed=lambda: on_given(),  # noqa: PLW0108 - it is made further down
        )

    def on_disconnect(node: Node, lane: Lane, error: KafkaException, since: float) -> None:
        metadata.on_disconnect(node, lane, error, since)
        if group is not None:
            group.on_disconnect(node, lane, error, since)

    client.on_disconnect = on_disconnect
    take_group = without_group if group is None else group.take
    read_committed = config.isolation_level == "read_committed"
    positions = PositionsManager(
        subscription,
        background,
        calls,
        offsets,
        ValidationManager(leaders, metadata, timer),
        metadata,
        None if group is None else group.commits,
        timer,
        retry,
        patience=config.default_api_timeout_ms / 1000,
        read_committed=read_committed,
        time_of_day=time_of_day,
        trace=trace,
        ended=nothing_to_commit if group is None else group.auto.overtake,
    )
    buffer = FetchBuffer[Any]()
    fetches = FetchManager(
        client,
        metadata,
        subscription,
        buffer,
        background,
        timer,
        retry,
        fetch_limits(config),
        replica_lifetime=config.metadata_max_age_ms / 1000,
    )

    def on_given() -> None:
        positions.drop_stale()
        fetches.stir()
        background.nudge()

    missing_topics = MissingTopics(subscription.topics, subscription.assigned, trace)

    def on_update(cluster: Cluster) -> None:
        missing_topics.look(cluster)
        positions.on_metadata(cluster)
        if group is not None:
            group.membership.on_metadata(cluster)

    metadata.on_update = on_update
    metadata.on_refused = lambda error, topics: background.post_about(
        error, subscription.held(topics), topics
    )
    metadata.on_accepted = background.accept
    lags = LagManager(
        subscription,
        calls,
        offsets,
        timer,
        patience=config.default_api_timeout_ms / 1000,
        read_committed=read_committed,
        trace=trace,
    )
    telemetry = telemetry_of(config, client, metadata, bootstrap, timer, retry, random)
    thread = NetworkThread(
        f"{client_id}-network",
        clock=clock,
        timer=timer,
        network=network,
        client=client,
        calls=calls,
        take=dispatch(calls, offsets, topics, positions, lags, fetches, take_group, telemetry),
        managers=[each for each in (group, fetches, metadata, telemetry) if each is not None],
        background=background,
        trace=trace,
    )
    return Machinery(
        client_id,
        thread,
        timer,
        client,
        calls,
        metadata,
        group,
        subscription,
        member_identity,
        poll_activity,
        background,
        positions,
        buffer,
        fetches,
        telemetry,
        time_of_day,
        trace,
        log_events,
    )


def event_queue(background: BackgroundEvents, poll_activity: PollActivity) -> LogEventQueue:
    """What `on_event` is to be told; whatever comes ends the wait of a poll."""

    def wake() -> None:
        poll_activity.summon()
        background.nudge()

    return LogEventQueue(wake)


def nothing_to_commit(_partitions: Collection[TopicPartition]) -> None:
    """A client without a group has no commits that could end."""


def fetch_limits(config: ConsumerConfig) -> FetchLimits:
    """How much may be fetched, and what every fetch says."""
    return FetchLimits(
        Terms(
            max_wait=config.fetch_max_wait_ms / 1000,
            min_bytes=config.fetch_min_bytes,
            read_committed=config.isolation_level == "read_committed",
            rack=config.client_rack or "",
        ),
        answer=config.fetch_max_bytes,
        partition=config.max_partition_fetch_bytes,
        buffer=config.fetch_buffer_max_bytes,
        request=config.request_timeout_ms / 1000,
    )
