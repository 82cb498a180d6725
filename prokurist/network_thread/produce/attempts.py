"""The ledgers of batches: which requests carried each, and how those ended.

Thread: the network thread alone.
"""

from collections.abc import Sequence
from typing import Final

from prokurist.errors import Attempt, TimeoutException, Wait
from prokurist.events.accumulator.batch import Batch
from prokurist.events.call import Try
from prokurist.events.trace import Trace

MOST_KEPT: Final = 60
"""Attempts of one batch that its ledger shows: the first ones and the last ones."""
KEY: Final = "delivery.timeout.ms"


class RequestLedger:
    """Enters one Produce request into the ledger of each batch in it.

    Args:
        batches: What the request carries.

    Attributes:
        trace: None: requests are not traced one by one.
        number: 0, for the same reason.
    """

    def __init__(self, batches: tuple[Batch, ...]) -> None:
        self.trace: Trace | None = None
        self.number: int = 0
        self._tries: list[tuple[Batch, Try]] = []
        self._batches = batches

    def claim(self, request: str, node: str, now: float, *, effect: bool) -> Try | None:
        """The request is written."""
        for batch in self._batches:
            attempt = Try(request, node, effect, now)
            if len(batch.attempts) >= MOST_KEPT:
                del batch.attempts[spare(batch.attempts)]
            batch.attempts.append(attempt)
            self._tries.append((batch, attempt))
        return Try(request, node, effect, now)

    def ended(
        self,
        _attempt: Try,
        now: float,
        outcome: str,
        _error: BaseException | None = None,
        *,
        undone: bool = False,
    ) -> None:
        """The request was answered, or its connection is gone."""
        for _, attempt in self._tries:
            attempt.ended, attempt.outcome = now, outcome
            attempt.effect = attempt.effect and not undone

    def refused(self, batch: Batch, outcome: str) -> None:
        """The broker has said that it did not append a batch."""
        for each, attempt in self._tries:
            if each is batch:
                attempt.outcome, attempt.effect = outcome, False

    def met(self, batch: Batch, outcome: str) -> None:
        """The broker has answered for a batch with an error, and may have appended it."""
        for each, attempt in self._tries:
            if each is batch:
                attempt.outcome = outcome

    @property
    def was_written(self) -> bool:
        """True if the request was written."""
        return bool(self._tries)


def spare(attempts: Sequence[Try]) -> int:
    """The index of the attempt that a ledger can best do without.

    The first ones and the last ones are shown, and one with an effect is never the only one
    that is left out: `may_have_happened` stays true.
    """
    middle = range(len(attempts) // 2, len(attempts))
    return next((each for each in middle if not attempts[each].effect), middle[0])


def may_have_happened(batch: Batch) -> bool:
    """Return True if a broker may have appended a failed batch."""
    return any(attempt.effect for attempt in batch.attempts)


def out_of_time(
    batch: Batch, now: float, last_error: BaseException | None, waits: Sequence[Wait]
) -> TimeoutException:
    """Return the error of a batch at its `delivery.timeout.ms`."""
    began = batch.created
    return TimeoutException(
        operation="send",
        timeout=batch.deadline - began,
        elapsed=now - began,
        partitions=(batch.tp,) if batch.partition >= 0 else (),
        topic=batch.topic,
        attempts=[
            Attempt(
                each.request,
                each.node,
                each.began - began,
                None if each.ended is None else each.ended - began,
                each.outcome,
            )
            for each in batch.attempts
        ],
        waits=waits,
        last_error=last_error,
        config_key=KEY,
        may_have_happened=may_have_happened(batch),
    )
