"""JSON values, checked by `jsonschema` where that is asked for (`prokurist[jsonschema]`).

Thread: any, several at once.
"""

import json
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from prokurist.errors import SerializationException
from prokurist.events.clock import Deadline
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

MOST_PARSED: Final = 1000

Resolve = Callable[[str, int], Schema]


class Check:
    """Holds values against one schema.

    Args:
        schema: The schema.
        resolve: Has a version of a subject that a schema refers to.

    Raises:
        SerializationException: It is no JSON Schema, or leads to too many others.
    """

    def __init__(self, schema: Schema, resolve: Resolve) -> None:
        try:
            import jsonschema  # noqa: PLC0415 - an extra
            import referencing  # noqa: PLC0415
            import referencing.jsonschema  # noqa: PLC0415
        except ImportError:
            not_installed("jsonschema", "jsonschema")
        tree = tree_of(schema)
        others: list[tuple[str, Any]] = []
        seen: set[str] = set()

        def add_references(of: Schema) -> None:
            for each in of.references:
                if each.name in seen:
                    continue
                seen.add(each.name)
                if len(seen) > MOST_REFERENCES:
                    raise SerializationException(
                        f"a schema refers to more than {MOST_REFERENCES} others"
                    )
                other = resolve(each.subject, each.version)
                resource = referencing.Resource.from_contents(
                    tree_of(other), default_specification=referencing.jsonschema.DRAFT7
                )
                others.append((each.name, resource))
                add_references(other)

        add_references(schema)
        kind = jsonschema.validators.validator_for(tree, jsonschema.Draft7Validator)
        try:
            kind.check_schema(tree)
        except jsonschema.SchemaError as error:
            raise SerializationException(f"no JSON Schema: {error.message}") from error
        # Its own registry reads nothing from the network.
        self._validator: Any = kind(
            tree, registry=referencing.Registry().with_resources(others)
        )

    def __call__(self, value: Any) -> None:
        """Hold a value against the schema.

        Raises:
            SerializationException: The schema does not allow it.
        """
        try:
            error = next(iter(self._validator.iter_errors(value)), None)
        except Exception as raised:  # Of a reference without an end, or to nothing.
            raise SerializationException(
                f"the schema cannot be held against a value ({type(raised).__name__}: {raised})"
            ) from raised
        if error is not None:
            at = "".join(f"[{each!r}]" for each in error.absolute_path) or "the value"
            raise SerializationException(f"the schema does not allow {at}: {error.message}")


def tree_of(schema: Schema) -> Any:
    """Parse the JSON of a schema.

    Raises:
        SerializationException: It is none, or one of another language.
    """
    if schema.type is not SchemaType.JSON:
        raise SerializationException(
            f"the schema is one of {schema.type.value}, and not of JSON: take the other "
            "deserializer"
        )
    try:
        tree = json.loads(schema.text)
    except (ValueError, RecursionError) as error:
        raise SerializationException(f"the schema is no JSON: {error}") from error
    if not isinstance(tree, dict | bool):
        raise SerializationException("a JSON Schema is an object, true or false")
    return tree


class JsonSerializer(RegistrySerializer):
    """Writes values as JSON: a producer's `value_serializer` or `key_serializer`.

    Args:
        registry: The registry.
        schema: The schema, as JSON or with its references; None with `use_latest`.
        is_key: True for keys.
        subject: `topic_name`, `record_name`, `topic_record_name`, or a function of the topic,
            of `is_key` and of the schema's `title`.
        auto_register: True to register the schema, the default without `use_latest`;
            False for one that must be there.
        use_latest: True to write by the latest version of the subject.
        normalize: True to have the registry compare schemas by their meaning.
        place: `prefix` for the id in front of the value, `header` for its GUID in a header.
        validate: True to hold values against the schema.
        to_dict: Makes the written value of an object and its topic.

    Raises:
        ConfigException: The arguments contradict each other.
        SerializationException: The schema is no JSON Schema.
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
        validate: bool = True,
        to_dict: Callable[[Any, str], Any] | None = None,
    ) -> None:
        given = Schema(schema, SchemaType.JSON) if isinstance(schema, str) else schema
        self._validate = validate
        self._to_dict = to_dict
        self._checks: BoundedCache[Schema, Check] = BoundedCache(MOST_PARSED, registry.now)
        record = None
        if given is not None:
            tree = tree_of(given)
            title = tree.get("title") if isinstance(tree, dict) else None
            record = title if isinstance(title, str) else None
            if validate and not given.references:
                self._checks.put(given, Check(given, no_references))
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
            SerializationException: The schema does not allow it.
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        if data is None:
            return None
        until = self._registry.deadline()
        found = self.registered(topic, until)
        value = data if self._to_dict is None else self._to_dict(data, topic)
        check = self._compiled(found, until)
        if check is not None:
            check(value)
        return self.framed(
            found,
            headers,
            json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(),
        )

    def _compiled(self, found: RegisteredSchema, until: Deadline) -> Check | None:
        """Return what values are held against; None without validation."""
        if not self._validate:
            return None
        check = self._checks.get(found.schema)
        if check is None:
            check = Check(found.schema, self._resolver(until))
            self._checks.put(found.schema, check)
        return check


class JsonDeserializer(RegistryDeserializer):
    """Reads values of JSON: a consumer's `value_deserializer` or `key_deserializer`.

    Args:
        registry: The registry.
        is_key: True for keys.
        validate: True to hold values against the writer's schema.
        from_dict: Makes the value of a decoded one.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        *,
        is_key: bool = False,
        validate: bool = True,
        from_dict: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(registry, is_key=is_key, has_path=False, serialized=False)
        self._validate = validate
        self._from_dict = from_dict
        self._checks: BoundedCache[int | UUID, Check] = BoundedCache(MOST_PARSED, registry.now)

    def decoded(self, frame: Frame) -> Any:
        """Return the value of a frame; see `RegistryDeserializer.decoded`."""
        check = self._checks.get(frame.id) if self._validate else None
        if self._validate and check is None:
            check = Check(self.schema_of(frame.id), self.reference_of)
            self._checks.put(frame.id, check)
        try:
            value = json.loads(frame.payload)
        except (ValueError, RecursionError) as error:
            raise SerializationException(
                f"the bytes of a record of schema {frame.id} are no JSON: {error}"
            ) from error
        if check is not None:
            check(value)
        return value if self._from_dict is None else self._from_dict(value)
