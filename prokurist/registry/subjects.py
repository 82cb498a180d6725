"""Names of subjects: of a topic, of a record's type, or of both.

Thread: any; pure functions.
"""

from collections.abc import Callable
from typing import TypeAlias

SubjectName: TypeAlias = Callable[[str, bool, str | None], str]
"""Makes a subject's name of a topic, of whether it is for keys, and of the name of the type."""


def topic_name(topic: str, is_key: bool, _record: str | None) -> str:  # noqa: FBT001
    """`orders-value`, or `orders-key`."""
    return f"{topic}-{'key' if is_key else 'value'}"


def record_name(_topic: str, _is_key: bool, record: str | None) -> str:  # noqa: FBT001
    """The name of the type, such as `shop.Order`.

    Raises:
        ValueError: The schema has none.
    """
    return _named(record)


def topic_record_name(topic: str, _is_key: bool, record: str | None) -> str:  # noqa: FBT001
    """The topic and the name of the type, such as `orders-shop.Order`.

    Raises:
        ValueError: The schema has none.
    """
    return f"{topic}-{_named(record)}"


def _named(record: str | None) -> str:
    if not record:
        raise ValueError(
            "the schema's type has no name, which this subject needs: name it, or use "
            "topic_name"
        )
    return record
