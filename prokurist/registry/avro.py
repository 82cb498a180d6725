"""Avro values, by `fastavro` (`prokurist[registry]`).

Thread: any, several at once.
"""

import io
import json
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from prokurist.errors import SchemaRegistryException, SerializationException
from prokurist.events.clock import Deadline
from prokurist.events.pending import Pending
from prokurist.registry.bounded_cache import BoundedCache
from prokurist.registry.framing import Frame, Headers
from prokurist.registry.registry import SchemaRegistry
from prokurist.registry.schema import RegisteredSchema, Schema, SchemaType
from prokurist.registry.serializing import (
    MOST_REFERENCES,
    Place,
    RegistryDeserializer,
    RegistrySerializer,
    no_references,
    not_installed,
)
from prokurist.registry.subjects import SubjectName, topic_name

try:
    import fastavro
except ImportError:
    not_installed("fastavro", "registry")

MOST_PARSED: Final = 1000

Resolve = Callable[[str, int], Schema]


def parsed(schema: Schema, resolve: Resolve) -> Any:
    """Parse a schema, with its references.

    Raises:
        SerializationException: It is no schema of Avro, or leads to too many others.
    """
    named: dict[str, Any] = {}
    seen: set[tuple[str, int]] = set()

    def add_references(of: Schema) -> None:
        for each in of.references:
            place = each.subject, each.version
            if place in seen:
                continue
            seen.add(place)
            if len(seen) > MOST_REFERENCES:
                raise SerializationException(
                    f"a schema refers to more than {MOST_REFERENCES} others"
                )
            other = resolve(*place)
            add_references(other)
            _parse(other, named)

    add_references(schema)
    tree = _parse(schema, named)
    if schema.references and "__fastavro_parsed" not in tree:
        # Of an array, a map, a union and a name, `fastavro` does not keep what they refer to.
        return fastavro.parse_schema(self_contained(tree, named, set()))
    return tree


def self_contained(tree: Any, named: dict[str, Any], defined: set[str]) -> Any:
    """Write out each type that a parsed schema names, where its name comes first.

    Args:
        tree: The parsed schema.
        named: Parsed types by their full names.
        defined: Names that were written out; it grows.
    """
    if isinstance(tree, str):
        if tree in defined or tree not in named:
            return tree
        return self_contained(named[tree], named, defined)
    if isinstance(tree, list):
        return [self_contained(each, named, defined) for each in tree]
    if (name := tree.get("name")) is not None:
        if name in defined:
            return name
        defined.add(name)
    made = {key: value for key, value in tree.items() if not key.startswith("__")}
    for inner in ("items", "values"):
        if inner in made:
            made[inner] = self_contained(made[inner], named, defined)
    if "fields" in made:
        made["fields"] = [
            {**each, "type": self_contained(each["type"], named, defined)}
            for each in made["fields"]
        ]
    return made


def _parse(schema: Schema, named: dict[str, Any]) -> Any:
    if schema.type is not SchemaType.AVRO:
        raise SerializationException(
            f"the schema is one of {schema.type.value}, and not of AVRO: take the other "
            "deserializer"
        )
    try:
        return fastavro.parse_schema(json.loads(schema.text), named_schemas=named)
    except Exception as error:
        raise SerializationException(
            f"fastavro does not accept the schema ({type(error).__name__}: {error})"
        ) from error


def record_of(tree: Any) -> str | None:
    """Return the name of a schema's type, as subjects are named by it; a union has none."""
    if isinstance(tree, dict):
        name = tree.get("name", tree.get("type"))
        return name if isinstance(name, str) else None
    return tree if isinstance(tree, str) else None


