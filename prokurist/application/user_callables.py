"""What the user's own callables take.

Thread: any; a pure function.
"""

import inspect
from collections.abc import Callable
from typing import Any


def takes_topic(function: Callable[..., Any]) -> bool:
    """Whether a callable needs two arguments: the topic before the data."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False  # Some of the interpreter's own cannot say what they take.
    needed = [
        each
        for each in parameters
        if each.default is each.empty
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    return len(needed) == 2
