"""Member of a classic group: the beginnings of rounds, and the ends of its membership.

Thread: the network thread alone.

A round begins when a poll asks for it, since the application may have to give up partitions in
work; then it goes on in the background, independent of the application, and so do heartbeats.
Reasons for the next one are kept until then:

- the group has begun one, or the user wants one;
- the subscription has changed, or the matches of a pattern, or, for the leader, a number of
  partitions.

A membership ends by `leave`, because the application does not poll any more, because the
coordinator has removed the member, or because it refuses it for good. In each case no record
read before is returned from that moment on. Only in the third does a round begin at once:
everything is lost already, and nothing is left to wait for.
"""

from collections.abc import Coroutine, Sequence
from typing import Any

from prokurist.errors import (
    AuthenticationException,
    FencedInstanceIdException,
    GroupAuthorizationException,
    KafkaException,
)
from prokurist.events.background_events import BackgroundError
from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.events.cluster import Cluster
from prokurist.events.group_log_events import (
    CONSUMER_PROTOCOL_AVAILABLE,
    LEAVE_UNCONFIRMED,
    MEMBER_JOINED,
    MEMBER_STATE_CHANGED,
    REBALANCE_STARTED,
)
from prokurist.events.member_identity import Identity, Role
from prokurist.network_thread.error_actions import Action
from prokurist.network_thread.membership.classic.assignors import ClassicAssignors
from prokurist.network_thread.membership.classic.exchange import (
    ClassicExchange,
    MemberGeneration,
)
from prokurist.network_thread.membership.classic.heartbeats import ClassicHeartbeats
from prokurist.network_thread.membership.classic.round import ClassicRound
from prokurist.network_thread.membership.classic.state import (
    IN_A_ROUND,
    STANDING,
    ClassicState,
    transition,
)
from prokurist.network_thread.membership.classic.topics import ClassicTopics
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.operations.operation import Operation, Withdrawn
from prokurist.types import GroupMembershipOperation, MembershipState


