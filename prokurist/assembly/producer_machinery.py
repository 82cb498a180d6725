"""Wires the network side of a producer.

Thread: the application's, while a client is being built. What is made here for the network
thread is that thread's alone once it runs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

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
from prokurist.config.clients import ProducerConfig
from prokurist.errors import DeliveryAbortedException, KafkaException
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.buffer_memory import BufferMemory
from prokurist.events.accumulator.implementation import Appender
from prokurist.events.accumulator.refused_waits import refused_to_holders
from prokurist.events.accumulator.sticky_partitioner import StickyPartitioner
from prokurist.events.application_events import (
    ApplicationEvent,
    AwaitTopic,
    DeliverAndEnd,
    GiveUp,
    InstanceId,
    ListTopics,
    LookUpTopic,
    Purge,
    PushLast,
    Withdraw,
)
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.backoff import Backoff
from prokurist.events.client_id import default_client_id
from prokurist.events.clock import CallersClock, epoch_milliseconds
from prokurist.events.cluster import Cluster
from prokurist.events.trace import Trace
from prokurist.logs.log import Log, wants_calls
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.missing_topics import MissingTopics
from prokurist.network_thread.cluster.topic_interest import TopicInterest
from prokurist.network_thread.cluster.topic_manager import TopicManager
from prokurist.network_thread.connections.bootstrap import Bootstrap
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.error_actions import PRODUCER_METADATA
from prokurist.network_thread.io.network import Network
from prokurist.network_thread.io.resolver import HostLookups, Resolver
from prokurist.network_thread.io.selector import SelectorNetwork
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.produce.endings import Endings
from prokurist.network_thread.produce.manager import ProduceManager, ProduceTerms
from prokurist.network_thread.produce.producer_ids import ProducerIds
from prokurist.network_thread.produce.sealing import Codec
from prokurist.network_thread.produce.topics import ProducerTopics
from prokurist.network_thread.thread import NetworkThread
from prokurist.network_thread.wire.api_versions import ApiVersions
from prokurist.network_thread.wire.versions import Versions
from prokurist.records.compression import Compression
from prokurist.version import VERSION

if TYPE_CHECKING:
    from prokurist.network_thread.connections.authentication import Authenticator
    from prokurist.network_thread.telemetry.manager import TelemetryManager

KEPT: Final = 1024
"""Of so many bytes of `max.request.size` a batch of several records leaves one.

