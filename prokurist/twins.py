"""Choice between two twins: the native one if it was built, else the pure one.

`PROKURIST_IMPL=native` or `python` chooses for a whole process. Every attempt that
failed is kept, so that a wrong choice can say what went wrong.

Thread: any; pure functions.
"""

import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple

VARIABLE: Final = "PROKURIST_IMPL"


class Choice(NamedTuple):
    """The outcome.

    Attributes:
        name: `native` or `python`.
        module: The twin that serves.
        failures: For each twin that was tried and could not be loaded, why.
    """

    name: str
    module: ModuleType
    failures: Mapping[str, str]


def chosen(modules: Mapping[str, str]) -> Choice:
    """The twin that the environment names, or the best there is.

    Raises:
        ImportError: See `choose`.
    """
    return choose(modules, os.environ.get(VARIABLE))


def choose(modules: Mapping[str, str], wanted: str | None) -> Choice:
    """Load the twin that is wanted, or the best there is.

    Args:
        modules: The twins by their names, the preferred one first.
        wanted: One of the names; None or empty for no preference.

    Raises:
        ImportError: The name is unknown, or every attempt failed; the text
            lists the attempts.
    """
    if wanted and wanted not in modules:
        raise ImportError(
            f"{VARIABLE}={wanted!r} names no implementation: it is one of "
            f"{' and '.join(map(repr, modules))}, or unset for the best there is"
        )
    failures: dict[str, str] = {}
    for name in [wanted] if wanted else modules:
        try:
            return Choice(name, import_module(modules[name]), failures)
        except ImportError as error:
            failures[name] = str(error)
    attempts = "; ".join(f"{name}: {why}" for name, why in failures.items())
    raise ImportError(
        f"{VARIABLE}={wanted!r} cannot be had ({attempts}). The native twin is built when "
        f"prokurist is installed with a C compiler at hand; unset {VARIABLE} to run without it"
    )
