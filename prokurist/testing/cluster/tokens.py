"""Delegation tokens that the cluster keeps; no listener takes one.

Thread: the one that drives the model.
"""

import hashlib
from dataclasses import field
from typing import Final

from prokurist.lazy_dataclasses import dataclass

LIFETIME: Final = 7 * 24 * 3600.0
"""`delegation.token.max.lifetime.ms`, in seconds."""
EXPIRY: Final = 24 * 3600.0
"""`delegation.token.expiry.time.ms`, in seconds."""


@dataclass(slots=True)
class Token:
    """One token.

    Attributes:
        token_id: Its id.
        hmac: Its HMAC.
        owner: Its owner.
        requester: The user who has created it.
        renewers: The users who may renew it.
        issued: When it was created, in the model's time.
        expires: When it ends unless it is renewed.
        ends: When it ends in any case.
    """

    token_id: str
    hmac: bytes
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued: float
    expires: float
    ends: float


@dataclass(slots=True)
class Tokens:
    """All tokens.

    Attributes:
        user: The user of every connection; None where connections have none, and tokens are not
            for them.
        by_hmac: The tokens.
        made: How many there were in all.
    """

    user: str | None = None
    by_hmac: dict[bytes, Token] = field(default_factory=dict)
    made: int = 0

    def create(
        self, owner: str, renewers: tuple[str, ...], lifetime: float, now: float
    ) -> Token:
        """Create a token for the user of the connections."""
        self.made += 1
        ends = now + (min(lifetime, LIFETIME) if lifetime >= 0 else LIFETIME)
        name = f"token-{self.made}"
        token = Token(
            name,
            hashlib.sha512(name.encode()).digest(),
            owner,
            self.user or owner,
            renewers,
            now,
            min(now + EXPIRY, ends),
            ends,
        )
        self.by_hmac[token.hmac] = token
        return token

    def forget_expired(self, now: float) -> None:
        """Forget the tokens that have ended."""
        for hmac, token in tuple(self.by_hmac.items()):
            if token.expires <= now:
                del self.by_hmac[hmac]
