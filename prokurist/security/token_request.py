"""The client credentials grant (RFC 6749 §4.4, KIP-768): its request and its answer.

The HTTP exchange itself is `network_thread.io.token_endpoint`'s.

Thread: the helper's.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from prokurist.config.secret import Secret
from prokurist.errors import NetworkException, SaslAuthenticationException
from prokurist.lazy_dataclasses import dataclass
from prokurist.security.mechanism import octets, printable
from prokurist.security.token_backoff import TokenBackoff
from prokurist.security.tokens import (
    Token,
    checked_extensions,
    checked_token,
    expiry_of,
    seconds_of,
)

LONGEST_ANSWER: Final = 64 << 10
"""Bytes of a token endpoint's answer that are read."""

LONGEST_DESCRIPTION: Final = 200

_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """Response of an HTTP server.

    Attributes:
        status: The status code.
        body: At most `LONGEST_ANSWER` bytes and one, which tells that it is too long.
    """

    status: int
    body: bytes


class Endpoint(Protocol):
    """Posts a form to the token endpoint; it may wait, within its deadlines."""

    url: str

    def post(self, headers: Mapping[str, str], body: bytes) -> EndpointAnswer:
        """Send the request once.

        Raises:
            NetworkException: There was no whole answer.
        """
        ...


class ClientCredentials:
    """Asks a token endpoint with a client's id and secret.

    Args:
        endpoint: The connection to it.
        client_id: The client's id.
        secret: Reads the client's secret.
        scope: The requested scope.
        urlencode: True if id and secret are percent-encoded before base64.
        extensions: SASL extensions of `sasl.oauthbearer.extensions`.
        now: The time of day.
        backoff: Knows when the endpoint may be asked.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        client_id: str,
        secret: Callable[[], Secret],
        scope: str | None,
        urlencode: bool,
        extensions: Mapping[str, str],
        now: Callable[[], float],
        backoff: TokenBackoff,
    ) -> None:
        self._endpoint = endpoint
        self._client_id = client_id
        self._secret = secret
        self._scope = scope
        self._urlencode = urlencode
        self._extensions = extensions
        self._now = now
        self._backoff = backoff
        self._failure = ""  # Read by the network thread, for the text of an error.

    def fetch(self) -> Token:
        """Request a token, once; one that has just failed is not asked again so soon."""
        self._backoff.check()
        try:
            token = self._fetch_once()
        except NetworkException as error:
            self._failure = str(error).removeprefix(f"the token endpoint {self._endpoint.url} ")
            self._backoff.failed(error)
            raise
        except SaslAuthenticationException as error:
            self._failure = ""  # It has answered, and no further try will help.
            self._backoff.failed(error)
            raise
        self._failure = ""
        self._backoff.succeeded()
        return token

    def _fetch_once(self) -> Token:
        asked = self._now()
        answer = self._endpoint.post(self._headers(), self._body())
        return self._read(answer, asked)

    def _headers(self) -> dict[str, str]:
        names = [self._client_id, self._secret().reveal()]
        if self._urlencode:
            names = [percent_encoded(name) for name in names]
        pair = octets(":".join(names), "the client's id or secret")
        return {
            "Authorization": f"Basic {b64encode(pair).decode()}",
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        }

    def _body(self) -> bytes:
        form = "grant_type=client_credentials"
        if self._scope:
            form += f"&scope={percent_encoded(self._scope)}"
        return form.encode()

    def _read(self, answer: EndpointAnswer, asked: float) -> Token:
        url, status = self._endpoint.url, answer.status
        told = _json_object(answer.body)
        if status >= 500 or status in {408, 425, 429}:
            raise NetworkException(f"the token endpoint {url} answered {status}{why(told)}")
        if 300 <= status < 400:
            raise SaslAuthenticationException(
                f"the token endpoint {url} answered {status}, a redirect, which is not "
                "followed: give the final address as sasl.oauthbearer.token.endpoint.url"
            )
        if status != 200:
            raise SaslAuthenticationException(
                f"the token endpoint {url} refused the client's id and secret with {status}"
                f"{why(told)}; check sasl.oauthbearer.client.credentials.client.id, "
                ".client.secret and sasl.oauthbearer.scope"
            )
        if len(answer.body) > LONGEST_ANSWER:
            raise SaslAuthenticationException(
                f"the token endpoint {url} answered with more than {LONGEST_ANSWER} bytes"
            )
        if told is None or "access_token" not in told:
            raise SaslAuthenticationException(
                f"the token endpoint {url} answered 200 without an access_token in JSON; check "
                "sasl.oauthbearer.token.endpoint.url"
            )
        text = checked_token(told["access_token"], f"the token endpoint {url}")
        expires = expiry_of(text)
        life = seconds_of(told.get("expires_in"))
        if expires is None and life is not None:
            expires = asked + life
        return Token(Secret(text), expires, checked_extensions(self._extensions))

    def __repr__(self) -> str:
        failure = self._failure
        return f"the token endpoint {self._endpoint.url}{failure and ', which '}{failure}"


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def why(told: Mapping[str, Any] | None) -> str:
    """Extract the reason from an error answer (RFC 6749 §5.2), short."""
    if told is None:
        return ""
    parts = [
        printable(str(told[name]), LONGEST_DESCRIPTION)
        for name in ("error", "error_description")
        if isinstance(told.get(name), str)
    ]
    return f" ({': '.join(parts)})" if parts else ""


def percent_encoded(text: str, safe: str = "") -> str:
    """Encode a text for a form or a query (RFC 3986)."""
    kept = _UNRESERVED | frozenset(safe.encode())
    return "".join(
        chr(each) if each in kept else f"%{each:02X}"
        for each in text.encode("utf-8", "surrogatepass")
    )
