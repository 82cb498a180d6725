"""Waits that are refused, since they would be in vain.

Thread: any application thread.
"""

from collections.abc import Callable

from prokurist.errors import IllegalStateException
from prokurist.events.waiter import Waiter


def refused_to_holders(
    holds: Callable[[], bool], wait: Callable[[Waiter, float], bool]
) -> Callable[[Waiter, float], bool]:
    """A way to wait that is refused to a thread that holds a lock.

    The network thread needs that lock. Its holder never waits; a signal handler that has
    interrupted it may try to.

    Args:
        holds: Whether this thread does.
        wait: How to wait.
    """

    def checked(waiter: Waiter, until: float) -> bool:
        if holds():
            raise IllegalStateException(
                "a signal handler cannot wait here: it has interrupted another call of this "
                "producer on this very thread; have it set a flag, and flush or close where "
                "that is looked at"
            )
        return wait(waiter, until)

    return checked
