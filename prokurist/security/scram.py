"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) without channel binding.

The broker's messages are parsed strictly: attributes in the order of the RFC, canonical
base64, a nonce that continues the client's, an iteration count within bounds before any
hash is computed. Delegation tokens (KIP-48) are the extension `tokenauth=true`.

Thread: the helper's: PBKDF2 takes milliseconds.
"""

import binascii
import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Final

from prokurist.config.secret import Secret
from prokurist.lazy_dataclasses import dataclass
from prokurist.security.mechanism import octets, printable, refused

FEWEST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 600_000
"""Kafka stores at most 16384; more than this would be an attack on the client's processor."""

NONCE_BYTES: Final = 18
LONGEST_NONCE: Final = 512
LONGEST_SALT: Final = 1024

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

_GS2_HEADER: Final = "n,,"
_NONCE: Final = re.compile(r"[\x21-\x2b\x2d-\x7e]+")
_ITERATIONS: Final = re.compile(r"[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True, repr=False)
class ScramKeys:
    """The keys derived from a salted password: enough to authenticate again."""

    client: bytes
    server: bytes


class ScramKeyCache:
    """Keys that a broker has accepted, so that the next connection computes no PBKDF2.

    Args:
        most: How many are kept; the oldest goes.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._keys: dict[tuple[str, str, bytes, int], ScramKeys] = {}

    def get(self, key: tuple[str, str, bytes, int]) -> ScramKeys | None:
        """Look up the keys for a mechanism, user, salt and iteration count."""
        return self._keys.get(key)

    def keep(self, key: tuple[str, str, bytes, int], keys: ScramKeys) -> None:
        """Remember keys that were accepted."""
        self._keys.pop(key, None)
        self._keys[key] = keys
        # The network thread may clear it meanwhile.
        for oldest in tuple(self._keys)[: -self._most]:
            self._keys.pop(oldest, None)

    def clear(self) -> None:
        """Forget all keys, after a broker has refused."""
        self._keys.clear()

    def __repr__(self) -> str:
        return f"ScramKeyCache({len(self._keys)} keys)"


def random_nonce() -> str:
    """Draw 144 random bits, as printable characters without a comma."""
    return b64encode(secrets.token_bytes(NONCE_BYTES)).decode()


class Scram:
    """A SCRAM authentication, by password or delegation token.

    Args:
        name: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        username: Who authenticates, or the id of a delegation token.
        password: The password, or the HMAC of a delegation token.
        token: True if the two are a delegation token.
        cache: Accepted keys of former authentications.
        nonce: Makes the client's nonce.
    """

    def __init__(
        self,
        name: str,
        username: str,
        password: Secret,
        *,
        token: bool = False,
        cache: ScramKeyCache | None = None,
        nonce: Callable[[], str] = random_nonce,
    ) -> None:
        self.name = name
        self._hash = HASHES[name]
        self._username = username
        self._password = password
        self._token = token
        self._cache = ScramKeyCache() if cache is None else cache
        self._nonce = nonce()
        self._first = ""
        self._step = 0
        self._key: tuple[str, str, bytes, int] | None = None
        self._keys: ScramKeys | None = None
        self._message = b""

    def first(self) -> bytes:
        """Make the first message: the client's name and nonce."""
        name = self._username.replace("=", "=3D").replace(",", "=2C")
        extension = ",tokenauth=true" if self._token else ""
        self._first = f"n={name},r={self._nonce}{extension}"
        return octets(f"{_GS2_HEADER}{self._first}", "sasl.username")

    def answer(self, challenge: bytes) -> bytes | None:
        """Prove the password to the broker, then check the broker's own proof."""
        self._step += 1
        if self._step == 1:
            return self._prove(challenge)
        if self._step == 2:
            self._verify(challenge)
            return None
        raise refused(self.name, "the broker went on after its last message")

    def _prove(self, challenge: bytes) -> bytes:
        told = self._text(challenge)
        if told.startswith("m="):
            raise refused(self.name, "the broker demands a SCRAM extension (m=)")
        fields = told.split(",")
        if [each[:2] for each in fields[:3]] != ["r=", "s=", "i="]:
            raise refused(self.name, "the broker's first message lacks nonce, salt or count")
        nonce, salt_text, count_text = (each[2:] for each in fields[:3])
        if (
            not nonce.startswith(self._nonce)
            or len(nonce) == len(self._nonce)
            or len(nonce) > LONGEST_NONCE
            or not _NONCE.fullmatch(nonce)
        ):
            raise refused(self.name, "the broker's nonce does not continue the client's")
        salt = self._decoded(salt_text, "salt")
        if not 0 < len(salt) <= LONGEST_SALT:
            raise refused(self.name, f"a salt of {len(salt)} bytes")
        iterations = int(count_text) if _ITERATIONS.fullmatch(count_text) else 0
        if not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS:
            raise refused(
                self.name,
                f"the broker asks for {printable(count_text, 20)} iterations of the hash, and "
                f"only {FEWEST_ITERATIONS} to {MOST_ITERATIONS} are accepted: store the user's "
                "credentials with a count between them",
            )
        self._key = (self.name, self._username, salt, iterations)
        self._keys = self._cache.get(self._key) or self._derived(salt, iterations)
        binding = b64encode(_GS2_HEADER.encode()).decode()
        final = f"c={binding},r={nonce}"
        self._message = octets(f"{self._first},{told},{final}", "sasl.username")
        stored = hashlib.new(self._hash, self._keys.client).digest()
        signature = hmac.digest(stored, self._message, self._hash)
        proof = bytes(a ^ b for a, b in zip(self._keys.client, signature, strict=True))
        return f"{final},p={b64encode(proof).decode()}".encode()

    def _derived(self, salt: bytes, iterations: int) -> ScramKeys:
        # As Kafka's own client does it, the password is not prepared by SASLprep.
        password = octets(self._password.reveal(), "sasl.password")
        salted = hashlib.pbkdf2_hmac(self._hash, password, salt, iterations)
        return ScramKeys(
            hmac.digest(salted, b"Client Key", self._hash),
            hmac.digest(salted, b"Server Key", self._hash),
        )

    def _verify(self, challenge: bytes) -> None:
        told = self._text(challenge)
        field = told.split(",", 1)[0]
        if field.startswith("e="):
            raise refused(self.name, self.explain(f"the broker says {printable(field[2:])!r}"))
        if not field.startswith("v="):
            raise refused(self.name, "the broker's last message holds no signature")
        theirs = self._decoded(field[2:], "signature")
        if self._keys is None or self._key is None:
            raise AssertionError("a signature is checked after the proof")
        ours = hmac.digest(self._keys.server, self._message, self._hash)
        if not hmac.compare_digest(ours, theirs):
            self._cache.clear()
            raise refused(
                self.name,
                "the broker's signature is wrong: it does not know the password's keys and "
                "may not be the broker that it claims to be",
            )
        self._cache.keep(self._key, self._keys)

    def explain(self, told: str) -> str:
        """Drop cached keys, which may be stale, and name the keys to check."""
        self._cache.clear()
        if self._token:
            return f"{told}; check the delegation token's id, HMAC and expiry"
        return (
            f"{told}; check sasl.username and sasl.password, and that the user has "
            f"credentials for {self.name}"
        )

    def _text(self, challenge: bytes) -> str:
        try:
            return challenge.decode()
        except UnicodeDecodeError:
            raise refused(self.name, "the broker's message is not UTF-8") from None

    def _decoded(self, text: str, what: str) -> bytes:
        try:
            return b64decode(text.encode(), validate=True)
        except (binascii.Error, ValueError):
            raise refused(self.name, f"the broker's {what} is not base64") from None

    def __repr__(self) -> str:
        return f"Scram({self.name}, {self._username!r})"
