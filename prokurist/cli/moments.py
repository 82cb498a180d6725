"""Times as they are written on a command line, as milliseconds since the epoch.

Thread: any; pure functions.
"""

from prokurist.cli.errors import Misused
from prokurist.config import time_values


def milliseconds(text: str) -> int:
    """Read a moment; see `config.time_values`.

    Raises:
        Misused: It is none.
    """
    try:
        return time_values.milliseconds(text)
    except ValueError as error:
        raise Misused(str(error)) from None


def span(text: str) -> int:
    """Read a duration; see `config.time_values`.

    Raises:
        Misused: It is none.
    """
    try:
        return time_values.span(text)
    except ValueError as error:
        raise Misused(str(error)) from None
