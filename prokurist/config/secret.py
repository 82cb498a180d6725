"""Secrets: values that can be used but not read by accident.

Invariants: the text of a secret appears in no repr, str, format, exception or pickle of
ours. What is pickled is only the fact that there was a secret; its copy in another
process says so when it is asked to reveal itself.
"""

import hmac
from collections.abc import Callable
from typing import NoReturn, Self, cast

from prokurist.config.kinds import Rejected
from prokurist.errors import KafkaException

MASK = "***"
"""Text in place of a secret."""


class Secret:
    """A password, or a callable that returns the current one.

    A callable is called each time, so that a rotated password is picked up by the
    next connection without a restart.
    """

    __slots__ = ("_source",)

    _source: str | Callable[[], str]

    def __init__(self, source: str | Callable[[], str], /) -> None:
        """Keep a password.

        Args:
            source: The text, or a callable without arguments that returns it.

        Raises:
            TypeError: It is neither.
        """
        if not isinstance(source, str) and not callable(source):
            raise TypeError(
                "a secret must be a string or a callable without arguments that returns one"
            )
        self._source = source

    def reveal(self) -> str:
        """Hand out the text; the only way to it.

        Returns:
            The secret itself. Do not log it.

        Raises:
            KafkaException: The secret was left behind when this object was pickled, or
                its callable returned something that is not a string.
        """
        if isinstance(self._source, str):
            return self._source
        text: object = self._source()
        if not isinstance(text, str):
            raise KafkaException(
                "a secret's callable must return a string; it returned an object of type "
                f"{type(text).__name__}"
            )
        return text

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str, /) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        mine, theirs = self._source, other._source
        if isinstance(mine, str) and isinstance(theirs, str):
            # Takes the same time wherever the texts differ.
            return hmac.compare_digest(_octets(mine), _octets(theirs))
        return self is other or (mine is theirs and mine is not _left_behind)

    def __hash__(self) -> int:
        return hash((Secret, self._source))

    def __copy__(self) -> Self:
        # Without these two, copying would go the way of pickling and lose the text.
        return self

    def __deepcopy__(self, memo: object, /) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[[], "Secret"], tuple[()]]:
        return _without_text, ()


SecretSource = str | Secret | Callable[[], str]
"""Values of a key that holds a secret."""


def _octets(text: str) -> bytes:
    # Any str is a legal secret, lone surrogates from os.environ included.
    return text.encode("utf-8", "surrogatepass")


def _left_behind() -> NoReturn:
    raise KafkaException(
        "this secret did not travel: pickling a configuration leaves the text of its "
        "secrets behind. Give the secret again in the process that uses it, from its "
        "environment or a secret store, or build the configuration there."
    )


def _without_text() -> Secret:
    return Secret(_left_behind)


class SecretText:
    """The kind of a key whose value is a secret."""

    name: str = "secret"
    unit: str = ""
    valid: str = ""
    accepts: str = "SecretSource"

    def read(self, value: object) -> Secret:
        """Wrap a string or a callable as a `Secret`."""
        if isinstance(value, Secret):
            return value
        if isinstance(value, str) or callable(value):
            # What a callable returns is checked when it is asked.
            return Secret(cast("str | Callable[[], str]", value))
        raise Rejected(
            "must be a string, a Secret or a callable without arguments that returns the "
            "string (its value is not shown here)"
        )
