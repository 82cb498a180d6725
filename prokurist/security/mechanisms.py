"""The mechanism that a configuration asks for, made again for each authentication.

Thread: made by the application's; `make` is the network thread's, and what a mechanism does is
the helper's.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from prokurist.config.sasl import SaslKeys
from prokurist.config.secret import Secret
from prokurist.errors import ConfigException, SaslAuthenticationException
from prokurist.security.aws_chain import AwsChain, AwsKeeper
from prokurist.security.aws_roles import SESSION_NAME, Role
from prokurist.security.azure_identity import AzureIdentity
from prokurist.security.cloud_request import Ask
from prokurist.security.gcp_identity import GcpIdentity
from prokurist.security.gssapi import Gssapi
from prokurist.security.mechanism import Mechanism
from prokurist.security.msk_iam import MskIam, region_of
from prokurist.security.oauthbearer import OAuthBearer
from prokurist.security.plain import Plain
from prokurist.security.scram import Scram, ScramKeyCache
from prokurist.security.token_backoff import BackedOff, TokenBackoff
from prokurist.security.token_request import ClientCredentials, Endpoint
from prokurist.security.token_sources import CallableSource, FileSource, UnsecuredSource
from prokurist.security.tokens import TokenKeeper, TokenSource, checked_extensions

MOST_TRIES = 3
"""Failures of a token endpoint in a row for which a connection waits; later ones end it."""


class ConfiguredMechanisms:
    """Makes the mechanism of `sasl.mechanism` for each authentication.

    Args:
        keys: The configuration.
        endpoint: Makes the connection to a token endpoint.
        ask: Asks a cloud's own service.
        now: The time of day, in seconds since 1970.
        draw: Draws from [0, 1).

    Raises:
        ConfigException: What unsecured tokens or extensions say cannot be sent.
    """

    def __init__(
        self,
        keys: SaslKeys,
        *,
        endpoint: Callable[[str], Endpoint],
        ask: Ask,
        now: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        self._keys = keys
        self._endpoint = endpoint
        self._ask = ask
        self._now = now
        self._cache = ScramKeyCache()
        self._backoff = TokenBackoff(
            keys.sasl_login_retry_backoff_ms / 1000,
            keys.sasl_login_retry_backoff_max_ms / 1000,
            now=now,
            draw=draw,
        )
        self._tokens: TokenKeeper | None = None
        self._amazon = AwsKeeper(self._chain(), now, self._backoff)
        if keys.sasl_mechanism == "OAUTHBEARER":
            try:
                source = self._source()
            except SaslAuthenticationException as error:
                raise ConfigException(str(error)) from None
            self._tokens = TokenKeeper(
                source,
                now=now,
                draw=draw,
                window=keys.sasl_login_refresh_window_factor,
                jitter=keys.sasl_login_refresh_window_jitter,
                least=keys.sasl_login_refresh_min_period_seconds,
                buffer=keys.sasl_login_refresh_buffer_seconds,
            )

    def pause(self) -> float:
        """See `Mechanisms`."""
        is_held = self._amazon.is_alive or (self._tokens is not None and self._tokens.is_alive)
        return 0.0 if is_held else self._backoff.left()

    @property
    def may_ask_again(self) -> bool:
        """See `Mechanisms`."""
        return 0 < self._backoff.failures < MOST_TRIES

    def make(self, host: str) -> Mechanism:
        """A mechanism, to be used once."""
        keys = self._keys
        if self._tokens is not None:
            return OAuthBearer(self._tokens)
        if keys.sasl_mechanism == "AWS_MSK_IAM":
            current = partial(self._amazon.current, region_of(host))
            return MskIam(host, current, self._now, self._amazon.refused)
        if keys.sasl_mechanism == "GSSAPI":
            return Gssapi(
                keys.sasl_kerberos_service_name or "",
                host,
                principal=keys.sasl_kerberos_principal,
                keytab=keys.sasl_kerberos_keytab,
            )
        username = keys.sasl_username
        password = stored(keys.sasl_password, keys.sasl_password_location)
        if username is None or password is None:
            raise AssertionError("the configuration was checked")
        if keys.sasl_mechanism == "PLAIN":
            return Plain(username, password)
        return Scram(
            keys.sasl_mechanism,
            username,
            password,
            token=keys.sasl_delegation_token,
            cache=self._cache,
        )

    def _chain(self) -> AwsChain:
        keys = self._keys
        role = None
        if keys.sasl_aws_role_arn is not None:
            role = Role(
                keys.sasl_aws_role_arn,
                keys.sasl_aws_role_session_name or SESSION_NAME,
                keys.sasl_aws_role_external_id,
            )
        return AwsChain(
            os.environ,
            profile=keys.sasl_aws_profile,
            role=role,
            sts_region=keys.sasl_aws_sts_region,
            ask=self._ask,
            now=self._now,
        )

    def _source(self) -> TokenSource:
        keys, extensions = self._keys, self._extensions()
        if keys.sasl_oauthbearer_token_callback is not None:
            return CallableSource(
                keys.sasl_oauthbearer_token_callback, keys.sasl_oauthbearer_config, extensions
            )
        kind = keys.sasl_oauthbearer_metadata_authentication_type
        if kind.startswith("azure"):
            return self._backed_off(
                AzureIdentity(
                    self._ask,
                    os.environ,
                    scope=keys.sasl_oauthbearer_scope or "",
                    client_id=keys.sasl_oauthbearer_client_credentials_client_id,
                    extensions=extensions,
                    now=self._now,
                    only_metadata=kind == "azure_imds",
                )
            )
        if kind == "gcp":
            return self._backed_off(
                GcpIdentity(self._ask, os.environ, extensions=extensions, now=self._now)
            )
        url = keys.sasl_oauthbearer_token_endpoint_url
        if url is None:
            return UnsecuredSource(keys.sasl_oauthbearer_config, extensions, self._now)
        if url.lower().startswith("file:"):
            return FileSource(path_of(url), extensions)
        return ClientCredentials(
            self._endpoint(url),
            client_id=keys.sasl_oauthbearer_client_credentials_client_id or "",
            secret=self._client_secret,
            scope=keys.sasl_oauthbearer_scope,
            urlencode=keys.sasl_oauthbearer_header_urlencode,
            extensions=extensions,
            now=self._now,
            backoff=self._backoff,
        )

    def _backed_off(self, source: TokenSource) -> TokenSource:
        return BackedOff(source, self._backoff)

    def _client_secret(self) -> Secret:
        keys = self._keys
        secret = stored(
            keys.sasl_oauthbearer_client_credentials_client_secret,
            keys.sasl_oauthbearer_client_credentials_client_secret_location,
        )
        if secret is None:
            raise AssertionError("the configuration was checked")
        return secret

    def _extensions(self) -> Mapping[str, str]:
        named = [each.partition("=") for each in self._keys.sasl_oauthbearer_extensions]
        if bad := [name for name, equals, _ in named if not equals]:
            raise ConfigException(
                f"sasl.oauthbearer.extensions has {bad[0]!r} where NAME=VALUE is expected"
            )
        return checked_extensions({name: value for name, _, value in named})

    def __repr__(self) -> str:
        return f"<ConfiguredMechanisms: {self._keys.sasl_mechanism}>"


def stored(secret: Secret | None, location: str | None) -> Secret | None:
    """Return a secret that is given, or one that reads its file when it is needed."""
    return secret if location is None else Secret(partial(text_of, location))


def text_of(location: str) -> str:
    """Read the secret in a file, without the line's end.

    Raises:
        SaslAuthenticationException: It cannot be read.
    """
    try:
        return Path(location).read_bytes().decode().rstrip("\r\n")
    except OSError as error:
        why = error.strerror
    except UnicodeDecodeError:
        why = "it is not UTF-8"
    # Outside of the handler: the codec's error holds the secret.
    raise SaslAuthenticationException(f"the secret in {location} cannot be read: {why}")


def path_of(url: str) -> str:
    """Extract the path of a `file:` address, with or without an empty host."""
    path = url.partition(":")[2]
    return path[2:] if path.startswith("///") else path
