"""From a number on the wire to an exception.

The table is read off the classes: each that a broker can name says its number
itself, so there is no second list to forget.
"""

from functools import cache

from prokurist.errors.cluster import UnknownServerException
from prokurist.errors.tree import ApiException, KafkaException

NONE = 0
"""The code of success."""


@cache
def by_code() -> dict[int, type[KafkaException]]:
    """Every code that we know, and its class."""
    table: dict[int, type[KafkaException]] = {}
    pending: list[type[KafkaException]] = [ApiException]
    while pending:
        cls = pending.pop()
        pending.extend(cls.__subclasses__())
        # Its own number: a subclass without one is the client's, not the broker's.
        code = cls.__dict__.get("error_code")
        if isinstance(code, int) and cls.__module__.partition(".")[0] == "prokurist":
            table[code] = cls
    return table


def error_for(code: int, message: str | None = None) -> KafkaException | None:
    """The exception for a code in an answer.

    Args:
        code: The number as it came.
        message: The broker's own words, where it sent some.

    Returns:
        None for success. An unknown code becomes an
        `UnknownServerException` that keeps the number.
    """
    if code == NONE:
        return None
    cls = by_code().get(code)
    if cls is None:
        text = f"the broker answered with error code {code}, which this version does not know"
        return UnknownServerException(
            f"{text}: {message}" if message else text, error_code=code
        )
    return cls(message or _first_line(cls))


def _first_line(cls: type[KafkaException]) -> str:
    """Return the text for a bare error code: the summary of its class."""
    # Under `python -OO` there are no docstrings; the name has to do.
    return (cls.__doc__ or cls.__name__).partition("\n")[0].rstrip(".")
