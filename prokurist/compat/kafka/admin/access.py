"""Access control lists and SCRAM users, as kafka-python administers them.

Thread: any.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from prokurist.admin import (
    Acl,
    AclFilter,
    AclPattern,
    AclPermission,
    AclResource,
    DeletePassword,
    SetPassword,
)
from prokurist.admin import AclOperation as OurOperation
from prokurist.admin import ScramMechanism as OurMechanism
from prokurist.compat.kafka.admin.base import AdminBase, code_of, text_of
from prokurist.compat.kafka.errors import IllegalArgumentError, KafkaError, NoError, for_code
from prokurist.config import Secret
from prokurist.errors.local_variables import without_locals


class ResourceType(IntEnum):
    """Kinds of resources that rights are granted on."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class ACLOperation(IntEnum):
    """Operations that rights are granted for."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class ACLPermissionType(IntEnum):
    """Kinds of rules."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ACLResourcePatternType(IntEnum):
    """Ways in which the name of a resource is matched."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class ScramMechanism(IntEnum):
    """SCRAM mechanisms."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


class _Value:
    """An object that is compared by its fields."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Value):
            return NotImplemented
        return vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!s}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


class ResourcePatternFilter(_Value):
    """A filter of resources.

    Args:
        resource_type: Their kind.
        resource_name: Their name; None for all.
        pattern_type: The way in which the name is matched.

    Raises:
        IllegalArgumentError: A field is of a wrong type.
    """

    def __init__(
        self,
        resource_type: ResourceType,
        resource_name: str | None,
        pattern_type: ACLResourcePatternType,
    ) -> None:
        self.resource_type: Any = _checked("resource_type", resource_type, ResourceType)
        self.resource_name = resource_name
        self.pattern_type: Any = _checked("pattern_type", pattern_type, ACLResourcePatternType)


class ResourcePattern(ResourcePatternFilter):
    """Resources that a rule is about.

    Args:
        resource_type: Their kind.
        resource_name: Their name.
        pattern_type: The way in which the name is matched.

    Raises:
        IllegalArgumentError: A field is for filters alone.
    """

    def __init__(
        self,
        resource_type: ResourceType,
        resource_name: str,
        pattern_type: ACLResourcePatternType = ACLResourcePatternType.LITERAL,
    ) -> None:
        super().__init__(resource_type, resource_name, pattern_type)
        if resource_type is ResourceType.ANY or pattern_type < ACLResourcePatternType.LITERAL:
            raise IllegalArgumentError(f"{self}: it is a ResourcePatternFilter")


class ACLFilter(_Value):
    """A filter of rules.

    Args:
        principal: The principal; None for all.
        host: The host; None for all.
        operation: The operation.
        permission_type: Allow or deny.
        resource_pattern: The resources.

    Raises:
        IllegalArgumentError: A field is of a wrong type.
    """

    def __init__(
        self,
        principal: str | None,
        host: str | None,
        operation: ACLOperation,
        permission_type: ACLPermissionType,
        resource_pattern: ResourcePatternFilter,
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation: Any = _checked("operation", operation, ACLOperation)
        self.permission_type: Any = _checked(
            "permission_type", permission_type, ACLPermissionType
        )
        self.resource_pattern: Any = _checked(
            "resource_pattern", resource_pattern, ResourcePatternFilter
        )

    def _fields(self) -> tuple[Any, ...]:
        pattern = self.resource_pattern
        return (
            AclResource(pattern.resource_type),
            pattern.resource_name,
            self.principal,
            OurOperation(self.operation),
            AclPermission(self.permission_type),
            self.host,
            AclPattern(pattern.pattern_type),
        )


class ACL(ACLFilter):
    """A rule: an operation that a principal may, or may not, do to resources.

    Args:
        principal: The principal.
        host: The host that the principal comes from.
        operation: The operation.
        permission_type: Allow or deny.
        resource_pattern: The resources.

    Raises:
        IllegalArgumentError: A field is for filters alone.
    """

    def __init__(
        self,
        principal: str,
        host: str,
        operation: ACLOperation,
        permission_type: ACLPermissionType,
        resource_pattern: ResourcePattern,
    ) -> None:
        super().__init__(principal, host, operation, permission_type, resource_pattern)
        _checked("resource_pattern", resource_pattern, ResourcePattern)
        if operation is ACLOperation.ANY or permission_type is ACLPermissionType.ANY:
            raise IllegalArgumentError(f"{self}: it is an ACLFilter")

    @classmethod
    def of(cls, acl: Acl) -> "ACL":
        """A rule of ours."""
        return cls(
            acl.principal,
            acl.host,
            ACLOperation(acl.operation),
            ACLPermissionType(acl.permission),
            ResourcePattern(
                ResourceType(acl.resource), acl.name, ACLResourcePatternType(acl.pattern)
            ),
        )


class UserScramCredentialDeletion:
    """A credential to delete.

    Args:
        user: The user.
        mechanism: Its mechanism, or the mechanism's name or number.
    """

    def __init__(self, user: str, mechanism: ScramMechanism | str | int) -> None:
        self.user = user
        self.mechanism: ScramMechanism = _mechanism(mechanism)

    def __repr__(self) -> str:
        return f"UserScramCredentialDeletion({self.user}, {self.mechanism.name})"


class UserScramCredentialUpsertion:
    """A credential to create or to replace.

    Args:
        user: The user.
        mechanism: Its mechanism, or the mechanism's name or number.
        password: The password.
        iterations: How often it is hashed.
        salt: Accepted without effect: each call takes a random one.
    """

    DEFAULT_ITERATIONS = 4096

    @without_locals
    def __init__(
        self,
        user: str,
        mechanism: ScramMechanism | str | int,
        password: bytes | str,
        iterations: int | None = None,
        salt: bytes | None = None,
    ) -> None:
        del salt
        self.user = user
        self.mechanism: ScramMechanism = _mechanism(mechanism)
        self.iterations: int = self.DEFAULT_ITERATIONS if iterations is None else iterations
        text = password.decode() if isinstance(password, bytes) else password
        self.password: Secret = Secret(text)

    def __repr__(self) -> str:
        return f"UserScramCredentialUpsertion({self.user}, {self.mechanism.name})"


class AccessCalls(AdminBase):
    """Calls of a KafkaAdminClient about access control lists and users."""

    def describe_acls(self, acl_filter: ACLFilter) -> tuple[list[ACL], type[KafkaError]]:
        """List the rules that a filter matches; the second value is `NoError`.

        Raises:
            KafkaError: Brokers refuse it, as without an authorizer.
        """
        _checked("acl_filter", acl_filter, ACLFilter)
        with self._converted():
            found = self._admin.acls(AclFilter(*acl_filter._fields()), timeout=self._wait)
        return [ACL.of(each) for each in found], NoError

    def create_acls(self, acls: Iterable[ACL]) -> dict[str, list[Any]]:
        """Create rules.

        Returns:
            Those that are made as `succeeded`, and the classes of errors as `failed`.

        Raises:
            IllegalArgumentError: One is no ACL.
            KafkaError: Nothing could be asked.
        """
        items = {Acl(*_checked("an ACL", each, ACL)._fields()): each for each in acls}
        with self._converted():
            found = self._admin.create_acls(items, timeout=self._wait)
            return {
                "succeeded": [items[each] for each in found if each not in found.errors],
                "failed": [for_code(code_of(error)) for error in found.errors.values()],
            }

    def delete_acls(
        self, acl_filters: Iterable[ACLFilter]
    ) -> list[tuple[ACLFilter, list[ACL], type[KafkaError]]]:
        """Delete the rules that filters match.

        Returns:
            For each filter the rules, and the class of an error, or `NoError`.

        Raises:
            IllegalArgumentError: One is no ACLFilter.
            KafkaError: Nothing could be asked.
        """
        given = [_checked("a filter", each, ACLFilter) for each in acl_filters]
        items = [AclFilter(*each._fields()) for each in given]
        with self._converted():
            found = self._admin.delete_acls(items, timeout=self._wait)
            rows = []
            for theirs, ours in zip(given, items, strict=True):
                done = found.succeeded.get(ours)
                acls = [] if done is None else [ACL.of(each) for each in done.acls]
                rows.append((theirs, acls, for_code(code_of(found.errors.get(ours)))))
            return rows

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Describe the SCRAM credentials of users: `error`, and `credential_infos`.

        Args:
            users: The users; None for all.

        Raises:
            KafkaError: Nothing could be asked.
        """
        with self._converted():
            found = self._admin.users(users, timeout=self._wait)
        return {
            name: {
                "error": text_of(found.errors.get(name)),
                "credential_infos": [
                    {"mechanism": ScramMechanism(mechanism), "iterations": iterations}
                    for mechanism, iterations in found.succeeded.get(name, {}).items()
                ],
            }
            for name in found
        }

    def alter_user_scram_credentials(
        self, alterations: Iterable[UserScramCredentialDeletion | UserScramCredentialUpsertion]
    ) -> dict[str, str | None]:
        """Create, replace and delete SCRAM credentials.

        Returns:
            The text of an error, or None, by user.

        Raises:
            IllegalArgumentError: A change is none.
            KafkaError: Nothing could be asked.
        """
        until = self._until()
        told: dict[str, str | None] = {}
        with self._converted():
            for each in alterations:
                change: SetPassword | DeletePassword
                if isinstance(each, UserScramCredentialUpsertion):
                    change = SetPassword(
                        each.password, OurMechanism(each.mechanism), each.iterations
                    )
                elif isinstance(each, UserScramCredentialDeletion):
                    change = DeletePassword(OurMechanism(each.mechanism))
                else:
                    raise IllegalArgumentError(
                        "a change is a UserScramCredentialUpsertion, or a …Deletion, not a "
                        f"{type(each).__name__}"
                    )
                done = self._admin.alter_users({each.user: change}, timeout=self._left(until))
                told[each.user] = told.get(each.user) or text_of(done.errors.get(each.user))
        return told


def _checked(name: str, given: Any, kind: type) -> Any:
    if not isinstance(given, kind):
        raise IllegalArgumentError(f"{name} is of {kind.__name__}, not {given!r}")
    return given


def _mechanism(given: ScramMechanism | str | int) -> ScramMechanism:
    if isinstance(given, str):
        return ScramMechanism[given.upper().replace("-", "_")]
    found = ScramMechanism(given)
    if found is ScramMechanism.UNKNOWN:
        raise IllegalArgumentError("a SCRAM mechanism is SCRAM_SHA_256 or SCRAM_SHA_512")
    return found
