"""Tokens of Google Cloud's metadata server, in the form of Managed Service for Apache Kafka.

The token is a JWT's form around an access token: a header and claims that nobody signs, and in
place of the signature the access token itself.

Thread: the helper's.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Final

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.security.cloud_request import Ask, CloudRequest, body_of, json_of
from prokurist.security.tokens import Token, checked_extensions, checked_token, seconds_of

HOST: Final = "metadata.google.internal"
ACCOUNT: Final = "/computeMetadata/v1/instance/service-accounts/default"
SERVICE: Final = "Google's metadata server"
FLAVOR: Final = {"Metadata-Flavor": "Google"}
LONGEST_EMAIL: Final = 320


class GcpIdentity:
    """The source of the tokens of a machine's or pod's service account.

    Args:
        ask: Sends requests.
        environment: The process's environment; `GCE_METADATA_HOST` names another server.
        extensions: SASL extensions to send with a token.
        now: The time of day.
    """

    def __init__(
        self,
        ask: Ask,
        environment: Mapping[str, str],
        *,
        extensions: Mapping[str, str],
        now: Callable[[], float],
    ) -> None:
        self._ask = ask
        self._environment = environment
        self._extensions = extensions
        self._now = now
        self._email = ""

    def fetch(self) -> Token:
        """Request a token, once."""
        if not self._email:
            self._email = self._account()
        asked = self._now()
        found = json_of(self._got("token"))
        text = checked_token(found.get("access_token"), SERVICE)
        life = seconds_of(found.get("expires_in"))
        if life is None:
            raise SaslAuthenticationException(f"{SERVICE} answered without expires_in")
        expires = asked + life
        claims = {
            "exp": expires,
            "iss": "Google",
            "iat": asked,
            "scope": "kafka",
            "sub": self._email,
        }
        header = {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
        parts = (json.dumps(header), json.dumps(claims), text)
        token = ".".join(
            urlsafe_b64encode(each.encode()).decode().rstrip("=") for each in parts
        )
        return Token(Secret(token), expires, checked_extensions(self._extensions))

    def _account(self) -> str:
        email = self._got("email").decode("utf-8", "replace").strip()
        if not email.isprintable() or not 0 < len(email) <= LONGEST_EMAIL or "@" not in email:
            raise SaslAuthenticationException(
                f"{SERVICE} answered with something else than a service account's name"
            )
        return email

    def _got(self, what: str) -> bytes:
        host = self._environment.get("GCE_METADATA_HOST") or HOST
        answer = self._ask(CloudRequest("GET", f"http://{host}{ACCOUNT}/{what}", FLAVOR))
        return body_of(answer, SERVICE, "check that this place has a service account")

    def __repr__(self) -> str:
        return "GcpIdentity()"
