"""A value that is not there yet, since another thread fetches what it needs.

A deserializer with a method `deserialize_now` raises it instead of a wait: the record stays
where it is, records of other partitions are returned, and the poll waits for the work's end no
longer than for its own deadline.

Thread: raised by the application's; the work ends on any.
"""

from collections.abc import Callable
from typing import Protocol

from prokurist.events.clock import Deadline


class Work(Protocol):
    """Work under way.

    Attributes:
        until: When its time is over.
    """

    @property
    def until(self) -> Deadline:
        """When its time is over."""
        ...

    def when_over(self, tell: Callable[[], object]) -> None:
        """Have a function called at its end, from any thread; at once if it has ended."""
        ...


class Pending(Exception):
    """A deserializer waits for work on another thread.

    Args:
        work: The work.
    """

    def __init__(self, work: Work) -> None:
        super().__init__(f"{work} is under way")
        self.work = work
