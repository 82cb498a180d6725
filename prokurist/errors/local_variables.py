"""Clears local variables out of tracebacks: error reporters print them, secrets included.

Thread: any. The lines of a traceback stay, so that a bug can be found by it.
"""

import traceback
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def clear_locals(error: BaseException) -> None:
    """Clear the local variables of all frames that an error, its causes and contexts hold."""
    left: list[BaseException | None] = [error]
    seen: set[int] = set()
    while left:
        each = left.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            traceback.clear_frames(each.__traceback__)
            left += (each.__cause__, each.__context__)


def without_locals(function: Callable[Given, Made]) -> Callable[Given, Made]:
    """Have a function raise its errors without the values that it was given."""

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            del args, kwargs  # This frame is running still, and cannot be cleared.
            clear_locals(error)
            raise

    return called
