"""Quotas of clients.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from prokurist.events.admin.work import WHOLE
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.apis import ALTER_CLIENT_QUOTAS, DESCRIBE_CLIENT_QUOTAS, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.types.access import QuotaEntity, QuotaFilter, QuotaName

EXACT, OF_DEFAULT, OF_ANY = range(3)
PARTS: Final = {"user": "user", "client-id": "client_id", "ip": "ip"}
"""The protocol's types of parts, and ours."""


def entity_fields(entity: QuotaEntity) -> tuple[Body, ...]:
    """The fields of an entity: the parts that are named."""
    parts = ((kind, getattr(entity, field)) for kind, field in PARTS.items())
    return tuple(
        {
            "entity_type": kind,
            "entity_name": None if name is QuotaName.DEFAULT else name,
        }
        for kind, name in parts
        if name is not None
    )


def entity_of(rows: tuple[Body, ...]) -> QuotaEntity | None:
    """Read an entity; None for one with parts of a kind that is not known."""
    fields: dict[str, str | QuotaName] = {}
    for row in rows:
        field, name = PARTS.get(row["entity_type"]), row["entity_name"]
        if field is None:
            return None
        fields[field] = QuotaName.DEFAULT if name is None else name
    return QuotaEntity(**fields) if fields else None


@dataclass(frozen=True, slots=True)
class DescribeQuotas:
    """Asks a broker for quotas.

    Nothing is ever left out.

    Attributes:
        asked: The filter.
    """

    api: ClassVar[Api] = DESCRIBE_CLIENT_QUOTAS

    asked: QuotaFilter

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        kinds = {QuotaName.DEFAULT: OF_DEFAULT, QuotaName.ANY: OF_ANY}
        components = []
        for kind, field in PARTS.items():
            name = getattr(self.asked, field)
            if name is not None:
                match = kinds.get(name, EXACT) if isinstance(name, QuotaName) else EXACT
                exact = name if match == EXACT else None
                components.append({"entity_type": kind, "match_type": match, "match": exact})
        return {"components": tuple(components), "strict": self.asked.strict}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        found: dict[QuotaEntity, dict[str, float]] = {}
        for row in body["entries"] or ():
            entity = entity_of(row["entity"])
            if entity is not None:
                found[entity] = {each["key"]: each["value"] for each in row["values"]}
        code = body["error_code"]
        return answer_of(body, [] if code else [(WHOLE, ItemAnswer(value=found))], code)


@dataclass(frozen=True, slots=True)
class AlterQuotas:
    """Asks the controller to change quotas.

    Nothing is ever left out.

    Attributes:
        changes: The values of each entity by key; None to remove one.
        validate_only: True to check the request, and change nothing.
    """

    api: ClassVar[Api] = ALTER_CLIENT_QUOTAS

    changes: Mapping[QuotaEntity, Mapping[str, float | None]]
    validate_only: bool = False

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "entries": tuple(
                {
                    "entity": entity_fields(entity),
                    "ops": tuple(
                        {
                            "key": key,
                            "value": 0.0 if value is None else float(value),
                            "remove": value is None,
                        }
                        for key, value in values.items()
                    ),
                }
                for entity, values in self.changes.items()
            ),
            "validate_only": self.validate_only,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(
            body, ((entity_of(row["entity"]), item_of(row)) for row in body["entries"])
        )