For what compression adds to records that do not get smaller by it: a broker's default takes 12
bytes more than ours.
"""

ACKS: Final = {"all": -1, "0": 0, "1": 1}


@dataclass(frozen=True, slots=True)
class ProducerMachinery:
    """A producer's network side, wired and not started.

    Attributes:
        client_id: The `client.id`.
        thread: The network thread; its mailbox takes the application's events.
        timer: Its Timer, for those who look at an idle client.
        client: Its network client, for the same.
        calls: What is being worked on, for the same.
        metadata: What it knows of the cluster, for the same.
        accumulator: What is sent and not yet delivered; for both threads.
        partitioner: Chooses partitions for records without a key; for both threads.
        produce: What sends, for those who look at it.
        endings: How batches end, and what is counted of them.
        telemetry: What pushes metrics to brokers, where that is on.
        time_of_day: Milliseconds since the epoch.
        trace: Where both threads tell what happens.
    """

    client_id: str
    thread: NetworkThread
    timer: Timer
    client: NetworkClient
    calls: Calls
    metadata: MetadataManager
    accumulator: RecordAccumulator
    partitioner: StickyPartitioner
    produce: ProduceManager
    endings: Endings
    telemetry: "TelemetryManager | None"
    time_of_day: Callable[[], int]
    trace: Trace


def system_producer_machinery(config: ProducerConfig, clock: CallersClock) -> ProducerMachinery:
    """Wire the network side of a producer to the sockets of this system."""
    contexts = tls_contexts(config, clock)
    network = SelectorNetwork(
        receive_buffer_bytes=config.receive_buffer_bytes,
        send_buffer_bytes=config.send_buffer_bytes,
        tls=tls_of(contexts),
        keepalive=keepalive_of(config),
    )
    try:
        machinery = producer_machinery(
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


def producer_machinery(
    config: ProducerConfig,
    *,
    clock: CallersClock,
    network: Network,
    resolver: HostLookups,
    random: Random,
    software: tuple[str, str],
    cap: Versions | None = None,
    time_of_day: Callable[[], int] = epoch_milliseconds,
    authenticator: "Authenticator | None" = None,
) -> ProducerMachinery:
    """Wire the network side of a producer.

    Args:
        config: The configuration.
        clock: The clock of all threads.
        network: All that knows sockets.
        resolver: Looks hosts up, and wakes the network when it has found one.
        random: For the jitter of pauses and the choice of partitions; seeded in a simulation.
        software: The name and version that brokers are told.
        cap: What may be used of our own versions, in tests of old protocols.
        time_of_day: Milliseconds since the epoch, for records without a timestamp.
        authenticator: Authenticates connections; None where SASL is not wanted.
    """
    client_id = config.client_id or default_client_id("producer")
    trace = Trace.of(client_id, None, clock)
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
    appender = Appender(
        config.batch_size, time_of_day, ignore_keys=config.partitioner_ignore_keys
    )
    partitioner = StickyPartitioner(
        random, adaptive=config.partitioner_adaptive_partitioning_enable
    )
    appender.choose = partitioner.choose
    thread: NetworkThread

    def holds() -> bool:
        owned: bool = appender.lock._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001
        return owned or thread.mailbox.is_held_here

    accumulator = RecordAccumulator(
        appender,
        BufferMemory(config.buffer_memory),
        batch_size=config.batch_size,
        linger=config.linger_ms / 1000,
        delivery=config.delivery_timeout_ms / 1000,
        most=config.max_request_size - config.max_request_size // KEPT,
        largest=config.max_request_size,
        now=clock.now,
        wait=refused_to_holders(holds, clock.wait),
        wake=network.wake,
    )
    accumulator.obstacle = client.reachability.obstacle
    accumulator.silent = client.reachability.silent
    accumulator.directory.on_leaders = partitioner.draw_again
    topics: ProducerTopics
    metadata = MetadataManager(
        client,
        TopicInterest(lambda: topics.names(), lambda: False),  # noqa: PLW0108 - made below
        timer,
        retry,
        bootstrap,
        max_age=config.metadata_max_age_ms / 1000,
        rebootstrap=config.metadata_recovery_strategy == "rebootstrap",
        trigger=config.metadata_recovery_rebootstrap_trigger_ms / 1000,
        create=True,
        codes=PRODUCER_METADATA,
    )
    topics = ProducerTopics(
        accumulator, metadata, timer, retry, config.metadata_max_idle_ms / 1000
    )
    endings = Endings(accumulator, timer, trace, clock.now, credentials_of(config))
    ids = None
    if config.enable_idempotence:
        ids = ProducerIds(client, metadata, timer, retry)
    produce = ProduceManager(
        client, metadata, accumulator, endings, ids, timer, retry, terms_of(config)
    )
    if ids is not None:
        ids.on_refused = lambda error: ignore(produce.purge(error, everything=True))

    missing_topics = MissingTopics(topics.missed, frozenset, trace)

    def on_update(cluster: Cluster) -> None:
        missing_topics.look(cluster)
        topics.forget_idle()
        produce.on_metadata(cluster, topics.names())
        partitioner.preferred = nodes_in(cluster, rack_of(config))

    def on_availability(late: frozenset[int]) -> None:
        partitioner.unavailable = late
        for topic in appender.topics.values():
            partitioner.draw_again(topic)

    metadata.needing_leaders = topics.busy
    metadata.on_update = on_update
    metadata.on_refused = produce.on_refused
    client.on_disconnect = metadata.on_disconnect
    produce.on_availability = on_availability
    calls = Calls(timer, credentials_of(config))
    telemetry = telemetry_of(config, client, metadata, bootstrap, timer, retry, random)
    thread = NetworkThread(
        f"{client_id}-network",
        clock=clock,
        timer=timer,
        network=network,
        client=client,
        calls=calls,
        take=dispatch(
            calls,
            topics,
            TopicManager(client, metadata, timer, retry, create=True),
            produce,
            telemetry,
            lambda: thread.end(),  # noqa: PLW0108 - made here
        ),
        managers=[each for each in (produce, metadata, telemetry) if each is not None],
        background=BackgroundEvents(),
        trace=trace,
    )
    return ProducerMachinery(
        client_id,
        thread,
        timer,
        client,
        calls,
        metadata,
        accumulator,
        partitioner,
        produce,
        endings,
        telemetry,
        time_of_day,
        trace,
    )


def ignore(_records: int) -> None:
    """Do nothing with how many records have failed."""


def dispatch(
    calls: Calls,
    topics: ProducerTopics,
    look_ups: TopicManager,
    produce: ProduceManager,
    telemetry: "TelemetryManager | None",
    end: Callable[[], None],
) -> Callable[[ApplicationEvent], None]:
    """For the network thread: which manager works for which event of a producer.

    Args:
        calls: What is being worked on.
        topics: The topics of the producer.
        look_ups: Answers what is asked about topics.
        produce: What sends.
        telemetry: What pushes metrics, where that is on.
        end: Ends the network thread in the present turn.
    """

    def take(event: ApplicationEvent) -> None:
        match event:
            case AwaitTopic(call, topic, partition):
                calls.start(call, topics.known(call, topic, partition))
            case LookUpTopic(call, topic):
                calls.start(call, look_ups.partitions_of(call, topic))
            case ListTopics(call):
                calls.start(call, look_ups.list_all(call))
            case Purge(call) if call.is_open:
                call.finish(produce.purge(purged(), everything=False))
            case Purge(_):
                pass  # Its caller has left: what was sent since is not to be taken back.
            case GiveUp(call):
                call.finish(produce.purge(closed(), everything=True))
            case DeliverAndEnd(_):
                produce.deliver_and(end)
            case InstanceId() | PushLast() if telemetry is not None:
                telemetry.take(event, calls)
            case Withdraw(call):
                calls.withdraw(call)
            case _:
                raise AssertionError(f"a producer does not post {type(event).__name__}")

    return take


def purged() -> KafkaException:
    """What a record fails with that `purge` has taken back."""
    return DeliveryAbortedException("purged: the record was not sent")


def closed() -> KafkaException:
    """What a record fails with that `close` has given up."""
    return DeliveryAbortedException("the producer was closed before the record was delivered")


def terms_of(config: ProducerConfig) -> ProduceTerms:
    """What every Produce request says."""
    return ProduceTerms(
        acks=ACKS[config.acks],
        timeout=config.request_timeout_ms / 1000,
        in_flight=config.max_in_flight_requests_per_connection,
        largest=config.max_request_size,
        codec=codec_of(config),
        retries=config.retries,
        availability=config.partitioner_availability_timeout_ms / 1000,
    )


def codec_of(config: ProducerConfig) -> Codec:
    """`compression.type`, with its level where one was given."""
    kind = Compression[config.compression_type.upper()]
    levels = {
        Compression.GZIP: ("compression.gzip.level", config.compression_gzip_level),
        Compression.LZ4: ("compression.lz4.level", config.compression_lz4_level),
        Compression.ZSTD: ("compression.zstd.level", config.compression_zstd_level),
    }
    key, level = levels.get(kind, ("", None))
    return Codec(kind, level if key in config.given else None)


def rack_of(config: ProducerConfig) -> str | None:
    """The rack whose brokers are preferred for records without a key."""
    return config.client_rack if config.partitioner_rack_aware else None


def nodes_in(cluster: Cluster, rack: str | None) -> frozenset[int]:
    """The brokers in a rack."""
    if rack is None:
        return frozenset()
    return frozenset(node.id for node in cluster.nodes.values() if node.rack == rack)