class ClassicMember:
    """The `Membership` of a member of a classic group.

    Args:
        context: Context of the membership.
        assignors: `partition.assignment.strategy`.
        session: `session.timeout.ms`, in seconds.
        interval: `heartbeat.interval.ms`, in seconds.
        internal: True if patterns match internal topics too.

    Attributes:
        who: Who we are to the coordinator.
        state: Where the member stands.
    """

    def __init__(
        self,
        context: MembershipContext,
        assignors: Sequence[str | object],
        *,
        session: float,
        interval: float,
        internal: bool,
    ) -> None:
        self.who: MemberGeneration = MemberGeneration()
        self.state: ClassicState = ClassicState.OUT
        self._context = context
        self._exchange = ClassicExchange(context, session)
        self._topics = ClassicTopics(context.assigned, context.metadata, internal=internal)
        self._heartbeats = ClassicHeartbeats(
            context,
            self._exchange,
            interval,
            session,
            self._told,
            self._refused,
            self._failed,
        )
        self._guard = context.guard_polls(self._missed)
        self._round = ClassicRound(
            self,
            context,
            self._exchange,
            ClassicAssignors(assignors, context.steps),
            self._topics,
        )
        self._running: Operation[None] | None = None
        self._leaving: Operation[None] | None = None
        self._due: str | None = None
        self._lost = False
        self._hinted = False
        context.client.features.changed.connect(self._on_features)

    # --- what is asked of it: see `Membership` -----------------------------------------

    def polled(self) -> None:
        """See `Membership`."""
        subscribed = self._context.assigned.subscribed
        if subscribed is None:
            return
        if self.state is ClassicState.OUT:
            self.move(ClassicState.WAITING)
            self._due = "the member is new"
        if self.state is ClassicState.WAITING:
            self._guard.start()
            self._begin(self._due or "the member has left, and polls again")
        elif self.state is ClassicState.STABLE and (why := self._why()) is not None:
            self._begin(why)

    @property
    def heard_at(self) -> float | None:
        """See `Membership`."""
        counted = self._context.member_identity.identity.is_counted
        return self._heartbeats.answered_at if counted else None

    @property
    def standing(self) -> MembershipState:
        """See `Membership`."""
        standing = STANDING.get(self.state)
        if standing is not None:
            return standing
        if self._context.member_identity.identity.is_counted:
            return MembershipState.RECONCILING
        owns = bool(self._context.assigned.owned())
        return MembershipState.FENCED if owns else MembershipState.JOINING

    def rejoin(self, reason: str) -> None:
        """See `Membership`."""
        if self.state is not ClassicState.OUT:
            self._want(reason)

    def commit_refused(self, code: int, departing: bool) -> None:  # noqa: FBT001 - a callback
        """See `Membership`."""
        action, error = self._exchange.judged_as_heartbeat(code)
        leaving = departing or self._context.assigned.is_leaving
        if leaving and action is not Action.ROUND:
            self._put_out_leaving(error)
        elif action is Action.FATAL:
            self._failed(error)
        else:
            self._told(action, error)

    def on_metadata(self, _cluster: Cluster) -> None:
        """See `Membership`."""
        if self.state is ClassicState.STABLE and (why := self._why()) is not None:
            self._want(why)

    def leave(self, call: Call, how: GroupMembershipOperation) -> Coroutine[Any, Any, None]:
        """See `Membership`."""
        # At once, and not in the operation's first step: of a call that has ended while
        # its event lay in the mailbox no step is made, and we have to be out all the same.
        self._guard.stop()
        who = self._end(ClassicState.OUT)
        self._topics.stop()
        self._context.member_identity.alone()
        self._due, self._lost = None, False
        told = how is not GroupMembershipOperation.REMAIN_IN_GROUP
        if how is GroupMembershipOperation.DEFAULT:
            told = self._context.instance_id is None
        return self._say_goodbye(
            call, who if told else MemberGeneration(), "the consumer leaves"
        )

    def close(self) -> None:
        """See `Membership`."""
        self._guard.stop()
        self._end(ClassicState.OUT)
        self._topics.stop()
        self._stop_leaving("the client is closing")

    def _on_features(self) -> None:
        """Emit once that the consumer protocol is available."""
        if self._context.client.features.consumer_protocol and not self._hinted:
            self._hinted = True
            trace = self._context.client.trace
            trace.emit(CONSUMER_PROTOCOL_AVAILABLE, group=self._context.group_id)

    # --- rounds ------------------------------------------------------------------------

    def _why(self) -> str | None:
        """Return the reason to rejoin; None without one."""
        return self._due or self._topics.news(self._round.joined_as)

    def _want(self, reason: str) -> None:
        """Have the next poll, or one that waits, begin a round."""
        self._due = self._due or reason
        if self.state in (ClassicState.STABLE, ClassicState.WAITING):
            self._context.ask_for_poll()

    def _begin(self, reason: str) -> None:
        self._due = None
        self._context.client.trace.emit(REBALANCE_STARTED, reason=reason)
        lost, self._lost = self._lost, False
        self._context.member_identity.rebalances.begin(self._context.timer.now)
        running = Operation(self._round.run(reason, lost=lost), "rebalance", self._ended)
        self._running = None if running.ended else running

    def _ended(self, _nothing: None, error: KafkaException | None) -> None:
        self._running = None
        if error is not None:
            self._context.member_identity.rebalances.fail()
            if not isinstance(error, Withdrawn):
                self._failed(error)
            return
        self._context.member_identity.rebalances.end(self._context.timer.now)
        # What was learned meanwhile counts from now on.
        if (why := self._why()) is not None:
            self._want(why)

    def move(self, state: ClassicState) -> None:
        """See `Place`."""
        was, self.state = self.state, transition(self.state, state)
        self._context.client.trace.emit(MEMBER_STATE_CHANGED, was=was.value, state=state.value)

    def asking(self) -> None:
        """See `Place`."""
        self._heartbeats.stop()
        if self._context.member_identity.identity.is_counted:
            self._context.member_identity.rebalancing()

    def let_in(self, who: MemberGeneration) -> None:
        """See `Place`."""
        self.who = who
        self._due = None
        self._heartbeats.start(who)

    def counted(self) -> None:
        """See `Place`."""
        identity = Identity(
            Role.MEMBER,
            self.who.member_id,
            self.who.generation,
            self._context.instance_id,
        )
        self._context.client.trace.emit(
            MEMBER_JOINED, member=self.who.member_id, generation=self.who.generation
        )
        # Each generation has its own assignment: what an older one was to commit
        # may be another member's now.
        self._context.member_identity.counted(identity, reassigned=True)

    def put_out(self, *, forget: bool) -> None:
        """See `Place`."""
        self._heartbeats.stop()
        self.who = MemberGeneration() if forget else MemberGeneration(self.who.member_id)
        self._context.member_identity.put_out()

    # --- what ends a place ---------------------------------------------------------------

    def _told(self, action: Action, error: KafkaException) -> None:
        """Handle the answer to a heartbeat."""
        if action is Action.ROUND:
            # While we sync, that is known already, or the answer to it will tell.
            if self.state in (ClassicState.STABLE, ClassicState.TAKING):
                self._want("the group is rebalancing")
            return
        if self._context.assigned.is_leaving:
            self._put_out_leaving(error)
            return
        self._context.tell_removed(self.who.member_id, error, leaving=False)
        forget = action is Action.RESET
        who = self._end(ClassicState.WAITING)
        if not forget:
            self.who = MemberGeneration(who.member_id)
        self._lost = True
        self._begin("the coordinator no longer knew the member")

    def _put_out_leaving(self, error: KafkaException) -> None:
        """End a membership that the coordinator has ended while the application leaves."""
        self._context.tell_removed(self.who.member_id, error, leaving=True)
        self._end(ClassicState.WAITING)
        self._lose_all()

    def _missed(self, seconds: float) -> None:
        """Leave the group: there was no poll for `max.poll.interval.ms`."""
        who = self._end(ClassicState.WAITING)
        self._context.tell_missed(seconds)
        self._lose_all()
        if self._context.instance_id is None:
            self._leave_unasked(who, "max.poll.interval.ms is over")
        self._want("the member has left, and polls again")

    def _refused(self, error: KafkaException) -> None:
        """The next poll tells of a failed authentication, and the member goes on."""
        self._context.background.post(BackgroundError(error))

    def _failed(self, error: KafkaException) -> None:
        """End the membership with an error that every poll raises."""
        self._guard.stop()
        passing = isinstance(error, AuthenticationException)
        who = self._end(ClassicState.WAITING if passing else ClassicState.FAILED)
        self._lose_all()
        if passing:
            # Credentials may be mended: the next poll tries again, as the member that the
            # group may still count on.
            self.who = MemberGeneration(who.member_id)
            self._refused(error)
            self._want("the member was refused, and polls again")
            return
        if isinstance(error, GroupAuthorizationException):
            # LeaveGroup would be refused alike now. By the time the application leaves, the
            # right may be granted again; and who joins then would wait for this member.
            self.who = MemberGeneration(who.member_id)
        elif not isinstance(error, FencedInstanceIdException):
            # Where it was our own fault the others wait for us: they need not any more.
            self._leave_unasked(who, "the membership has failed")
        self._context.background.fail(error)

    def _end(self, state: ClassicState) -> MemberGeneration:
        """Stop all that is under way and end the membership; returns the former generation."""
        running, self._running = self._running, None
        if running is not None:
            running.throw(Withdrawn("the membership has ended"))
        self._heartbeats.stop()
        who, self.who = self.who, MemberGeneration()
        self._context.member_identity.put_out()
        if self.state is not state:
            self.move(state)
        return who

    def _lose_all(self) -> None:
        """Lose all partitions; the next poll tells the listener."""
        subscribed = self._context.assigned.subscribed
        self._lost = True
        if subscribed is not None:
            self._context.assigned.lose(subscribed.term)

    def _leave_unasked(self, who: MemberGeneration, reason: str) -> None:
        """Send LeaveGroup in the background, if the coordinator may still count us."""
        call = Call("leave", self._context.timer.now, NEVER)
        due = self._context.timer.after(
            self._context.request_timeout,
            "leave",
            lambda: self._stop_leaving("the time is over"),
        )

        def done(_nothing: None, _error: KafkaException | None) -> None:
            self._context.timer.cancel(due)
            self._leaving = None

        leaving = Operation(self._say_goodbye(call, who, reason), "leave", done)
        self._leaving = None if leaving.ended else leaving

    def _stop_leaving(self, why: str) -> None:
        if self._leaving is not None:
            self._leaving.throw(Withdrawn(why))

    async def _say_goodbye(self, call: Call, who: MemberGeneration, reason: str) -> None:
        if not who.member_id:
            return
        context = self._context
        try:
            await self._exchange.leave(call, who, reason)
        except Withdrawn:
            raise
        except KafkaException as error:
            context.client.trace.emit(LEAVE_UNCONFIRMED, group=context.group_id, error=error)

    def __repr__(self) -> str:
        generation = self.who.generation
        rounds = " (in a round)" * (self.state in IN_A_ROUND)
        return f"ClassicMember({self.state.value}{rounds}, generation {generation})"
