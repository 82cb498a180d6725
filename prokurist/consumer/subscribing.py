"""Subscription of the consumer to topics, and its leave from the group.

Thread: the application's. A part of `KafkaConsumer`, whose attributes it uses.

`subscribe` sends nothing: the next poll does, because a member has to poll.
`unsubscribe` waits for no broker either. The listener is called on this
thread, by the last state of the membership that the network thread has published; and if
the coordinator cannot be told, the member leaves all the same.
"""

import re
from collections.abc import Iterable
from datetime import timedelta

from prokurist.application.call_runner import TURN
from prokurist.application.driving import Steps
from prokurist.config import ConsumerConfig
from prokurist.consumer.arguments import partitions_in, subscription_in
from prokurist.consumer.listeners import (
    ConsumerRebalanceListener,
    Hears,
    Listeners,
    listener_in,
)
from prokurist.consumer.seeking import Seeking
from prokurist.errors import IllegalStateException, InvalidGroupIdException, KafkaException
from prokurist.events.application_events import Leave, Rejoin
from prokurist.events.background_events import BackgroundEvents, StepKind
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.group_log_events import (
    BACKGROUND_ERROR_DISCARDED,
    ENFORCE_REBALANCE_IGNORED,
    FATAL_ERROR_CLEARED,
    LEAVE_SKIPPED,
)
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.types import (
    ConsumerGroupMetadata,
    GroupMembershipOperation,
    SubscriptionPattern,
    TopicPartition,
)


