"""Access: ACLs, SCRAM users, client quotas, delegation tokens.

Thread: any; frozen values.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import Enum, IntEnum
from typing import Final, Self

from prokurist.config.secret import Secret
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import require_int
from prokurist.types.operations import AclOperation


class AclResource(IntEnum):
    """Kinds of resources that rights are granted on; the numbers are the protocol's."""

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class AclPattern(IntEnum):
    """The meaning of a resource's name; the numbers are the protocol's."""

    ANY = 1
    """Patterns of any kind with this very name, in filters."""
    MATCH = 2
    """All patterns that the name fits, in filters."""
    LITERAL = 3
    """This name; `*` is all names."""
    PREFIXED = 4
    """All names that begin so."""


class AclPermission(IntEnum):
    """Permission of an ACL, allow or deny; the numbers are the protocol's."""

    ANY = 1
    DENY = 2
    ALLOW = 3


CLUSTER_NAME: Final = "kafka-cluster"
"""The only name of the resource CLUSTER."""


def strings(what: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return strings.

    Raises:
        TypeError: They are no collection of str.
        ValueError: One is empty.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{what} are given as a collection of str, not {given!r}")
    found = tuple(given)
    for each in found:
        if not isinstance(each, str):
            raise TypeError(f"{what} are str, not {each!r}")
        if not each:
            raise ValueError(f"{what} have names: one is empty")
    return found


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """An access control list's entry: who may, or may not, do what to which resource.

    Attributes:
        resource: The kind of resource.
        name: Its name; `*` for all, `kafka-cluster` for the cluster.
        principal: The user, such as `User:alice`; `User:*` for all.
        operation: The operation.
        permission: ALLOW, or DENY, which goes before all that allow.
        host: The address that the user connects from; `*` for all.
        pattern: LITERAL, or PREFIXED for all names that begin so.

    Raises:
        TypeError: A field is of another type.
        ValueError: The principal has no type, or a field can only be in a filter.
    """

    resource: AclResource
    name: str
    principal: str
    operation: AclOperation
    permission: AclPermission = AclPermission.ALLOW
    host: str = "*"
    pattern: AclPattern = AclPattern.LITERAL

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.name or not self.host:
            raise ValueError(f"an Acl has a name and a host, * for all: {self}")
        for each in (self.resource, self.operation, self.permission, self.pattern):
            if each.name in {"UNKNOWN", "ANY", "MATCH"}:
                raise ValueError(f"{each!r} is for an AclFilter, and not for an Acl")

    @classmethod
    def allow(
        cls,
        principals: Iterable[str],
        operations: Iterable[AclOperation],
        *,
        topics: Iterable[str] = (),
        groups: Iterable[str] = (),
        transactional_ids: Iterable[str] = (),
        cluster: bool = False,
        prefixed: bool = False,
        hosts: Iterable[str] = ("*",),
        permission: AclPermission = AclPermission.ALLOW,
    ) -> tuple[Self, ...]:
        """ACLs for all pairs of users, hosts, operations and resources.

        Args:
            principals: Users, such as `User:alice`.
            operations: Operations.
            topics: Topics.
            groups: Groups.
            transactional_ids: Transactional ids.
            cluster: True for the cluster as well.
            prefixed: True if the names are prefixes.
            hosts: Addresses; `*` for all.
            permission: DENY to deny instead.

        Raises:
            ValueError: No resource is named.
        """
        pattern = AclPattern.PREFIXED if prefixed else AclPattern.LITERAL
        resources = [
            *((AclResource.TOPIC, each, pattern) for each in strings("topics", topics)),
            *((AclResource.GROUP, each, pattern) for each in strings("groups", groups)),
            *(
                (AclResource.TRANSACTIONAL_ID, each, pattern)
                for each in strings("transactional ids", transactional_ids)
            ),
        ]
        if cluster:
            resources.append((AclResource.CLUSTER, CLUSTER_NAME, AclPattern.LITERAL))
        users, addresses = strings("principals", principals), strings("hosts", hosts)
        made = tuple(
            cls(resource, name, user, operation, permission, host, kind)
            for resource, name, kind in resources
            for user in users
            for operation in operations
            for host in addresses
        )
        if not made:
            raise ValueError(
                "ACLs are about users, operations and resources: name at least one of each, "
                'such as Acl.allow(["User:alice"], [AclOperation.READ], topics=["orders"])'
            )
        return made

    def __str__(self) -> str:
        sign = "*" if self.pattern is AclPattern.PREFIXED else ""
        return (
            f"{self.permission.name} {self.principal} from {self.host} "
            f"{self.operation.name} on {self.resource.name} {self.name}{sign}"
        )


@dataclass(frozen=True, slots=True)
class AclFilter:
    """A filter of ACLs; one without fields fits all of them.

    Attributes:
        resource: The kind of resource.
        name: Its name; None for all.
        principal: The user; None for all.
        operation: The operation.
        permission: ALLOW or DENY.
        host: The address; None for all. `*` is an ACL for all addresses.
        pattern: The meaning of the name: MATCH finds all ACLs that concern it.

    Raises:
        TypeError: A field is of another type.
        ValueError: The principal has no type.
    """

    resource: AclResource = AclResource.ANY
    name: str | None = None
    principal: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY
    host: str | None = None
    pattern: AclPattern = AclPattern.ANY

    def __post_init__(self) -> None:
        check_fields(self)
        if self.operation is AclOperation.UNKNOWN:
            raise ValueError("no ACL is about an unknown operation")

    @classmethod
    def of(cls, acl: Acl) -> Self:
        """The filter that fits one ACL alone."""
        return cls(
            acl.resource,
            acl.name,
            acl.principal,
            acl.operation,
            acl.permission,
            acl.host,
            acl.pattern,
        )


def check_fields(acl: Acl | AclFilter) -> None:
    """Check the types of an ACL's or a filter's fields.

    Raises:
        TypeError: A field is of another type.
        ValueError: The principal has no type.
    """
    kinds = {
        "resource": AclResource,
        "operation": AclOperation,
        "permission": AclPermission,
        "pattern": AclPattern,
    }
    for field, kind in kinds.items():
        if not isinstance(getattr(acl, field), kind):
            raise TypeError(f"{field} is an {kind.__name__}, not {getattr(acl, field)!r}")
    optional = isinstance(acl, AclFilter)
    for field in ("name", "principal", "host"):
        value = getattr(acl, field)
        if not isinstance(value, str) and not (optional and value is None):
            raise TypeError(f"{field} is a str, not {value!r}")
    if acl.principal is not None and ":" not in acl.principal:
        raise ValueError(f"a principal has a type, such as User:alice: {acl.principal!r}")


@dataclass(frozen=True, slots=True)
class DeletedAcls:
    """The ACLs that a filter has deleted.

    Attributes:
        acls: The ACLs.
        earlier_attempt: True if an attempt whose answer was lost has deleted them; `acls` are
            those that were there before.
    """

    acls: tuple[Acl, ...]
    earlier_attempt: bool = False


# --- users -----------------------------------------------------------------------------


class ScramMechanism(IntEnum):
    """Mechanisms of SCRAM; the numbers are the protocol's."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


@dataclass(frozen=True, slots=True)
class SetPassword:
    """Create a user's SCRAM credential, or change it.

    Attributes:
        password: The password; it is salted here, and does not leave the process.
        mechanism: The mechanism; a user may have one credential of each.
        iterations: Rounds of PBKDF2; brokers take 4096 to 16384.

    Raises:
        TypeError: A field is of another type.
        ValueError: The password is empty.
    """

    password: str | Secret
    mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_512
    iterations: int = 8192

    def __post_init__(self) -> None:
        if isinstance(self.password, str):
            if not self.password:
                raise ValueError("the password is empty")
            object.__setattr__(self, "password", Secret(self.password))
        if not isinstance(self.password, Secret):
            raise TypeError("password is a str or a Secret (its value is not shown here)")
        require_mechanism(self.mechanism)
        require_int("iterations", self.iterations, 31)
        if not self.iterations:
            raise ValueError("iterations is at least 1; brokers take 4096 and more")


@dataclass(frozen=True, slots=True)
class DeletePassword:
    """Delete a user's SCRAM credential.

    Attributes:
        mechanism: The mechanism.

    Raises:
        TypeError: It is none.
    """

    mechanism: ScramMechanism

    def __post_init__(self) -> None:
        require_mechanism(self.mechanism)


def require_mechanism(mechanism: object) -> None:
    """Check a mechanism.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(mechanism, ScramMechanism):
        raise TypeError(f"mechanism is a ScramMechanism, not {mechanism!r}")


@dataclass(frozen=True, slots=True)
class AlteredUser:
    """A user whose credential was altered.

    Attributes:
        earlier_attempt: True if an attempt whose answer was lost has deleted it.
    """

    earlier_attempt: bool = False


# --- quotas ----------------------------------------------------------------------------


class QuotaName(Enum):
    """Names of quota entities that are no names."""

    DEFAULT = "the default of all without a quota of their own"
    ANY = "any name, in filters"


DEFAULT: Final = QuotaName.DEFAULT
ANY: Final = QuotaName.ANY


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """Clients that share a quota, by user, client id, both, or address.

    Attributes:
        user: The user; `DEFAULT` for all without a quota of their own; None for any.
        client_id: The client id, likewise.
        ip: The address, likewise.

    Raises:
        TypeError: A name is no str.
        ValueError: Nothing is named.
    """

    user: str | QuotaName | None = None
    client_id: str | QuotaName | None = None
    ip: str | QuotaName | None = None

    def __post_init__(self) -> None:
        check_names(self)
        if QuotaName.ANY in (self.user, self.client_id, self.ip):
            raise ValueError("ANY is for a QuotaFilter, and not for a QuotaEntity")
        if self.user is None and self.client_id is None and self.ip is None:
            raise ValueError('a quota concerns someone, such as QuotaEntity(user="alice")')


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    """A filter of quotas; one without fields fits all.

    Attributes:
        user: The user; `DEFAULT`; `ANY` for entities with a user; None not to look at it.
        client_id: The client id, likewise.
        ip: The address, likewise.
        strict: True to leave entities out that have more parts than are named here.

    Raises:
        TypeError: A name is no str.
    """

    user: str | QuotaName | None = None
    client_id: str | QuotaName | None = None
    ip: str | QuotaName | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        check_names(self)


def check_names(entity: QuotaEntity | QuotaFilter) -> None:
    """Check the names of an entity.

    Raises:
        TypeError: One is no str.
        ValueError: One is empty.
    """
    for each in (entity.user, entity.client_id, entity.ip):
        if each is not None and not isinstance(each, str | QuotaName):
            raise TypeError(f"names of quotas are str, DEFAULT or None, not {each!r}")
        if each == "":
            raise ValueError("names of quotas are not empty: DEFAULT is the default")


# --- tokens ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A delegation token.

    Attributes:
        token_id: Its id, which is the user name of SCRAM with a token.
        hmac: Its HMAC; the password is this in base64.
        owner: The user whose rights it has.
        requester: The user who has created it; None from brokers before 3.3.
        renewers: The users who may renew it, beside the owner.
        issued: When it was created.
        expires: When it ends unless it is renewed.
        ends: When it ends in any case.
    """

    token_id: str
    hmac: Secret
    owner: str
    requester: str | None
    renewers: tuple[str, ...]
    issued: datetime
    expires: datetime
    ends: datetime
