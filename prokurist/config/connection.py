"""The keys that consumer and producer share: connections, metadata, retries, metrics."""

from typing import Annotated

from prokurist.config.address import Address, Servers
from prokurist.config.key import HIGH, LOW, MEDIUM, Key, refused, without_effect
from prokurist.config.kinds import (
    INT_MAX,
    Boolean,
    Choice,
    Integer,
    Names,
    Text,
    millis,
    octets,
)
from prokurist.config.objects import Interceptors
from prokurist.config.sasl import SaslKeys
from prokurist.lazy_dataclasses import dataclass

METRICS = without_effect(
    "the client keeps plain counters and leaves sampling to the reader of its metrics()"
)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False, eq=False)
class ConnectionKeys(SaslKeys):
    """Keys of every client; slotted dataclasses compose only in one line, hence the base."""

    bootstrap_servers: Annotated[
        tuple[Address, ...],
        Key(
            Servers(),
            "Brokers to ask first; the rest of the cluster is learnt from them.",
            HIGH,
            aliases=("metadata.broker.list",),
        ),
    ]
    bootstrap_resolve_timeout_ms: Annotated[
        int,
        Key(
            millis(),
            "How long names in bootstrap.servers may go on failing to resolve; 0 gives them "
            "one try.",
            HIGH,
        ),
    ] = 0
    client_id: Annotated[
        str,
        Key(
            Text(),
            "Name of this client in the brokers' logs and quotas, its own log and metrics; if "
            "empty, prokurist-consumer-HOST-PID-N, which differs between pods and processes.",
            MEDIUM,
        ),
    ] = ""
    client_rack: Annotated[
        str, Key(Text(), "Where this client runs, in the brokers' broker.rack terms.", LOW)
    ] = ""
    client_dns_lookup: Annotated[
        str,
        Key(
            Choice(("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")),
            "Whether every address of a name is tried in turn, or bootstrap names are first "
            "replaced by the canonical names behind them.",
        ),
    ] = "use_all_dns_ips"
    request_timeout_ms: Annotated[
        int,
        Key(
            millis(high=INT_MAX),
            "Longest wait for the answer to one attempt of one request; after it the "
            "connection is given up and the operation retried while its own time lasts.",
            aliases=("socket.timeout.ms",),
        ),
    ] = 30_000
    retry_backoff_ms: Annotated[
        int, Key(millis(), "Pause before the first retry; it doubles with each failure.", LOW)
    ] = 100
    retry_backoff_max_ms: Annotated[
        int,
        Key(
            millis(),
            "Longest pause between retries; if it is below retry.backoff.ms, every pause is "
            "this long.",
            LOW,
        ),
    ] = 1_000
    reconnect_backoff_ms: Annotated[
        int,
        Key(
            millis(),
            "Pause before connecting to a broker again; it doubles with each failure.",
            LOW,
        ),
    ] = 50
    reconnect_backoff_max_ms: Annotated[
        int,
        Key(
            millis(),
            "Longest pause between connects to one broker; if only reconnect.backoff.ms is "
            "given, it takes that value and the pause does not grow.",
            LOW,
        ),
    ] = 1_000
    socket_connection_setup_timeout_ms: Annotated[
        int,
        Key(
            millis(),
            "Longest wait until a new connection is ready; it doubles with each failure.",
        ),
    ] = 10_000
    socket_connection_setup_timeout_max_ms: Annotated[
        int, Key(millis(), "Longest that the connection setup limit grows to.")
    ] = 30_000
    connections_max_idle_ms: Annotated[
        int, Key(millis(-1), "Idle time after which a connection is closed; -1 for never.")
    ] = 180_000
    socket_keepalive_enable: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether the system probes a connection on which nothing is sent, so that load "
            "balancers keep it and a dead peer is noticed.",
            LOW,
            ours=True,
        ),
    ] = True
    socket_keepalive_idle_ms: Annotated[
        int,
        Key(
            millis(1_000, 32_767_000),
            "Time without traffic after which the system sends its first probe; whole seconds "
            "count. Four more follow, a quarter of it apart, and then the connection is lost.",
            LOW,
            ours=True,
        ),
    ] = 60_000
    broker_address_family: Annotated[
        str,
        Key(
            Choice(("any", "v4", "v6")),
            "Which addresses of a broker's name are connected to.",
            LOW,
            ours=True,
        ),
    ] = "any"
    send_buffer_bytes: Annotated[
        int,
        Key(
            octets(-1),
            "Size of a socket's send buffer; -1 or 0 leaves it to the operating system.",
            aliases=("socket.send.buffer.bytes",),
        ),
    ] = 131_072
    metadata_max_age_ms: Annotated[
        int, Key(millis(), "Age at which metadata is fetched again without cause.", LOW)
    ] = 300_000
    metadata_recovery_strategy: Annotated[
        str,
        Key(
            Choice(("rebootstrap", "none")),
            "What to do when no known broker can be reached: begin again with "
            "bootstrap.servers, or keep trying the known ones.",
            LOW,
        ),
    ] = "rebootstrap"
    metadata_recovery_rebootstrap_trigger_ms: Annotated[
        int,
        Key(millis(), "Time without metadata after which the client rebootstraps.", LOW),
    ] = 300_000
    metadata_cluster_check_enable: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether a connection tells which cluster and broker it is meant for, so that one "
            "that ended up elsewhere is noticed.",
            LOW,
            without_effect(
                "it takes version 5 of ApiVersions, of Kafka 4.4, and this client speaks 4"
            ),
        ),
    ] = True
    interceptor_classes: Annotated[
        tuple[object, ...],
        Key(
            Interceptors(),
            "Objects that see a consumer's records and commits, or a producer's records and "
            "acknowledgements, on their way, in this order.",
            LOW,
        ),
    ] = ()
    enable_metrics_push: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether the client asks brokers which metrics they want, and pushes those "
            "(KIP-714).",
            LOW,
        ),
    ] = False
    metric_reporters: Annotated[
        tuple[str, ...],
        Key(
            Names(),
            "Java classes that report metrics.",
            LOW,
            without_effect("Java classes cannot be loaded here; read metrics() instead"),
        ),
    ] = ()
    metrics_num_samples: Annotated[
        int, Key(Integer(1), "Samples kept for a metric.", LOW, METRICS)
    ] = 2
    metrics_sample_window_ms: Annotated[
        int, Key(millis(), "Length of one sample.", LOW, METRICS)
    ] = 30_000
    metrics_recording_level: Annotated[
        str,
        Key(Choice(("INFO", "DEBUG", "TRACE")), "Which metrics are recorded.", LOW, METRICS),
    ] = "INFO"
    config_providers: Annotated[
        None,
        Key(
            Names(),
            "Java classes that fill placeholders in values.",
            LOW,
            refused(
                "placeholders in values are not filled in, and Java classes cannot be loaded; "
                "read the values yourself, and give secrets as callables"
            ),
        ),
    ] = None
