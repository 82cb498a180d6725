"""Access: ACLs, SCRAM users, client quotas, delegation tokens.

Thread: any application thread.
"""

import base64
import binascii
import hashlib
import math
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from prokurist.admin.arguments import listed, mapping_of, named, require_kind, require_name
from prokurist.admin.calls import AdminCalls
from prokurist.admin.results import Results
from prokurist.application.driving import Steps
from prokurist.config.secret import Secret
from prokurist.errors.local_variables import without_locals
from prokurist.events.admin.access import (
    AclsToCreate,
    AclsToDelete,
    AclsToDescribe,
    AllUsersToDescribe,
    QuotasToAlter,
    QuotasToDescribe,
    SaltedPassword,
    TokensToDescribe,
    TokenToCreate,
    TokenToExpire,
    TokenToRenew,
    UsersToAlter,
    UsersToDescribe,
)
from prokurist.events.clock import as_seconds
from prokurist.types import require_int
from prokurist.types.access import (
    Acl,
    AclFilter,
    AlteredUser,
    DelegationToken,
    DeletedAcls,
    DeletePassword,
    QuotaEntity,
    QuotaFilter,
    ScramMechanism,
    SetPassword,
)

ACLS = '[Acl(AclResource.TOPIC, "orders", "User:alice", AclOperation.READ)]'
FILTERS = '[AclFilter(principal="User:alice")]'
SALT: Final = 24
"""Random bytes of a salt."""
HASHES: Final = {
    ScramMechanism.SCRAM_SHA_256: "sha256",
    ScramMechanism.SCRAM_SHA_512: "sha512",
}
BY_DEFAULT: Final = -1


