"""Requests of a cloud's own services: metadata servers, and token services.

The HTTP exchange itself is `network_thread.io.cloud_service`'s.

Thread: the helper's.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from prokurist.config.secret import Secret
from prokurist.errors import NetworkException, SaslAuthenticationException
from prokurist.lazy_dataclasses import dataclass
from prokurist.security.mechanism import printable
from prokurist.security.token_request import EndpointAnswer
from prokurist.security.tokens import seconds_of

LONGEST_WORDS: Final = 200
_ADDRESS: Final = re.compile(
    r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?(?=[/?]|$)"
)
USUAL_PORTS: Final = {"https": "443", "http": "80"}


@dataclass(frozen=True, slots=True)
class CloudRequest:
    """A request.

    Attributes:
        method: The method.
        url: The address.
        headers: The headers; they may hold secrets.
        body: The body; it may hold secrets.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None

    def __repr__(self) -> str:
        return f"CloudRequest({self.method} {self.url.partition('?')[0]})"


class Ask(Protocol):
    """Sends a request once; it may wait, within its bounds."""

    def __call__(self, request: CloudRequest) -> EndpointAnswer:
        """Send it.

        Raises:
            NetworkException: There was no whole answer.
        """
        ...


def body_of(answer: EndpointAnswer, service: str, way_out: str) -> bytes:
    """Return the body of an answer that is one.

    Args:
        answer: The answer.
        service: Name of the service that has answered, for errors.
        way_out: The way out of a refusal.

    Raises:
        NetworkException: It may answer the next time.
        SaslAuthenticationException: It refuses.
    """
    if answer.status == 200:
        return answer.body
    text = f"{service} answered {answer.status}{words_of(answer.body)}"
    if answer.status >= 500 or answer.status in (408, 410, 425, 429):
        raise NetworkException(text)
    raise SaslAuthenticationException(f"{text}; {way_out}")


def words_of(body: bytes) -> str:
    """Quote a service's words on an error, where they are in a known member."""
    found = json_of(body)
    told = found.get("error_description") or found.get("message") or found.get("Message")
    error = found.get("error", found.get("code", found.get("Code")))
    parts = [
        printable(each, LONGEST_WORDS)
        for each in (error, told)
        if isinstance(each, str) and each
    ]
    return f" ({': '.join(parts)})" if parts else ""


def json_of(body: bytes) -> dict[str, Any]:
    """Read a JSON object; empty where there is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def secret_in(found: Mapping[str, Any], name: str, service: str) -> Secret:
    """Return a secret of an answer.

    Raises:
        SaslAuthenticationException: It has none.
    """
    value = found.get(name)
    if not isinstance(value, str) or not value:
        raise SaslAuthenticationException(f"{service} answered without {name}")
    return Secret(value)


def moment_of(told: object) -> float | None:
    """Read a moment as services write it: ISO 8601, or seconds since 1970."""
    if not isinstance(told, str):
        return seconds_of(told)
    if told.isdecimal():
        return seconds_of(int(told)) if len(told) < 16 else None
    try:
        moment = datetime.fromisoformat(told)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def address_of(url: str) -> tuple[str, str, str | None] | None:
    """Return the scheme of an address, its host, and its port where that is not the usual one.

    None for an address that is neither of `http` nor of `https`.
    """
    found = _ADDRESS.match(url)
    if found is None:
        return None
    scheme, host, port = found.groups()
    return scheme, host.strip("[]"), None if port == USUAL_PORTS[scheme] else port
