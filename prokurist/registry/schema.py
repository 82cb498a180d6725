"""Schemas as a registry keeps them.

Thread: any; the values are frozen.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any
from uuid import UUID

from prokurist.errors import SchemaRegistryException
from prokurist.lazy_dataclasses import dataclass


class SchemaType(Enum):
    """Language of a schema, by its name in the registry's API."""

    AVRO = "AVRO"
    PROTOBUF = "PROTOBUF"
    JSON = "JSON"


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A schema that another one uses.

    Attributes:
        name: Its name there: a type of Avro, a file of Protobuf, or an address of JSON Schema.
        subject: The subject that it is registered under.
        version: Its version there.
    """

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """The text of a schema.

    Attributes:
        text: As the registry has it; of Protobuf a file descriptor in base64, or a `.proto`.
        type: The language.
        references: Schemas that it uses.
    """

    text: str
    type: SchemaType = SchemaType.AVRO
    references: tuple[SchemaReference, ...] = ()

    def as_body(self) -> dict[str, Any]:
        """Write it as a request of the registry's API has it."""
        body: dict[str, Any] = {"schema": self.text}
        if self.references:
            body["references"] = [
                {"name": each.name, "subject": each.subject, "version": each.version}
                for each in self.references
            ]
        if self.type is not SchemaType.AVRO:
            body["schemaType"] = self.type.value
        return body


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema with its identity in a registry.

    Attributes:
        schema: The schema.
        id: Its number.
        guid: Its GUID, of registries that have them.
        subject: The subject, where it was asked for by one.
        version: Its version there.
    """

    schema: Schema
    id: int
    guid: UUID | None = None
    subject: str | None = None
    version: int | None = None


def registered_of(
    told: object, what: str, *, known: Schema | None = None, number: int | None = None
) -> RegisteredSchema:
    """Read a schema in an answer of the registry.

    Args:
        told: The answer's JSON.
        what: Name of the question, for errors.
        known: The schema that was asked for, where the answer leaves it out.
        number: The id that was asked for, where the answer leaves it out.

    Raises:
        SchemaRegistryException: The answer has no schema in the form of the API.
    """
    if not isinstance(told, Mapping):
        raise _unreadable(what, "no object")
    found = told.get("id", number)
    if isinstance(found, bool) or not isinstance(found, int):
        raise _unreadable(what, "no id")
    subject, version = told.get("subject"), told.get("version")
    return RegisteredSchema(
        known or _schema_of(told, what),
        found,
        _guid_of(told.get("guid")),
        subject if isinstance(subject, str) else None,
        version if isinstance(version, int) else None,
    )


def _schema_of(told: Mapping[str, Any], what: str) -> Schema:
    text, kind = told.get("schema"), told.get("schemaType", "AVRO")
    if not isinstance(text, str):
        raise _unreadable(what, "no schema")
    try:
        language = SchemaType(kind)
        references = tuple(
            SchemaReference(str(each["name"]), str(each["subject"]), int(each["version"]))
            for each in told.get("references") or ()
        )
    except (ValueError, KeyError, TypeError):
        raise _unreadable(what, "a schema of an unknown form") from None
    return Schema(text, language, references)


def _guid_of(told: object) -> UUID | None:
    try:
        return UUID(told) if isinstance(told, str) else None
    except ValueError:
        return None


def _unreadable(what: str, why: str) -> SchemaRegistryException:
    return SchemaRegistryException(
        f"the schema registry's answer about {what} has {why}; check that the URL is a "
        "schema registry's"
    )