class AvroSerializer(RegistrySerializer):
    """Writes values as Avro: a producer's `value_serializer` or `key_serializer`.

    Args:
        registry: The registry.
        schema: The schema, as JSON or with its references; None with `use_latest`.
        is_key: True for keys.
        subject: `topic_name`, `record_name`, `topic_record_name`, or a function of the topic,
            of `is_key` and of the type's name.
        auto_register: True to register the schema, the default without `use_latest`;
            False for one that must be there.
        use_latest: True to write by the latest version of the subject.
        normalize: True to have the registry compare schemas by their meaning.
        place: `prefix` for the id in front of the value, `header` for its GUID in a header.
        to_dict: Makes the value for `fastavro` of an object and its topic.

    Raises:
        ConfigException: The arguments contradict each other.
        SerializationException: The schema is none of Avro.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        schema: str | Schema | None = None,
        *,
        is_key: bool = False,
        subject: SubjectName = topic_name,
        auto_register: bool | None = None,
        use_latest: bool = False,
        normalize: bool = False,
        place: Place = "prefix",
        to_dict: Callable[[Any, str], Any] | None = None,
    ) -> None:
        given = Schema(schema) if isinstance(schema, str) else schema
        self._to_dict = to_dict
        self._parsed: BoundedCache[Schema, Any] = BoundedCache(MOST_PARSED, registry.now)
        record = None
        if given is not None:
            try:
                tree = json.loads(given.text)
            except ValueError as error:
                raise SerializationException(f"the schema is no JSON: {error}") from error
            if not given.references:
                tree = parsed(given, no_references)
                self._parsed.put(given, tree)
            record = record_of(tree)
            namespace = tree.get("namespace") if isinstance(tree, dict) else None
            if given.references and record and namespace and "." not in record:
                record = f"{namespace}.{record}"
        super().__init__(
            registry,
            given,
            record,
            subject=subject,
            is_key=is_key,
            auto_register=auto_register,
            use_latest=use_latest,
            normalize=normalize,
            place=place,
        )

    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Return a value's bytes; of None, None.

        Args:
            topic: The topic.
            headers: The record's; the schema's GUID may be added.
            data: The value.

        Raises:
            SchemaRegistryException: The registry refuses, or gave no answer in time.
            Exception: `fastavro`'s own, of a value that its schema does not allow.
        """
        if data is None:
            return None
        until = self._registry.deadline()
        found = self.registered(topic, until)
        tree = self._compiled(found, until)
        out = io.BytesIO()
        value = data if self._to_dict is None else self._to_dict(data, topic)
        fastavro.schemaless_writer(out, tree, value)
        return self.framed(found, headers, out.getvalue())

    def _compiled(self, found: RegisteredSchema, until: Deadline) -> Any:
        """Return the schema as `fastavro` writes by it."""
        tree = self._parsed.get(found.schema)
        if tree is None:
            tree = parsed(found.schema, self._resolver(until))
            self._parsed.put(found.schema, tree)
        return tree


class AvroDeserializer(RegistryDeserializer):
    """Reads values of Avro: a consumer's `value_deserializer` or `key_deserializer`.

    Args:
        registry: The registry.
        reader_schema: The schema to read by, whatever a value was written by; None for the
            writer's own.
        is_key: True for keys.
        from_dict: Makes the value of a result of `fastavro`.
        named_records: True to read records of unions as `(name, record)`.

    Raises:
        SerializationException: The reader's schema is none of Avro.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        reader_schema: str | Schema | None = None,
        *,
        is_key: bool = False,
        from_dict: Callable[[Any], Any] | None = None,
        named_records: bool = False,
    ) -> None:
        super().__init__(registry, is_key=is_key, has_path=False, serialized=False)
        self._from_dict = from_dict
        self._named_records = named_records
        self._parsed: BoundedCache[int | UUID, Any] = BoundedCache(MOST_PARSED, registry.now)
        self._reader_schema = (
            Schema(reader_schema) if isinstance(reader_schema, str) else reader_schema
        )
        self._reader: Any = None
        if self._reader_schema is not None and not self._reader_schema.references:
            self._reader = parsed(self._reader_schema, no_references)

    def decoded(self, frame: Frame) -> Any:
        """Return the value of a frame; see `RegistryDeserializer.decoded`."""
        writer = self._parsed.get(frame.id)
        if writer is None:
            writer = parsed(self.schema_of(frame.id), self.reference_of)
            self._parsed.put(frame.id, writer)
        if self._reader is None and self._reader_schema is not None:
            self._reader = parsed(self._reader_schema, self.reference_of)
        source = io.BytesIO(frame.payload)
        try:
            value = fastavro.schemaless_reader(
                source, writer, self._reader, return_record_name=self._named_records
            )
        except (Pending, SchemaRegistryException):
            raise
        except Exception as error:
            raise SerializationException(
                f"the bytes are no value of schema {frame.id} ({type(error).__name__}: {error})"
            ) from error
        if source.tell() != len(frame.payload):
            raise SerializationException(
                f"{len(frame.payload) - source.tell()} bytes are left behind a value of schema "
                f"{frame.id}"
            )
        return value if self._from_dict is None else self._from_dict(value)
