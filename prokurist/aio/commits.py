"""Commits of a consumer that tasks use.

Thread: the event loop's. Callbacks run in the call that reads, and in `close`, one after the
other; a commit that is awaited beside it runs none.
"""

from prokurist.application.driving import Steps
from prokurist.consumer.commit_queue import CommitQueue
from prokurist.events.clock import Deadline


class TaskCommits(CommitQueue):
    """All commits of a consumer that tasks use."""

    operation = "commit"

    def _wait(self, deadline: Deadline) -> Steps[bool]:
        """Wait for the commits that were posted before, and leave their callbacks."""
        for call, _, _ in tuple(self._line):
            if not (yield from self._caller.wait(call, deadline)):
                return False
        return True
