"""Commits of a share consumer that tasks use.

Thread: the event loop's. Callbacks run in the call that reads, and in `close`, one after the
other; a commit that is awaited beside it runs none.
"""

from prokurist.application.driving import Steps
from prokurist.share.acknowledging import Acknowledging


class TaskAcknowledging(Acknowledging):
    """All acknowledgements of a consumer that tasks use."""

    def refuse_inside(self, operation: str) -> None:
        """Refuse nothing: a callback may make calls of its own, as any task may."""

    def _hear(self) -> Steps[None]:
        """Leave outcomes with a callback to the call that reads."""
        if self._callback is None:
            yield from self._tell_reports()
