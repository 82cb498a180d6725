"""A bound on the rounds that a loop makes in one turn: it dies loudly, and does not spin.

Thread: the network thread alone. A loop of an operation waits in each round, or it takes
something from what is finite. Where the wait may be over at once, as when nothing needs to be
asked, only reasoning says that it ends: that is what this counts.
"""

from typing import Final

from prokurist.network_thread.operations.timer import Timer

MOST_ROUNDS: Final = 100_000
"""In one turn: more than a client has partitions, and a second of the processor."""


class Rounds:
    """The rounds of one loop.

    Args:
        timer: Tells the turns apart, by their time.
        what: The loop's work, for the error.
    """

    __slots__ = ("_at", "_left", "_timer", "_what")

    def __init__(self, timer: Timer, what: str) -> None:
        self._timer = timer
        self._what = what
        self._at = timer.now
        self._left = MOST_ROUNDS

    def count(self) -> None:
        """Count a round; a bug of ours, which ends the thread, where there are too many."""
        if self._timer.now != self._at:
            self._at, self._left = self._timer.now, MOST_ROUNDS
        self._left -= 1
        if self._left < 0:
            raise AssertionError(f"{self._what} went round {MOST_ROUNDS} times without a wait")

    def __repr__(self) -> str:
        return f"Rounds({self._what}, {MOST_ROUNDS - self._left} in this turn)"
