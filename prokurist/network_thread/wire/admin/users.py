"""SCRAM credentials of users.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import ClassVar

from prokurist.events.admin.access import SaltedPassword
from prokurist.events.admin.work import WHOLE
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.apis import (
    ALTER_USER_SCRAM_CREDENTIALS,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    Api,
)
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.types.access import AlteredUser, DeletePassword, ScramMechanism


@dataclass(frozen=True, slots=True)
class DescribeUsers:
    """Asks a broker for the mechanisms of users.

    Nothing is ever left out.

    Attributes:
        names: The users; None for all, which are then one item.
    """

    api: ClassVar[Api] = DESCRIBE_USER_SCRAM_CREDENTIALS

    names: tuple[str, ...] | None

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        # None would mean all, too, and leaves a user without rights without an answer.
        return {"users": tuple({"name": each} for each in self.names or ())}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        code = body["error_code"]
        rows = {row["user"]: item_of(row, mechanisms_of(row)) for row in body["results"]}
        if self.names is not None or code:
            return answer_of(body, rows.items(), code)
        return answer_of(body, [(WHOLE, ItemAnswer(value=rows))])


def mechanisms_of(row: Body) -> dict[ScramMechanism, int]:
    """Read the iterations of a user, by mechanism; newer mechanisms are left out."""
    known = {int(each): each for each in ScramMechanism}
    return {
        known[each["mechanism"]]: each["iterations"]
        for each in row["credential_infos"]
        if each["mechanism"] in known
    }


@dataclass(frozen=True, slots=True)
class AlterUsers:
    """Asks the controller to change credentials of users.

    Nothing is ever left out.

    Attributes:
        changes: The change of each user.
    """

    api: ClassVar[Api] = ALTER_USER_SCRAM_CREDENTIALS

    changes: Mapping[str, SaltedPassword | DeletePassword] = field(repr=False)

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "deletions": tuple(
                {"name": name, "mechanism": change.mechanism}
                for name, change in self.changes.items()
                if isinstance(change, DeletePassword)
            ),
            "upsertions": tuple(
                {
                    "name": name,
                    "mechanism": change.mechanism,
                    "iterations": change.iterations,
                    "salt": change.salt,
                    "salted_password": change.salted_password,
                }
                for name, change in self.changes.items()
                if isinstance(change, SaltedPassword)
            ),
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(
            body, ((row["user"], item_of(row, AlteredUser())) for row in body["results"])
        )
