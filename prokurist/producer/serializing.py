"""Keys and values into their bytes, by the user's own code.

Thread: any application thread, inside `send`. A serializer is a callable of the object, a
callable of the topic and the object, or an object with `serialize(topic, data)`. None is
never shown to it: it stays null.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from prokurist.application.user_callables import needed_by
from prokurist.errors import SerializationException

Serialize: TypeAlias = Callable[[str, Any], bytes | None]


class Serializers:
    """The serializers of a producer.

    Args:
        key: The user's for keys; None to take bytes.
        value: The same for values.
    """

    def __init__(self, key: object | None, value: object | None) -> None:
        self._key = None if key is None else of_topic_and_object(key)
        self._value = None if value is None else of_topic_and_object(value)

    @property
    def are_there(self) -> bool:
        """Whether there is anything to be done."""
        return self._key is not None or self._value is not None

    def key(self, topic: str, key: Any) -> Any:
        """The bytes of a key.

        Raises:
            SerializationException: The serializer has raised.
        """
        return key if self._key is None else serialized("key", self._key, topic, key)

    def value(self, topic: str, value: Any) -> Any:
        """The bytes of a value.

        Raises:
            SerializationException: The serializer has raised.
        """
        return value if self._value is None else serialized("value", self._value, topic, value)

    def __repr__(self) -> str:
        return f"Serializers({self._key}, {self._value})"


def serialized(what: str, serialize: Serialize, topic: str, given: Any) -> Any:
    """What a serializer makes of an object; null stays null."""
    if given is None:
        return None
    try:
        return serialize(topic, given)
    except Exception as error:
        raise SerializationException(
            f"the {what} of a record for {topic} cannot be serialized "
            f"({type(error).__name__}: {error}); nothing was sent"
        ) from error


def of_topic_and_object(serializer: Any) -> Serialize:
    """A serializer of any form, as a callable of the topic and the object."""
    method = getattr(serializer, "serialize", None)
    if method is not None:
        return method  # type: ignore[no-any-return]  # the configuration has looked
    return serializer if needed_by(serializer) == 2 else partial(without_topic, serializer)


def without_topic(serializer: Callable[[Any], bytes | None], _topic: str, given: Any) -> Any:
    """A serializer that does not look at the topic."""
    return serializer(given)
