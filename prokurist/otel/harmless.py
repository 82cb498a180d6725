"""A block in which an error of OpenTelemetry does no harm to the call that is watched.

A span processor, a sampler, a propagator or an exporter is the program's own code. If an error
of theirs left a poll, the records that it has taken would be lost to the program.

Thread: any.
"""

import logging
from types import TracebackType
from typing import Final

LOG: Final = logging.getLogger("prokurist.otel")

MOST_KINDS: Final = 100
"""Kinds of errors that are told: one in each record would fill a disk."""


class Harmless:
    """A block that keeps errors in, and logs the first of each kind with its traceback."""

    def __init__(self) -> None:
        self._told: set[type[BaseException]] = set()

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """End; an interrupt leaves the block."""
        if kind is None or not issubclass(kind, Exception):
            return False
        if kind not in self._told and len(self._told) < MOST_KINDS:
            self._told.add(kind)
            LOG.error(
                "OpenTelemetry has raised %s, and the call that it watches goes on; further "
                "ones are not logged",
                kind.__name__,
                exc_info=error,
            )
        return True

    def __repr__(self) -> str:
        return f"Harmless({sorted(each.__name__ for each in self._told)})"
