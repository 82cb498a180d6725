"""The standard library's `dataclass`, with methods that are compiled at their first use.

A consumer's import defines some two hundred dataclasses. The standard library compiles five
methods for each, which takes half of the import's time, and most of them are never called. Here
a descriptor stands for each method; it compiles the method when it is first looked up and puts
it into its own place.

Type checkers see the standard library's decorator. Fields, slots, `replace` and `fields` are
the standard library's; the methods do as its own.

Thread: any. Two threads may compile the same method; either result serves.
"""

import dataclasses
from collections.abc import Callable, Iterable
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final

_ORDER: Final = (("__lt__", "<"), ("__le__", "<="), ("__gt__", ">"), ("__ge__", ">="))


_FACTORY: Final = type("factory", (), {"__repr__": lambda _: "<factory>"})()
"""Default of an argument whose value a factory makes, by the standard library's name."""

Source = Callable[[Any, dict[str, Any]], tuple[str, str]]
"""Writes a method: its arguments and its body, from a class and the names that it may use."""


class _Compiled:
    """Stands for a method until it is looked up.

    Args:
        owner: The class of the method.
        name: The method's name.
        source: Writes it.
    """

    def __init__(self, owner: type, name: str, source: Source) -> None:
        self._owner = owner
        self._name = name
        self._source = source

    def __get__(self, instance: object, _owner: type | None = None) -> Any:
        names: dict[str, Any] = {"__name__": self._owner.__module__}
        arguments, body = self._source(self._owner, names)
        exec(f"def {self._name}({arguments}):\n{body}", names)  # noqa: S102 - our own text
        method = names[self._name]
        method.__qualname__ = f"{self._owner.__qualname__}.{self._name}"
        if self._name == "__init__":
            method.__annotations__ = {
                **{each.name: each.type for each in _fields(self._owner) if each.init},
                "return": None,
            }
        if self._name == "__repr__":
            method = recursive_repr("...")(method)
        setattr(self._owner, self._name, method)
        return method.__get__(instance, _owner)


def _fields(owner: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(owner)


def _init(owner: Any, names: dict[str, Any]) -> tuple[str, str]:
    """Write `__init__`."""
    frozen = owner.__dataclass_params__.frozen
    names["_set"], names["_FACTORY"] = object.__setattr__, _FACTORY
    places: list[str] = []
    keywords: list[str] = []
    lines: list[str] = []
    for each in _fields(owner):
        name, value = each.name, each.name
        argument = name
        if each.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}()"
            if each.init:
                value = f"{value} if {name} is _FACTORY else {name}"
                argument = f"{name}=_FACTORY"
        elif each.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = each.default
            argument = f"{name}=_default_{name}"
            if not each.init:
                value = f"_default_{name}"
        elif not each.init:
            continue
        if each.init:
            (keywords if each.kw_only else places).append(argument)
        lines.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(owner, "__post_init__"):
        lines.append(" self.__post_init__()")
    arguments = ["self", *places, *(["*", *keywords] if keywords else [])]
    return ", ".join(arguments), "\n".join(lines) or " pass"


def _row(subject: str, each: Iterable[dataclasses.Field[Any]]) -> str:
    """Return the text of a tuple of an object's fields."""
    return "(" + "".join(f"{subject}.{field.name}, " for field in each) + ")"


def _comparison(operator: str) -> Source:
    """Return the writer of a comparison."""

    def write(owner: Any, _names: dict[str, Any]) -> tuple[str, str]:
        compared = [each for each in _fields(owner) if each.compare]
        left, right = _row("self", compared), _row("other", compared)
        body = (
            " if other.__class__ is self.__class__:\n"
            f"  return {left} {operator} {right}\n"
            " return NotImplemented"
        )
        return "self, other", body

    return write


def _hash(owner: Any, _names: dict[str, Any]) -> tuple[str, str]:
    """Write `__hash__`."""
    hashed = (
        each for each in _fields(owner) if (each.compare if each.hash is None else each.hash)
    )
    return "self", f" return hash({_row('self', hashed)})"


def _repr(owner: Any, _names: dict[str, Any]) -> tuple[str, str]:
    """Write `__repr__`."""
    shown = ", ".join(
        f"{each.name}={{self.{each.name}!r}}" for each in _fields(owner) if each.repr
    )
    return "self", f' return f"{{self.__class__.__qualname__}}({shown})"'


def _freeze(owner: Any) -> None:
    """Refuse changes of an object's fields."""
    names = frozenset(each.name for each in _fields(owner))

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807 - as it is stored
        if type(self) is owner or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(owner, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807 - as it is stored
        if type(self) is owner or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(owner, self).__delattr__(name)

    owner.__setattr__, owner.__delattr__ = __setattr__, __delattr__


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in _fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(_fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


def _process(
    given: type,
    *,
    init: bool = True,
    repr: bool = True,  # noqa: A002 - the standard library's name
    eq: bool = True,
    order: bool = False,
    frozen: bool = False,
    kw_only: bool = False,
    slots: bool = False,
) -> type:
    """Make a dataclass of a class; arguments are the standard library's."""
    bases = [
        each.__dict__["__dataclass_params__"]
        for each in given.__mro__[1:]
        if "__dataclass_params__" in each.__dict__
    ]
    were = [each.frozen for each in bases]
    for each in bases:
        # A frozen class could not be made below without the two methods that are left out here.
        each.frozen = False
    try:
        owner: Any = dataclasses.dataclass(
            given, init=False, repr=False, eq=False, kw_only=kw_only, slots=slots
        )
    finally:
        for each, was in zip(bases, were, strict=True):
            each.frozen = was
    if any(was is not frozen for was in were):
        raise TypeError(f"{given.__qualname__} is frozen and its base is not, or the reverse")
    settings = owner.__dataclass_params__
    settings.init, settings.repr, settings.eq, settings.order = init, repr, eq, order
    settings.frozen = frozen
    own = owner.__dict__
    own_hash = own.get("__hash__", dataclasses.MISSING)
    hashes = own_hash is not dataclasses.MISSING and not (own_hash is None and "__eq__" in own)
    lazy: list[tuple[str, Source]] = []
    if init:
        lazy.append(("__init__", _init))
    if repr:
        lazy.append(("__repr__", _repr))
    if eq:
        lazy.append(("__eq__", _comparison("==")))
    if order:
        lazy += [(name, _comparison(operator)) for name, operator in _ORDER]
    for name, source in lazy:
        if name not in own:
            setattr(owner, name, _Compiled(owner, name, source))
    if eq and not hashes:
        owner.__hash__ = _Compiled(owner, "__hash__", _hash) if frozen else None
    if frozen:
        _freeze(owner)
        if slots and "__getstate__" not in own:
            owner.__getstate__, owner.__setstate__ = _get_state, _set_state
    made: type = owner
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - to be imported from here
else:

    def dataclass(given: type | None = None, /, **settings: bool) -> object:
        """Make a dataclass, whose methods are compiled when they are first looked up."""
        if given is None:
            return lambda each: _process(each, **settings)
        return _process(given, **settings)
