"""When the next heartbeat is due: by the interval, or at once because something changed.

Thread: the network thread alone.
"""

from functools import partial

from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.operations.timer import Timer

REASON = "heartbeat interval"


class HeartbeatTimer:
    """Ends a wait when the next heartbeat is due, or when it is pressed.

    One that is pressed while nothing waits ends the next wait at once.
    """

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._pressed = False
        self._ring: Promise[None] | None = None

    def press(self) -> None:
        """Send the next heartbeat now."""
        self._pressed = True
        if self._ring is not None:
            self._ring.keep(None)

    async def until(self, moment: float) -> None:
        """Wait until a moment, unless it is pressed before."""
        while not self._pressed and self._timer.now < moment:
            ring = self._ring = Promise[None]()
            due = self._timer.at(moment, REASON, partial(ring.keep, None))
            try:
                await ring
            finally:
                self._ring = None
                self._timer.cancel(due)
        self._pressed = False

    def __repr__(self) -> str:
        return (
            f"HeartbeatTimer({'pressed' if self._pressed else 'set' if self._ring else 'off'})"
        )
