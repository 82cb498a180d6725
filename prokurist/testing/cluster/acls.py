"""Access control lists: kept, described, never enforced.

Thread: the one that drives the model.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

UNKNOWN: Final = 0
ANY: Final = 1
MATCH: Final = 2
LITERAL: Final = 3
PREFIXED: Final = 4
CLUSTER: Final = 4
CLUSTER_NAME: Final = "kafka-cluster"
EVERY_NAME: Final = "*"

RESOURCE_TYPES: Final = range(2, 8)
PATTERN_TYPES: Final = range(2, 5)
OPERATIONS: Final = range(2, 16)
PERMISSIONS: Final = range(2, 4)


class Pattern(NamedTuple):
    """A resource, or several by their prefix."""

    resource_type: int
    name: str
    pattern_type: int


class Acl(NamedTuple):
    """One entry."""

    pattern: Pattern
    principal: str
    host: str
    operation: int
    permission: int


class Filter(NamedTuple):
    """A filter of entries; None and `ANY` fit everything."""

    resource_type: int
    name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission: int

    @property
    def is_unknown(self) -> bool:
        """True if a field has the code of nothing known."""
        return UNKNOWN in (
            self.resource_type,
            self.pattern_type,
            self.operation,
            self.permission,
        )

    def fits(self, acl: Acl) -> bool:
        """True if an entry fits."""
        return (
            self._fits_pattern(acl.pattern)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
        )

    def _fits_pattern(self, pattern: Pattern) -> bool:
        if self.resource_type not in (ANY, pattern.resource_type):
            return False
        if self.pattern_type not in (ANY, MATCH, pattern.pattern_type):
            return False
        if self.name is None:
            return True
        if self.pattern_type != MATCH:
            return self.name == pattern.name
        if pattern.pattern_type == PREFIXED:
            return self.name.startswith(pattern.name)
        return pattern.name in (self.name, EVERY_NAME)


class Acls:
    """All entries, in the order of their creation."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[Acl, None] = {}

    def __repr__(self) -> str:
        return f"Acls({len(self._kept)} entries)"

    def add(self, acl: Acl) -> None:
        """Keep an entry."""
        self._kept[acl] = None

    def remove(self, acls: Iterable[Acl]) -> None:
        """Forget entries."""
        for each in acls:
            self._kept.pop(each, None)

    def fitting(self, asked: Filter) -> list[Acl]:
        """Return the entries matching a filter."""
        return [each for each in self._kept if asked.fits(each)]
