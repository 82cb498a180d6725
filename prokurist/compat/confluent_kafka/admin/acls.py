"""Access control lists: bindings and the filters that match them."""

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import total_ordering
from typing import Any, ClassVar

from prokurist.compat.confluent_kafka.admin.resources import (
    ResourcePatternType,
    ResourceType,
)
from prokurist.compat.confluent_kafka.model import Ordered, read_enum


class AclOperation(Ordered):
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


class AclPermissionType(Ordered):
    """Kinds of rules."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


_NUMBERS = frozenset(each.value for each in AclOperation)


def operations_of(
    given: Iterable[AclOperation | str | int] | None,
) -> list[AclOperation] | None:
    """Authorized operations, without those that have no name there; None for none."""
    if not given:
        return None
    known = (each for each in given if not isinstance(each, int) or each in _NUMBERS)
    return [read_enum(AclOperation, each) for each in known]


@total_ordering
class AclBinding:
    """A rule: an operation that a principal may, or may not, do to resources.

    Args:
        restype: The kind of resource.
        name: The resource's name.
        resource_pattern_type: The way in which the name is matched.
        principal: The principal.
        host: The host that the principal comes from.
        operation: The operation.
        permission_type: Allow or deny.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: An argument is missing, or is for filters alone.
    """

    _needed: ClassVar[tuple[str, ...]] = (
        "restype",
        "name",
        "resource_pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    _forbidden: ClassVar[Mapping[str, tuple[Enum, ...]]] = {
        "restype": (ResourceType.ANY,),
        "resource_pattern_type": (ResourcePatternType.ANY, ResourcePatternType.MATCH),
        "operation": (AclOperation.ANY,),
        "permission_type": (AclPermissionType.ANY,),
    }

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str | None,
        resource_pattern_type: ResourcePatternType | str | int,
        principal: str | None,
        host: str | None,
        operation: AclOperation | str | int,
        permission_type: AclPermissionType | str | int,
    ) -> None:
        given = dict(
            zip(
                AclBinding._needed,
                (
                    restype,
                    name,
                    resource_pattern_type,
                    principal,
                    host,
                    operation,
                    permission_type,
                ),
                strict=True,
            )
        )
        for field in self._needed:
            if given[field] is None:
                raise ValueError(f"{type(self).__name__} has a {field}: it is None")
        for field in ("name", "principal", "host"):
            if given[field] is not None and not isinstance(given[field], str):
                raise TypeError(f"{field} is a str, not {given[field]!r}")
        self.restype: ResourceType = read_enum(ResourceType, restype)
        self.name: Any = name
        self.resource_pattern_type: ResourcePatternType = read_enum(
            ResourcePatternType, resource_pattern_type
        )
        self.principal: Any = principal
        self.host: Any = host
        self.operation: AclOperation = read_enum(AclOperation, operation)
        self.permission_type: AclPermissionType = read_enum(AclPermissionType, permission_type)
        for field, members in self._forbidden.items():
            if getattr(self, field) in members:
                wrong = getattr(self, field).name
                raise ValueError(f"{type(self).__name__} takes no {field} {wrong}")

    def _place(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field) for field in AclBinding._needed)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AclBinding):
            return NotImplemented
        return self._place() == other._place()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, AclBinding):
            return NotImplemented
        return self._place() < other._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(map(str, self._place()))})"


class AclBindingFilter(AclBinding):
    """A filter of rules: None, or `ANY`, matches all values.

    Args:
        restype: The kind of resource.
        name: The resource's name.
        resource_pattern_type: The way in which the name is matched; `MATCH` for each rule that
            concerns the name.
        principal: The principal.
        host: The host.
        operation: The operation.
        permission_type: Allow or deny.
    """

    _needed: ClassVar[tuple[str, ...]] = (
        "restype",
        "resource_pattern_type",
        "operation",
        "permission_type",
    )
    _forbidden: ClassVar[Mapping[str, tuple[Enum, ...]]] = {
        "restype": (ResourceType.UNKNOWN,),
        "resource_pattern_type": (ResourcePatternType.UNKNOWN,),
        "operation": (AclOperation.UNKNOWN,),
        "permission_type": (AclPermissionType.UNKNOWN,),
    }
