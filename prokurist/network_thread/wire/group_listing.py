"""ListGroups: the groups that one broker coordinates.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from typing import ClassVar

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import LIST_GROUPS, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import throttle


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """One group.

    Attributes:
        group_id: Its name.
        protocol_type: `consumer` for a group of consumers; empty where it has had no members.
        state: Its state; None below version 4.
        group_type: `classic`, `consumer` or another protocol; None below version 5.
    """

    group_id: str
    protocol_type: str
    state: str | None = None
    group_type: str | None = None


@dataclass(frozen=True, slots=True)
class ListGroupsAnswer:
    """The groups that the broker coordinates and this user may describe.

    Attributes:
        error: 0, or why there are none.
        groups: The groups.
        throttle: Seconds that the broker wants to be left alone.
        broker: The broker's id, as the request has it.
    """

    error: int
    groups: tuple[ListedGroup, ...]
    throttle: float = 0.0
    broker: int | None = None


@dataclass(frozen=True, slots=True)
class ListGroups:
    """Asks a broker for the groups that it coordinates.

    Groups of all states and types are asked for, so nothing is ever left out.

    Attributes:
        broker: The broker's id, which is repeated in the answer; None where it is not needed.
    """

    api: ClassVar[Api] = LIST_GROUPS

    broker: int | None = None

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"states_filter": (), "types_filter": ()}

    def answer(self, body: Body) -> ListGroupsAnswer:
        """Read an answer of any version."""
        groups = tuple(
            ListedGroup(
                row["group_id"],
                row["protocol_type"],
                row.get("group_state"),
                row.get("group_type"),
            )
            for row in body["groups"]
        )
        return ListGroupsAnswer(body["error_code"], groups, throttle(body), self.broker)
