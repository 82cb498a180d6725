"""The broker's half of SASL: users, mechanisms, and how far a connection has come.

Made from the RFCs and from what a broker answers, with nothing of the client's.

Thread: the one that drives the model.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final
from urllib.parse import quote

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass

OPEN: Final = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})
"""APIs allowed before a connection is authenticated."""

BETWEEN: Final = 1.0
"""Seconds between two authentications of one connection, at the least."""

ITERATIONS: Final = 4096
SALT: Final = b"a salt of the model"
HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class Refused(Exception):
    """Wrong credentials; the text is the broker's."""


@dataclass(slots=True)
class Sasl:
    """SASL configuration of a listener.

    Attributes:
        users: Passwords by name; a test may change them.
        tokens: Bearer tokens that are accepted.
        amazon_keys: Secret keys of AWS_MSK_IAM by the key's id.
        mechanisms: Those that are enabled.
        lifetime: Seconds until a connection must authenticate again; 0 for never.
        is_liar: True if its SCRAM signature is wrong, as an impostor's.
    """

    users: dict[str, str]
    tokens: set[str] = field(default_factory=set)
    amazon_keys: dict[str, str] = field(default_factory=dict)
    mechanisms: tuple[str, ...] = (
        "PLAIN",
        "SCRAM-SHA-256",
        "SCRAM-SHA-512",
        "OAUTHBEARER",
        "AWS_MSK_IAM",
    )
    lifetime: float = 0.0
    is_liar: bool = False


@dataclass(slots=True)
class SaslExchange:
    """SASL state of one connection.

    Attributes:
        settings: The listener's.
        user: Who it is; None before.
        until: When it must authenticate again.
    """

    settings: Sasl
    user: str | None = None
    until: float = float("inf")
    _since: float = float("-inf")
    _next: Callable[[bytes, float], bytes] | None = None

    @property
    def is_under_way(self) -> bool:
        """True while an exchange is in progress."""
        return self._next is not None

    def may_ask(self, api: str, now: float) -> bool:
        """True if a request may be handled; otherwise the broker closes the connection."""
        if api in OPEN:
            return True
        return self.user is not None and now < self.until and not self.is_under_way

    def begin(self, mechanism: str, now: float) -> int:
        """Take a handshake: an error code."""
        if mechanism not in self.settings.mechanisms:
            return ErrorCode.unsupported_sasl_mechanism
        if self.user is not None and now < self._since + BETWEEN:
            return ErrorCode.illegal_sasl_state
        if mechanism == "PLAIN":
            self._next = self._plain
        elif mechanism == "OAUTHBEARER":
            self._next = self._bearer
        elif mechanism == "AWS_MSK_IAM":
            self._next = self._amazon
        else:
            self._next = lambda data, now: self._scram(HASHES[mechanism], data, now)
        return ErrorCode.none

    def answer(self, data: bytes, now: float) -> bytes:
        """Take the client's next message.

        Raises:
            Refused: It proves nothing.
        """
        if self._next is None:
            raise AssertionError("no exchange is under way")
        return self._next(data, now)

    def _accept(self, user: str, now: float) -> None:
        if self.user not in {None, user}:
            raise Refused("Cannot change principals during re-authentication")
        self.user, self._since, self._next = user, now, None
        lifetime = self.settings.lifetime
        self.until = now + lifetime if lifetime else float("inf")

    def _plain(self, data: bytes, now: float) -> bytes:
        _, name, password = data.decode().split("\0")
        if self.settings.users.get(name) != password:
            raise Refused("Authentication failed: Invalid username or password")
        self._accept(name, now)
        return b""

    def _bearer(self, data: bytes, now: float) -> bytes:
        if data == b"\x01":
            raise Refused('{"status":"invalid_token"}')
        token = data.decode().split("\x01")[1].removeprefix("auth=Bearer ")
        if token not in self.settings.tokens:
            return json.dumps({"status": "invalid_token"}).encode()
        self._accept("bearer", now)
        return b""

    def _amazon(self, data: bytes, now: float) -> bytes:
        """A request that is signed with Signature Version 4."""
        told = json.loads(data)
        name, date, region, service, end = told["x-amz-credential"].split("/")
        key = f"AWS4{self.settings.amazon_keys.get(name)}".encode()
        for part in (date, region, service, end):
            key = hmac.digest(key, part.encode(), "sha256")
        fields = {
            "Action": told["action"],
            "X-Amz-Algorithm": told["x-amz-algorithm"],
            "X-Amz-Credential": told["x-amz-credential"],
            "X-Amz-Date": told["x-amz-date"],
            "X-Amz-Expires": told["x-amz-expires"],
        }
        if "x-amz-security-token" in told:
            fields["X-Amz-Security-Token"] = told["x-amz-security-token"]
        fields["X-Amz-SignedHeaders"] = told["x-amz-signedheaders"]
        # In the order of their names already.
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in fields.items())
        nothing = hashlib.sha256(b"").hexdigest()
        request = f"GET\n/\n{query}\nhost:{told['host']}\n\nhost\n{nothing}"
        scope = f"{date}/{region}/{service}/{end}"
        digest = hashlib.sha256(request.encode()).hexdigest()
        to_sign = f"AWS4-HMAC-SHA256\n{told['x-amz-date']}\n{scope}\n{digest}"
        signed = hmac.digest(key, to_sign.encode(), "sha256").hex()
        if signed != told["x-amz-signature"] or name not in self.settings.amazon_keys:
            raise Refused("Access denied")
        self._accept(name, now)
        return b'{"version":"2020_10_22","request-id":"of the model"}'

    def _scram(self, name: str, data: bytes, now: float) -> bytes:
        """Handle the client's first message; the answer sets up the second."""
        bare = data.decode().removeprefix("n,,")
        fields = fields_of(bare)
        user = fields["n"].replace("=2C", ",").replace("=3D", "=")
        password = self.settings.users.get(user)
        if password is None:
            raise Refused(
                "Authentication failed during authentication due to invalid credentials"
            )
        salted = hashlib.pbkdf2_hmac(name, password.encode(), SALT, ITERATIONS)
        first = f"r={fields['r']}model,s={base64.b64encode(SALT).decode()},i={ITERATIONS}"

        def last(final: bytes, now: float) -> bytes:
            without, _, proof = final.decode().rpartition(",p=")
            message = f"{bare},{first},{without}".encode()
            client_key = hmac.digest(salted, b"Client Key", name)
            stored = hashlib.new(name, client_key).digest()
            signed = hmac.digest(stored, message, name)
            wanted = bytes(a ^ b for a, b in zip(client_key, signed, strict=True))
            if base64.b64decode(proof) != wanted:
                raise Refused(
                    "Authentication failed during authentication due to invalid credentials"
                )
            key = b"another key" if self.settings.is_liar else b"Server Key"
            signature = hmac.digest(hmac.digest(salted, key, name), message, name)
            self._accept(user, now)
            return b"v=" + base64.b64encode(signature)

        del now
        self._next = last
        return first.encode()


def fields_of(message: str) -> Mapping[str, str]:
    """The attributes of a SCRAM message."""
    return {part[0]: part[2:] for part in message.split(",") if part[1:2] == "="}
