"""The kinds of value a key can have: each reads what a user may write and says its rule.

Invariants: a kind holds no state and reads no clock. `read` returns the canonical value
or raises `Rejected`, whose text is the rule as a clause ("must be ...") and never
contains the value, so that a secret cannot leak through it. `accepts` is the Python
annotation of what `read` takes, for the generated TypedDicts.
"""

import math
import re
from dataclasses import field
from datetime import timedelta
from typing import Protocol

from prokurist.lazy_dataclasses import dataclass

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

_DECIMAL = re.compile(r"[+-]?[0-9]{1,20}")
_MILLISECOND = timedelta(milliseconds=1)


class Rejected(ValueError):
    """A value that the key does not take; the text is the rule and never the value."""


class ValueKind(Protocol):
    """Interface of a kind of value, for the table."""

    @property
    def name(self) -> str:
        """The word for this kind in the documentation."""
        ...

    @property
    def unit(self) -> str:
        """Unit of a number; empty without one."""
        ...

    @property
    def valid(self) -> str:
        """The values that are taken, in one short phrase; empty if any value is."""
        ...

    @property
    def accepts(self) -> str:
        """The annotation of what `read` takes."""
        ...

    def read(self, value: object) -> object:
        """Convert and check a value.

        Args:
            value: The user's value; never None.

        Returns:
            The canonical value.

        Raises:
            Rejected: The value breaks the rule.
        """
        ...


def kind_of(value: object) -> str:
    """Name the type of a value for an error text.

    Args:
        value: Any object.

    Returns:
        The name of its class.
    """
    return type(value).__name__


class Boolean:
    """True or False, also as the words that property files use."""

    name: str = "boolean"
    unit: str = ""
    valid: str = "true, false"
    accepts: str = "bool | str"

    def read(self, value: object) -> bool:
        """Read a bool, or the word "true" or "false"."""
        if isinstance(value, bool):
            return value
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in {"true", "false"}:
            return word == "true"
        raise Rejected('must be True or False, or the word "true" or "false"')


@dataclass(frozen=True, slots=True, eq=False)
class Integer:
    """A whole number within bounds; a number of milliseconds may also be a timedelta.

    `besides` is one number outside the bounds that is taken too.
    """

    low: int
    high: int = INT_MAX
    unit: str = ""
    besides: int | None = None
    name: str = field(default="integer", init=False)

    @property
    def valid(self) -> str:
        """The bounds, as the documentation shows them."""
        if self.high in {INT_MAX, LONG_MAX}:
            return f"≥ {self.low}"
        besides = "" if self.besides is None else f" or {self.besides}"
        return f"{self.low} to {self.high}{besides}"

    @property
    def accepts(self) -> str:
        """The annotation of what `read` takes: with timedelta for milliseconds."""
        return "int | str | timedelta" if self.unit == "ms" else "int | str"

    def read(self, value: object) -> int:
        """Read a whole number within the bounds, rounding a timedelta up to milliseconds."""
        number: int | None = None
        if (
            (isinstance(value, int) and not isinstance(value, bool))
            or (isinstance(value, float) and value.is_integer())
            or (isinstance(value, str) and _DECIMAL.fullmatch(value.strip()))
        ):
            number = int(value)
        elif isinstance(value, timedelta) and self.unit == "ms":
            number, rest = divmod(value, _MILLISECOND)
            number += bool(rest) and number >= 0  # away from zero, lest a sign vanish
        if number is not None and (self.low <= number <= self.high or number == self.besides):
            return number
        besides = "" if self.besides is None else f", or {self.besides}"
        unit = f" ({self.unit})" if self.unit else ""
        also = ", or a timedelta of that length" if self.unit == "ms" else ""
        raise Rejected(
            f"must be a whole number from {self.low} to {self.high}{besides}{unit}{also}"
        )


def millis(low: int = 0, high: int = LONG_MAX) -> Integer:
    """A duration in milliseconds.

    Args:
        low: The shortest one that is taken.
        high: The longest one; `INT_MAX` where Kafka keeps an int.

    Returns:
        The kind.
    """
    return Integer(low, high, "ms")


def octets(low: int = 0, high: int = INT_MAX) -> Integer:
    """A size in bytes.

    Args:
        low: The smallest one that is taken.
        high: The largest one.

    Returns:
        The kind.
    """
    return Integer(low, high, "bytes")


