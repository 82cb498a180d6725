"""Answers that are overdue: metadata are asked for, since another broker may lead by now.

Thread: the network thread alone.

A broker that is frozen, or cut off, answers nothing and closes nothing. Its replacement
is elected long before `request.timeout.ms` is over. So while an answer is overdue
metadata are asked for once a second, of another broker where there is one; the request
itself stays where it is.
"""

from collections.abc import Callable
from typing import Final

from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.types import Node

OVERDUE: Final = 1.0
"""Seconds that an answer may take beyond its requested wait, and between two requests."""


class OverdueResponse:
    """Requests metadata while an answer is overdue, until `end`.

    Args:
        metadata: Is asked for.
        timer: The Timer.
        node: The broker that owes the answer.
        wait: Seconds that the broker was told it may wait.
        on_metadata: Called with each set of metadata that was asked for.
        on_overdue: Called each time that metadata are asked for.
    """

    def __init__(
        self,
        metadata: MetadataManager,
        timer: Timer,
        node: Node,
        *,
        wait: float = 0.0,
        on_metadata: Callable[[], None] | None = None,
        on_overdue: Callable[[], None] | None = None,
    ) -> None:
        self._metadata = metadata
        self._timer = timer
        self._node = node
        self._on_metadata = on_metadata
        self._on_overdue = on_overdue
        self._asked: Promise[object] | None = None
        self._due: Due | None = None
        self._watch(wait + OVERDUE)

    def _watch(self, seconds: float) -> None:
        self._due = self._timer.after(seconds, f"an answer of {self._node}", self._ask)

    def _ask(self) -> None:
        self._metadata.doubt(self._node)
        if self._on_overdue is not None:
            self._on_overdue()
        fresh: Promise[object] = self._metadata.fresh()  # type: ignore[assignment]  # read only
        if self._on_metadata is not None and fresh is not self._asked:
            self._forget()
            self._asked = fresh
            fresh.add(self._on_metadata)
        self._watch(OVERDUE)

    def _forget(self) -> None:
        if self._asked is not None and self._on_metadata is not None:
            self._asked.remove(self._on_metadata)
            self._asked = None

    def end(self) -> None:
        """Stop: the answer has come, or is no longer awaited."""
        if self._due is not None:
            self._timer.cancel(self._due)
            self._due = None
        self._forget()

    def __repr__(self) -> str:
        return f"OverdueResponse({self._node})"
