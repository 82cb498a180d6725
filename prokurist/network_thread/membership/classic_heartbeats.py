"""Heartbeats of a member of a classic group: one in flight, independent of the application.

Thread: the network thread alone. They go on from the answer to JoinGroup until the next
one is asked for: while that is parked the coordinator does not count the time.

An answer that has not come when the session would be over makes the connection suspect,
so that the coordinator is looked up again (B124); until then it may take its time. A
coordinator that cannot write its log answers late, and that it cannot: that is no silence.
"""

from collections.abc import Callable
from typing import Final

from prokurist.errors import AuthenticationException, KafkaException
from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.network_thread.error_actions import Action
from prokurist.network_thread.membership.classic_exchange import (
    ClassicExchange,
    MemberGeneration,
)
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.operations.operation import Operation, Withdrawn

AGAIN = frozenset({Action.RETRY, Action.REDISCOVER, Action.REFRESH})
"""Verdicts that say nothing of the member: it only has to be heard."""

LATE_REFUSALS: Final = 12.0
"""Seconds until a coordinator that cannot write has refused a commit, and a heartbeat behind it
on the connection: each waits there for `offsets.commit.timeout.ms`, 5 s."""


class ClassicHeartbeats:
    """Sends the heartbeats of a classic member.

    Args:
        context: Context of the membership.
        exchange: To speak with.
        interval: `heartbeat.interval.ms`, in seconds.
        session: `session.timeout.ms`, in seconds.
        told: Called with the action that a heartbeat's answer asks for.
        refused: Called with each failed authentication; heartbeats go on.
        failed: Called with a fatal error, after which they stop.

    Attributes:
        answered_at: When the coordinator answered last, one of them or JoinGroup.
    """

    def __init__(
        self,
        context: MembershipContext,
        exchange: ClassicExchange,
        interval: float,
        session: float,
        told: Callable[[Action, KafkaException], None],
        refused: Callable[[AuthenticationException], None],
        failed: Callable[[KafkaException], None],
    ) -> None:
        self._exchange = exchange
        self._timer = context.timer
        self._attempts = context.attempts
        self._request_timeout = context.request_timeout
        self._interval = interval
        self._session = session
        self._told = told
        self._refused = refused
        self._failed = failed
        self._running: Operation[None] | None = None
        self._run = 0
        self._who = MemberGeneration()
        self.answered_at: float = context.timer.now
        # The same, be it with a refusal that says nothing of the member.
        self._heard_at: float = self.answered_at

    def start(self, who: MemberGeneration) -> None:
        """Start, or go on with another generation: the coordinator has just answered."""
        self._who = who
        self.answered_at = self._timer.now
        if self._running is None:
            self._running = Operation(self._beat(self._run), "heartbeats", self._ended)

    def stop(self) -> None:
        """Send no more heartbeats."""
        running, self._running = self._running, None
        # Who hears of an answer may stop them: that run ends when it looks at this.
        self._run += 1
        if running is not None:
            running.throw(Withdrawn("no heartbeats for now"))

    async def _beat(self, run: int) -> None:
        # By hand: it never ends well, and its pauses are intervals between those of failures.
        pause, retries = self._interval, self._attempts.retries()
        while run == self._run:
            await self._timer.sleep(pause, "heartbeat.interval.ms")
            began = self._timer.now
            # A call of its own for each: it has no end, and its ledger would grow.
            call = Call("heartbeat", began, NEVER)
            try:
                said = await self._exchange.beat(call, self._who, self._patience(began))
            except AuthenticationException as error:
                # The broker has refused the connection, not the member: whether that is
                # still counted is the coordinator's to say, once it can be asked again.
                self._refused(error)
                pause = retries.skip()
                continue
            if said.action in AGAIN:
                if said.response is not None:
                    self._heard_at = self._timer.now
                pause = retries.skip()
                continue
            retries.reset()
            self.answered_at = self._timer.now
            # Counted from when it was begun: the way there and back does not add up.
            pause = max(0.0, began + self._interval - self._timer.now)
            if said.error is not None:
                self._told(said.action, said.error)

    def _patience(self, now: float) -> float:
        """Return the time limit of a heartbeat's answer."""
        left = max(self.answered_at, self._heard_at) + self._session - now
        least = self._interval
        if left <= 0 or self._heard_at > self.answered_at:
            # On connections that are closed early, one after the other, nothing is answered.
            least = max(least, min(self._session, LATE_REFUSALS))
        return min(self._request_timeout, max(left, least))

    def _ended(self, _nothing: None, error: KafkaException | None) -> None:
        if error is not None and not isinstance(error, Withdrawn):
            self.stop()
            self._failed(error)

    def __repr__(self) -> str:
        return f"ClassicHeartbeats({'on' if self._running is not None else 'off'})"
