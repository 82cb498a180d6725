"""Tokens of Azure's managed identities and of workload identity, for Event Hubs and others.

In this order: workload identity (`AZURE_FEDERATED_TOKEN_FILE`), the identity of App Service and
Functions (`IDENTITY_ENDPOINT`), and the metadata service of virtual machines.

Thread: the helper's.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.security.cloud_request import (
    Ask,
    CloudRequest,
    body_of,
    json_of,
    moment_of,
)
from prokurist.security.token_request import percent_encoded
from prokurist.security.tokens import (
    Token,
    checked_extensions,
    checked_token,
    expiry_of,
    seconds_of,
)

METADATA: Final = "http://169.254.169.254"
AUTHORITY: Final = "https://login.microsoftonline.com"
ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_TENANT: Final = re.compile(r"[A-Za-z0-9.-]+")


class AzureIdentity:
    """The source of a managed or workload identity's tokens.

    Args:
        ask: Sends requests.
        environment: The process's environment.
        scope: The scope, such as `https://NAMESPACE.servicebus.windows.net/.default`.
        client_id: Of a user-assigned identity; None for the one that the place has.
        extensions: SASL extensions to send with a token.
        now: The time of day.
        only_metadata: True to ask the metadata service, whatever the environment has.
    """

    def __init__(
        self,
        ask: Ask,
        environment: Mapping[str, str],
        *,
        scope: str,
        client_id: str | None,
        extensions: Mapping[str, str],
        now: Callable[[], float],
        only_metadata: bool = False,
    ) -> None:
        self._ask = ask
        self._environment = environment
        self._scope = scope
        self._client_id = client_id
        self._extensions = extensions
        self._now = now
        self._only_metadata = only_metadata

    def fetch(self) -> Token:
        """Request a token, once."""
        asked = self._now()
        request, service = self._request()
        answer = self._ask(request)
        way_out = (
            "check that this place has an identity, sasl.oauthbearer.client.credentials."
            "client.id where it has several, and sasl.oauthbearer.scope"
        )
        found = json_of(body_of(answer, service, way_out))
        text = checked_token(found.get("access_token"), service)
        expires = expiry_of(text) or moment_of(found.get("expires_on"))
        if expires is None and (life := _life_of(found.get("expires_in"))) is not None:
            expires = asked + life
        return Token(Secret(text), expires, checked_extensions(self._extensions))

    def _request(self) -> tuple[CloudRequest, str]:
        """The request of this place, and the name of the asked service."""
        env = {} if self._only_metadata else self._environment
        if env.get("AZURE_FEDERATED_TOKEN_FILE"):
            return self._workload(env), "Azure's workload identity"
        resource = self._scope.removesuffix("/.default")
        query = f"resource={percent_encoded(resource)}"
        if self._client_id:
            query += f"&client_id={percent_encoded(self._client_id)}"
        endpoint, header = env.get("IDENTITY_ENDPOINT"), env.get("IDENTITY_HEADER")
        if endpoint and header:
            return CloudRequest(
                "GET",
                f"{endpoint}?api-version=2019-08-01&{query}",
                {"X-IDENTITY-HEADER": header},
            ), "Azure's identity endpoint"
        host = self._environment.get("AZURE_POD_IDENTITY_AUTHORITY_HOST") or METADATA
        return CloudRequest(
            "GET",
            f"{host.rstrip('/')}/metadata/identity/oauth2/token?api-version=2018-02-01&{query}",
            {"Metadata": "true"},
        ), "Azure's metadata service"

    def _workload(self, env: Mapping[str, str]) -> CloudRequest:
        tenant, client = env.get("AZURE_TENANT_ID", ""), self._client_id
        client = client or env.get("AZURE_CLIENT_ID")
        if not _TENANT.fullmatch(tenant) or not client:
            raise SaslAuthenticationException(
                "AZURE_FEDERATED_TOKEN_FILE is set, and AZURE_TENANT_ID or AZURE_CLIENT_ID is "
                "not: the service account of a pod needs the label of workload identity"
            )
        form = {
            "client_id": client,
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": assertion_in(env["AZURE_FEDERATED_TOKEN_FILE"]),
            "grant_type": "client_credentials",
            "scope": self._scope,
        }
        authority = (env.get("AZURE_AUTHORITY_HOST") or AUTHORITY).rstrip("/")
        return CloudRequest(
            "POST",
            f"{authority}/{tenant}/oauth2/v2.0/token",
            {"Content-Type": "application/x-www-form-urlencoded"},
            form_of(form),
        )

    def __repr__(self) -> str:
        return f"AzureIdentity({self._scope!r})"


def form_of(fields: Mapping[str, str]) -> bytes:
    """Write a form."""
    return "&".join(
        f"{percent_encoded(name)}={percent_encoded(value)}" for name, value in fields.items()
    ).encode()


def assertion_in(path: str) -> str:
    """Read the token that the platform keeps fresh in a file.

    Raises:
        SaslAuthenticationException: It cannot be read.
    """
    text = None
    why = "it is not ASCII"
    with suppress(UnicodeDecodeError):
        try:
            text = Path(path).read_bytes().decode("ascii").strip()
        except OSError as error:
            why = str(error.strerror)
    if not text:
        # Outside of the handler: the codec's error holds the token.
        raise SaslAuthenticationException(f"the token file {path} cannot be read: {why}")
    return text


def _life_of(told: object) -> float | None:
    """Seconds that a token lives, which Azure writes as text or as a number."""
    if isinstance(told, str):
        return float(told) if told.isdecimal() and len(told) < 10 else None
    return seconds_of(told)
