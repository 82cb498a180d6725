"""Keys and values into their bytes, by the user's own code.

Thread: any application thread, inside `send`. A serializer is a callable of the object, of the
topic and the object, or of the topic, the headers and the object; or an object whose method
`serialize` is one of the latter two. The headers are a list of pairs, which it may add to.
None is never shown to it: it stays null.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from prokurist.application.user_callables import needed_by
from prokurist.errors import SerializationException

Headers: TypeAlias = list[tuple[str, bytes | None]]
Serialize: TypeAlias = Callable[[str, Headers, Any], bytes | None]


class Serializers:
    """The serializers of a producer.

    Args:
        key: The user's for keys; None to take bytes.
        value: The same for values.

    Attributes:
        want_headers: Whether one of them is shown the headers.
    """

    def __init__(self, key: object | None, value: object | None) -> None:
        self._key = None if key is None else of_all(key)
        self._value = None if value is None else of_all(value)
        made = (self._key, self._value)
        self.want_headers: bool = any(each and each.func is of_headers for each in made)

    @property
    def are_there(self) -> bool:
        """True if any serializer is configured."""
        return self._key is not None or self._value is not None

    def key(self, topic: str, headers: Headers, key: Any) -> Any:
        """The bytes of a key.

        Raises:
            SerializationException: The serializer has raised.
        """
        return key if self._key is None else serialized("key", self._key, topic, headers, key)

    def value(self, topic: str, headers: Headers, value: Any) -> Any:
        """The bytes of a value.

        Raises:
            SerializationException: The serializer has raised.
        """
        if self._value is None:
            return value
        return serialized("value", self._value, topic, headers, value)

    def __repr__(self) -> str:
        return f"Serializers({self._key}, {self._value})"


def serialized(
    what: str, serialize: Serialize, topic: str, headers: Headers, given: Any
) -> Any:
    """Serialize an object; null stays null.

    Raises:
        SerializationException: The serializer has raised.
        TypeError: It has returned something that is not bytes.
    """
    if given is None:
        return None
    try:
        made: object = serialize(topic, headers, given)
    except Exception as error:
        raise SerializationException(
            f"the {what} of a record for {topic} cannot be serialized "
            f"({type(error).__name__}: {error}); nothing was sent"
        ) from error
    if made is not None and not isinstance(made, bytes | bytearray | memoryview):
        raise TypeError(
            f"{what}_serializer returned {type(made).__name__} for a record for {topic}, and "
            f"has to return bytes or None: encode what it returns; nothing was sent"
        )
    return made


def of_all(serializer: Any) -> "partial[bytes | None]":
    """A serializer of any form, as a callable of the topic, the headers and the object."""
    method = getattr(serializer, "serialize", None)
    if method is not None:
        # An object's method takes the topic in any case, as Java's does.
        return partial(FORMS[max(2, needed_by(method))], method)
    return partial(FORMS[needed_by(serializer)], serializer)


def of_object(serialize: Callable[[Any], Any], _topic: str, _headers: Headers, it: Any) -> Any:
    """Call what wants the object alone."""
    return serialize(it)


def of_topic(serialize: Callable[[str, Any], Any], topic: str, _: Headers, it: Any) -> Any:
    """Call what wants the topic, too."""
    return serialize(topic, it)


def of_headers(
    serialize: Callable[[str, Headers, Any], Any], topic: str, headers: Headers, it: Any
) -> Any:
    """Call what wants the topic and the headers, too."""
    return serialize(topic, headers, it)


FORMS: Final = (of_object, of_object, of_topic, of_headers)
"""Call of a serializer, by its number of arguments."""
