"""What is counted of commits, and which look-ups wait for an open transaction.

Thread: the network thread writes, any reads; see `events.counter_types`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prokurist.errors import KafkaException
from prokurist.events.counter_types import Family
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.types import TopicPartition


class CommitResults:
    """The commits of one kind.

    Attributes:
        done: How many the coordinator has taken.
        failed: How many it has refused, or could not be asked.
        timed_out: How many had not ended when their time was over.
    """

    __slots__ = ("done", "failed", "timed_out")

    def __init__(self) -> None:
        self.done: int = 0
        self.failed: int = 0
        self.timed_out: int = 0


class CommitCounters:
    """Commits, and partitions whose committed offsets are not settled yet.

    Attributes:
        kinds: By `sync`, `async` and `auto`.
        done_at: When the coordinator took the last one; None before the first.
        unsettled: Looked-up partitions with offset commits in an open transaction.
    """

    __slots__ = ("done_at", "kinds", "unsettled")

    def __init__(self) -> None:
        self.kinds: Family[CommitResults] = Family(CommitResults)
        self.done_at: float | None = None
        self.unsettled: frozenset[TopicPartition] = frozenset()

    @contextmanager
    def counted(self, kind: str, now: Callable[[], float]) -> Iterator[None]:
        """Count a commit by its result.

        Args:
            kind: `sync`, `async` or `auto`.
            now: The clock.
        """
        results = self.kinds.of(kind)
        try:
            yield
        except Withdrawn:
            results.timed_out += 1
            raise
        except KafkaException:
            results.failed += 1
            raise
        results.done += 1
        self.done_at = now()
