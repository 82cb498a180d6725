"""A member of a share group (KIP-932): the coordinator assigns, and nothing is confirmed.

Thread: the network thread alone.

Joining begins with a poll that was asked for, and heartbeats go on by themselves from there.
A coordinator assigns nothing before it has begun the state of a partition, so a member that has
nothing yet beats more often for a while. Losing the membership loses no record: locks do not
know the group.
"""

from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID, uuid4

from prokurist.errors import (
    GroupAuthorizationException,
    KafkaException,
    UnsupportedVersionException,
)
from prokurist.events.assigned import Subscribed
from prokurist.events.background_events import BackgroundError
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.cluster import Cluster
from prokurist.events.group_log_events import (
    LEAVE_UNCONFIRMED,
    MEMBER_JOINED,
    MEMBER_STATE_CHANGED,
)
from prokurist.events.member_identity import Identity, Role
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import SHARE_GROUP_HEARTBEAT, Action
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.membership.heartbeating import Heartbeats
from prokurist.network_thread.membership.patterns import Patterns
from prokurist.network_thread.membership.share.errors import explained, unspoken
from prokurist.network_thread.membership.share.state import (
    COUNTED,
    STANDING,
    ShareMemberState,
    moved,
)
from prokurist.network_thread.membership.topic_names import TopicNames
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.network_thread.wire.consumer_group import TopicIdPartitions
from prokurist.network_thread.wire.share_group import (
    ShareGroupHeartbeat,
    ShareGroupHeartbeatAnswer,
)
from prokurist.types import (
    GroupMembershipOperation,
    MembershipState,
    Node,
    TopicPartition,
)

LEAVING: Final = -1

SOON: Final = 0.5
"""Seconds between two heartbeats of a member that has joined and has no partition yet."""
EXPECTED_WITHIN: Final = 10.0
"""Seconds after joining for which it beats that often."""

NOTHING: Final[Mapping[TopicPartition, UUID]] = MappingProxyType({})


