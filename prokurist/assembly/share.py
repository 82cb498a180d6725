"""Wires the network side of a share consumer.

Thread: the application's, while a client is being built. Parts of the network thread belong to
that thread alone once it runs.
"""

from collections.abc import Coroutine
from typing import Any

from prokurist.assembly.network_side import NetworkSide, System, open_system, trace_of
from prokurist.assembly.security import warn_of_security
from prokurist.config.clients import ShareConsumerConfig
from prokurist.events.application_events import Leave, Polled
from prokurist.events.assigned import Assigned, AssignedState
from prokurist.events.clock import CallersClock
from prokurist.events.lent.buffer import LentBuffer
from prokurist.events.lent.counters import ShareCounters
from prokurist.events.lent.lent import Lent
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.events.trace import Trace
from prokurist.network_thread.cluster.coordinators import Coordinator
from prokurist.network_thread.cluster.missing_topics import MissingTopics
from prokurist.network_thread.cluster.refused_topics import RefusedTopics
from prokurist.network_thread.connections.pipeline import LARGEST_INT32
from prokurist.network_thread.io.selector import LARGEST_FRAME_BYTES
from prokurist.network_thread.membership.application_steps import ApplicationSteps
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.membership.share.member import ShareMember, new_member_id
from prokurist.network_thread.membership.share.transitions import NoTransitions
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.share.manager import ShareManager
from prokurist.network_thread.share.tools import ShareLimits, ShareTools
from prokurist.network_thread.wire.metadata import CoordinatorOf
from prokurist.network_thread.wire.share_fetch import BATCH_OPTIMIZED, RECORD_LIMIT
from prokurist.types import TopicPartition

MODES = {"batch_optimized": BATCH_OPTIMIZED, "record_limit": RECORD_LIMIT}


class ShareMembership:
    """The membership of a share group, as a request manager.

    Args:
        member: Our place in the group.
    """

    def __init__(self, member: ShareMember) -> None:
        self._member = member

    def handlers(self) -> Handlers:
        """Return the events about our place in the group."""
        return {Polled: lambda _: self._member.polled(), Leave: self._leave}

    def _leave(self, event: Leave) -> Coroutine[Any, Any, None]:
        return self._member.leave(event.call, event.how)

    def poll(self) -> None:
        """Do nothing: a membership's own work has its Timer entries."""

    def close(self) -> None:
        """Stop background work."""
        self._member.close()

    def __repr__(self) -> str:
        return f"ShareMembership({self._member})"


class ShareSide(NetworkSide):
    """The network side of a share consumer, wired and not started.

    Args:
        config: The configuration.
        trace: The client's trace.
        system: Sockets, clock and chance of the client.

    Attributes:
        assigned: The subscription and the assigned partitions; both threads use them.
        member_identity: Who the consumer is in its group; both threads use it.
        poll_activity: When it polls; both threads use it.
        lent: The records that it holds; all threads use them.
        buffer: Those that no poll has returned yet; both threads use it.
        share_counters: Counters of records and acknowledgements.
        coordinator: The group's coordinator.
        membership: The place in the group.
    """

    def __init__(self, config: ShareConsumerConfig, trace: Trace, system: System) -> None:
        super().__init__(config, trace, system, create_topics=False)
        self.assigned: Assigned[AssignedState] = Assigned(AssignedState)
        self.member_identity: MemberIdentity = MemberIdentity()
        self.poll_activity: PollActivity = PollActivity()
        self.lent: Lent = Lent(system.clock.now)
        self.buffer: LentBuffer = LentBuffer()
        self.share_counters: ShareCounters = ShareCounters()
        assigned, metadata = self.assigned, self.metadata
        metadata.interest.add(assigned.topics, follows_pattern=assigned.follows_pattern)
        MissingTopics(metadata, assigned.topics, assigned.partitions, trace)
        RefusedTopics(metadata, assigned, self.background)
        member_id = new_member_id()
        manager = ShareManager(
            self._tools(config, member_id),
            lambda: self.membership.partitions,
            self.poll_activity,
        )
        self.coordinator: Coordinator = self.coordinators.of(
            CoordinatorOf.GROUP, config.group_id
        )
        self.membership: ShareMember = ShareMember(
            self._context(config), member_id, manager.stir
        )
        metadata.updated.connect(self.membership.on_metadata)
        self.add(manager)
        self.add(ShareMembership(self.membership))

    def _tools(self, config: ShareConsumerConfig, member_id: str) -> ShareTools:
        return ShareTools(
            config.group_id,
            member_id,
            self.client,
            self.metadata,
            self.timer,
            self.backoff,
            self.background,
            self.lent,
            self.buffer,
            self.share_counters,
            ShareLimits(
                max_wait=config.fetch_max_wait_ms / 1000,
                min_bytes=config.fetch_min_bytes,
                max_bytes=config.fetch_max_bytes,
                max_records=config.max_poll_records,
                mode=MODES[config.share_acquire_mode],
                request=config.request_timeout_ms / 1000,
                ahead=config.share_acknowledge_ahead,
                renews=config.share_renew_automatically,
                poll_interval=config.max_poll_interval_ms / 1000,
            ),
        )

    def _context(self, config: ShareConsumerConfig) -> MembershipContext:
        return MembershipContext(
            group_id=config.group_id,
            instance_id=None,
            rack=config.client_rack or None,
            poll_interval=config.max_poll_interval_ms / 1000,
            request_timeout=config.request_timeout_ms / 1000,
            client=self.client,
            coordinator=self.coordinator,
            metadata=self.metadata,
            attempts=self.attempts,
            calls=self.calls,
            timer=self.timer,
            assigned=self.assigned,
            in_hand=nothing_in_hand,
            member_identity=self.member_identity,
            poll_activity=self.poll_activity,
            background=self.background,
            steps=ApplicationSteps(
                self.background, self.assigned, self.poll_activity, self.member_identity
            ),
            transitions=NoTransitions(),
        )


def nothing_in_hand() -> tuple[TopicPartition, int] | None:
    """No iteration lends records."""
    return None


def open_share_side(config: ShareConsumerConfig, clock: CallersClock) -> ShareSide:
    """Wire the network side of a share consumer to the sockets of this system."""
    trace = trace_of(config, "share-consumer", config.group_id, clock)
    largest = min(LARGEST_FRAME_BYTES + config.fetch_max_bytes, LARGEST_INT32)
    system = open_system(config, trace, clock, largest)
    try:
        side = ShareSide(config, trace, system)
    except BaseException:
        system.network.shutdown()
        raise
    warn_of_security(config, trace)
    return side
