"""Warns of a transaction that is open for long.

Thread: the network thread alone. The time runs from the first request of the transaction, as
its coordinator counts it.
"""

from typing import Final

from prokurist.events.producer_log_events import TRANSACTION_OPEN
from prokurist.events.trace import Trace
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.network_thread.produce.transactions.writes import TransactionWrites

LATE: Final = 0.8
"""The share of `transaction.timeout.ms` from which on a transaction is late."""
LONG: Final = 120.0
"""Seconds from which on a transaction is told of, where its timeout is longer than that."""
REASON: Final = "a transaction that is open for long"


class OpenTransactionWatch:
    """Warns once at each threshold of a transaction's age.

    Args:
        timeout: `transaction.timeout.ms`, in seconds.
        writes: The requests of the present transaction.
        timer: The Timer.
        trace: The client's trace.
    """

    def __init__(
        self, timeout: float, writes: TransactionWrites, timer: Timer, trace: Trace
    ) -> None:
        self._timeout = timeout
        self._writes = writes
        self._timer = timer
        self._trace = trace
        self._ages = tuple(sorted({LATE * timeout, min(LONG, LATE * timeout)}))
        self._since: float | None = None
        self._due: Due | None = None

    def look(self) -> None:
        """Follow the beginning and the end of transactions; cheap in each turn."""
        if self._writes.open_since == self._since:
            return
        self.close()
        self._since = self._writes.open_since
        self._set()

    def close(self) -> None:
        """Stop watching."""
        if self._due is not None:
            self._timer.cancel(self._due)
            self._due = None

    def _set(self) -> None:
        if self._since is None:
            return
        age = self._timer.now - self._since
        coming = next((each for each in self._ages if each > age), None)
        if coming is not None:
            self._due = self._timer.at(self._since + coming, REASON, self._warn)

    def _warn(self) -> None:
        self._due = None
        if self._since is None or self._writes.open_since != self._since:
            return
        self._trace.emit(
            TRANSACTION_OPEN,
            id=self._writes.transactional_id,
            seconds=self._timer.now - self._since,
            timeout=round(self._timeout * 1000),
        )
        self._set()

    def __repr__(self) -> str:
        return f"OpenTransactionWatch({self._writes}, since {self._since})"
