"""Which twin of the record codec runs, decided once at import.

`PROKURIST_IMPL=native` or `python` chooses; unset, it is the native twin where
it was built and the pure one where it was not. Every attempt that failed is
kept, so that a wrong choice can say what went wrong.

Thread: the importing one; constant afterwards.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, NamedTuple, Protocol

VARIABLE: Final = "PROKURIST_IMPL"

MODULES: Final[Mapping[str, str]] = {
    "native": "prokurist.records._native",
    "python": "prokurist.records.varints",
}
"""The twins, the preferred one first."""


class Codec(Protocol):
    """What both twins offer."""

    @property
    def encode_varint(self) -> Callable[[int], bytes]:
        """See `prokurist.records.varints`."""
        ...

    @property
    def decode_varint(self) -> Callable[[bytes | memoryview, int], tuple[int, int]]:
        """See `prokurist.records.varints`."""
        ...


class Choice(NamedTuple):
    """The outcome.

    Attributes:
        name: `native` or `python`.
        codec: The module that serves.
        failures: For each twin that was tried and could not be loaded, why.
    """

    name: str
    codec: Codec
    failures: Mapping[str, str]


def choose(wanted: str | None) -> Choice:
    """Load the twin that is wanted, or the best there is.

    Args:
        wanted: A name out of `MODULES`; None or empty for no preference.

    Raises:
        ImportError: The name is unknown, or every attempt failed; the text
            lists the attempts.
    """
    if wanted and wanted not in MODULES:
        raise ImportError(
            f"{VARIABLE}={wanted!r} names no implementation: it is one of "
            f"{' and '.join(map(repr, MODULES))}, or unset for the best there is"
        )
    failures: dict[str, str] = {}
    for name in [wanted] if wanted else MODULES:
        try:
            return Choice(name, import_module(MODULES[name]), failures)
        except ImportError as error:
            failures[name] = str(error)
    attempts = "; ".join(f"{name}: {why}" for name, why in failures.items())
    raise ImportError(
        f"{VARIABLE}={wanted!r} cannot be had ({attempts}). The native twin is built when "
        f"prokurist is installed with a C compiler at hand; unset {VARIABLE} to run without it"
    )


CHOICE: Final = choose(os.environ.get(VARIABLE))
"""What serves in this process."""
