"""Finds what an object still holds of a topic: its name, its ids, its partitions.

The walk goes wherever references go: attributes, slots, containers, closures, the frames of
what is suspended, and what native classes refer to. It does not leave the client: what stands
in a module of tests, or of the brokers that they run, is passed by.
"""

import dataclasses
import gc
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any, Final, NamedTuple
from uuid import UUID

from prokurist.types import TopicPartition

PLAIN: Final = (str, bytes, bytearray, int, float, complex, UUID, type, ModuleType, CodeType)
"""What refers to nothing of interest."""

NATIVE: Final = "(native)"
"""Stands for the attributes of an object of a native class."""

ELSEWHERE: Final = ("tests", "prokurist.testing", "logging", "_pytest", "pluggy", "threading")
"""Modules whose objects are no part of a client."""


class Holder(NamedTuple):
    """An attribute that leads to something.

    Attributes:
        classes: The names of its object's class and of that one's bases.
        attribute: Its name.
    """

    classes: tuple[str, ...]
    attribute: str

    def __str__(self) -> str:
        return f"{self.classes[0]}.{self.attribute}"

    @property
    def is_native(self) -> bool:
        """Whether its object tells no names of attributes."""
        return self.attribute == NATIVE

    @property
    def names(self) -> frozenset[str]:
        """Under which a table may list it: by its class, or by one that this extends."""
        return frozenset(f"{each}.{self.attribute}" for each in self.classes)


class Trail(NamedTuple):
    """The way from a client to what it holds.

    Attributes:
        holders: The attributes on the way, outermost first.
        held: What was found.
    """

    holders: tuple[Holder, ...]
    held: object

    def __str__(self) -> str:
        return f"{' → '.join(map(str, self.holders))}: {self.held!r}"


class Wanted:
    """What is searched for.

    Args:
        topics: Names of topics.
        ids: Ids of topics.
        partitions: Partitions of topics that may be known otherwise.
    """

    def __init__(
        self,
        topics: Iterable[str] = (),
        ids: Iterable[UUID] = (),
        partitions: Iterable[TopicPartition] = (),
    ) -> None:
        self._topics = frozenset(topics)
        self._ids = frozenset(ids)
        self._partitions = frozenset(partitions)

    def is_met_by(self, each: object) -> bool:
        """Whether an object is one of them."""
        if isinstance(each, TopicPartition):
            return each.topic in self._topics or each in self._partitions
        if isinstance(each, str):
            return each in self._topics
        return isinstance(each, UUID) and each in self._ids

    def __repr__(self) -> str:
        return f"Wanted({set(self._topics)}, {set(self._ids)}, {set(self._partitions)})"


def trails(root: object, wanted: Wanted) -> Iterator[Trail]:
    """The ways on which something that is wanted can be reached, one for each attribute."""
    seen = {id(root): root}
    found: set[tuple[Holder, ...]] = set()
    line: deque[tuple[object, tuple[Holder, ...]]] = deque([(root, ())])
    while line:
        each, holders = line.popleft()
        for child, holder in referents(each):
            way = holders if holder is None else (*holders, holder)
            if wanted.is_met_by(child):
                if way[-1:] not in found:
                    found.add(way[-1:])
                    yield Trail(way, child)
            elif not is_passed_by(child) and id(child) not in seen:
                seen[id(child)] = child
                line.append((child, way))


def is_passed_by(each: object) -> bool:
    """Whether the walk ends at an object."""
    return (
        each is None
        or isinstance(each, (*PLAIN, TopicPartition))
        or str(type(each).__module__).startswith(ELSEWHERE)
    )


def referents(each: Any) -> Iterator[tuple[object, Holder | None]]:
    """What an object refers to, and by which attribute, where it is not a mere value."""
    match each:
        case Mapping():
            for key, value in list(each.items()):
                yield key, None
                yield value, None
        case tuple() | list() | set() | frozenset() | deque():
            for item in list(each):
                yield item, None
        case FunctionType():
            for cell in each.__closure__ or ():
                yield cell, None
            for default in (*(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values()):
                yield default, None
        case MethodType() | BuiltinFunctionType():
            yield each.__self__, None
        case partial():
            yield from ((item, None) for item in (each.func, each.args, each.keywords))
        case _:
            yield from attributes(each)


def attributes(each: Any) -> Iterator[tuple[object, Holder | None]]:
    """What the attributes of an object refer to; of a native one, all that it refers to."""
    kind = type(each)
    classes = tuple(base.__name__ for base in kind.__mro__[:-1])
    names = [name for base in kind.__mro__ for name in slots_of(base)]
    names += getattr(each, "__dict__", ())
    if not names:
        native = kind.__module__.startswith("prokurist")
        holder = Holder(classes, NATIVE) if native else None
        for item in gc.get_referents(each):
            yield item, holder
        return
    for name in names:
        try:
            value = getattr(each, name)
        except AttributeError:
            continue
        yield value, None if is_value(each) else Holder(classes, name)


def slots_of(kind: type) -> tuple[str, ...]:
    """The slots that a class itself has, by the names that `getattr` knows."""
    slots = kind.__dict__.get("__slots__", ())
    each = (slots,) if isinstance(slots, str) else tuple(slots)
    private = f"_{kind.__name__.lstrip('_')}"
    return tuple(
        f"{private}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in each
        if name not in ("__weakref__", "__dict__")
    )


def is_value(each: object) -> bool:
    """Whether an object never changes, or is an error: its holder is what remembers."""
    if isinstance(each, BaseException):
        return True
    settings = getattr(type(each), "__dataclass_params__", None)
    return dataclasses.is_dataclass(each) and bool(getattr(settings, "frozen", False))