@dataclass(frozen=True, slots=True, eq=False)
class Real:
    """A finite number within bounds."""

    low: float
    high: float
    name: str = field(default="number", init=False)
    unit: str = field(default="", init=False)
    accepts: str = field(default="float | str", init=False)

    @property
    def valid(self) -> str:
        """The bounds, as the documentation shows them."""
        return f"{self.low} to {self.high}"

    def read(self, value: object) -> float:
        """Read a finite number within the bounds."""
        number = math.nan
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            try:
                number = float(value)
            except (ValueError, OverflowError):
                number = math.nan
        if not self.low <= number <= self.high:  # also true of NaN
            raise Rejected(f"must be a number from {self.low} to {self.high}")
        return number


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A string, taken as it is."""

    blank: bool = True
    name: str = field(default="string", init=False)
    unit: str = field(default="", init=False)
    accepts: str = field(default="str", init=False)

    @property
    def valid(self) -> str:
        """The rule "not blank", where a blank string is refused."""
        return "" if self.blank else "not blank"

    def read(self, value: object) -> str:
        """Check a string, and return it unchanged."""
        if not isinstance(value, str):
            raise Rejected("must be a string")
        if not self.blank and not value.strip():
            raise Rejected("must be a string that is not blank")
        return value


@dataclass(frozen=True, slots=True, eq=False)
class JavaClass:
    """A class of Java's whose work is done here without it; no other one can be loaded.

    Attributes:
        names: The classes.
        instead: The alternative to any other class.
    """

    names: tuple[str, ...]
    instead: str
    accepts: str = "str"
    name: str = field(default="string", init=False)
    unit: str = field(default="", init=False)

    @property
    def valid(self) -> str:
        """The classes, separated by commas."""
        return ", ".join(self.names)

    def read(self, value: object) -> str:
        """Check membership, and return the member's name."""
        if isinstance(value, str) and value.strip() in self.names:
            return value.strip()
        raise Rejected(f"cannot be used here: {self.instead}")


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of a few words, in any mix of upper and lower case.

    `also` maps further spellings to the word they mean.
    """

    words: tuple[str, ...]
    also: tuple[tuple[str, str], ...] = ()
    accepts: str = "str"
    name: str = field(default="string", init=False)
    unit: str = field(default="", init=False)

    @property
    def valid(self) -> str:
        """The words, separated by commas."""
        return ", ".join(self.words)

    def read(self, value: object) -> str:
        """Find the word that is meant, in any mix of upper and lower case."""
        spelled = value.strip().lower() if isinstance(value, str) else ""
        for word, meaning in (*((word, word) for word in self.words), *self.also):
            if spelled == word.lower():
                return meaning
        raise Rejected(f"must be one of {self.valid}")


class Acknowledgements:
    """Acknowledgements by replicas: a word or a number, kept as Kafka's word."""

    name: str = "string"
    unit: str = ""
    valid: str = "all, -1, 0, 1"
    accepts: str = "str | int"

    def read(self, value: object) -> str:
        """Read "all", 0 or 1; -1 is another spelling of "all"."""
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            word = str(value).strip().lower()
            if word in {"all", "-1"}:
                return "all"
            if word in {"0", "1"}:
                return word
        raise Rejected(
            'must be "all" (or -1: every in-sync replica), 1 (the leader alone) or 0 (none)'
        )


class Names:
    """A list of strings, also as one string with commas."""

    name: str = "list"
    unit: str = ""
    valid: str = ""
    accepts: str = "str | Sequence[str]"

    def read(self, value: object) -> tuple[str, ...]:
        """Read a list of strings, or one string with commas, without empty names."""
        items = split(value)
        names = tuple(item.strip() for item in items if isinstance(item, str))
        if len(names) != len(items) or not all(names):
            raise Rejected(
                "must be a list of strings, none of them empty, or one string with commas"
            )
        return names


def split(value: object) -> tuple[object, ...]:
    """Take a list, a tuple or a string with commas apart.

    Args:
        value: The user's value; a blank string is an empty list.

    Returns:
        The items, strings not yet stripped.

    Raises:
        Rejected: The value is none of the three.
    """
    if isinstance(value, str):
        return tuple(value.split(",")) if value.strip() else ()
    if isinstance(value, (list, tuple)):
        return tuple(value)
    raise Rejected("must be a list, a tuple or one string with commas")
