"""A member of the group by the consumer protocol (KIP-848): the coordinator assigns.

Thread: the network thread alone.

One operation sends heartbeats (`ConsumerHeartbeats`), another has partitions change hands
(`Reconciler`). This begins and ends memberships, and handles answers. Heartbeats stop when the
application has not polled for `max.poll.interval.ms`.

- Joining begins with a poll that was asked for. After that the application is needed only
  for its listener's callbacks.
- Fenced (FENCED), the member loses everything in that moment, calls the listener, and joins
  again. Every poll raises a fatal refusal until the user unsubscribes.
- Leaving sends one heartbeat, and waits for no more than its answer.
"""

from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

from prokurist.errors import (
    GroupAuthorizationException,
    KafkaException,
    UnsupportedVersionException,
)
from prokurist.events.application_events import StepDone
from prokurist.events.background_events import BackgroundError
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.cluster import Cluster
from prokurist.events.group_log_events import (
    LEAVE_UNCONFIRMED,
    MEMBER_JOINED,
    MEMBER_STATE_CHANGED,
    REJOIN_IGNORED,
)
from prokurist.events.member_identity import Identity, Role
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import CONSUMER_GROUP_HEARTBEAT, Action
from prokurist.network_thread.membership.consumer_errors import ConsumerErrors
from prokurist.network_thread.membership.consumer_heartbeats import ConsumerHeartbeats
from prokurist.network_thread.membership.consumer_state import (
    COUNTED,
    STANDING,
    MemberState,
    moved,
)
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.membership.heartbeat_terms import HeartbeatTerms
from prokurist.network_thread.membership.patterns import Patterns
from prokurist.network_thread.membership.poll_guard import PollGuard
from prokurist.network_thread.membership.reconciler import Reconciler
from prokurist.network_thread.membership.topic_names import TopicNames
from prokurist.network_thread.operations.operation import Operation, Withdrawn
from prokurist.network_thread.wire.consumer_group import ConsumerGroupHeartbeatAnswer
from prokurist.types import GroupMembershipOperation, MembershipState


def new_id() -> str:
    """A new member id, kept for as long as the client lives."""
    return str(uuid4())


