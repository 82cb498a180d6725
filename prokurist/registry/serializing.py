"""Shared parts of the serializers and deserializers of all three languages.

Thread: any, several at once. A serializer waits for the registry where the schema's id is not
in the cache, at most for the registry's `timeout`. A deserializer that a consumer calls waits
for nothing: `deserialize_now` raises `Pending`, and the poll goes on with it
(`events/pending.py`).
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final, Literal, NoReturn, TypeAlias
from uuid import UUID

from prokurist.errors import ConfigException, SchemaRegistryException, SerializationException
from prokurist.events.clock import Deadline
from prokurist.events.pending import Pending
from prokurist.registry.bounded_cache import BoundedCache
from prokurist.registry.framing import (
    Frame,
    Headers,
    Path,
    header,
    header_name,
    prefix,
    read_frame,
)
from prokurist.registry.look_ups import LookUp, Resting, late
from prokurist.registry.registry import SchemaRegistry
from prokurist.registry.schema import RegisteredSchema, Schema
from prokurist.registry.subjects import SubjectName, topic_name

Place: TypeAlias = Literal["prefix", "header"]

REMEMBERED: Final = 30.0
"""Seconds after its end in which the error of a look-up is raised for a record."""
MOST_ASKED: Final = 100
PLACES: Final = ("prefix", "header")
MOST_REFERENCES: Final = 500
"""Schemas that one schema leads to."""


class RegistrySerializer:
    """Frames values, and knows the ids of their schemas.

    Args:
        registry: The registry.
        schema: The schema; None to use the latest version of the subject.
        record: Name of the schema's type.
        subject: Makes the subject's name.
        is_key: True for keys.
        auto_register: True to register the schema; else it must be there.
        use_latest: True to write by the latest version of the subject.
        normalize: True to have the registry compare schemas by their meaning.
        place: `prefix` for the id in front of the value, `header` for the GUID in a header.

    Raises:
        ConfigException: The arguments contradict each other.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        schema: Schema | None,
        record: str | None,
        *,
        subject: SubjectName,
        is_key: bool,
        auto_register: bool | None,
        use_latest: bool,
        normalize: bool,
        place: Place,
    ) -> None:
        if place not in PLACES:
            raise ConfigException(f"place={place!r} is unknown; write 'prefix' or 'header'")
        if use_latest and auto_register:
            raise ConfigException(
                "use_latest and auto_register contradict each other: a schema that is "
                "registered would become the latest; give one of them"
            )
        if schema is None and not use_latest:
            raise ConfigException("give a schema, or use_latest=True")
        if schema is None and subject is not topic_name:
            raise ConfigException(
                "without a schema, the subject can only be topic_name: the others are made of "
                "its type's name"
            )
        self._registry = registry
        self._schema = schema
        self._record = record
        self._subject = subject
        self._is_key = is_key
        self._auto_register = not use_latest if auto_register is None else auto_register
        self._use_latest = use_latest
        self._normalize = normalize
        self._place = place

    def prepare(self, topic: str) -> RegisteredSchema:
        """Have the schema's id in the cache, so that `send` waits for no registry.

        A coroutine calls it by `asyncio.to_thread`: a `send` of its own would block the loop.

        Raises:
            SerializationException: The schema cannot be used.
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        until = self._registry.deadline()
        found = self.registered(topic, until)
        self._compiled(found, until)
        return found

    def registered(self, topic: str, until: Deadline) -> RegisteredSchema:
        """Return the schema to write by, with its id."""
        subject = self._subject(topic, self._is_key, self._record)
        if self._use_latest:
            return self._registry.version(subject, timeout=self._left(until))
        schema = self.own_schema(until)
        return self._by_text(subject, schema, until, register=self._auto_register)

    def _compiled(self, found: RegisteredSchema, until: Deadline) -> Any:
        """Return what a schema is written by, with all that it refers to."""

    def own_schema(self, until: Deadline) -> Schema:
        """Return the schema that was given."""
        del until
        if self._schema is None:
            raise AssertionError("the arguments were checked")
        return self._schema

    def _resolver(self, until: Deadline) -> Callable[[str, int], Schema]:
        """Make the function that has a version of a subject, by a deadline."""

        def resolve(subject: str, version: int) -> Schema:
            return self._registry.version(subject, version, timeout=self._left(until)).schema

        return resolve

    def _left(self, until: Deadline) -> float:
        """Return the seconds that are left of a call."""
        return until.remaining(self._registry.now())

    def _by_text(
        self, subject: str, schema: Schema, until: Deadline, *, register: bool
    ) -> RegisteredSchema:
        ask = self._registry.register if register else self._registry.find
        return ask(subject, schema, normalize=self._normalize, timeout=self._left(until))

    def framed(
        self, found: RegisteredSchema, headers: Headers, payload: bytes, path: Path = ()
    ) -> bytes:
        """Put the identity of the schema where it belongs.

        Raises:
            SerializationException: The registry has not told the schema's GUID.
        """
        if self._place == "prefix":
            return prefix(found.id, path) + payload
        if found.guid is None:
            raise SerializationException(
                f"the schema registry tells no GUID of schema {found.id}, which place='header' "
                "needs; use place='prefix'"
            )
        headers.append((header_name(self._is_key), header(found.guid, path)))
        return payload

    def __repr__(self) -> str:
        what = self._record or "latest" if self._use_latest else self._record
        return f"{type(self).__name__}({what}, {self._registry})"


class RegistryDeserializer:
    """Reads frames, and has the schemas of their ids.

    Args:
        registry: The registry.
        is_key: True for keys.
        has_path: True for Protobuf.
        serialized: True to have schemas as file descriptors.
    """

    def __init__(
        self, registry: SchemaRegistry, *, is_key: bool, has_path: bool, serialized: bool
    ) -> None:
        self._registry = registry
        self._is_key = is_key
        self._has_path = has_path
        self._serialized = serialized
        self._asked: BoundedCache[Hashable, LookUp] = BoundedCache(
            MOST_ASKED, registry.now, per_process=True
        )

    def deserialize(self, topic: str, headers: Headers, data: bytes) -> Any:
        """Return the value of some bytes; it may wait for the registry.

        Args:
            topic: The record's topic.
            headers: The record's headers.
            data: The bytes.

        Raises:
            SerializationException: The bytes are not a value of their schema.
            SchemaRegistryException: The schema cannot be had.
        """
        until = self._registry.deadline()
        while True:
            try:
                return self.deserialize_now(topic, headers, data)
            except Pending as pending:
                work: Any = pending.work
            if isinstance(work, Resting):
                work.look_up.outcome()  # It raises: a wait for each record would add up.
            now = self._registry.now()
            if until.expired(now):
                raise late(work.what)
            work.wait(until, now)

    def deserialize_now(self, topic: str, headers: Headers, data: bytes) -> Any:
        """Return the value of some bytes, without a wait.

        Raises:
            Pending: The registry is being asked.
        """
        del topic
        frame = read_frame(headers, data, is_key=self._is_key, has_path=self._has_path)
        try:
            return self.decoded(frame)
        except SchemaRegistryException as error:
            raise named(error, frame.id) from None

    def decoded(self, frame: Frame) -> Any:
        """Return the value of a frame.

        Raises:
            Pending: The registry is being asked.
        """
        raise NotImplementedError

    def schema_of(self, number: int | UUID) -> Schema:
        """Return the schema of an id.

        Raises:
            Pending: The registry is being asked.
        """
        held = partial(self._registry.held, number, serialized=self._serialized)
        begin = partial(self._registry.look_up, number, serialized=self._serialized)
        found: Schema = self._now_or_later(number, held, begin)
        return found

    def reference_of(self, subject: str, version: int) -> Schema:
        """Return a version of a subject that a schema refers to.

        Raises:
            Pending: The registry is being asked.
        """
        held = partial(
            self._registry.held_version, subject, version, serialized=self._serialized
        )
        begin = partial(
            self._registry.look_up_version, subject, version, serialized=self._serialized
        )
        found: RegisteredSchema = self._now_or_later((subject, version), held, begin)
        return found.schema

    def _now_or_later(
        self, key: Hashable, held: Callable[[], Any], begin: Callable[[], LookUp]
    ) -> Any:
        """What the registry's client has, or the outcome of a look-up, once.

        The next question begins another look-up.
        """
        try:
            found = held()
        except SchemaRegistryException:
            self._asked.drop(key)  # It was told.
            raise
        if found is not None:
            return found
        now = self._registry.now()
        look_up = self._asked.get(key) or begin()
        if not look_up.is_settled(now):
            self._asked.put(key, look_up, look_up.until.remaining(now) + REMEMBERED)
            raise Pending(Resting(look_up) if look_up.is_over(now) else look_up)
        self._asked.drop(key)
        return look_up.outcome()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._registry})"


def named(error: SchemaRegistryException, number: int | UUID) -> SchemaRegistryException:
    """Name the schema in an error about something that it refers to."""
    text = str(error)
    if f"schema {number}" not in text:
        text = f"schema {number} cannot be had: {text}"
    return type(error)(text, status=error.status, registry_code=error.registry_code)


def no_references(subject: str, version: int) -> Schema:
    """Resolve the references of a schema that has none."""
    raise AssertionError(subject, version)


def not_installed(package: str, extra: str) -> NoReturn:
    """Refuse for want of an optional package.

    Raises:
        ConfigException: Always; the text has the command that installs it.
    """
    raise ConfigException(
        f"this needs the package {package}: pip install 'prokurist[{extra}]'"
    ) from None
