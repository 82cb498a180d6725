"""Waits that are refused, since they would be in vain.

Thread: any application thread.
"""

import threading
from collections.abc import Callable

from prokurist.errors import IllegalStateException
from prokurist.events.waiter import Waiter


def refused_to_holders(
    lock: threading.RLock, wait: Callable[[Waiter, float], bool]
) -> Callable[[Waiter, float], bool]:
    """A way to wait that is refused to a thread that holds a lock.

    The network thread needs that lock. Its holder never waits; a signal handler that has
    interrupted it may try to.
    """

    def checked(waiter: Waiter, until: float) -> bool:
        if lock._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001
            raise IllegalStateException(
                "a signal handler cannot wait here: it has interrupted a send on this very "
                "thread; have it set a flag, and flush or close where that is looked at"
            )
        return wait(waiter, until)

    return checked
