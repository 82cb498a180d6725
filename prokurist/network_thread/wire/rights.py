"""Authorized operations of a user, in Metadata for topics, in DescribeGroups for a group.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import ClassVar, Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import DESCRIBE_GROUPS, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import the_only, throttle

NOT_TOLD: Final = -(1 << 31)


class Operation(IntEnum):
    """Operations on a topic or a group, by their bit in an answer."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11


Operations = frozenset[Operation]


def operations(bits: int) -> Operations | None:
    """Read a set of operations; None where the broker has told none."""
    if bits == NOT_TOLD:
        return None
    return frozenset(each for each in Operation if bits >> each & 1)


@dataclass(frozen=True, slots=True)
class GroupRightsAnswer:
    """This user's authorized operations on the group.

    Attributes:
        error: 0, or why the rest is not there.
        operations: The authorized operations; None with an error.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    operations: Operations | None
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class GroupRights:
    """Asks for this user's authorized operations on a group, which need not exist.

    Nothing is ever left out.

    Attributes:
        group_id: The group.
    """

    api: ClassVar[Api] = DESCRIBE_GROUPS

    group_id: str

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"groups": (self.group_id,), "include_authorized_operations": True}

    def answer(self, body: Body) -> GroupRightsAnswer:
        """Read an answer of any version."""
        row = the_only(body["groups"], "groups")
        return GroupRightsAnswer(
            row["error_code"], operations(row["authorized_operations"]), throttle(body)
        )
