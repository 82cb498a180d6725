"""Wires a client: the one place that knows all of its parts.

Thread: the application's, while a client is being built. What is made here for
the network thread is not touched by anybody else once that thread runs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count
from random import Random
from typing import Final

from prokurist.config import ConsumerConfig
from prokurist.errors import InvalidGroupIdException, KafkaException
from prokurist.events.application_events import (
    ApplicationEvent,
    Close,
    Commit,
    CommitOnce,
    DropStale,
    GroupEvent,
    ListTopics,
    LookUpCommitted,
    LookUpEnd,
    LookUpOffsets,
    LookUpPosition,
    LookUpPositions,
    LookUpTopic,
    Withdraw,
)
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.backoff import Backoff
from prokurist.events.clock import Clock, epoch_milliseconds
from prokurist.events.subscription import Subscription
from prokurist.network_thread.calls import Calls
from prokurist.network_thread.client import NetworkClient
from prokurist.network_thread.commit_manager import CommitManager
from prokurist.network_thread.coordinator_manager import CoordinatorManager
from prokurist.network_thread.io.network import Network
from prokurist.network_thread.io.resolver import Resolver
from prokurist.network_thread.io.selector import SelectorNetwork
from prokurist.network_thread.metadata_manager import MetadataManager
from prokurist.network_thread.offsets_manager import OffsetsManager
from prokurist.network_thread.positions_manager import PositionsManager
from prokurist.network_thread.requests import Lane, Limits
from prokurist.network_thread.thread import NetworkThread
from prokurist.network_thread.timer import Timer
from prokurist.network_thread.topic_manager import TopicManager
from prokurist.network_thread.wire.api_versions import ApiVersions
from prokurist.network_thread.wire.versions import Versions
from prokurist.types import Node

IN_FLIGHT: Final = 100
"""Requests on one connection at once; Java's consumer has the same bound."""

NUMBERS: Final = count(1)
"""For the client ids of those who gave none."""


@dataclass(frozen=True, slots=True)
class Machinery:
    """A client's network side, wired and not started.

    Attributes:
        thread: The network thread; its mailbox takes the application's events.
        timer: Its Timer, for those who look at an idle client.
        client: Its network client, for the same.
        calls: What is being worked on, for the same.
        metadata: What it knows of the cluster, for the same.
        coordinator: Who coordinates its group, where it has one, for the same.
        subscription: What it reads; both threads use it.
        background: What it has to tell the next poll.
        positions: What it looks up of positions, for those who look at an idle client.
    """

    client_id: str
    thread: NetworkThread
    timer: Timer
    client: NetworkClient
    calls: Calls
    metadata: MetadataManager
    coordinator: CoordinatorManager | None
    subscription: Subscription
    background: BackgroundEvents
    positions: PositionsManager


class CallsAndPolls(Calls):
    """The calls, and the polls, which wait beside them: both end with the thread."""

    def __init__(self, timer: Timer, background: BackgroundEvents) -> None:
        super().__init__(timer)
        self._background = background

    def fail(self, error: KafkaException) -> None:
        """See `Calls`."""
        self._background.close(error)
        super().fail(error)


def system_machinery(config: ConsumerConfig, clock: Clock) -> Machinery:
    """Wire the network side of a consumer to the sockets of this system."""
    network = SelectorNetwork(
        receive_buffer_bytes=config.receive_buffer_bytes,
        send_buffer_bytes=config.send_buffer_bytes,
    )
    try:
        return consumer_machinery(
            config,
            clock=clock,
            network=network,
            random=Random(),  # noqa: S311 - jitter is no secret
            software=("prokurist", version("prokurist")),
        )
    except BaseException:
        network.shutdown()
        raise


