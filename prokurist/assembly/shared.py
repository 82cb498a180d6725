"""What the network sides of all clients are made with: TLS, authentication, limits.

Thread: the application's, while a client is being built.
"""

import math
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from prokurist.config.connection import ConnectionKeys
from prokurist.errors import KafkaException
from prokurist.events.backoff import Backoff
from prokurist.events.clock import Clock, epoch_milliseconds
from prokurist.events.security_log_events import (
    PASSWORD_IN_PLAIN_TEXT,
    TLS_NOT_RENEWED,
    TLS_RENEWED,
    TLS_UNVERIFIED,
)
from prokurist.events.trace import Trace
from prokurist.network_thread.connections.requests import Limits

if TYPE_CHECKING:
    from prokurist.network_thread.cluster.metadata_manager import MetadataManager
    from prokurist.network_thread.connections.authentication import Authenticator
    from prokurist.network_thread.connections.bootstrap import Bootstrap
    from prokurist.network_thread.connections.network_client import NetworkClient
    from prokurist.network_thread.io.tls import Tls
    from prokurist.network_thread.io.token_endpoint import TokenEndpoint
    from prokurist.network_thread.operations.timer import Timer
    from prokurist.network_thread.telemetry.manager import TelemetryManager
    from prokurist.security.context import TlsContexts

IN_FLIGHT: Final = 100
"""Requests on one connection at once; Java's consumer has the same bound."""


def credentials_of(config: ConnectionKeys) -> str | None:
    """What brokers know a client by, for an error of authorization: names, and no secrets.

    Which principal they make of that is theirs to say. None where only a token or a ticket
    tells it, which only brokers read.
    """
    protocol, mechanism = config.security_protocol, config.sasl_mechanism
    if protocol.startswith("SASL"):
        key, name = "sasl.username", config.sasl_username
        if mechanism == "GSSAPI":
            key, name = "sasl.kerberos.principal", config.sasl_kerberos_principal
        elif mechanism == "OAUTHBEARER":
            key = "sasl.oauthbearer.client.credentials.client.id"
            name = config.sasl_oauthbearer_client_credentials_client_id
        return name and f"{key}={name}"
    if protocol == "SSL":
        if path := config.ssl_keystore_location:
            return f"the certificate in ssl.keystore.location={path}"
        if path := config.ssl_certificate_location:
            return f"the certificate in ssl.certificate.location={path}"
        if config.ssl_keystore_certificate_chain is not None:
            return "the certificate in ssl.keystore.certificate.chain"
    return f"no credentials, by security.protocol={protocol}"


def keepalive_of(config: ConnectionKeys) -> int | None:
    """Seconds without traffic until the system probes a connection; None for no probes."""
    return config.socket_keepalive_idle_ms // 1000 if config.socket_keepalive_enable else None


def tls_contexts(config: ConnectionKeys, clock: Clock) -> "TlsContexts | None":
    """What connections are encrypted with; None where they are not.

    Raises:
        ConfigException: A key of TLS cannot be used.
    """
    if not config.security_protocol.endswith("SSL"):
        return None
    # A client without TLS imports no `ssl`.
    from prokurist.security.context import TlsContexts  # noqa: PLC0415

    return TlsContexts(config, clock.now)


def tls_of(contexts: "TlsContexts | None") -> "Tls | None":
    """What the network needs for it."""
    if contexts is None:
        return None
    from prokurist.network_thread.io.tls import Tls  # noqa: PLC0415 - see above

    return Tls(contexts)


def authenticator_of(
    config: ConnectionKeys, wake: Callable[[], None]
) -> "Authenticator | None":
    """What authenticates connections; None where SASL is not wanted."""
    if not config.security_protocol.startswith("SASL"):
        return None
    from prokurist.network_thread.connections.authentication import (  # noqa: PLC0415
        Authenticator,
    )
    from prokurist.network_thread.io.helper import Helper  # noqa: PLC0415
    from prokurist.security.mechanisms import ConfiguredMechanisms  # noqa: PLC0415

    random = Random()  # noqa: S311 - of when a session is renewed
    mechanisms = ConfiguredMechanisms(
        config,
        endpoint=partial(token_endpoint, config),
        now=lambda: epoch_milliseconds() / 1000,
        draw=random.random,
    )
    return Authenticator(mechanisms, Helper(wake), random.random)


def token_endpoint(config: ConnectionKeys, url: str) -> "TokenEndpoint":
    """The connection to a token endpoint."""
    from prokurist.network_thread.io.token_endpoint import TokenEndpoint  # noqa: PLC0415
    from prokurist.security.stores import Pem  # noqa: PLC0415

    authorities: Pem | None = None
    if config.https_ca_location is not None:
        authorities = Pem(path=config.https_ca_location)
    elif config.https_ca_pem is not None:
        authorities = Pem(text=config.https_ca_pem.reveal())
    connect, read = config.sasl_login_connect_timeout_ms, config.sasl_login_read_timeout_ms
    return TokenEndpoint(
        url,
        connect=None if connect is None else connect / 1000,
        read=None if read is None else read / 1000,
        authorities=authorities,
    )


def tell_of_security(
    config: ConnectionKeys, contexts: "TlsContexts | None", trace: Trace
) -> None:
    """Log what is not safe, and from now on what becomes of TLS's files that change."""
    if contexts is not None:
        _tell_of_tls(config, contexts, trace)
    elif config.security_protocol == "SASL_PLAINTEXT" and config.sasl_mechanism == "PLAIN":
        trace.emit(PASSWORD_IN_PLAIN_TEXT)


def _tell_of_tls(config: ConnectionKeys, contexts: "TlsContexts", trace: Trace) -> None:

    def on_renewed(error: KafkaException | None) -> None:
        if error is None:
            trace.emit(TLS_RENEWED)
        else:
            trace.emit(TLS_NOT_RENEWED, error=error)

    contexts.on_renewed = on_renewed
    if not config.enable_ssl_certificate_verification:
        key = "enable.ssl.certificate.verification=false"
        trace.emit(TLS_UNVERIFIED, what="The brokers' certificates", key=key)
    elif config.ssl_endpoint_identification_algorithm == "none":
        key = "ssl.endpoint.identification.algorithm=none"
        trace.emit(TLS_UNVERIFIED, what="The names in the brokers' certificates", key=key)


def telemetry_of(
    config: ConnectionKeys,
    client: "NetworkClient",
    metadata: "MetadataManager",
    bootstrap: "Bootstrap",
    timer: "Timer",
    backoff: Backoff,
    random: Random,
) -> "TelemetryManager | None":
    """What pushes metrics to brokers; None where that is off."""
    if not config.enable_metrics_push:
        return None
    # A client that pushes nothing imports nothing of it.
    from prokurist.network_thread.telemetry.manager import TelemetryManager  # noqa: PLC0415

    return TelemetryManager(client, metadata, bootstrap, timer, backoff, random)


def limits_of(config: ConnectionKeys, random: Random) -> Limits:
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