class ConsumerMember:
    """The `Membership` of a member by the consumer protocol.

    Args:
        context: Context of the membership.
        assignor: `group.remote.assignor`.
        internal: True if a `re.Pattern` matches internal topics too.
        member_id: Makes the member's id.
    """

    def __init__(
        self,
        context: MembershipContext,
        *,
        assignor: str | None,
        internal: bool,
        member_id: Callable[[], str] = new_id,
    ) -> None:
        self.state: MemberState = MemberState.OUT
        self.heard_at: float | None = None
        self._context = context
        self._terms = HeartbeatTerms(context, member_id(), assignor)
        self._patterns = Patterns(context.subscription, context.metadata, internal=internal)
        self._guard = PollGuard(
            context.poll_activity,
            context.subscription,
            context.timer,
            context.poll_interval,
            self._has_not_polled,
        )
        self._reconciler = Reconciler(
            context.transitions,
            TopicNames(context.metadata, context.attempts, self._go_on),
            context.timer,
            self._settled,
            self._is_stuck,
        )
        self._refusals = ConsumerErrors(context)
        self._heartbeats = ConsumerHeartbeats(
            context, self._terms, self._patterns, self._reconciler, self._take, self._met
        )
        self._losing: Operation[None] | None = None
        self._term = 0

    # --- what others ask -------------------------------------------------------------

    def polled(self) -> None:
        """See `Membership`."""
        subscribed = self._context.subscription.subscribed
        if subscribed is None:
            return
        if self.state is MemberState.OUT:
            self._term = subscribed.term
            self._join()
        elif self.state is MemberState.STALE:
            self._lose(self._join)
        elif self.state in COUNTED:
            self._heartbeats.look_at_subscription()
            self._go_on()

    @property
    def standing(self) -> MembershipState:
        """See `Membership`; assigned partitions without a known name are pending."""
        if self.state is MemberState.STABLE and self._reconciler.lacks_names:
            return STANDING[MemberState.RECONCILING]
        return STANDING[self.state]

    def step_done(self, done: StepDone) -> None:
        """See `Membership`."""
        self._context.steps.done(done)

    def rejoin(self, reason: str) -> None:
        """See `Membership`: here the coordinator alone decides."""
        self._context.client.trace.emit(REJOIN_IGNORED, reason=reason)

    def commit_refused(self, code: int, departing: bool) -> None:  # noqa: FBT001 - a callback
        """See `Membership`."""
        leaving = departing or self._context.subscription.is_leaving
        if self._context.instance_id is not None and not leaving:
            # Whether another has its name, which is the end, only a heartbeat is told.
            self._heartbeats.press()
        else:
            self._put_out(CONSUMER_GROUP_HEARTBEAT.error(code), leaving=leaving)

    def on_metadata(self, _cluster: Cluster) -> None:
        """See `Membership`."""
        if self.state in COUNTED:
            self._heartbeats.look_at_subscription()
            self._go_on()

    def close(self) -> None:
        """See `Membership`."""
        self._stop()

    def leave(self, call: Call, how: GroupMembershipOperation) -> Coroutine[Any, Any, None]:
        """See `Membership`."""
        # At once, and not in the operation's first step: of a call that has ended while
        # its event lay in the mailbox no step is made, and we have to be out all the same.
        counts = self.state in COUNTED or self.state is MemberState.FATAL
        is_known = self._heartbeats.is_known and counts
        self._stop()
        self._move(MemberState.OUT)
        self._context.member_identity.alone()
        remains = how is GroupMembershipOperation.REMAIN_IN_GROUP
        is_told = is_known and (self._context.instance_id is not None or not remains)
        for_good = how is GroupMembershipOperation.LEAVE_GROUP
        return self._say_farewell(call, is_told=is_told, for_good=for_good)

    # --- joining and being put out ---------------------------------------------------

    def _join(self) -> None:
        self._move(MemberState.JOINING)
        self._context.member_identity.put_out()
        self._refusals.begin()
        self._reconciler.begin(self._term)
        self._guard.start()
        self._heartbeats.start()

    def _stop(self) -> None:
        """Stop all that is under way."""
        self._context.member_identity.rebalances.fail()
        self._guard.stop()
        self._heartbeats.stop()
        if self._losing is not None:
            self._losing.throw(Withdrawn("the membership is over"))
        self._losing = self.heard_at = None
        self._reconciler.stop()
        self._patterns.stop()

    def _put_out(self, why: KafkaException, *, leaving: bool) -> None:
        """End a membership that the coordinator has ended, and join again unless we leave."""
        self._context.tell_removed(self._terms.member_id, why, leaving=leaving)
        if leaving:
            self._end(MemberState.STALE)
        else:
            self._end(MemberState.FENCED)
            self._lose(self._join)

    def _fail(self, why: KafkaException) -> None:
        # A member that has lost the right to its group is in it still, and may have the right
        # again by the time the application leaves.
        self._heartbeats.is_known = self._heartbeats.epoch > 0 and isinstance(
            why, GroupAuthorizationException
        )
        self._end(MemberState.FATAL)
        self._context.background.fail(why)
        self._lose(lambda: None)

    def _has_not_polled(self, seconds: float) -> None:
        self._context.tell_missed(seconds)
        self._end(MemberState.STALE)
        self._context.subscription.lose(self._term)
        now = self._context.timer.now
        call = Call("leave", now, Deadline.after(now, self._context.request_timeout))
        self._context.calls.start(call, self._say_farewell(call, is_told=True, for_good=False))
        self._context.ask_for_poll()

    def _end(self, state: MemberState) -> None:
        """End the identity: other members may own the partitions from now on."""
        self._stop()
        self._move(state)
        self._context.member_identity.put_out()

    def _lose(self, then: Callable[[], None]) -> None:
        """Lose all partitions, tell the listener, and go on."""
        if self._losing is not None:
            return

        def ended(_nothing: None, error: KafkaException | None) -> None:
            self._losing = None
            if error is None:
                then()

        losing = Operation(self._context.transitions.lose(self._term), "losing", ended)
        self._losing = None if losing.ended else losing

    async def _say_farewell(self, call: Call, *, is_told: bool, for_good: bool) -> None:
        """Send the leaving heartbeat, once, without regard to its answer."""
        if not is_told:
            return
        context = self._context
        request = self._terms.farewell(for_good=for_good)
        try:
            node = await context.coordinator.find(call, last=True)
            await context.client.send(
                node, request, call=call, lane=Lane.COORDINATOR, effect=True
            )
        except Withdrawn:
            raise
        except KafkaException as error:
            context.client.trace.emit(LEAVE_UNCONFIRMED, group=context.group_id, error=error)

    # --- what is owned ---------------------------------------------------------------

    def _go_on(self) -> None:
        """Let the reconciler go on, if it has anything to do."""
        self._reconciler.go_on()
        self._note_work()

    def _settled(self, changed: bool) -> None:  # noqa: FBT001 - a callback's only word
        self._note_work()
        self._tell_owned(owes=changed)

    def _is_stuck(self, changed: bool) -> None:  # noqa: FBT001 - the same
        self._context.ask_for_poll()
        self._tell_owned(owes=changed)

    def _tell_owned(self, *, owes: bool) -> None:
        """Send owned partitions, unless the coordinator knows them."""
        if owes:
            self._terms.owe()
        if self.state in COUNTED and not self._terms.has_said(self._reconciler.owned()):
            self._heartbeats.press()

    def _note_work(self) -> None:
        if self.state in (MemberState.STABLE, MemberState.RECONCILING):
            working = self._reconciler.is_working
            if not working:
                self._context.member_identity.rebalances.end(self._context.timer.now)
            to = MemberState.RECONCILING if working else MemberState.STABLE
            if to is not self.state:
                self._move(to)

    # --- answers to heartbeats -------------------------------------------------------

    def _met(self, error: KafkaException) -> Action:
        """Choose the action for an error of a heartbeat without an answer."""
        self._terms.forget()
        if isinstance(error, UnsupportedVersionException | GroupAuthorizationException):
            self._fail(self._refusals.unspoken(error))
            return Action.FATAL
        if not error.retriable:
            # Credentials, say, which may be mended while we go on.
            self._context.background.post(BackgroundError(error))
        return Action.RETRY

    def _take(self, answer: Answer[ConsumerGroupHeartbeatAnswer]) -> Action:
        """Apply the answer to a heartbeat."""
        response, context = answer.response, self._context
        action = CONSUMER_GROUP_HEARTBEAT.of(response.error)
        joins = self.state is MemberState.JOINING
        if action is Action.DONE:
            context.coordinator.served(answer.node, wrote=joins, beat=not joins)
            self._accepted(response)
            return action
        self._terms.forget()
        error = self._refusals.explained(response.error, response.message)
        if action is Action.REDISCOVER:
            context.coordinator.forget(answer.node, error, beat=not joins)
            return action
        context.coordinator.served(answer.node)
        if action is Action.SURFACE:
            context.background.post(BackgroundError(error))
        elif action is Action.UNRELEASED and self._refusals.is_worth_waiting(error):
            return Action.RETRY
        elif action is Action.REJOIN:
            if self.state is MemberState.JOINING:
                return Action.RETRY  # It was not in yet, and asks again after a pause.
            self._put_out(error, leaving=context.subscription.is_leaving)
        elif action in (Action.FATAL, Action.UNRELEASED):
            self._fail(error)
            return Action.FATAL
        elif action is Action.REFRESH:
            context.metadata.request_update()
        return action

    def _accepted(self, response: ConsumerGroupHeartbeatAnswer) -> None:
        self._terms.answered()
        self._refusals.begin()
        self.heard_at = self._context.timer.now
        if response.member_id:
            self._terms.member_id = response.member_id
        self._heartbeats.epoch = response.member_epoch
        if response.heartbeat_interval > 0:
            self._heartbeats.interval = response.heartbeat_interval
        self._context.member_identity.counted(
            Identity(
                Role.MEMBER,
                self._terms.member_id,
                self._heartbeats.epoch,
                self._context.instance_id,
                by_epoch=True,
            )
        )
        if self.state is MemberState.JOINING:
            self._move(MemberState.STABLE)
            self._context.client.trace.emit(
                MEMBER_JOINED, member=self._terms.member_id, generation=self._heartbeats.epoch
            )
        if response.assignment is not None:
            self._context.member_identity.rebalances.begin(self._context.timer.now)
            self._reconciler.aim(response.assignment)
            self._note_work()

    def _move(self, to: MemberState) -> None:
        was, self.state = self.state, moved(self.state, to)
        self._context.client.trace.emit(MEMBER_STATE_CHANGED, was=was.value, state=to.value)

    def __repr__(self) -> str:
        epoch = self._heartbeats.epoch
        return f"ConsumerMember({self.state.value}, epoch {epoch}, {self._reconciler})"
