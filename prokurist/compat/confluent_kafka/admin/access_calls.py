"""Access control lists and SCRAM users, as confluent-kafka administers them.

Thread: any; each call runs on a thread of its own, and its futures end there.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from prokurist.admin import (
    Acl,
    AclFilter,
    AclPattern,
    AclPermission,
    AclResource,
    DeletePassword,
    KafkaAdmin,
    SetPassword,
)
from prokurist.admin import AclOperation as OurOperation
from prokurist.admin import ScramMechanism as OurMechanism
from prokurist.compat.confluent_kafka.admin.acls import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from prokurist.compat.confluent_kafka.admin.base import AdminBase, listed, some
from prokurist.compat.confluent_kafka.admin.resources import (
    ResourcePatternType,
    ResourceType,
)
from prokurist.compat.confluent_kafka.admin.users import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from prokurist.errors.local_variables import without_locals


class AccessCalls(AdminBase):
    """Calls of an AdminClient about access control lists and users."""

    def create_acls(
        self, acls: list[AclBinding], *, request_timeout: float | None = None
    ) -> dict[AclBinding, Future[None]]:
        """Create rules.

        Args:
            acls: The rules.
            request_timeout: Seconds.

        Returns:
            Futures by rule; their results are None.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no rules, one is there twice, or has no such principal.
        """
        items = {each: _acl(each) for each in _once(acls, AclBinding)}
        wait = self._timeout(request_timeout)
        return self._start(
            items, lambda admin: admin.create_acls(items.values(), timeout=wait), key=_acl
        )

    def describe_acls(
        self, acl_binding_filter: AclBindingFilter, *, request_timeout: float | None = None
    ) -> Future[list[AclBinding]]:
        """List the rules that a filter matches.

        Args:
            acl_binding_filter: The filter.
            request_timeout: Seconds.

        Raises:
            TypeError: It is no filter.
            ValueError: The number is out of range.
        """
        if not isinstance(acl_binding_filter, AclBindingFilter):
            raise TypeError(f"expected an AclBindingFilter, not {acl_binding_filter!r}")
        wanted = _filter(acl_binding_filter)
        wait = self._timeout(request_timeout)
        return self._start_one(
            lambda admin: [_binding(each) for each in admin.acls(wanted, timeout=wait)]
        )

    def delete_acls(
        self,
        acl_binding_filters: list[AclBindingFilter],
        *,
        request_timeout: float | None = None,
    ) -> dict[AclBindingFilter, Future[list[AclBinding]]]:
        """Delete the rules that filters match.

        Args:
            acl_binding_filters: The filters.
            request_timeout: Seconds.

        Returns:
            Futures by filter, of the deleted rules.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no filters, or one is there twice.
        """
        items = {each: _filter(each) for each in _once(acl_binding_filters, AclBindingFilter)}
        wait = self._timeout(request_timeout)
        return self._start(
            items,
            lambda admin: admin.delete_acls(items.values(), timeout=wait),
            lambda found: [_binding(each) for each in found.acls],
            key=_filter,
        )

    def describe_user_scram_credentials(
        self, users: list[str] | None = None, *, request_timeout: float | None = None
    ) -> Any:
        """Describe the SCRAM credentials of users.

        Args:
            users: The users; None for all.
            request_timeout: Seconds.

        Returns:
            Futures by user; for all users a future of a dict.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: A name is empty.
        """
        wait = self._timeout(request_timeout)
        if users is None:
            return self._start_one(
                lambda admin: {
                    name: _description(name, found)
                    for name, found in admin.users(timeout=wait).check().items()
                }
            )
        names = [_named(each) for each in listed("users", users)]

        def described(admin: KafkaAdmin) -> dict[str, Any]:
            found = admin.users(names, timeout=wait)
            told = {name: _description(name, each) for name, each in found.succeeded.items()}
            return {**told, **found.errors}

        return self._start(names, described, lambda value: value)

    @without_locals
    def alter_user_scram_credentials(
        self,
        alterations: list[UserScramCredentialAlteration],
        *,
        request_timeout: float | None = None,
    ) -> dict[str, Future[None]]:
        """Create, replace and delete SCRAM credentials.

        Args:
            alterations: The changes; a `salt` in one is accepted without effect.
            request_timeout: Seconds.

        Returns:
            Futures by user; their results are None.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no changes, or one cannot be made.
        """
        given = some("changes", alterations, UserScramCredentialAlteration)
        rounds: list[dict[str, SetPassword | DeletePassword]] = []
        for each in given:
            name, change = _named(each.user), _change(each)
            free = next((one for one in rounds if name not in one), None)
            if free is None:
                rounds.append(free := {})
            free[name] = change
        until = self._until(self._timeout(request_timeout))

        def altered(admin: KafkaAdmin) -> Mapping[str, Any]:
            told: dict[str, Any] = {}
            for changes in rounds:
                done = admin.alter_users(changes, timeout=self._left(until))
                for name in changes:
                    told.setdefault(name, done.errors.get(name))
                    told[name] = told[name] or done.errors.get(name)
            return told

        return self._start(list(dict.fromkeys(each.user for each in given)), altered)


# --- within ----------------------------------------------------------------------------------


def _once(given: Any, kind: type) -> list[Any]:
    found = some(kind.__name__, given, kind, ValueError)
    if len(set(found)) < len(found):
        raise ValueError(f"the list has the same {kind.__name__} twice")
    return found


def _fields(binding: AclBinding) -> tuple[Any, ...]:
    return (
        AclResource(binding.restype.value),
        binding.name,
        binding.principal,
        OurOperation(binding.operation.value),
        AclPermission(binding.permission_type.value),
        binding.host,
        AclPattern(binding.resource_pattern_type.value),
    )


def _acl(binding: AclBinding) -> Acl:
    return Acl(*_fields(binding))


def _filter(binding: AclBinding) -> AclFilter:
    return AclFilter(*_fields(binding))


def _binding(acl: Acl) -> AclBinding:
    known = {each.value for each in ResourceType}
    restype = acl.resource.value if acl.resource.value in known else ResourceType.UNKNOWN
    operations = {each.value for each in AclOperation}
    operation = acl.operation.value
    return AclBinding(
        restype,
        acl.name,
        ResourcePatternType(acl.pattern.value),
        acl.principal,
        acl.host,
        operation if operation in operations else AclOperation.UNKNOWN,
        AclPermissionType(acl.permission.value),
    )


def _named(user: Any) -> str:
    if not isinstance(user, str):
        raise TypeError(f"a user is a str, not {user!r}")
    if not user:
        raise ValueError("a user has a name: it is empty")
    return user


def _description(
    name: str, found: Mapping[OurMechanism, int]
) -> UserScramCredentialsDescription:
    infos: Iterable[ScramCredentialInfo] = (
        ScramCredentialInfo(ScramMechanism(mechanism.value), iterations)
        for mechanism, iterations in found.items()
    )
    return UserScramCredentialsDescription(name, list(infos))


@without_locals
def _change(given: UserScramCredentialAlteration) -> SetPassword | DeletePassword:
    if isinstance(given, UserScramCredentialDeletion):
        return DeletePassword(_mechanism(given.mechanism))
    if not isinstance(given, UserScramCredentialUpsertion):
        raise TypeError("a change is a UserScramCredentialUpsertion, or a …Deletion")
    if not isinstance(given.password, bytes):
        raise TypeError("a password is bytes (its value is not shown here)")
    info = given.scram_credential_info
    if not isinstance(info, ScramCredentialInfo):
        raise TypeError(f"scram_credential_info is a ScramCredentialInfo, not {info!r}")
    return SetPassword(given.password.decode(), _mechanism(info.mechanism), info.iterations)


def _mechanism(given: Any) -> OurMechanism:
    if not isinstance(given, ScramMechanism):
        raise TypeError(f"a mechanism is a ScramMechanism, not {given!r}")
    return OurMechanism(given.value)
