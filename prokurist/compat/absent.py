"""What a face does not have, told by the AttributeError that asks for it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NoReturn


def absent(owner: str, name: str, words: Mapping[str, str]) -> AttributeError:
    """The error for a name of another client's that a face does not have.

    Args:
        owner: The module or class that was asked.
        name: The name.
        words: What to write in place of each name that the other client has.
    """
    text = f"{owner} has no {name}"
    if name in words:
        text += f", which this face leaves out: {words[name]}"
    return AttributeError(text, name=name)


class Face:
    """A class of a face: what it leaves out is named with our word for it."""

    _left_out: ClassVar[Mapping[str, str]] = {}
    """What to write in place of each name that is left out."""

    if not TYPE_CHECKING:  # To a type checker it would have every attribute.

        def __getattr__(self, name: str) -> NoReturn:
            raise absent(type(self).__name__, name, self._left_out)
