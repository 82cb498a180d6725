"""Wires what only a client with a group has: coordinator, commits and membership.

Thread: the network thread alone, but for its making.
"""

from collections.abc import Callable

from prokurist.config import ConsumerConfig
from prokurist.errors import KafkaException
from prokurist.events.application_events import (
    AutoCommit,
    CloseBegins,
    Commit,
    CommitOnce,
    GroupEvent,
    Leave,
    LookUpCommitted,
    Polled,
    Rejoin,
    StepDone,
)
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.backoff import Backoff
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.events.subscription import Subscription
from prokurist.network_thread.cluster.coordinator_manager import CoordinatorManager
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.membership.application_steps import ApplicationSteps
from prokurist.network_thread.membership.classic_member import ClassicMember
from prokurist.network_thread.membership.consumer_member import ConsumerMember
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.membership.membership import Membership
from prokurist.network_thread.membership.partition_transitions import PartitionTransitions
from prokurist.network_thread.offsets.background_commit import BackgroundCommits
from prokurist.network_thread.offsets.commit_identity import CommitIdentities
from prokurist.network_thread.offsets.commit_manager import CommitManager
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import Node


class Group:
    """The managers of a client with a group, and the events that they take.

    Args:
        config: The configuration.
        group_id: Its `group.id`.
        changed: Called when the group has given something, or got it back.

    Attributes:
        coordinator: Who coordinates the group.
        commits: Commits, and looks up what was committed.
        auto: Sends automatic commits.
        membership: Our place in it.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        *,
        client: NetworkClient,
        metadata: MetadataManager,
        calls: Calls,
        timer: Timer,
        backoff: Backoff,
        subscription: Subscription,
        member_identity: MemberIdentity,
        poll_activity: PollActivity,
        background: BackgroundEvents,
        changed: Callable[[], None],
    ) -> None:
        self._calls = calls
        self.coordinator: CoordinatorManager = CoordinatorManager(
            group_id, client, metadata, timer, backoff
        )
        identities = CommitIdentities(
            member_identity, subscription.owned, lambda: background.fatal
        )
        self.commits: CommitManager = CommitManager(
            group_id,
            client,
            self.coordinator,
            metadata,
            timer,
            backoff,
            identities,
            subscription,
        )
        self.auto: BackgroundCommits = BackgroundCommits(self.commits)
        interval = config.max_poll_interval_ms / 1000
        steps = ApplicationSteps(
            background, subscription, poll_activity, auto_commit=config.enable_auto_commit
        )
        self._transitions = PartitionTransitions(
            subscription, steps, self.auto, timer, interval, changed, client.trace
        )
        self.membership: Membership = membership_of(
            config,
            MembershipContext(
                group_id,
                config.group_instance_id,
                config.client_rack or None,
                interval,
                config.request_timeout_ms / 1000,
                client,
                self.coordinator,
                metadata,
                calls,
                timer,
                backoff,
                subscription,
                member_identity,
                poll_activity,
                background,
                steps,
                self._transitions,
            ),
        )

        identities.on_refused = self.membership.commit_refused

    def take(self, event: GroupEvent) -> None:
        """Start the work for an event."""
        match event:
            case Commit(call, offsets, identity, topics):
                self.auto.overtake(offsets)
                self._calls.start(call, self.commits.commit(call, offsets, identity, topics))
            case CommitOnce(call, offsets, identity, topics):
                self.auto.overtake(offsets)
                self._calls.start(
                    call, self.commits.commit_once(call, offsets, identity, topics)
                )
            case AutoCommit():
                self.auto.overtake(event.offsets)
                self._calls.start(event.call, self.auto.commit(event))
            case LookUpCommitted(call, partitions, stable):
                self._calls.start(call, self.commits.committed(call, partitions, stable=stable))
            case Polled():
                self.membership.polled()
            case StepDone():
                self.membership.step_done(event)
            case Rejoin(_, reason):
                self.membership.rejoin(reason)
            case Leave(call, how, partitions, lost):
                self._transitions.tell_left(partitions, lost=lost)
                self._calls.start(call, self.membership.leave(call, how))
            case CloseBegins(call):
                self.coordinator.end_by(call.deadline)

    def on_disconnect(
        self, node: Node, lane: Lane, error: KafkaException, since: float
    ) -> None:
        """Tell the coordinator's manager of a lost connection."""
        self.coordinator.on_disconnect(node, lane, error, since)

    def poll(self) -> None:
        """Nothing: what a membership does by itself has its Timer entries."""

    def close(self) -> None:
        """Stop background work."""
        self.membership.close()

    def __repr__(self) -> str:
        return f"Group({self.membership})"


def membership_of(config: ConsumerConfig, context: MembershipContext) -> Membership:
    """Make the membership for the configured group protocol."""
    internal = not config.exclude_internal_topics
    if config.group_protocol == "consumer":
        return ConsumerMember(context, assignor=config.group_remote_assignor, internal=internal)
    return ClassicMember(
        context,
        config.partition_assignment_strategy,
        session=config.session_timeout_ms / 1000,
        interval=config.heartbeat_interval_ms / 1000,
        internal=internal,
    )
