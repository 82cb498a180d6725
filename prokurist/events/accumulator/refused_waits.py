"""Waits that are refused, since they would be in vain.

Thread: any application thread.
"""

import threading
from collections.abc import Callable
from typing import Any

from prokurist.errors import IllegalStateException
from prokurist.events.mailbox import Mailbox
from prokurist.events.waiter import Waiter


def refused_to_holders(
    lock: threading.RLock, mailbox: Mailbox[Any], wait: Callable[[Waiter, float], bool]
) -> Callable[[Waiter, float], bool]:
    """Make a way to wait that is refused to a thread that holds a lock.

    The network thread needs that lock. Its holder never waits; a signal handler that has
    interrupted it may try to.

    Args:
        lock: That of the appender.
        mailbox: The network thread's, which has another one.
        wait: How to wait.
    """

    def checked(waiter: Waiter, until: float) -> bool:
        owned: bool = lock._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001
        if owned or mailbox.is_held_here:
            raise IllegalStateException(
                "a signal handler cannot wait here: it has interrupted another call of this "
                "producer on this very thread; have it set a flag, and flush or close where "
                "that is looked at"
            )
        return wait(waiter, until)

    return checked