class Subscribing(Seeking):
    """The part of `KafkaConsumer` that subscribes, unsubscribes and asks for rebalances."""

    _config: ConsumerConfig
    _background: BackgroundEvents
    _listeners: Listeners
    _member_identity: MemberIdentity
    _poll_activity: PollActivity
    _given_back: frozenset[TopicPartition] | None = None
    """Partitions given up by a leave in progress; None while there is none."""
    _parts_as: StepKind | None = None
    """Kind of step in which the listener heard of them; None before."""

    def _subscribe(
        self,
        topics: str | Iterable[str] | re.Pattern[str] | SubscriptionPattern,
        listener: ConsumerRebalanceListener | None,
        on_assigned: Hears | None,
        on_revoked: Hears | None,
        on_lost: Hears | None,
    ) -> bool:
        """Subscribe; False for no topics, which is to unsubscribe."""
        wanted = subscription_in(topics)
        heard = listener_in(listener, on_assigned, on_revoked, on_lost)
        with self._caller.inside("subscribe"):
            self._listeners.refuse_inside("subscribe")
            if self._config.group_id is None:
                raise InvalidGroupIdException(
                    "subscribe needs a group: set group.id in the configuration, or assign "
                    "partitions by hand"
                )
            if isinstance(wanted, frozenset) and not wanted:
                return False
            if (
                isinstance(wanted, SubscriptionPattern)
                and self._config.group_protocol != "consumer"
            ):
                raise IllegalStateException(
                    "a SubscriptionPattern is resolved by the broker, which takes "
                    "group.protocol=consumer: set that, or subscribe to a re.Pattern"
                )
            self._assigned.subscribe(wanted, listens=heard is not None)
            self._listeners.follow(heard)
            self._member_identity.wants_in()
            self._poll_activity.ask()
            return True

    def _assign(self, partitions: TopicPartition | Iterable[TopicPartition]) -> bool:
        """Assign partitions; False for none, which is to unsubscribe."""
        wanted = partitions_in(partitions)
        with self._caller.inside("assign"):
            self._listeners.refuse_inside("assign")
            if wanted:
                self._change_assignment(wanted)
            return bool(wanted)

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are assigned to this consumer now."""
        with self._caller.inside("assignment"):
            return self._assigned.partitions()

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to; of a `re.Pattern`, those that match so far."""
        with self._caller.inside("subscription"):
            subscribed = self._assigned.subscribed
            return frozenset() if subscribed is None else subscribed.topics

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Have the group rebalance; it begins at the next `poll`.

        With `group.protocol=consumer` the broker alone decides when: this does nothing
        then, and says so in the log.

        Args:
            reason: For the broker's log.

        Raises:
            IllegalStateException: Nothing is subscribed to.
        """
        with self._caller.inside("enforce_rebalance"):
            if self._assigned.subscribed is None:
                raise IllegalStateException("enforce_rebalance with nothing subscribed to")
            if self._config.group_protocol == "consumer":
                self._caller.trace.emit(ENFORCE_REBALANCE_IGNORED)
                return
            call = self._caller.call("enforce_rebalance", None)
            self._caller.post(Rejoin(call, reason or "enforce_rebalance was called"))

    def group_metadata(self) -> ConsumerGroupMetadata:
        """The member's group metadata, for a transactional producer.

        It names the member as the last poll has found it. Where the group has put the member
        out since, or has a new epoch, offsets of what that poll has returned are refused: these
        partitions may be another member's by now. Inside `on_partitions_assigned` and
        `on_partitions_revoked` it names the membership of these partitions, in which the group
        takes their offsets.

        Raises:
            InvalidGroupIdException: There is no `group.id`.
        """
        with self._caller.inside("group_metadata"):
            group = self._config.group_id
            if group is None:
                raise InvalidGroupIdException(
                    "group_metadata needs a group: set group.id in the configuration"
                )
            identity = self._member_identity.of_records
            return ConsumerGroupMetadata(
                group, identity.epoch, identity.member_id, self._config.group_instance_id
            )

    # --- the end of a membership -----------------------------------------------------

    def _unsubscribe(self, timeout: float | timedelta | None) -> Steps[None]:
        self._listeners.refuse_inside("unsubscribe")
        call = self._caller.call("unsubscribe", timeout)
        failed: Exception | None = None
        if self._assigned.subscribed is not None:
            try:
                self._auto.let_go()
                failed = yield from self._part()
                self._auto.let_go_newer()
                # Before it is left: events about the subscription have no owner after that.
                self._tell_unraised()
            except BaseException:
                # An interrupt, perhaps inside the listener: the group is left at once, so that
                # no partition is held without being read, and the listener is not told again.
                now = self._caller.now()
                trace = self._caller.tracing
                yield from self._leave(Call("unsubscribe", now, Deadline(now), trace=trace))
                raise
            yield from self._leave(call)
        self._tell_unraised()
        self._change_assignment(())
        if failed is not None:
            raise failed

    def _tell_unraised(self) -> None:
        """Log the errors that the next poll would have raised."""
        while error := self._background.take_pending(self._positions.still_wanted):
            self._caller.trace.emit(BACKGROUND_ERROR_DISCARDED, error=error)

    def _part(self) -> Steps[Exception | None]:
        """Tell the listener of all partitions, and return its error."""
        partitions = self._assigned.let_go()
        self._background.call_off()
        kind = self._parts_as = self._kind_of_parting()
        if not partitions:
            return None
        if kind is StepKind.REVOKED:
            # A cooperative member may be in a later generation than that of its last poll.
            self._member_identity.polled()
        return (yield from self._listeners.tell(kind, partitions))

    def _kind_of_parting(self) -> StepKind:
        """Return REVOKED while the group counts this member, else LOST."""
        counted = self._member_identity.identity.is_counted
        return StepKind.REVOKED if counted else StepKind.LOST

    def _leave(
        self, call: Call, how: GroupMembershipOperation = GroupMembershipOperation.DEFAULT
    ) -> Steps[None]:
        """Leave the group, by the call's deadline; no wake-up ends it."""
        if self._assigned.subscribed is not None:
            # The group may have removed us since: the log says what the listener was told.
            self._parts_as = self._parts_as or self._kind_of_parting()
            # Kept until all is done: an interrupt may come before the leave is posted, or
            # written, and another try finds nothing subscribed any more.
            self._given_back = self._assigned.owned()
        given_back = self._given_back
        if given_back is None:
            return
        self._assigned.unsubscribe()
        self._listeners.follow(None)
        self._drop_stale()
        try:
            lost = self._parts_as is StepKind.LOST
            self._caller.post(Leave(call, how, given_back, lost))
            self._given_back = frozenset()
        except KafkaException as dead:
            self._caller.trace.emit(LEAVE_SKIPPED, error=dead)
        else:
            last = Deadline(max(call.deadline.at, call.began + TURN * call.without_time))
            if not (yield from self._caller.wait_for_end(call, last)):
                self._caller.withdraw(
                    call, KafkaException("the group was left without a LeaveGroup request")
                )
        fatal = self._background.forgive()
        if fatal is not None:
            self._caller.trace.emit(FATAL_ERROR_CLEARED, error=fatal)
        self._given_back = self._parts_as = None
