"""Protobuf messages, by `google.protobuf` (`prokurist[protobuf]`).

A schema is a file of message types. The registry is given, and asked for, its descriptor in
base64; a registry that knows only the text of a `.proto` serves where a message class is given.

Thread: any, several at once.
"""

import base64
import binascii
from typing import Any, Final
from uuid import UUID

from prokurist.errors import ConfigException, SerializationException
from prokurist.events.clock import Deadline
from prokurist.registry.bounded_cache import BoundedCache
from prokurist.registry.framing import Frame, Headers, Path
from prokurist.registry.registry import SchemaRegistry
from prokurist.registry.schema import RegisteredSchema, Schema, SchemaReference, SchemaType
from prokurist.registry.serializing import (
    MOST_REFERENCES,
    Place,
    RegistryDeserializer,
    RegistrySerializer,
    not_installed,
)
from prokurist.registry.subjects import SubjectName, topic_name

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.message import DecodeError, Message
except ImportError:
    not_installed("protobuf", "protobuf")

MOST_PARSED: Final = 1000
MOST_TYPES: Final = 1000
KNOWN: Final = ("google/protobuf/", "google/type/", "confluent/")
"""Files that each registry knows, and that no schema refers to."""


def path_of(descriptor: Any) -> Path:
    """Return the place of a message in its file: its number in each message around it."""
    path: list[int] = []
    around = descriptor.containing_type
    while around is not None:
        path.insert(0, [each.name for each in around.nested_types].index(descriptor.name))
        descriptor, around = around, around.containing_type
    path.insert(0, list(descriptor.file.message_types_by_name).index(descriptor.name))
    return tuple(path)


def text_of(file: Any) -> str:
    """Write a file as the registry takes it."""
    return base64.b64encode(file.serialized_pb).decode("ascii")


class ProtobufSerializer(RegistrySerializer):
    """Writes Protobuf messages: a producer's `value_serializer` or `key_serializer`.

    Files that the message's file imports are registered, or found, under their own names.

    Args:
        registry: The registry.
        message: The class of the messages.
        is_key: True for keys.
        subject: `topic_name`, `record_name`, `topic_record_name`, or a function of the topic,
            of `is_key` and of the message's full name.
        auto_register: True to register the schema, the default without `use_latest`;
            False for one that must be there.
        use_latest: True to name the latest version of the subject.
        normalize: True to have the registry compare schemas by their meaning.
        place: `prefix` for the id in front of the value, `header` for its GUID in a header.

    Raises:
        ConfigException: The arguments contradict each other, or the class is none of Protobuf.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        message: type[Message],
        *,
        is_key: bool = False,
        subject: SubjectName = topic_name,
        auto_register: bool | None = None,
        use_latest: bool = False,
        normalize: bool = False,
        place: Place = "prefix",
    ) -> None:
        descriptor = checked_class(message).DESCRIPTOR
        self._message = message
        self._path = path_of(descriptor)
        self._file = descriptor.file
        super().__init__(
            registry,
            Schema(text_of(descriptor.file), SchemaType.PROTOBUF),
            descriptor.full_name,
            subject=subject,
            is_key=is_key,
            auto_register=auto_register,
            use_latest=use_latest,
            normalize=normalize,
            place=place,
        )
        self._complete = not self._imports(self._file)

    def own_schema(self, until: Deadline) -> Schema:
        """Return the message's file, with references to those that it imports."""
        if not self._complete:
            references = self._referenced(self._file, until)
            self._schema = Schema(text_of(self._file), SchemaType.PROTOBUF, references)
            self._complete = True
        return super().own_schema(until)

    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Return a message's bytes; of None, None.

        Args:
            topic: The topic.
            headers: The record's; the schema's GUID may be added.
            data: The message.

        Raises:
            SerializationException: It is no message of the class.
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        if data is None:
            return None
        if not isinstance(data, self._message):
            raise SerializationException(
                f"expected a {self._message.__name__}, and not a {type(data).__name__}"
            )
        found = self.registered(topic, self._registry.deadline())
        return self.framed(found, headers, data.SerializeToString(), self._path)

    def _imports(self, file: Any) -> list[Any]:
        return [each for each in file.dependencies if not each.name.startswith(KNOWN)]

    def _referenced(self, file: Any, until: Deadline) -> tuple[SchemaReference, ...]:
        """Register or find the imports of a file, innermost first."""
        found = []
        for each in self._imports(file):
            schema = Schema(text_of(each), SchemaType.PROTOBUF, self._referenced(each, until))
            there = self._version_of(each.name, schema, until)
            found.append(
                SchemaReference(
                    each.name, each.name, there.version if there.version is not None else 1
                )
            )
        return tuple(found)

    def _version_of(self, subject: str, schema: Schema, until: Deadline) -> RegisteredSchema:
        if self._auto_register:
            self._by_text(subject, schema, until, register=True)
        return self._by_text(subject, schema, until, register=False)


