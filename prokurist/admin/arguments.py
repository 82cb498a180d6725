"""Checks of arguments of administrative calls; each refusal names the value and the way out.

Thread: the application's.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

LONGEST_NAME: Final = 32767
"""Bytes of a string in Kafka's protocol."""


def named(what: str, names: Any, *, example: str) -> list[str]:
    """Return names, each once, in their order.

    Args:
        what: The noun, in the plural.
        names: The argument.
        example: A call that is right.

    Raises:
        TypeError: The argument is no collection of str.
        ValueError: A name is empty.
    """
    found = listed(what, names, example=example)
    for each in found:
        require_name(what, each)
    return found


def listed(what: str, items: Any, *, example: str) -> list[Any]:
    """Return the items of a collection, each once, in their order.

    Raises:
        TypeError: The argument is no collection.
    """
    if isinstance(items, str | bytes | UUID) or not isinstance(items, Iterable):
        raise TypeError(f"{what} are given as a collection, such as {example}, not {items!r}")
    return list(dict.fromkeys(items))


def require_name(what: str, name: object) -> None:
    """Check one name.

    Raises:
        TypeError: It is no str.
        ValueError: It is empty, or no request can carry it.
    """
    if not isinstance(name, str):
        raise TypeError(f"{what} are named by str, not {name!r}")
    if not name:
        raise ValueError(f"{what} have names: one is empty")
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} have names that are UTF-8: {name!r} cannot be") from error
    if size > LONGEST_NAME:
        raise ValueError(
            f"{what} have names of {LONGEST_NAME} bytes at most: {name[:40]!r}… has {size}"
        )


def topics_of(topics: Any, *, example: str) -> dict[str | UUID, None]:
    """Return topics by name or id.

    Raises:
        TypeError: The argument is no collection of str and UUID.
        ValueError: A name is empty, or an id is the zero one, which stands for none.
    """
    found = listed("topics", topics, example=example)
    for each in found:
        if not isinstance(each, UUID):
            require_name("topics", each)
        elif not each.int:
            raise ValueError(f"{each} is the id of no topic: name the topic instead")
    return dict.fromkeys(found)


def mapping_of(what: str, items: Any, *, example: str) -> Mapping[Any, Any]:
    """Return a mapping.

    Raises:
        TypeError: The argument is none.
    """
    if not isinstance(items, Mapping):
        raise TypeError(f"{what} are given as a mapping, such as {example}, not {items!r}")
    return items


def require_kind(what: str, value: object, kind: type[Any] | tuple[type[Any], ...]) -> None:
    """Check the type of a value.

    Raises:
        TypeError: It is of another one.
    """
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = " or a ".join(each.__name__ for each in kinds)
        raise TypeError(f"{what} is a {wanted}, not {value!r}")
