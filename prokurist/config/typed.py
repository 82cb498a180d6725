"""The keys as TypedDicts, so that editors complete them and type checkers know them.

Written by `make generated`; change the table instead. Keys that are
refused, and other clients' spellings, are left out.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypedDict

from prokurist.config.address import Address
from prokurist.config.offset_reset import OffsetReset
from prokurist.config.secret import SecretSource
from prokurist.types import LogEvent, OffsetAndMetadata, TopicPartition

_ClientDict = TypedDict(
    "_ClientDict",
    {
        "security.protocol": str,
        "security.providers": str | None,
        "ssl.ca.location": str | None,
        "ssl.certificate.location": str | None,
        "ssl.key.location": str | None,
        "ssl.key.password": SecretSource | None,
        "ssl.keystore.certificate.chain": SecretSource | None,
        "ssl.keystore.key": SecretSource | None,
        "ssl.truststore.certificates": SecretSource | None,
        "ssl.endpoint.identification.algorithm": str,
        "ssl.protocol": str,
        "ssl.enabled.protocols": str | Sequence[str],
        "ssl.cipher.suites": str | Sequence[str],
        "ssl.crl.location": str | None,
        "enable.ssl.certificate.verification": bool | str,
        "ssl.keystore.location": str | None,
        "ssl.keystore.password": SecretSource | None,
        "ssl.keystore.type": str,
        "ssl.truststore.location": str | None,
        "ssl.truststore.password": SecretSource | None,
        "ssl.truststore.type": str,
        "ssl.provider": str | None,
        "ssl.keymanager.algorithm": str,
        "ssl.trustmanager.algorithm": str,
        "ssl.secure.random.implementation": str | None,
        "sasl.mechanism": str,
        "sasl.username": str | None,
        "sasl.password": SecretSource | None,
        "sasl.password.location": str | None,
        "sasl.jaas.config": SecretSource | None,
        "sasl.delegation.token": bool | str,
        "sasl.client.callback.handler.class": str | None,
        "sasl.login.callback.handler.class": str | None,
        "sasl.kerberos.service.name": str | None,
        "sasl.kerberos.principal": str | None,
        "sasl.kerberos.keytab": str | None,
        "sasl.aws.profile": str | None,
        "sasl.aws.role.arn": str | None,
        "sasl.aws.role.session.name": str | None,
        "sasl.aws.role.external.id": str | None,
        "sasl.aws.sts.region": str | None,
        "sasl.kerberos.kinit.cmd": str,
        "sasl.kerberos.min.time.before.relogin": int | str | timedelta,
        "sasl.kerberos.ticket.renew.jitter": float | str,
        "sasl.kerberos.ticket.renew.window.factor": float | str,
        "sasl.login.connect.timeout.ms": int | str | timedelta | None,
        "sasl.login.read.timeout.ms": int | str | timedelta | None,
        "sasl.login.retry.backoff.ms": int | str | timedelta,
        "sasl.login.retry.backoff.max.ms": int | str | timedelta,
        "sasl.login.refresh.window.factor": float | str,
        "sasl.login.refresh.window.jitter": float | str,
        "sasl.login.refresh.min.period.seconds": int | str,
        "sasl.login.refresh.buffer.seconds": int | str,
        "sasl.oauthbearer.token.callback": Callable[[str], Any] | object | None,
        "sasl.oauthbearer.config": str,
        "sasl.oauthbearer.extensions": str | Sequence[str],
        "enable.sasl.oauthbearer.unsecure.jwt": bool | str,
        "sasl.oauthbearer.metadata.authentication.type": str,
        "sasl.oauthbearer.token.endpoint.url": str | None,
        "https.ca.location": str | None,
        "https.ca.pem": SecretSource | None,
        "sasl.oauthbearer.client.credentials.client.id": str | None,
        "sasl.oauthbearer.client.credentials.client.secret": SecretSource | None,
        "sasl.oauthbearer.client.credentials.client.secret.location": str | None,
        "sasl.oauthbearer.scope": str | None,
        "sasl.oauthbearer.header.urlencode": bool | str,
        "sasl.oauthbearer.assertion.algorithm": str,
        "sasl.oauthbearer.assertion.claim.aud": str | None,
        "sasl.oauthbearer.assertion.claim.exp.seconds": int | str,
        "sasl.oauthbearer.assertion.claim.iss": str | None,
        "sasl.oauthbearer.assertion.claim.jti.include": bool | str,
        "sasl.oauthbearer.assertion.claim.nbf.seconds": int | str,
        "sasl.oauthbearer.assertion.claim.sub": str | None,
        "sasl.oauthbearer.assertion.file": str | None,
        "sasl.oauthbearer.assertion.private.key.file": str | None,
        "sasl.oauthbearer.assertion.private.key.passphrase": SecretSource | None,
        "sasl.oauthbearer.assertion.template.file": str | None,
        "sasl.oauthbearer.scope.claim.name": str,
        "sasl.oauthbearer.sub.claim.name": str,
        "sasl.oauthbearer.allow.unverified.audience": bool | str,
        "sasl.oauthbearer.allow.unverified.issuer": bool | str,
        "sasl.oauthbearer.expected.audience": str | Sequence[str],
        "sasl.oauthbearer.expected.issuer": str | None,
        "sasl.oauthbearer.clock.skew.seconds": int | str,
        "sasl.oauthbearer.jwks.endpoint.url": str | None,
        "sasl.oauthbearer.jwks.endpoint.refresh.ms": int | str | timedelta,
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": int | str | timedelta,
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": int | str | timedelta,
        "bootstrap.servers": str | Sequence[str | Address],
        "bootstrap.resolve.timeout.ms": int | str | timedelta,
        "client.id": str,
        "client.rack": str,
        "client.dns.lookup": str,
        "request.timeout.ms": int | str | timedelta,
        "retry.backoff.ms": int | str | timedelta,
        "retry.backoff.max.ms": int | str | timedelta,
        "reconnect.backoff.ms": int | str | timedelta,
        "reconnect.backoff.max.ms": int | str | timedelta,
        "socket.connection.setup.timeout.ms": int | str | timedelta,
        "socket.connection.setup.timeout.max.ms": int | str | timedelta,
        "connections.max.idle.ms": int | str | timedelta,
        "socket.keepalive.enable": bool | str,
        "socket.keepalive.idle.ms": int | str | timedelta,
        "broker.address.family": str,
        "send.buffer.bytes": int | str,
        "metadata.max.age.ms": int | str | timedelta,
        "metadata.recovery.strategy": str,
        "metadata.recovery.rebootstrap.trigger.ms": int | str | timedelta,
        "metadata.cluster.check.enable": bool | str,
        "interceptor.classes": Sequence[object],
        "enable.metrics.push": bool | str,
        "metric.reporters": str | Sequence[str],
        "metrics.num.samples": int | str,
        "metrics.sample.window.ms": int | str | timedelta,
        "metrics.recording.level": str,
    },
    total=False,
)

_OnlyConsumerDict = TypedDict(
    "_OnlyConsumerDict",
    {
        "max.poll.interval.ms": int | str | timedelta,
        "max.poll.records": int | str,
        "default.api.timeout.ms": int | str | timedelta,
        "fetch.min.bytes": int | str,
        "fetch.max.wait.ms": int | str | timedelta,
        "fetch.max.bytes": int | str,
        "receive.buffer.bytes": int | str,
        "check.crcs": bool | str,
        "key.deserializer": Callable[..., Any] | object | None,
        "value.deserializer": Callable[..., Any] | object | None,
        "group.id": str | None,
        "group.protocol": str,
        "group.instance.id": str | None,
        "group.remote.assignor": str | None,
        "partition.assignment.strategy": str | Sequence[str | object],
        "session.timeout.ms": int | str | timedelta,
        "heartbeat.interval.ms": int | str | timedelta,
        "enable.auto.commit": bool | str,
        "auto.commit.interval.ms": int | str | timedelta,
        "enable.auto.offset.store": bool | str,
        "auto.offset.reset": str | OffsetReset,
        "isolation.level": str,
        "max.partition.fetch.bytes": int | str,
        "fetch.buffer.max.bytes": int | str,
        "fetch.decoded.batch.max.bytes": int | str,
        "allow.auto.create.topics": bool | str,
        "exclude.internal.topics": bool | str,
        "on.event": Callable[[LogEvent], object] | None,
        "statistics.interval.ms": int | str | timedelta,
        "on.committed": Callable[[dict[TopicPartition, OffsetAndMetadata], Any], object] | None,
    },
    total=False,
)

_OnlyProducerDict = TypedDict(
    "_OnlyProducerDict",
    {
        "acks": str | int,
        "enable.idempotence": bool | str,
        "retries": int | str,
        "max.in.flight.requests.per.connection": int | str,
        "delivery.timeout.ms": int | str | timedelta,
        "linger.ms": int | str | timedelta,
        "max.block.ms": int | str | timedelta,
        "batch.size": int | str,
        "buffer.memory": int | str,
        "buffer.memory.allocation.strategy": str,
        "max.request.size": int | str,
        "compression.type": str,
        "compression.gzip.level": int | str,
        "compression.lz4.level": int | str,
        "compression.zstd.level": int | str,
        "partitioner.class": Callable[..., int] | None,
        "partitioner.ignore.keys": bool | str,
        "partitioner.adaptive.partitioning.enable": bool | str,
        "partitioner.availability.timeout.ms": int | str | timedelta,
        "partitioner.rack.aware": bool | str,
        "metadata.max.idle.ms": int | str | timedelta,
        "receive.buffer.bytes": int | str,
        "transactional.id": str | None,
        "transaction.timeout.ms": int | str | timedelta,
        "transaction.two.phase.commit.enable": bool | str,
        "key.serializer": Callable[..., bytes | None] | object | None,
        "value.serializer": Callable[..., bytes | None] | object | None,
    },
    total=False,
)

_OnlyAdminDict = TypedDict(
    "_OnlyAdminDict",
    {
        "default.api.timeout.ms": int | str | timedelta,
        "receive.buffer.bytes": int | str,
        "retries": int | str,
    },
    total=False,
)

_OnlyShareConsumerDict = TypedDict(
    "_OnlyShareConsumerDict",
    {
        "max.poll.interval.ms": int | str | timedelta,
        "max.poll.records": int | str,
        "default.api.timeout.ms": int | str | timedelta,
        "fetch.min.bytes": int | str,
        "fetch.max.wait.ms": int | str | timedelta,
        "fetch.max.bytes": int | str,
        "receive.buffer.bytes": int | str,
        "check.crcs": bool | str,
        "key.deserializer": Callable[..., Any] | object | None,
        "value.deserializer": Callable[..., Any] | object | None,
        "group.id": str,
        "share.acknowledgement.mode": str,
        "share.acquire.mode": str,
        "share.acknowledge.ahead": bool | str,
        "share.renew.automatically": bool | str,
        "fetch.decoded.batch.max.bytes": int | str,
        "on.acknowledged": Callable[[dict[TopicPartition, tuple[int, ...]], Any], Any] | None,
    },
    total=False,
)


class _ClientKeywords(TypedDict, total=False):
    security_protocol: str
    security_providers: str | None
    ssl_ca_location: str | None
    ssl_certificate_location: str | None
    ssl_key_location: str | None
    ssl_key_password: SecretSource | None
    ssl_keystore_certificate_chain: SecretSource | None
    ssl_keystore_key: SecretSource | None
    ssl_truststore_certificates: SecretSource | None
    ssl_endpoint_identification_algorithm: str
    ssl_protocol: str
    ssl_enabled_protocols: str | Sequence[str]
    ssl_cipher_suites: str | Sequence[str]
    ssl_crl_location: str | None
    enable_ssl_certificate_verification: bool | str
    ssl_keystore_location: str | None
    ssl_keystore_password: SecretSource | None
    ssl_keystore_type: str
    ssl_truststore_location: str | None
    ssl_truststore_password: SecretSource | None
    ssl_truststore_type: str
    ssl_provider: str | None
    ssl_keymanager_algorithm: str
    ssl_trustmanager_algorithm: str
    ssl_secure_random_implementation: str | None
    sasl_mechanism: str
    sasl_username: str | None
    sasl_password: SecretSource | None
    sasl_password_location: str | None
    sasl_jaas_config: SecretSource | None
    sasl_delegation_token: bool | str
    sasl_client_callback_handler_class: str | None
    sasl_login_callback_handler_class: str | None
    sasl_kerberos_service_name: str | None
    sasl_kerberos_principal: str | None
    sasl_kerberos_keytab: str | None
    sasl_aws_profile: str | None
    sasl_aws_role_arn: str | None
    sasl_aws_role_session_name: str | None
    sasl_aws_role_external_id: str | None
    sasl_aws_sts_region: str | None
    sasl_kerberos_kinit_cmd: str
    sasl_kerberos_min_time_before_relogin: int | str | timedelta
    sasl_kerberos_ticket_renew_jitter: float | str
    sasl_kerberos_ticket_renew_window_factor: float | str
    sasl_login_connect_timeout_ms: int | str | timedelta | None
    sasl_login_read_timeout_ms: int | str | timedelta | None
    sasl_login_retry_backoff_ms: int | str | timedelta
    sasl_login_retry_backoff_max_ms: int | str | timedelta
    sasl_login_refresh_window_factor: float | str
    sasl_login_refresh_window_jitter: float | str
    sasl_login_refresh_min_period_seconds: int | str
    sasl_login_refresh_buffer_seconds: int | str
    sasl_oauthbearer_token_callback: Callable[[str], Any] | object | None
    sasl_oauthbearer_config: str
    sasl_oauthbearer_extensions: str | Sequence[str]
    enable_sasl_oauthbearer_unsecure_jwt: bool | str
    sasl_oauthbearer_metadata_authentication_type: str
    sasl_oauthbearer_token_endpoint_url: str | None
    https_ca_location: str | None
    https_ca_pem: SecretSource | None
    sasl_oauthbearer_client_credentials_client_id: str | None
    sasl_oauthbearer_client_credentials_client_secret: SecretSource | None
    sasl_oauthbearer_client_credentials_client_secret_location: str | None
    sasl_oauthbearer_scope: str | None
    sasl_oauthbearer_header_urlencode: bool | str
    sasl_oauthbearer_assertion_algorithm: str
    sasl_oauthbearer_assertion_claim_aud: str | None
    sasl_oauthbearer_assertion_claim_exp_seconds: int | str
    sasl_oauthbearer_assertion_claim_iss: str | None
    sasl_oauthbearer_assertion_claim_jti_include: bool | str
    sasl_oauthbearer_assertion_claim_nbf_seconds: int | str
    sasl_oauthbearer_assertion_claim_sub: str | None
    sasl_oauthbearer_assertion_file: str | None
    sasl_oauthbearer_assertion_private_key_file: str | None
    sasl_oauthbearer_assertion_private_key_passphrase: SecretSource | None
    sasl_oauthbearer_assertion_template_file: str | None
    sasl_oauthbearer_scope_claim_name: str
    sasl_oauthbearer_sub_claim_name: str
    sasl_oauthbearer_allow_unverified_audience: bool | str
    sasl_oauthbearer_allow_unverified_issuer: bool | str
    sasl_oauthbearer_expected_audience: str | Sequence[str]
    sasl_oauthbearer_expected_issuer: str | None
    sasl_oauthbearer_clock_skew_seconds: int | str
    sasl_oauthbearer_jwks_endpoint_url: str | None
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int | str | timedelta
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int | str | timedelta
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int | str | timedelta
    bootstrap_servers: str | Sequence[str | Address]
    bootstrap_resolve_timeout_ms: int | str | timedelta
    client_id: str
    client_rack: str
    client_dns_lookup: str
    request_timeout_ms: int | str | timedelta
    retry_backoff_ms: int | str | timedelta
    retry_backoff_max_ms: int | str | timedelta
    reconnect_backoff_ms: int | str | timedelta
    reconnect_backoff_max_ms: int | str | timedelta
    socket_connection_setup_timeout_ms: int | str | timedelta
    socket_connection_setup_timeout_max_ms: int | str | timedelta
    connections_max_idle_ms: int | str | timedelta
    socket_keepalive_enable: bool | str
    socket_keepalive_idle_ms: int | str | timedelta
    broker_address_family: str
    send_buffer_bytes: int | str
    metadata_max_age_ms: int | str | timedelta
    metadata_recovery_strategy: str
    metadata_recovery_rebootstrap_trigger_ms: int | str | timedelta
    metadata_cluster_check_enable: bool | str
    interceptor_classes: Sequence[object]
    enable_metrics_push: bool | str
    metric_reporters: str | Sequence[str]
    metrics_num_samples: int | str
    metrics_sample_window_ms: int | str | timedelta
    metrics_recording_level: str


class _OnlyConsumerKeywords(TypedDict, total=False):
    max_poll_interval_ms: int | str | timedelta
    max_poll_records: int | str
    default_api_timeout_ms: int | str | timedelta
    fetch_min_bytes: int | str
    fetch_max_wait_ms: int | str | timedelta
    fetch_max_bytes: int | str
    receive_buffer_bytes: int | str
    check_crcs: bool | str
    key_deserializer: Callable[..., Any] | object | None
    value_deserializer: Callable[..., Any] | object | None
    group_id: str | None
    group_protocol: str
    group_instance_id: str | None
    group_remote_assignor: str | None
    partition_assignment_strategy: str | Sequence[str | object]
    session_timeout_ms: int | str | timedelta
    heartbeat_interval_ms: int | str | timedelta
    enable_auto_commit: bool | str
    auto_commit_interval_ms: int | str | timedelta
    enable_auto_offset_store: bool | str
    auto_offset_reset: str | OffsetReset
    isolation_level: str
    max_partition_fetch_bytes: int | str
    fetch_buffer_max_bytes: int | str
    fetch_decoded_batch_max_bytes: int | str
    allow_auto_create_topics: bool | str
    exclude_internal_topics: bool | str
    on_event: Callable[[LogEvent], object] | None
    statistics_interval_ms: int | str | timedelta
    on_committed: Callable[[dict[TopicPartition, OffsetAndMetadata], Any], object] | None


class _OnlyProducerKeywords(TypedDict, total=False):
    acks: str | int
    enable_idempotence: bool | str
    retries: int | str
    max_in_flight_requests_per_connection: int | str
    delivery_timeout_ms: int | str | timedelta
    linger_ms: int | str | timedelta
    max_block_ms: int | str | timedelta
    batch_size: int | str
    buffer_memory: int | str
    buffer_memory_allocation_strategy: str
    max_request_size: int | str
    compression_type: str
    compression_gzip_level: int | str
    compression_lz4_level: int | str
    compression_zstd_level: int | str
    partitioner_class: Callable[..., int] | None
    partitioner_ignore_keys: bool | str
    partitioner_adaptive_partitioning_enable: bool | str
    partitioner_availability_timeout_ms: int | str | timedelta
    partitioner_rack_aware: bool | str
    metadata_max_idle_ms: int | str | timedelta
    receive_buffer_bytes: int | str
    transactional_id: str | None
    transaction_timeout_ms: int | str | timedelta
    transaction_two_phase_commit_enable: bool | str
    key_serializer: Callable[..., bytes | None] | object | None
    value_serializer: Callable[..., bytes | None] | object | None


class _OnlyAdminKeywords(TypedDict, total=False):
    default_api_timeout_ms: int | str | timedelta
    receive_buffer_bytes: int | str
    retries: int | str


class _OnlyShareConsumerKeywords(TypedDict, total=False):
    max_poll_interval_ms: int | str | timedelta
    max_poll_records: int | str
    default_api_timeout_ms: int | str | timedelta
    fetch_min_bytes: int | str
    fetch_max_wait_ms: int | str | timedelta
    fetch_max_bytes: int | str
    receive_buffer_bytes: int | str
    check_crcs: bool | str
    key_deserializer: Callable[..., Any] | object | None
    value_deserializer: Callable[..., Any] | object | None
    group_id: str
    share_acknowledgement_mode: str
    share_acquire_mode: str
    share_acknowledge_ahead: bool | str
    share_renew_automatically: bool | str
    fetch_decoded_batch_max_bytes: int | str
    on_acknowledged: Callable[[dict[TopicPartition, tuple[int, ...]], Any], Any] | None


class ConsumerConfigDict(_ClientDict, _OnlyConsumerDict, total=False):
    """The keys of a consumer, with dots."""


class ConsumerKeywords(_ClientKeywords, _OnlyConsumerKeywords, total=False):
    """The keys of a consumer, as keywords."""


class ProducerConfigDict(_ClientDict, _OnlyProducerDict, total=False):
    """The keys of a producer, with dots."""


class ProducerKeywords(_ClientKeywords, _OnlyProducerKeywords, total=False):
    """The keys of a producer, as keywords."""


class AdminConfigDict(_ClientDict, _OnlyAdminDict, total=False):
    """The keys of an admin client, with dots."""


class AdminKeywords(_ClientKeywords, _OnlyAdminKeywords, total=False):
    """The keys of an admin client, as keywords."""


class ShareConsumerConfigDict(_ClientDict, _OnlyShareConsumerDict, total=False):
    """The keys of a share consumer, with dots."""


class ShareConsumerKeywords(_ClientKeywords, _OnlyShareConsumerKeywords, total=False):
    """The keys of a share consumer, as keywords."""
