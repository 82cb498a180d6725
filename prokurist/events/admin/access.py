"""Work on ACLs, SCRAM users, quotas and delegation tokens.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from dataclasses import field

from prokurist.events.admin.work import ONE
from prokurist.lazy_dataclasses import dataclass
from prokurist.types.access import (
    Acl,
    AclFilter,
    DeletePassword,
    QuotaEntity,
    QuotaFilter,
    ScramMechanism,
)


@dataclass(frozen=True, slots=True)
class AclsToDescribe:
    """List ACLs.

    Attributes:
        asked: The filter.
    """

    asked: AclFilter
    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class AclsToCreate:
    """Create ACLs."""

    items: Mapping[Acl, None]


@dataclass(frozen=True, slots=True)
class AclsToDelete:
    """Delete ACLs by filters.

    Attributes:
        items: The filters.
        expect: How many ACLs they have to fit; None for any number.
    """

    items: Mapping[AclFilter, None]
    expect: int | None = None


@dataclass(frozen=True, slots=True)
class UsersToDescribe:
    """Describe the SCRAM credentials of users."""

    items: Mapping[str, None]


@dataclass(frozen=True, slots=True)
class AllUsersToDescribe:
    """Describe the SCRAM credentials of all users."""

    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class SaltedPassword:
    """A SCRAM credential.

    Attributes:
        mechanism: Its mechanism.
        iterations: Its iterations.
        salt: Its salt.
        salted_password: The salted password.
    """

    mechanism: ScramMechanism
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class UsersToAlter:
    """Change the SCRAM credentials of users."""

    items: Mapping[str, SaltedPassword | DeletePassword]


@dataclass(frozen=True, slots=True)
class QuotasToDescribe:
    """List quotas.

    Attributes:
        asked: The filter.
    """

    asked: QuotaFilter
    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class QuotasToAlter:
    """Change quotas.

    Attributes:
        items: The values of each entity by key; None to remove one.
        validate_only: True to check the request, and change nothing.
    """

    items: Mapping[QuotaEntity, Mapping[str, float | None]]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class TokenToCreate:
    """Create a delegation token.

    Attributes:
        owner: Its owner; None for the user who asks.
        renewers: The users who may renew it.
        lifetime: Milliseconds; −1 for the brokers' default.
    """

    owner: str | None
    renewers: tuple[str, ...]
    lifetime: int
    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class TokenToRenew:
    """Renew a delegation token.

    Attributes:
        hmac: Its HMAC.
        period: Milliseconds from now; −1 for the brokers' default.
    """

    hmac: bytes = field(repr=False)
    period: int
    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class TokenToExpire:
    """End a delegation token.

    Attributes:
        hmac: Its HMAC.
        period: Milliseconds from now; −1 for at once.
    """

    hmac: bytes = field(repr=False)
    period: int
    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class TokensToDescribe:
    """List delegation tokens.

    Attributes:
        owners: Their owners; None for all that this user may see.
    """

    owners: tuple[str, ...] | None
    items: Mapping[str, None] = field(default_factory=lambda: ONE)
