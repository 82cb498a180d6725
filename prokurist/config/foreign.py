"""Lists keys of librdkafka and kafka-python that have no counterpart here.

A key that only tunes the other client's side is accepted and listed in one warning.
A key whose loss would change what the program does is refused, or accepted only with the
value that asks for nothing. Keys with an equal here are no business of this module: they
are aliases in the table, or in `counterparts.py`.
"""

from types import MappingProxyType

from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Foreign:
    """Treatment of another client's key.

    Attributes:
        reason: The reason for its treatment, and the alternative.
        harmless: The values that are accepted, in lower case; None for all of them.
    """

    reason: str
    harmless: tuple[str, ...] | None = None

    def accepts(self, value: object) -> bool:
        """Return True if this value of the key can be ignored.

        Args:
            value: The user's value.

        Returns:
            Whether ignoring it changes nothing that matters.
        """
        return self.harmless is None or str(value).strip().lower() in self.harmless


_QUEUES = "one bound holds all fetched data: fetch.buffer.max.bytes"
_RETRY = "every pause between attempts follows retry.backoff.ms and retry.backoff.max.ms"
_REFRESH = "metadata is renewed after metadata.max.age.ms, and at once when it proves wrong"
_VERSIONS = "each broker is asked which versions it offers; there is nothing to tell the client"
_SOCKETS = "the client sets its sockets up itself"
_LOG = "the client logs through Python's logging; set levels there"
_BATCHES = "batches are bounded by batch.size, and all of them by buffer.memory, in bytes"
_TLS_DETAIL = "left to the TLS library"
_SASL_DETAIL = "concerns a way to authenticate that is not built yet, and is refused"
_OPENSSL = "names a plug-in of the OpenSSL library, which this client does not load"
_METRICS = "the client keeps plain counters; read metrics()"

_EVENTS = (
    "give a consumer on_event=f, which poll calls with what the log is told; errors of calls "
    "are raised by those"
)
_STATISTICS = (
    "give a consumer on_event=f and statistics.interval.ms, for an event named statistics; or "
    "read metrics()"
)
_DELIVERY = "give the callback to send(..., on_delivery=...)"
_REBALANCE = "give a listener to subscribe(topics, listener=...)"
_COMMIT = (
    "give a consumer on_committed=f, for automatic commits, or commit_async(callback=f): each "
    "is called with offsets and error"
)
_NO_VERIFIER = (
    "certificates are verified by the TLS library; name the authorities with ssl.ca.location"
)
_NO_CONTEXT = (
    "a context of your own could not be renewed with its files; say what it holds with "
    "ssl.ca.location, ssl.certificate.location and ssl.key.location"
)
_PROXY = "connections go straight to the brokers, and passing over a proxy would hide that"
_TRUE, _FALSE = ("true",), ("false",)

