"""Security of a client's connections: TLS contexts and SASL mechanisms.

Thread: the application's, while a client is being built.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from prokurist.config.connection import ConnectionKeys
from prokurist.events.clock import Clock, epoch_milliseconds
from prokurist.events.security_log_events import PASSWORD_IN_PLAIN_TEXT, TLS_UNVERIFIED
from prokurist.events.trace import UNREAD, Trace

if TYPE_CHECKING:
    from prokurist.network_thread.connections.authentication import Authenticator
    from prokurist.network_thread.io.cloud_service import CloudService
    from prokurist.network_thread.io.tls import Tls
    from prokurist.network_thread.io.token_endpoint import TokenEndpoint
    from prokurist.security.context import TlsContexts


def credentials_of(config: ConnectionKeys) -> str | None:
    """Return the identity that a client presents to brokers, for errors of authorization.

    It names settings and users, and holds no secrets. Brokers decide which principal they make
    of it. None where only a token or a ticket names the user, which only brokers read.
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


def tls_contexts(
    config: ConnectionKeys, clock: Clock, trace: Trace = UNREAD
) -> "TlsContexts | None":
    """Make the TLS contexts of connections; None where they are not encrypted.

    Raises:
        ConfigException: A key of TLS cannot be used.
    """
    if not config.security_protocol.endswith("SSL"):
        return None
    # A client without TLS imports no `ssl`.
    from prokurist.network_thread.io.tls import emit_renewal  # noqa: PLC0415
    from prokurist.security.context import TlsContexts  # noqa: PLC0415

    return TlsContexts(config, clock.now, partial(emit_renewal, trace))


def tls_of(contexts: "TlsContexts | None") -> "Tls | None":
    """Make the TLS filter of the network; None where connections are not encrypted."""
    if contexts is None:
        return None
    from prokurist.network_thread.io.tls import Tls  # noqa: PLC0415 - see above

    return Tls(contexts)


def authenticator_of(
    config: ConnectionKeys, wake: Callable[[], None]
) -> "Authenticator | None":
    """Return the authenticator of connections; None without SASL."""
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
        ask=cloud_service(config),
        now=lambda: epoch_milliseconds() / 1000,
        draw=random.random,
    )
    return Authenticator(mechanisms, Helper(wake), random.random)


def cloud_service(config: ConnectionKeys) -> "CloudService":
    """The connections to a cloud's own services."""
    from prokurist.network_thread.io.cloud_service import CloudService  # noqa: PLC0415

    connect, read = config.sasl_login_connect_timeout_ms, config.sasl_login_read_timeout_ms
    return CloudService(
        None if connect is None else connect / 1000, None if read is None else read / 1000
    )


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


def warn_of_security(config: ConnectionKeys, trace: Trace) -> None:
    """Emit the unsafe settings of a configuration."""
    if not config.security_protocol.endswith("SSL"):
        if config.security_protocol == "SASL_PLAINTEXT" and config.sasl_mechanism == "PLAIN":
            trace.emit(PASSWORD_IN_PLAIN_TEXT)
    elif not config.enable_ssl_certificate_verification:
        key = "enable.ssl.certificate.verification=false"
        trace.emit(TLS_UNVERIFIED, what="The brokers' certificates", key=key)
    elif config.ssl_endpoint_identification_algorithm == "none":
        key = "ssl.endpoint.identification.algorithm=none"
        trace.emit(TLS_UNVERIFIED, what="The names in the brokers' certificates", key=key)
