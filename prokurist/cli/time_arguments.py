"""Parses the times and durations of a command line; one that is invalid is a wrong call.

Thread: any; pure functions.
"""

from prokurist.cli.errors import Misused
from prokurist.config import time_values


def milliseconds(text: str) -> int:
    """Read a moment in milliseconds since the epoch; see `config.time_values`.

    Raises:
        Misused: The text is invalid.
    """
    try:
        return time_values.milliseconds(text)
    except ValueError as error:
        raise Misused(str(error)) from None


def span(text: str) -> int:
    """Read a duration in milliseconds; see `config.time_values`.

    Raises:
        Misused: The text is invalid.
    """
    try:
        return time_values.span(text)
    except ValueError as error:
        raise Misused(str(error)) from None