class Access(AdminCalls):
    """Calls of `KafkaAdmin` about ACLs, users, quotas and tokens."""

    def acls(
        self,
        asked: AclFilter | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> tuple[Acl, ...]:
        """List ACLs.

        Args:
            asked: A filter; None for all ACLs.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            SecurityDisabledException: The brokers have no authorizer.
            TimeoutException: The time is over.
        """
        wanted = AclFilter() if asked is None else asked
        require_kind("the filter", wanted, AclFilter)
        found: tuple[Acl, ...] = self._one("acls", AclsToDescribe(wanted), timeout)
        return found

    def create_acls(
        self, acls: Iterable[Acl], *, timeout: float | timedelta | None = None
    ) -> Results[Acl, None]:
        """Create ACLs; one that is there already is no failure.

        Args:
            acls: The ACLs; `Acl.allow` makes many at once.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; `check()` raises if any has failed.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        items = dict.fromkeys(listed("ACLs", acls, example=ACLS))
        for each in items:
            require_kind("an ACL", each, Acl)
        return self._results("create_acls", AclsToCreate(items), timeout)

    def delete_acls(
        self,
        filters: Iterable[AclFilter | Acl],
        *,
        expect: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> Results[AclFilter, DeletedAcls]:
        """Delete the ACLs that filters fit. They are listed first.

        Args:
            filters: The filters; an ACL stands for the filter that fits it alone.
            expect: How many ACLs they fit in all: with another number none is deleted. None for
                any number.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The deleted ACLs of each filter; none for one that fits none.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        items: dict[AclFilter, None] = {}
        for each in listed("filters", filters, example=FILTERS):
            require_kind("a filter", each, (AclFilter, Acl))
            items[AclFilter.of(each) if isinstance(each, Acl) else each] = None
        if expect is not None:
            require_int("expect", expect, 31)
        return self._results("delete_acls", AclsToDelete(items, expect), timeout)

    # --- users -------------------------------------------------------------------------

    def users(
        self,
        names: Iterable[str] | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, dict[ScramMechanism, int]]:
        """List users with SCRAM credentials: the iterations by mechanism.

        Args:
            names: The users; None for all.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The credentials of each; ResourceNotFoundException for one that has none.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        if names is None:
            return self._run(self._all_users(timeout))
        items = dict.fromkeys(named("users", names, example='["alice"]'))
        if not items:
            return Results("users", {})  # No name would stand for all.
        return self._results("users", UsersToDescribe(items), timeout)

    def _all_users(
        self, timeout: float | timedelta | None
    ) -> Steps[Results[str, dict[ScramMechanism, int]]]:
        found = yield from self._ask_one("users", AllUsersToDescribe(), timeout)
        return Results("users", found)

    @without_locals
    def alter_users(
        self,
        changes: Mapping[str, SetPassword | DeletePassword],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, AlteredUser]:
        """Create, change and delete SCRAM credentials of users.

        Passwords are salted in this thread, with PBKDF2. They do not leave the process.

        Args:
            changes: The change of each user.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; ResourceNotFoundException if there is nothing to delete.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        example = '{"alice": SetPassword("…")}'
        items: dict[str, SaltedPassword | DeletePassword] = {}
        for name, change in mapping_of("changes", changes, example=example).items():
            require_name("users", name)
            if not isinstance(change, SetPassword | DeletePassword):
                raise TypeError(
                    f"the change of {name} is a SetPassword or a DeletePassword (its value is "
                    f"not shown here)"
                )
            items[name] = salted(change) if isinstance(change, SetPassword) else change
        return self._results("alter_users", UsersToAlter(items), timeout)

    # --- quotas ------------------------------------------------------------------------

    def quotas(
        self,
        asked: QuotaFilter | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> dict[QuotaEntity, dict[str, float]]:
        """List client quotas: the values by key of each entity.

        Args:
            asked: A filter; None for all quotas.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: The time is over.
        """
        wanted = QuotaFilter() if asked is None else asked
        require_kind("the filter", wanted, QuotaFilter)
        found: dict[QuotaEntity, dict[str, float]] = self._one(
            "quotas", QuotasToDescribe(wanted), timeout
        )
        return found

    def alter_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[QuotaEntity, None]:
        """Change client quotas. Keys that are not named stay as they are.

        Args:
            changes: The values by key of each entity; None removes one.
            validate_only: True to check the request, and change nothing.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; `check()` raises if any has failed.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        example = '{QuotaEntity(user="alice"): {"producer_byte_rate": 1e6}}'
        items: dict[QuotaEntity, dict[str, float | None]] = {}
        for entity, values in mapping_of("changes", changes, example=example).items():
            require_kind("an entity", entity, QuotaEntity)
            items[entity] = dict(mapping_of(f"values of {entity}", values, example=example))
            for key, value in items[entity].items():
                require_name("quotas", key)
                if value is not None:
                    require_kind(f"{key} of {entity}", value, (int, float))
                    if not math.isfinite(value):
                        raise ValueError(
                            f"{key} of {entity} is a finite number, or None for no quota: "
                            f"{value}"
                        )
        work = QuotasToAlter(items, validate_only)
        return self._results("alter_quotas", work, timeout)

    # --- tokens ------------------------------------------------------------------------

    def create_token(
        self,
        *,
        owner: str | None = None,
        renewers: Iterable[str] = (),
        lifetime: float | timedelta | None = None,
        timeout: float | timedelta | None = None,
    ) -> DelegationToken:
        """Create a delegation token.

        The request is written once: a repetition would create another token. If its answer is
        lost, the error has `may_have_happened`, and `describe_tokens` shows the token.

        Args:
            owner: The user whose rights it has, such as `User:alice`; None for this one.
            renewers: The users who may renew it, beside the owner.
            lifetime: Seconds for which it can be renewed; None for the brokers' default.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            DelegationTokenDisabledException: The brokers have no secret key for tokens.
            KafkaException: The controller refuses it.
            TimeoutException: The time is over.
        """
        users = principals("renewers", renewers)
        if owner is not None:
            (owner,) = principals("owners", [owner])
        work = TokenToCreate(owner, users, period_of(lifetime))
        created: DelegationToken = self._one("create_token", work, timeout)
        return created

    def renew_token(
        self,
        token: DelegationToken | str | Secret,
        period: float | timedelta | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> datetime:
        """Renew a delegation token; return when it ends.

        Args:
            token: The token, or its HMAC in base64.
            period: Seconds from now; None for the brokers' default.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            DelegationTokenNotFoundException: There is no such token.
            KafkaException: The controller refuses it.
            TimeoutException: The time is over.
        """
        work = TokenToRenew(hmac_of(token), period_of(period))
        ends: datetime = self._one("renew_token", work, timeout)
        return ends

    def expire_token(
        self,
        token: DelegationToken | str | Secret,
        period: float | timedelta | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> datetime | None:
        """End a delegation token; return when it ends.

        Args:
            token: The token, or its HMAC in base64.
            period: Seconds from now; None to end it at once.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The time; None if an attempt whose answer was lost has ended it.

        Raises:
            DelegationTokenNotFoundException: There is no such token.
            KafkaException: The controller refuses it.
            TimeoutException: The time is over.
        """
        work = TokenToExpire(hmac_of(token), period_of(period))
        ends: datetime | None = self._one("expire_token", work, timeout)
        return ends

    def describe_tokens(
        self,
        owners: Iterable[str] | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> tuple[DelegationToken, ...]:
        """List delegation tokens.

        Args:
            owners: Their owners, such as `User:alice`; None for all that this user may see.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            KafkaException: The broker refuses it.
            TimeoutException: The time is over.
        """
        users = None if owners is None else principals("owners", owners)
        found: tuple[DelegationToken, ...] = self._one(
            "describe_tokens", TokensToDescribe(users), timeout
        )
        return found


@without_locals
def salted(change: SetPassword) -> SaltedPassword:
    """Salt a password; as in Kafka's own client it is not prepared by SASLprep."""
    salt, secret = secrets.token_bytes(SALT), change.password
    text = secret.reveal() if isinstance(secret, Secret) else secret
    name = HASHES[change.mechanism]
    digest = hashlib.pbkdf2_hmac(name, text.encode(), salt, change.iterations)
    return SaltedPassword(change.mechanism, change.iterations, salt, digest)


def principals(what: str, users: Any) -> tuple[str, ...]:
    """Return users by type and name.

    Raises:
        TypeError: They are no collection of str.
        ValueError: One has no type.
    """
    found = named(what, users, example='["User:alice"]')
    for each in found:
        if ":" not in each:
            raise ValueError(f"{what} have a type, such as User:alice: {each!r}")
    return tuple(found)


def period_of(seconds: float | timedelta | None) -> int:
    """Return a time in milliseconds; −1 for the brokers' default."""
    return BY_DEFAULT if seconds is None else round(as_seconds(seconds) * 1000)


@without_locals
def hmac_of(token: Any) -> bytes:
    """Return the HMAC of a token.

    Raises:
        TypeError: It is no token.
        ValueError: It is not in base64.
    """
    if isinstance(token, DelegationToken):
        token = token.hmac
    if isinstance(token, str):
        token = Secret(token)
    if not isinstance(token, Secret):
        raise TypeError("a token is a DelegationToken, or its HMAC in base64")
    try:
        return base64.b64decode(token.reveal(), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the HMAC of a token is given in base64") from None