LIBRDKAFKA = MappingProxyType(
    {
        "api.version.fallback.ms": Foreign(_VERSIONS),
        "api.version.request": Foreign(_VERSIONS),
        "api.version.request.timeout.ms": Foreign(_VERSIONS),
        "batch.num.messages": Foreign(_BATCHES),
        "broker.address.ttl": Foreign("names are resolved again for every connect"),
        "broker.version.fallback": Foreign(_VERSIONS),
        "builtin.features": Foreign("lists what librdkafka was built with"),
        "compression.level": Foreign(
            "levels are set apart: compression.gzip.level, compression.lz4.level, "
            "compression.zstd.level"
        ),
        "consume.callback.max.messages": Foreign("max.poll.records bounds what a poll returns"),
        "coordinator.query.interval.ms": Foreign("a coordinator is looked up when it is lost"),
        "debug": Foreign(
            "there are no contexts to choose from; "
            'logging.getLogger("prokurist").setLevel(logging.DEBUG) shows every call'
        ),
        "delivery.report.only.error": Foreign(_DELIVERY),
        "enable.random.seed": Foreign("Python seeds its own random numbers"),
        "enabled_events": Foreign("there is no event queue to choose for"),
        "fetch.error.backoff.ms": Foreign(_RETRY),
        "fetch.queue.backoff.ms": Foreign(_QUEUES),
        "internal.termination.signal": Foreign("closing needs no signal"),
        "log.connection.close": Foreign(_LOG),
        "log.queue": Foreign(_LOG),
        "log.thread.name": Foreign(_LOG),
        "log_level": Foreign(_LOG),
        "message.copy.max.bytes": Foreign("how records are buffered is the client's business"),
        "offset.store.path": Foreign("offsets are kept by the broker"),
        "offset.store.sync.interval.ms": Foreign("offsets are kept by the broker"),
        "produce.offset.report": Foreign("a sent record's offset is in its delivery"),
        "queue.buffering.backpressure.threshold": Foreign(_BATCHES),
        "queue.buffering.max.kbytes": Foreign(_BATCHES),
        "queue.buffering.max.messages": Foreign(_BATCHES),
        "queued.min.messages": Foreign(_QUEUES),
        "receive.message.max.bytes": Foreign("fetch.max.bytes bounds what a broker sends"),
        "reconnect.backoff.jitter.ms": Foreign("pauses are spread by a fifth by themselves"),
        "sasl.oauthbearer.assertion.private.key.pem": Foreign(_SASL_DETAIL),
        "sasl.oauthbearer.grant.type": Foreign(_SASL_DETAIL),
        "sasl.oauthbearer.method": Foreign(
            "a token endpoint is asked with client credentials, as by oidc, and a callable for "
            "its token; no key says which"
        ),
        "socket.blocking.max.ms": Foreign(_SOCKETS),
        "socket.max.fails": Foreign("one request past request.timeout.ms ends a connection"),
        "socket.nagle.disable": Foreign(_SOCKETS),
        "ssl.ca.certificate.stores": Foreign(
            "names stores of Windows; the system's authorities are used if none are named"
        ),
        "ssl.curves.list": Foreign(_TLS_DETAIL),
        "ssl.engine.id": Foreign(_OPENSSL),
        "ssl.engine.location": Foreign(_OPENSSL),
        "ssl.providers": Foreign(_OPENSSL),
        "ssl.sigalgs.list": Foreign(_TLS_DETAIL),
        "ssl_engine_callback_data": Foreign(_OPENSSL),
        "sticky.partitioning.linger.ms": Foreign("batch.size and linger.ms decide that here"),
        "topic.metadata.propagation.max.ms": Foreign(
            "an unknown topic is looked up again until the call's own deadline"
        ),
        "topic.metadata.refresh.fast.cnt": Foreign(_REFRESH),
        "topic.metadata.refresh.fast.interval.ms": Foreign(_RETRY),
        "topic.metadata.refresh.sparse": Foreign(_REFRESH),
        # Accepted with the value that asks for nothing:
        "enable.gapless.guarantee": Foreign(
            "a failed batch does not stop the producer; look at each delivery", _FALSE
        ),
        "enable.partition.eof": Foreign(
            "poll returns records only; ask at_end() whether reading has caught up", _FALSE
        ),
        "group.protocol.type": Foreign("a consumer joins consumer groups only", ("consumer",)),
        "offset.store.method": Foreign("offsets are kept by the broker", ("broker",)),
        "queuing.strategy": Foreign("records of a partition keep their order", ("fifo",)),
        # Never accepted:
        "background_event_cb": Foreign(_EVENTS, ()),
        "closesocket_cb": Foreign(_SOCKETS, ()),
        "connect_cb": Foreign(_SOCKETS, ()),
        "consume_cb": Foreign("records are returned by poll", ()),
        "default.topic.config": Foreign("put its keys at the top level", ()),
        "default_topic_conf": Foreign("put its keys at the top level", ()),
        "dr_cb": Foreign(_DELIVERY, ()),
        "dr_msg_cb": Foreign(_DELIVERY, ()),
        "error_cb": Foreign(_EVENTS, ()),
        "interceptors": Foreign("give objects to interceptor.classes", ()),
        "log_cb": Foreign(_LOG, ()),
        "logger": Foreign(_LOG, ()),
        "msg_order_cmp": Foreign("records of a partition keep their order", ()),
        "oauthbearer_token_refresh_cb": Foreign("give the callable as oauth_cb", ()),
        "offset_commit_cb": Foreign(_COMMIT, ()),
        "on_commit": Foreign(_COMMIT, ()),
        "on_delivery": Foreign(_DELIVERY, ()),
        "opaque": Foreign("there are no callbacks that it could be passed to", ()),
        "open_cb": Foreign(_SOCKETS, ()),
        "partitioner_cb": Foreign("give a callable to partitioner.class", ()),
        "plugin.library.paths": Foreign("C libraries cannot be loaded here", ()),
        "rebalance_cb": Foreign(_REBALANCE, ()),
        "resolve_cb": Foreign(_SOCKETS, ()),
        "socket_cb": Foreign(_SOCKETS, ()),
        "ssl.certificate.verify_cb": Foreign(_NO_VERIFIER, ()),
        "stats_cb": Foreign(_STATISTICS, ()),
        "throttle_cb": Foreign(_EVENTS, ()),
        "topic.blacklist": Foreign("topics cannot be hidden from the client", ()),
    }
)
"""librdkafka's and confluent-kafka's keys without an equal here."""

KAFKA_PYTHON = MappingProxyType(
    {
        "api_version": Foreign(_VERSIONS),
        "api_version_auto_timeout_ms": Foreign(_VERSIONS),
        "bootstrap_timeout_ms": Foreign(
            "making a client waits for nothing; the first call's deadline bounds bootstrapping"
        ),
        "enable_incremental_fetch_sessions": Foreign(
            "fetch sessions are used where brokers can"
        ),
        "metric_group_prefix": Foreign(_METRICS),
        "metrics_enabled": Foreign(_METRICS),
        "receive_message_max_bytes": Foreign("fetch.max.bytes bounds what a broker sends"),
        "sasl_kerberos_domain_name": Foreign(_SASL_DETAIL),
        "sasl_kerberos_name": Foreign(_SASL_DETAIL),
        "selector": Foreign(_SOCKETS),
        "socket_options": Foreign(_SOCKETS),
        "consumer_timeout_ms": Foreign(
            "bound the wait where it happens: poll(timeout) or records(idle_timeout=...)",
            ("inf",),
        ),
        "default_offset_commit_callback": Foreign(_COMMIT, ()),
        "kafka_client": Foreign("a class inside kafka-python", ()),
        "proxy_url": Foreign(_PROXY, ()),
        "socks5_proxy": Foreign(_PROXY, ()),
        "ssl_context": Foreign(_NO_CONTEXT, ()),
    }
)
"""kafka-python's keywords without an equal here."""

FOR_CONSUMERS = MappingProxyType(
    {
        "max.in.flight.requests.per.connection": Foreign(
            "a consumer has one fetch under way to a broker; the rest is the producer's"
        ),
        "max.in.flight": Foreign("a consumer has one fetch under way to a broker"),
        "message.max.bytes": Foreign("a consumer sends no large requests"),
    }
)
"""Keys that mean something to a producer here and that other clients give consumers too."""

FOR_PRODUCERS = MappingProxyType(
    {
        "allow.auto.create.topics": Foreign(
            "whether sending creates a topic is the broker's auto.create.topics.enable", _TRUE
        ),
        "statistics.interval.ms": Foreign(_METRICS),
    }
)
"""Keys that mean something to a consumer here and that other clients give producers too."""