def consumer_machinery(
    config: ConsumerConfig,
    *,
    clock: Clock,
    network: Network,
    random: Random,
    software: tuple[str, str],
    cap: Versions | None = None,
    time_of_day: Callable[[], int] = epoch_milliseconds,
) -> Machinery:
    """Wire the network side of a consumer.

    Args:
        config: The configuration.
        clock: The clock of both threads.
        network: All that knows sockets.
        random: For the jitter of pauses; seeded in a simulation.
        software: The name and version that brokers are told.
        cap: What may be used of our own versions, in tests of old protocols.
        time_of_day: Milliseconds since the epoch.
    """
    client_id = config.client_id or f"prokurist-consumer-{next(NUMBERS)}"
    timer = Timer(clock.now())
    retry = Backoff.of_milliseconds(
        config.retry_backoff_ms, config.retry_backoff_max_ms, random
    )
    client = NetworkClient(
        network,
        Resolver(network.wake),
        timer,
        limits_of(config, random),
        ApiVersions(*software),
        client_id,
        random.random,
        cap,
    )
    metadata = MetadataManager(
        client,
        timer,
        retry,
        tuple(
            Node(-1 - number, address.host, address.port)
            for number, address in enumerate(config.bootstrap_servers)
        ),
        max_age=config.metadata_max_age_ms / 1000,
        rebootstrap=config.metadata_recovery_strategy == "rebootstrap",
        trigger=config.metadata_recovery_rebootstrap_trigger_ms / 1000,
        create=config.allow_auto_create_topics,
    )
    offsets = OffsetsManager(
        client, metadata, timer, retry, attempt=config.request_timeout_ms / 1000
    )
    topics = TopicManager(
        client, metadata, timer, retry, create=config.allow_auto_create_topics
    )
    background = BackgroundEvents()
    calls = CallsAndPolls(timer, background)
    take_group: Callable[[GroupEvent], None]
    commits: CommitManager | None = None
    coordinator: CoordinatorManager | None = None
    if config.group_id is None:
        take_group = without_group
        client.on_disconnect = metadata.on_disconnect
    else:
        search = coordinator = CoordinatorManager(
            config.group_id, client, metadata, timer, retry
        )
        commits = CommitManager(config.group_id, client, search, metadata, timer, retry)
        take_group = with_group(calls, commits)

        def on_disconnect(node: Node, lane: Lane, error: KafkaException) -> None:
            metadata.on_disconnect(node, lane, error)
            search.on_disconnect(node, lane, error)

        client.on_disconnect = on_disconnect
    subscription = Subscription(config.auto_offset_reset)
    positions = PositionsManager(
        subscription,
        background,
        calls,
        offsets,
        commits,
        timer,
        patience=config.default_api_timeout_ms / 1000,
        read_committed=config.isolation_level == "read_committed",
        time_of_day=time_of_day,
    )
    thread = NetworkThread(
        f"{client_id}-network",
        clock=clock,
        timer=timer,
        network=network,
        client=client,
        calls=calls,
        take=dispatch(calls, offsets, topics, positions, take_group),
        managers=(metadata,),
    )
    return Machinery(
        client_id,
        thread,
        timer,
        client,
        calls,
        metadata,
        coordinator,
        subscription,
        background,
        positions,
    )


def dispatch(
    calls: Calls,
    offsets: OffsetsManager,
    topics: TopicManager,
    positions: PositionsManager,
    take_group: Callable[[GroupEvent], None],
) -> Callable[[ApplicationEvent], None]:
    """Which manager works for which event; what needs a group goes to `take_group`."""

    def take(event: ApplicationEvent) -> None:
        match event:
            case Commit() | CommitOnce() | LookUpCommitted():
                take_group(event)
            case LookUpOffsets(call, moments, read_committed):
                work = offsets.look_up(call, moments, read_committed=read_committed)
                calls.start(call, work)
            case LookUpTopic(call, topic):
                calls.start(call, topics.partitions_of(call, topic))
            case ListTopics(call):
                calls.start(call, topics.list_all(call))
            case LookUpPosition() | LookUpPositions() | LookUpEnd() | DropStale():
                positions.take(event)
            case Withdraw(call):
                calls.withdraw(call)
            case Close():
                raise AssertionError("the thread itself takes Close")

    return take


def with_group(calls: Calls, commits: CommitManager) -> Callable[[GroupEvent], None]:
    """The same for what needs a group, in a client that has one."""

    def take(event: GroupEvent) -> None:
        match event:
            case Commit(call, offsets):
                calls.start(call, commits.commit(call, offsets))
            case CommitOnce(call, offsets):
                calls.start(call, commits.commit_once(call, offsets))
            case LookUpCommitted(call, partitions):
                calls.start(call, commits.committed(call, partitions))

    return take


def without_group(event: GroupEvent) -> None:
    """The same in a client that has none: it says so (B51)."""
    event.call.fail(
        InvalidGroupIdException(
            f"{event.call.operation} needs a group: set group.id in the configuration"
        )
    )


def limits_of(config: ConsumerConfig, random: Random) -> Limits:
    """What bounds a connection, in seconds."""
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
