"""Records one by one: `next`, and `for record in consumer`.

Thread: the application's. A part of `KafkaConsumer`. Each step is a call of its own, so that
between two records every other call may be made.

A record counts as returned when the next one is asked for, by the same iteration, by
another or by a poll. So a commit in the loop's body does not cover the record that
is being worked on.

Each step shows life, as a poll does (`PollGuard` looks at the record in hand), and a step that
waits is a poll: a rebalance, or a callback, does not wait for the end of the lent records.

Most steps are quick: the next of the records that were lent is handed out without coming in, as
nothing has happened since the last slow step (`events/hand.py`).
"""

from functools import partial
from typing import TYPE_CHECKING

from prokurist.application.driving import Steps
from prokurist.consumer.fetch_collector import Lent
from prokurist.consumer.polling import Polling
from prokurist.events.hand import Hand, Handed

if TYPE_CHECKING:
    from prokurist.records.consumer_records import ConsumerRecord


class Iteration(Polling):
    """The part of `KafkaConsumer` that iterates over records."""

    _hand: Hand

    def _next(self, operation: str, seconds: float) -> "Steps[ConsumerRecord | None]":
        """Make a slow step, with all checks and a wait.

        Raises:
            KafkaException: As `poll`.
        """
        record = yield from self._following()
        call = None
        while record is None:
            call = self._caller.call(operation, seconds) if call is None else call.again()
            lend = partial(self._collector.lend, partial(self._received, call))
            lent = yield from self._await_records(call, lend)
            if lent is None:
                return None
            self._hand = lent.hand
            record = yield from self._following()
        return record

    def _following(self) -> "Steps[ConsumerRecord | None]":
        """Hand out the next lent record; None where that takes a poll."""
        lent = self._collector.lent
        if lent is None:
            return None
        caller, activity, auto = self._caller, self._poll_activity, self._auto
        if caller.woken or activity.wanted or auto.is_due or self._events.is_due:
            # Before the next one is the user's: he has asked for it, and so has done with
            # the last.
            self._collector.count()
            caller.raise_if_woken()  # The next step goes on from here.
            if activity.wanted or self._events.is_due:
                return None
            yield from auto.when_due()
        given = lent.hand.given
        try:
            record = lent.hand.take()
            if record is None:
                self._collector.finish()
                return None
            return record if self._hand_out(lent, record) else None
        except Exception:
            raise
        except BaseException:
            if lent.hand.given != given:
                lent.hand.take_back()
            raise

    def _hand_out(self, lent: Lent, record: Handed) -> bool:
        chunk = lent.taken.chunk
        lent.hand.due = min(self._auto.due, self._events.due)
        if not self._fetching.hand_out(chunk.partition, chunk.ticket, record, lent.hand):
            return False
        if self._caller.woken or self._poll_activity.wanted:
            # It came before quick steps were allowed, and so has not ended them.
            self._caller.steady.off()
        return True
