"""Heartbeats of a member by the consumer protocol: one at a time, when due or at once.

Thread: the network thread alone. They are due when the coordinator's interval is over, counted
from the last sending, and at once when there are changes. They are independent of the
application; the member handles the answers.
"""

from collections.abc import Callable
from typing import Final

from prokurist.errors import KafkaException
from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.events.group_assignment import Subscribed
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import Action
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.membership.heartbeat_terms import HeartbeatTerms
from prokurist.network_thread.membership.heartbeat_timer import HeartbeatTimer
from prokurist.network_thread.membership.patterns import Patterns
from prokurist.network_thread.membership.prewarm import look_ahead
from prokurist.network_thread.membership.reconciler import Reconciler
from prokurist.network_thread.operations.operation import Operation, Withdrawn
from prokurist.network_thread.operations.rounds import Rounds
from prokurist.network_thread.wire.consumer_group import ConsumerGroupHeartbeatAnswer

INTERVAL: Final = 5.0
"""Seconds between two heartbeats as long as no coordinator has named any."""

OVER: Final = frozenset({Action.REJOIN, Action.FATAL})
"""Actions that end the heartbeats of a membership. The next one has heartbeats of its own."""


class ConsumerHeartbeats:
    """Sends the heartbeats of a member by the consumer protocol.

    Args:
        context: Context of the membership.
        terms: Builds their fields.
        patterns: The topics that match the pattern.
        reconciler: The owned partitions.
        take: Called with each answer; returns the action.
        met: The same for an error without an answer.

    Attributes:
        epoch: The member's, sent in each of them.
        interval: Seconds between two of them.
        is_known: True if the coordinator may know the member.
    """

    def __init__(
        self,
        context: MembershipContext,
        terms: HeartbeatTerms,
        patterns: Patterns,
        reconciler: Reconciler,
        take: Callable[[Answer[ConsumerGroupHeartbeatAnswer]], Action],
        met: Callable[[KafkaException], Action],
    ) -> None:
        self._context = context
        self._terms = terms
        self._patterns = patterns
        self._reconciler = reconciler
        self._take = take
        self._met = met
        self._alarm = HeartbeatTimer(context.timer)
        self._running: Operation[None] | None = None
        self._version = 0
        self._told: Subscribed | None = None
        self.epoch: int = 0
        self.interval: float = INTERVAL
        self.is_known: bool = False

    def start(self) -> None:
        """Start with that of a member that joins."""
        self.epoch = 0
        self.is_known = False
        self._told = None
        self._terms.forget()
        running = Operation(self._send_heartbeats(), "heartbeats", self._ended)
        self._running = None if running.ended else running

    def stop(self) -> None:
        """Send no more heartbeats."""
        if self._running is not None:
            self._running.throw(Withdrawn("the membership is over"))
        self._running = None

    def press(self) -> None:
        """Send the next one now."""
        self._alarm.press()

    def look_at_subscription(self) -> None:
        """Send the next one now if something else is subscribed to than was told."""
        known = self._patterns.seek()
        subscribed = self._context.subscription.subscribed
        if known and subscribed is not None and subscribed.version != self._version:
            self._alarm.press()

    async def _send_heartbeats(self) -> None:
        # By hand: it never ends well, and answers bring the next heartbeat and its reason.
        context = self._context
        due = context.timer.now
        retries = context.attempts.retries(reason="heartbeat backoff")
        rounds = Rounds(context.timer, "heartbeats")
        while True:
            rounds.count()
            await self._alarm.until(due)
            began, action = await self._heartbeat()
            if action in (Action.DONE, Action.SURFACE):
                retries.reset()
                due = began + self.interval
                continue
            if action in OVER:
                return
            if action is Action.REDISCOVER and not retries.count:
                retries.skip()
            else:
                await retries.pause()
            due = context.timer.now

    async def _heartbeat(self) -> tuple[float, Action]:
        """Send a heartbeat; return the time of sending, and the action by the answer."""
        context = self._context
        call = Call("heartbeat", context.timer.now, NEVER)
        try:
            is_first = self._told is None
            if is_first:
                await self._patterns.found(call)
            node = await context.coordinator.find(call)
            if is_first:
                look_ahead(context, node)
        except Withdrawn:
            raise
        except KafkaException as error:
            return context.timer.now, self._met(error)
        subscribed = context.subscription.subscribed
        if subscribed is None:
            raise Withdrawn("unsubscribed")
        if self._told is not None and not self._patterns.seek():
            # No wait for topics that another pattern matches: until they are known
            # the member is what it was.
            subscribed = self._told
        self._told = subscribed
        if self._version != subscribed.version:
            self._version = subscribed.version
            # The next poll raises a topic's error, regardless of what is assigned.
            context.metadata.request_update()
        owned, listed = self._reconciler.owned(), self._reconciler.owned_or_coming()
        request = self._terms.request(self.epoch, subscribed, owned, listed)
        self.is_known = True
        try:
            answer = await context.client.send(
                node, request, call=call, lane=Lane.COORDINATOR, effect=True
            )
        except Withdrawn:
            raise
        except KafkaException as error:
            context.coordinator.forget(node, error)
            return context.timer.now, self._met(error)
        began = context.timer.now if answer.attempt is None else answer.attempt.began
        return began, self._take(answer)

    def _ended(self, _nothing: None, error: KafkaException | None) -> None:
        if error is not None and not isinstance(error, Withdrawn):
            raise AssertionError("heartbeats handle their own errors") from error

    def __repr__(self) -> str:
        state = "on" if self._running is not None else "off"
        return f"ConsumerHeartbeats({state}, epoch {self.epoch})"