class ShareMember:
    """The `Membership` of a member of a share group.

    Args:
        context: Context of the membership.
        member_id: Its id, for the life of the client.
        changed: Called when other partitions are assigned.

    Attributes:
        state: Its state.
        heard_at: When the coordinator answered last; None outside the group.
        partitions: The assigned partitions, with the ids of their topics.
    """

    def __init__(
        self,
        context: MembershipContext,
        member_id: str,
        changed: Callable[[], None],
    ) -> None:
        self.state: ShareMemberState = ShareMemberState.OUT
        self.heard_at: float | None = None
        self.partitions: Mapping[TopicPartition, UUID] = NOTHING
        self._context = context
        self._member_id = member_id
        self._changed = changed
        self._target: tuple[TopicIdPartitions, ...] = ()
        self._said: tuple[str, ...] | None = None
        self._saying: tuple[str, ...] = ()
        self._joined_at = 0.0
        self._guard = context.guard_polls(self._has_not_polled)
        self._names = TopicNames(context.metadata, context.attempts, self._resolve)
        patterns = Patterns(context.assigned, context.metadata, internal=True)
        self._heartbeats = Heartbeats(
            context, patterns, self._heartbeat, nothing_ahead, self._take, self._met
        )
        self._term = 0

    # --- what others ask ---------------------------------------------------------------

    def polled(self) -> None:
        """See `Membership`."""
        subscribed = self._context.assigned.subscribed
        if subscribed is None:
            return
        if self.state in (ShareMemberState.OUT, ShareMemberState.STALE):
            self._term = subscribed.term
            self._join()
        elif self.state in COUNTED:
            self._heartbeats.look_at_subscription()

    @property
    def standing(self) -> MembershipState:
        """See `Membership`."""
        return STANDING[self.state]

    def on_metadata(self, _cluster: Cluster) -> None:
        """See `Membership`."""
        if self.state in COUNTED:
            self._resolve()

    def close(self) -> None:
        """See `Membership`."""
        self._stop()

    def leave(self, call: Call, how: GroupMembershipOperation) -> Coroutine[Any, Any, None]:
        """See `Membership`."""
        del how  # Its members are all dynamic.
        is_known = self._heartbeats.is_known and self.state in COUNTED
        self._stop()
        self._move(ShareMemberState.OUT)
        self._drop()
        self._context.member_identity.alone()
        return self._say_farewell(call, is_told=is_known)

    # --- joining and ending ------------------------------------------------------------

    def _join(self) -> None:
        self._move(ShareMemberState.JOINING)
        self._context.member_identity.put_out()
        self._said = None
        self._guard.start()
        self._heartbeats.start()

    def _stop(self) -> None:
        self._guard.stop()
        self._heartbeats.stop()
        self._names.stop()
        self.heard_at = None

    def _drop(self) -> None:
        """Have no partition; records that are held are acknowledged all the same."""
        self._target, self.partitions = (), NOTHING
        assigned = self._context.assigned
        assigned.drop(self._term, assigned.partitions())
        self._changed()

    def _end(self, state: ShareMemberState) -> None:
        self._stop()
        self._move(state)
        self._context.member_identity.put_out()

    def _fail(self, why: KafkaException) -> None:
        self._heartbeats.is_known = False
        self._end(ShareMemberState.FATAL)
        self._drop()
        self._context.background.fail(why)

    def _has_not_polled(self, seconds: float) -> None:
        self._context.tell_missed(seconds)
        self._end(ShareMemberState.STALE)
        self._drop()
        now = self._context.timer.now
        call = Call("leave", now, Deadline.after(now, self._context.request_timeout))
        self._context.calls.start(call, self._say_farewell(call, is_told=True))
        self._context.ask_for_poll()

    async def _say_farewell(self, call: Call, *, is_told: bool) -> None:
        """Send the leaving heartbeat, once, without regard to its answer."""
        if not is_told:
            return
        context = self._context
        request = ShareGroupHeartbeat(context.group_id, self._member_id, LEAVING)
        try:
            node = await context.coordinator.find(call, last=True)
            await context.client.send(
                node, request, call=call, lane=Lane.COORDINATOR, effect=True
            )
        except Withdrawn:
            raise
        except KafkaException as error:
            context.client.trace.emit(LEAVE_UNCONFIRMED, group=context.group_id, error=error)

    # --- heartbeats --------------------------------------------------------------------

    def _heartbeat(self, epoch: int, subscribed: Subscribed) -> ShareGroupHeartbeat:
        topics = self._saying = tuple(sorted(subscribed.topics))
        says_all = epoch == 0 or self._said is None
        return ShareGroupHeartbeat(
            self._context.group_id,
            self._member_id,
            epoch,
            self._context.rack if says_all else None,
            topics if says_all or topics != self._said else None,
        )

    def _met(self, error: KafkaException) -> Action:
        """Choose the action for an error of a heartbeat without an answer."""
        self._said = None
        if isinstance(error, UnsupportedVersionException | GroupAuthorizationException):
            self._fail(unspoken(error))
            return Action.FATAL
        if not error.retriable:
            self._context.background.post(BackgroundError(error))
        return Action.RETRY

    def _take(self, answer: Answer[ShareGroupHeartbeatAnswer]) -> Action:
        """Apply the answer to a heartbeat."""
        response, context = answer.response, self._context
        action = SHARE_GROUP_HEARTBEAT.of(response.error)
        joins = self.state is ShareMemberState.JOINING
        if action is Action.DONE:
            context.coordinator.served(answer.node, wrote=joins, beat=not joins)
            self._accepted(response)
            return action
        self._said = None
        error = explained(context, response.error, response.message)
        if action is Action.REDISCOVER:
            context.coordinator.forget(answer.node, error, beat=not joins)
            return action
        context.coordinator.served(answer.node)
        if action is Action.SURFACE:
            context.background.post(BackgroundError(error))
        elif action is Action.REJOIN:
            return self._rejoin(error)
        elif action is Action.FATAL:
            self._fail(error)
        return action

    def _rejoin(self, why: KafkaException) -> Action:
        """Join again with the same id: sessions and records go on."""
        leaving = self._context.assigned.is_leaving
        self._context.tell_removed(self._member_id, why, leaving=leaving)
        if leaving:
            self._end(ShareMemberState.STALE)
            return Action.FATAL
        if self.state is not ShareMemberState.JOINING:
            self._move(ShareMemberState.JOINING)
            self._context.member_identity.put_out()
        self._heartbeats.epoch = 0
        return Action.RETRY

    def _accepted(self, response: ShareGroupHeartbeatAnswer) -> None:
        now = self._context.timer.now
        self._said, self.heard_at = self._saying, now
        self._heartbeats.epoch = response.member_epoch
        self._context.member_identity.counted(
            Identity(Role.MEMBER, self._member_id, response.member_epoch, by_epoch=True)
        )
        if self.state is ShareMemberState.JOINING:
            self._joined_at = now
            self._move(ShareMemberState.STABLE)
            self._context.client.trace.emit(
                MEMBER_JOINED, member=self._member_id, generation=response.member_epoch
            )
        if response.assignment is not None:
            self._context.member_identity.rebalances.begin(now)
            self._target = response.assignment
            self._resolve()
        interval = response.heartbeat_interval
        if not self._target and now - self._joined_at < EXPECTED_WITHIN:
            interval = min(interval or SOON, SOON)
        if interval > 0:
            self._heartbeats.interval = interval

    # --- assigned partitions -----------------------------------------------------------

    def _resolve(self) -> None:
        """Give the assigned partitions the names of their topics, where they are known."""
        ids = {each.topic_id for each in self._target}
        names = self._names.of(ids)
        self._names.want(ids - names.keys())
        found = {
            TopicPartition(names[each.topic_id], number): each.topic_id
            for each in self._target
            if each.topic_id in names
            for number in each.partitions
        }
        if not ids - names.keys():
            self._context.member_identity.rebalances.end(self._context.timer.now)
        if found == dict(self.partitions):
            return
        assigned = self._context.assigned
        assigned.drop(self._term, assigned.partitions() - found.keys())
        assigned.add(self._term, found.keys(), awaiting=False, ids=found)
        self.partitions = MappingProxyType(found)
        self._context.metadata.request_update()
        self._changed()

    def _move(self, to: ShareMemberState) -> None:
        was, self.state = self.state, moved(self.state, to)
        self._context.client.trace.emit(MEMBER_STATE_CHANGED, was=was.value, state=to.value)

    def __repr__(self) -> str:
        return f"ShareMember({self.state.value}, {len(self.partitions)} partitions)"


def new_member_id() -> str:
    """A new member id, kept for as long as the client lives."""
    return str(uuid4())


def nothing_ahead(_coordinator: Node) -> None:
    """Prepare nothing: leaders are connected to with the first assignment."""
