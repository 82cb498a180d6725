"""Delegation tokens.

Thread: any; frozen values.
"""

import base64
from collections.abc import Iterator
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final

from prokurist.config.secret import Secret
from prokurist.events.admin.work import WHOLE
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer, answer_of
from prokurist.network_thread.wire.apis import (
    CREATE_DELEGATION_TOKEN,
    DESCRIBE_DELEGATION_TOKEN,
    EXPIRE_DELEGATION_TOKEN,
    RENEW_DELEGATION_TOKEN,
    Api,
)
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.types.access import DelegationToken

OWNERS_SINCE: Final = 3
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def principal_fields(principal: str) -> Body:
    """The fields of a user, given as `User:alice`."""
    kind, _, name = principal.partition(":")
    return {"principal_type": kind, "principal_name": name}


def time_of(milliseconds: int) -> datetime:
    """Read a time.

    Raises:
        Malformed: It lies outside of the calendar.
    """
    try:
        return EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError as error:
        raise Malformed(f"a time of {milliseconds} ms") from error


def token_of(row: Body, renewers: tuple[str, ...]) -> DelegationToken:
    """Read a token."""
    requester = row.get("token_requester_principal_type")
    return DelegationToken(
        token_id=row["token_id"],
        hmac=Secret(base64.b64encode(row["hmac"]).decode()),
        owner=f"{row['principal_type']}:{row['principal_name']}",
        requester=f"{requester}:{row['token_requester_principal_name']}" if requester else None,
        renewers=renewers,
        issued=time_of(row["issue_timestamp"]),
        expires=time_of(row["expiry_timestamp"]),
        ends=time_of(row["max_timestamp"]),
    )


@dataclass(frozen=True, slots=True)
class CreateToken:
    """Asks the controller to create a token.

    Nothing is ever left out.

    Attributes:
        owner: The owner; None for the user who asks.
        renewers: The users who may renew it.
        lifetime: Milliseconds; −1 for the brokers' `delegation.token.max.lifetime.ms`.
    """

    api: ClassVar[Api] = CREATE_DELEGATION_TOKEN

    owner: str | None
    renewers: tuple[str, ...]
    lifetime: int

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.owner is not None:
            yield Limit("creating a token for another owner", oldest=OWNERS_SINCE)

    def body(self) -> Body:
        """The fields of every version at once."""
        owner = {"principal_type": None, "principal_name": None}
        if self.owner is not None:
            owner |= principal_fields(self.owner)
        return {
            "owner_principal_type": owner["principal_type"],
            "owner_principal_name": owner["principal_name"],
            "renewers": tuple(map(principal_fields, self.renewers)),
            "max_lifetime": self.lifetime,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version; a refused one has times that are none."""
        code = body["error_code"]
        rows = [] if code else [(WHOLE, ItemAnswer(value=token_of(body, self.renewers)))]
        return answer_of(body, rows, code)


@dataclass(frozen=True, slots=True)
class RenewToken:
    """Asks the controller to renew a token.

    Nothing is ever left out.

    Attributes:
        hmac: The token's HMAC.
        period: Milliseconds from now; −1 for the brokers' `delegation.token.expiry.time.ms`.
    """

    api: ClassVar[Api] = RENEW_DELEGATION_TOKEN

    hmac: bytes = field(repr=False)
    period: int

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"hmac": self.hmac, "renew_period": self.period}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return end_of(body)


@dataclass(frozen=True, slots=True)
class ExpireToken:
    """Asks the controller to end a token.

    Nothing is ever left out.

    Attributes:
        hmac: The token's HMAC.
        period: Milliseconds from now; −1 for at once.
    """

    api: ClassVar[Api] = EXPIRE_DELEGATION_TOKEN

    hmac: bytes = field(repr=False)
    period: int

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"hmac": self.hmac, "expiry_time_period": self.period}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return end_of(body)


def end_of(body: Body) -> ItemsAnswer:
    """Read the time at which a token ends."""
    code = body["error_code"]
    rows = [] if code else [(WHOLE, ItemAnswer(value=time_of(body["expiry_timestamp"])))]
    return answer_of(body, rows, code)


@dataclass(frozen=True, slots=True)
class DescribeTokens:
    """Asks a broker for tokens.

    Nothing is ever left out.

    Attributes:
        owners: Their owners; None for all that this user may see.
    """

    api: ClassVar[Api] = DESCRIBE_DELEGATION_TOKEN

    owners: tuple[str, ...] | None

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        owners = self.owners
        return {"owners": None if owners is None else tuple(map(principal_fields, owners))}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        code = body["error_code"]
        found = tuple(
            token_of(
                row,
                tuple(
                    f"{each['principal_type']}:{each['principal_name']}"
                    for each in row["renewers"]
                ),
            )
            for row in body["tokens"]
        )
        return answer_of(body, [] if code else [(WHOLE, ItemAnswer(value=found))], code)
