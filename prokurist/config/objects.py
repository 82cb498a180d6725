"""The kinds of keys whose values are the user's own code.

Where Java names a class for its loader, this client takes the object itself. Nothing
here imports or calls what it is given.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from prokurist.config.java_deserializers import JAVA_DESERIALIZERS, JAVA_PACKAGE
from prokurist.config.kinds import Rejected, split
from prokurist.lazy_dataclasses import dataclass

_JAVA = "org.apache.kafka.clients.consumer."
ASSIGNORS = {
    "range": "range",
    "roundrobin": "roundrobin",
    "sticky": "sticky",
    "cooperative-sticky": "cooperative-sticky",
    f"{_JAVA}RangeAssignor": "range",
    f"{_JAVA}RoundRobinAssignor": "roundrobin",
    f"{_JAVA}StickyAssignor": "sticky",
    f"{_JAVA}CooperativeStickyAssignor": "cooperative-sticky",
}
"""Every spelling of a built-in assignor and its short name."""

_NO_OBJECT = (str, bytes, bytearray, int, float, complex, Mapping, type(None))


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """The kind of a key whose value is a callable."""

    example: str
    accepts: str = "Callable[..., Any]"
    name: str = field(default="callable", init=False)
    unit: str = field(default="", init=False)
    valid: str = field(default="", init=False)

    def read(self, value: object) -> Callable[..., Any]:
        """Check that the value is callable."""
        if callable(value):
            return value
        raise Rejected(
            "must be a callable, not the name of a Java class or another object; "
            f"for example {self.example}"
        )


class TokenProvider:
    """A callable that gives tokens, or an object with a method that does."""

    name: str = "callable"
    unit: str = ""
    valid: str = ""
    accepts: str = "Callable[[str], Any] | object"

    def read(self, value: object) -> object:
        """Check that the value is callable or has a method `token`."""
        if callable(value) or callable(getattr(value, "token", None)):
            return value
        raise Rejected(
            "must be a callable that returns (token, expires_at), or an object with a method "
            "token()"
        )


class Deserializer:
    """A callable, an object that deserializes, or the name of one of Kafka's own classes."""

    name: str = "callable"
    unit: str = ""
    valid: str = ""
    accepts: str = "Callable[..., Any] | object"

    def read(self, value: object) -> object:
        """Check a deserializer, or find the one that has the name of a Java class."""
        if callable(value) or callable(getattr(value, "deserialize", None)):
            return value
        if isinstance(value, str) and value.startswith(JAVA_PACKAGE):
            name = value.removeprefix(JAVA_PACKAGE)
            if name in JAVA_DESERIALIZERS:
                return JAVA_DESERIALIZERS[name]
        raise Rejected(
            "must be a callable of the bytes, of the topic and the bytes, or of the topic, the "
            "headers and the bytes, or an object with deserialize(topic, data) or "
            "deserialize(topic, headers, data), not the name of a Java class or another "
            "object; for example value_deserializer=json.loads"
        )


class Serializer:
    """A callable, or an object that serializes."""

    name: str = "callable"
    unit: str = ""
    valid: str = ""
    accepts: str = "Callable[..., bytes | None] | object"

    def read(self, value: object) -> object:
        """See `ValueKind.read`."""
        if callable(value) or callable(getattr(value, "serialize", None)):
            return value
        raise Rejected(
            "must be a callable of the object, of the topic and the object, or of the topic, "
            "the headers and the object, or an object with serialize(topic, data) or "
            "serialize(topic, headers, data), not the name of a Java class or another object; "
            "for example value_serializer=str.encode"
        )


class Partitioner:
    """A callable that chooses a partition, or the name of what Java does by itself."""

    name: str = "callable"
    unit: str = ""
    valid: str = ""
    accepts: str = "Callable[..., int]"

    def read(self, value: object) -> Callable[..., Any] | None:
        """Check a callable; None for librdkafka's "murmur2_random", Java's own way."""
        if value == "murmur2_random":
            return None
        if callable(value):
            return value
        raise Rejected(
            "must be a callable that returns a partition; without one, records are placed "
            "as Java places them (librdkafka calls that murmur2_random), and neither a Java "
            "class nor another of librdkafka's partitioners can stand in for it, since the "
            "same key would go to another partition"
        )


class Interceptors:
    """A list of interceptor objects."""

    name: str = "list of objects"
    unit: str = ""
    valid: str = "objects, not class names"
    accepts: str = "Sequence[object]"

    def read(self, value: object) -> tuple[object, ...]:
        """Check that the list holds objects and no class names."""
        items = split(value)
        if any(isinstance(item, _NO_OBJECT) for item in items):
            raise Rejected(
                "must be a list of interceptor objects; Java class names cannot be loaded "
                "here: write interceptor_classes=[MyInterceptor()]"
            )
        return items


class Assignors:
    """A list of assignors: short names, Java's class names, or the user's objects."""

    name: str = "list"
    unit: str = ""
    valid: str = "range, roundrobin, sticky, cooperative-sticky, or objects"
    accepts: str = "str | Sequence[str | object]"

    def read(self, value: object) -> tuple[str | object, ...]:
        """Read a list of at least one assignor, each named once."""
        items = tuple(_assignor(item) for item in split(value))
        if not items:
            raise Rejected(f"must name at least one assignor: {self.valid}")
        if any(item in items[:place] for place, item in enumerate(items)):
            raise Rejected("must name each assignor once")
        return items


def _assignor(item: object) -> str | object:
    if isinstance(item, str) and item.strip() in ASSIGNORS:
        return ASSIGNORS[item.strip()]
    if isinstance(item, _NO_OBJECT):
        raise Rejected(
            f"must be a list of {Assignors.valid}; a Java class of your own cannot be "
            "loaded here: pass an assignor object instead of its name"
        )
    return item
