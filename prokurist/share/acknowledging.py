"""Commits of a share consumer, and the callbacks that hear of acknowledgements.

Thread: the application's, inside a call.
"""

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Run, Steps
from prokurist.errors import (
    AcknowledgeException,
    AcknowledgeTimeoutException,
    IllegalStateException,
    KafkaException,
    TimeoutException,
)
from prokurist.events.application_events import Acknowledgements
from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.events.lent.lent import Lent
from prokurist.events.lent.outcome import AcknowledgeOutcome
from prokurist.events.share_log_events import ACKNOWLEDGE_CALLBACK_RAISED
from prokurist.types import TopicPartition

Offsets: TypeAlias = dict[TopicPartition, tuple[int, ...]]
AcknowledgeCallback: TypeAlias = Callable[[Offsets, KafkaException | None], object]


class Acknowledging:
    """Sends marks, and tells their outcomes.

    Args:
        caller: The way to the network thread.
        lent: What is lent.
        callback: `on_acknowledged`.
        implicit: True if returned records without a mark are accepted.
    """

    def __init__(
        self,
        caller: CallRunner,
        lent: Lent,
        callback: AcknowledgeCallback | None,
        *,
        implicit: bool,
    ) -> None:
        self._caller = caller
        self._lent = lent
        self._callback = callback
        self._implicit = implicit
        self._under_way: deque[tuple[Call, AcknowledgeOutcome, AcknowledgeCallback | None]] = (
            deque()
        )
        self._earlier = AcknowledgeOutcome()
        self._calling = False

    def refuse_inside(self, operation: str) -> None:
        """Refuse a call of a callback's.

        Raises:
            IllegalStateException: A callback is being called.
        """
        if self._calling:
            raise IllegalStateException(
                f"{operation} inside the callback of an acknowledgement: make the call when "
                f"poll or commit_sync has returned"
            )

    def settle_returned(self) -> bool:
        """Accept returned records without a mark, in the implicit mode.

        Returns:
            True if marks are to be sent.

        Raises:
            IllegalStateException: In the explicit mode a record has no mark.
        """
        if self._implicit:
            return self._lent.accept_returned()
        unmarked = self._lent.unmarked()
        if unmarked is not None:
            tp, offset, count = unmarked
            raise IllegalStateException(
                f"poll while {count} returned records have no mark, the first {tp} @ {offset}: "
                f"with share.acknowledgement.mode=explicit accept, release, reject or renew "
                f"each of them before"
            )
        return self._lent.forget_lost()

    def commit_sync(self, call: Call) -> Steps[Offsets]:
        """Send all marks, and wait for their outcomes.

        Raises:
            AcknowledgeException: Some were refused, or lost.
            AcknowledgeTimeoutException: The time is over.
        """
        self._before()
        outcome = AcknowledgeOutcome()
        try:
            yield from self._caller.ask(call, Acknowledgements(call, outcome))
        except BaseException as ended:
            # What comes from now on is told by the next call.
            outcome.leave()
            if isinstance(ended, TimeoutException) and call.timed_out:
                raise timed_out(ended, outcome) from ended.last_error
            if outcome:
                self._lent.report(outcome)
            raise
        yield from self._hear()
        earlier, self._earlier = self._earlier, AcknowledgeOutcome()
        for tp, (offsets, error) in outcome.refused.items():
            earlier.refuse(tp, offsets, error, unknown=outcome.may_have_happened)
        if earlier:
            raise AcknowledgeException(
                refused=earlier.refused,
                done=outcome.done,
                may_have_happened=earlier.may_have_happened,
            )
        return outcome.done

    def commit_async(self, callback: AcknowledgeCallback | None) -> None:
        """Send all marks; the callback hears of them in a later call."""
        self._before()
        call = Call("commit_async", self._caller.now(), NEVER, trace=self._caller.tracing)
        outcome = AcknowledgeOutcome()
        self._under_way.append((call, outcome, callback))
        self._caller.post(Acknowledgements(call, outcome, by_itself=True))

    def _before(self) -> None:
        if self._implicit:
            self._lent.accept_returned()

    # --- callbacks ---------------------------------------------------------------------

    def run_callbacks(self) -> Steps[None]:
        """Tell the outcomes of acknowledgements that no call has waited for, in order."""
        while self._under_way and not self._under_way[0][0].is_open:
            _, outcome, callback = self._under_way.popleft()
            yield from self._tell(outcome, callback or self._callback)
        yield from self._tell_reports()

    def _tell_reports(self) -> Steps[None]:
        for outcome in self._lent.take_reports():
            yield from self._tell(outcome, self._callback)

    def _hear(self) -> Steps[None]:
        """Hear of earlier acknowledgements in a commit."""
        yield from self.run_callbacks()

    def _tell(
        self, outcome: AcknowledgeOutcome, callback: AcknowledgeCallback | None
    ) -> Steps[None]:
        done, refused = outcome.done, outcome.refused
        if callback is None:
            for tp, (offsets, error) in refused.items():
                self._earlier.refuse(tp, offsets, error, unknown=outcome.may_have_happened)
            return
        if done:
            yield from self._call(callback, done, None)
        for tp, (offsets, error) in refused.items():
            yield from self._call(callback, {tp: offsets}, error)

    def _call(
        self, callback: AcknowledgeCallback, offsets: Offsets, error: KafkaException | None
    ) -> Steps[None]:
        self._calling = True
        try:
            yield Run(callback, offsets, error)
        except Exception as raised:  # noqa: BLE001 - the user's own; it is logged
            self._caller.trace.emit(ACKNOWLEDGE_CALLBACK_RAISED, error=raised)
        finally:
            self._calling = False

    def __repr__(self) -> str:
        return f"Acknowledging({len(self._under_way)} under way)"


def timed_out(late: TimeoutException, outcome: AcknowledgeOutcome) -> KafkaException:
    """The error of a commit whose time is over, with what was taken until then."""
    return AcknowledgeTimeoutException(
        str(late),
        refused=outcome.refused,
        done=outcome.done,
        operation=late.operation,
        timeout=late.timeout,
        elapsed=late.elapsed,
        attempts=late.attempts,
        waits=late.waits,
        last_error=late.last_error,
        config_key=late.config_key,
        may_have_happened=late.may_have_happened,
    )
