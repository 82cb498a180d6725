"""Base of a face's classes and packages: the error for a missing name has our word for it."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self


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


def absent_in(module: str, words: Mapping[str, str]) -> Callable[[str], NoReturn]:
    """A module's `__getattr__`, for the names that it does not have.

    Args:
        module: Its name.
        words: What to write in place of each name that the other client has.
    """

    def __getattr__(name: str) -> NoReturn:  # noqa: N807 - it is one, by another's hand
        raise absent(module, name, words)

    return __getattr__


class Face:
    """A class of a face: what it leaves out is named with our word for it."""

    _left_out: ClassVar[Mapping[str, str]] = {}
    """Alternatives to the names that are left out."""

    if not TYPE_CHECKING:  # To a type checker it would have every attribute.

        def __getattr__(self, name: str) -> NoReturn:
            raise absent(type(self).__name__, name, self._left_out)


class Client(Face):
    """A client of a face, which a `with` block closes."""

    @abstractmethod
    def close(self) -> object:
        """Close it, by a deadline."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
