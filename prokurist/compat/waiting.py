"""Timeouts of a face's calls: every call has a deadline."""

from typing import Final

LONGEST: Final = 1e9
"""Seconds: a timeout beyond it is one, for clocks that add to it."""


def seconds(timeout: float | None, default: float, unit: float = 1.0) -> float:
    """Another client's timeout in seconds: None and what is negative are the default.

    Args:
        timeout: As it was given.
        default: Seconds for a call that is given none.
        unit: Seconds in one of its units.
    """
    if timeout is None or timeout < 0:
        return default
    return min(timeout * unit, LONGEST)
