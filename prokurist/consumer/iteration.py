"""Records one by one: `for record in consumer`.

Thread: the application's. A part of `KafkaConsumer`. Each step of an iteration is a
call of its own, so that between two records every other call may be made.

A record counts as returned when the next one is asked for, by the same iteration, by
another or by a poll. So a commit in the loop's body does not cover the record that
is being worked on.

Each step shows life, as a poll does (`PollGuard` looks which record is in hand), and one
that the group or a callback waits for is a poll: a rebalance does not wait until all
that was lent is processed.
"""

import math
from collections.abc import Iterator
from datetime import timedelta

from prokurist.consumer.polling import Polling
from prokurist.events.clock import as_seconds
from prokurist.records.consumer_records import ConsumerRecord


class Iteration(Polling):
    """The part of `KafkaConsumer` that iterates over records."""

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return self.records()

    def records(
        self, idle_timeout: float | timedelta | None = None
    ) -> Iterator[ConsumerRecord]:
        """Iterate over records, each as soon as it has been fetched.

        The iteration raises what `poll` raises; it can be gone on with by another.

        Args:
            idle_timeout: Seconds without a record after which it ends; None for never.
        """
        return self._records(math.inf if idle_timeout is None else as_seconds(idle_timeout))

    def _records(self, idle: float) -> Iterator[ConsumerRecord]:
        caller, collector, poll_activity = self._caller, self._collector, self._poll_activity
        auto = self._auto if self._auto.is_on else None
        inside = caller.inside("records")
        enter, leave, hand_out = inside.enter, inside.leave, self._subscription.hand_out
        while True:
            with inside:
                call = caller.call("records", idle)
                records = self._await_records(call, collector.lend)
                mine = collector.lent
                if records is None or mine is None:
                    return
                records = self._interceptors.on_consume(records)
            chunk = mine.taken.chunk
            tp, ticket = chunk.partition, chunk.ticket
            for record in records:
                # The price of a record: no call that can be done without, and no `with`.
                enter()
                try:
                    if collector.lent is not mine:
                        break
                    if (
                        caller.woken
                        or poll_activity.wanted
                        or (auto is not None and auto.is_due)
                    ):
                        # Before the next one is returned: asking for it means that the
                        # last one was processed.
                        collector.count()
                        caller.raise_if_woken()  # The next iteration goes on from here.
                        if poll_activity.wanted:
                            break
                        self._auto.when_due()
                    if not hand_out(tp, ticket, record):
                        break
                    mine.last = record
                finally:
                    leave()
                yield record
            else:
                with inside:
                    if collector.lent is mine:
                        collector.finish()
