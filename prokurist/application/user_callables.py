"""Signatures of the user's callables.

Thread: any; a pure function.
"""

import inspect
from collections.abc import Callable
from typing import Any


def needed_by(function: Callable[..., Any]) -> int:
    """Count the required positional arguments of a callable; 1 if neither two nor three."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1  # Some of the interpreter's own cannot say what they take.
    needed = sum(
        each.default is each.empty
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        for each in parameters
    )
    return needed if needed in {2, 3} else 1