class ProtobufDeserializer(RegistryDeserializer):
    """Reads Protobuf messages: a consumer's `value_deserializer` or `key_deserializer`.

    Args:
        registry: The registry.
        message: The class of the messages; a record of another type is refused. None for
            messages of the type that the registry tells.
        is_key: True for keys.

    Raises:
        ConfigException: The class is none of Protobuf.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        message: type[Message] | None = None,
        *,
        is_key: bool = False,
    ) -> None:
        super().__init__(registry, is_key=is_key, has_path=True, serialized=True)
        self._message = None if message is None else checked_class(message)
        self._classes: BoundedCache[tuple[int | UUID, Path], Any] = BoundedCache(
            MOST_TYPES, registry.now
        )

    def decoded(self, frame: Frame) -> Any:
        """Return the message of a frame; see `RegistryDeserializer.decoded`."""
        key = frame.id, frame.path
        made: Any = self._classes.get(key)
        if made is None:
            made = self._class_of(frame)
            self._classes.put(key, made)
        message = made()
        try:
            message.ParseFromString(frame.payload)
        except DecodeError as error:
            raise SerializationException(
                f"the bytes are no {made.DESCRIPTOR.full_name} of schema {frame.id}: {error}"
            ) from error
        return message

    def _class_of(self, frame: Frame) -> type[Message]:
        """The class to read by: the user's, if it has the name of the writer's type."""
        schema = self.schema_of(frame.id)
        if schema.type is not SchemaType.PROTOBUF:
            raise SerializationException(
                f"schema {frame.id} is one of {schema.type.value}, and not of PROTOBUF: take "
                "the other deserializer"
            )
        ours = self._message
        proto = file_of(schema)
        if proto is None:
            if ours is None:
                raise SerializationException(
                    f"the registry gives schema {frame.id} as the text of a .proto, which is "
                    "not compiled here: give the message's class"
                )
            return ours
        name = name_at(proto, frame.path, frame.id)
        if ours is not None:
            if ours.DESCRIPTOR.full_name != name:
                raise SerializationException(
                    f"the record is a {name} by schema {frame.id}, and not a "
                    f"{ours.DESCRIPTOR.full_name}"
                )
            return ours
        built: type[Message] = self._built(schema, proto, name, frame.id)
        return built

    def _built(self, schema: Schema, proto: Any, name: str, number: int | UUID) -> Any:
        """Make the class of a type from its file, and from the files that it imports."""
        pool = descriptor_pool.DescriptorPool()
        added: set[str] = set()

        def add(file: Any, of: Schema) -> None:
            if file.name in added:
                return
            added.add(file.name)
            if len(added) > MOST_REFERENCES:
                raise SerializationException(
                    f"schema {number} refers to more than {MOST_REFERENCES} others"
                )
            places = {each.name: each for each in of.references}
            for imported in file.dependency:
                if imported in places:
                    place = places[imported]
                    other = self.reference_of(place.subject, place.version)
                    inner = file_of(other)
                    if inner is None:
                        raise SerializationException(
                            f"the registry gives {imported} as the text of a .proto, which is "
                            "not compiled here: give the message's class"
                        )
                    inner.name = imported
                    add(inner, other)
                else:
                    add(known_file(imported, number), Schema("", SchemaType.PROTOBUF))
            pool.Add(file)

        try:
            add(proto, schema)
            found = pool.FindMessageTypeByName(name)
        except (TypeError, KeyError) as error:
            raise SerializationException(
                f"the descriptor of schema {number} is not whole: {error}"
            ) from error
        return message_factory.GetMessageClass(found)


def checked_class(message: type[Message]) -> type[Message]:
    """Check the class of a message, and return it.

    Raises:
        ConfigException: It is none of Protobuf.
    """
    if not issubclass(message, Message):
        raise ConfigException(f"{message!r} is no class of Protobuf messages")
    return message


def file_of(schema: Schema) -> Any:
    """Read a file's descriptor; None where the schema is the text of a `.proto`."""
    proto = descriptor_pb2.FileDescriptorProto()
    try:
        proto.ParseFromString(base64.b64decode(schema.text, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None
    return proto


def known_file(name: str, number: int | UUID) -> Any:
    """Return the descriptor of a file that comes with `protobuf`, or that the program has.

    Raises:
        SerializationException: There is none.
    """
    proto = descriptor_pb2.FileDescriptorProto()
    module = name.removesuffix(".proto").replace("/", ".") + "_pb2"
    try:
        if name.startswith("google/protobuf/"):
            __import__(module)  # It registers itself.
        descriptor_pool.Default().FindFileByName(name).CopyToProto(proto)
    except (KeyError, ImportError):
        raise SerializationException(
            f"schema {number} imports {name}, which it does not refer to"
        ) from None
    return proto


def name_at(proto: Any, path: Path, number: int | UUID) -> str:
    """Return the full name of the message at a place of a file.

    Raises:
        SerializationException: There is none.
    """
    names = [proto.package] if proto.package else []
    inner = proto.message_type
    for each in path:
        if each >= len(inner):
            raise SerializationException(
                f"schema {number} has no message at the place {list(path)}, which the record "
                "names"
            )
        names.append(inner[each].name)
        inner = inner[each].nested_type
    return ".".join(names)
