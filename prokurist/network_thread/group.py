"""The managers of a client with a group, and the events that they take.

Thread: the network thread alone, but for its making.
"""

from collections.abc import Coroutine
from typing import Any

from prokurist.config import ConsumerConfig
from prokurist.events.application_events import (
    AutoCommit,
    CloseBegins,
    Commit,
    CommitOnce,
    Leave,
    LookUpCommitted,
    Polled,
    Rejoin,
    StepDone,
)
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.committable import Committable
from prokurist.events.fetching import Fetching
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.network_thread.cluster.attempts import Attempts
from prokurist.network_thread.cluster.coordinators import Coordinator, Coordinators
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.membership.application_steps import ApplicationSteps
from prokurist.network_thread.membership.classic.member import ClassicMember
from prokurist.network_thread.membership.committing_transitions import CommittingTransitions
from prokurist.network_thread.membership.consumer.member import ConsumerMember
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.membership.membership import CommittingMembership
from prokurist.network_thread.offsets.background_commit import BackgroundCommits
from prokurist.network_thread.offsets.commit_identity import CommitIdentities
from prokurist.network_thread.offsets.commit_manager import CommitManager
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.signal import Signal
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.metadata import CoordinatorOf


class GroupCommits:
    """Commits of a group: its coordinator, and its committed offsets.

    Args:
        group_id: `group.id`.
        owned: Returns the partitions that the group has assigned.
        background: Background events, with the error that ended the membership.

    Attributes:
        coordinator: Finds the group's coordinator.
        identities: Chooses the identity of each commit.
        commits: Commits, and looks up what was committed.
        auto: Retries automatic commits.
    """

    def __init__(
        self,
        group_id: str,
        *,
        client: NetworkClient,
        coordinators: Coordinators,
        metadata: MetadataManager,
        attempts: Attempts,
        timer: Timer,
        committable: Committable,
        member_identity: MemberIdentity,
        background: BackgroundEvents,
    ) -> None:
        self.coordinator: Coordinator = coordinators.of(CoordinatorOf.GROUP, group_id)
        self.identities: CommitIdentities = CommitIdentities(
            member_identity, committable.assigned.owned, lambda: background.fatal
        )
        self.commits: CommitManager = CommitManager(
            client, self.coordinator, metadata, attempts, timer, self.identities, committable
        )
        self.auto: BackgroundCommits = BackgroundCommits(self.commits)

    def handlers(self) -> Handlers:
        """Return the events about committed offsets of the group."""
        return {
            Commit: self._commit,
            CommitOnce: self._commit_once,
            AutoCommit: self._auto_commit,
            LookUpCommitted: lambda event: self.commits.committed(
                event.call, event.partitions, stable=event.stable
            ),
            CloseBegins: lambda event: self.coordinator.end_by(event.call.deadline),
        }

    def _commit(self, event: Commit) -> Coroutine[Any, Any, Any]:
        self.auto.overtake(event.offsets)
        return self.commits.commit(event.call, event.offsets, event.identity, event.topics)

    def _commit_once(self, event: CommitOnce) -> Coroutine[Any, Any, Any]:
        self.auto.overtake(event.offsets)
        return self.commits.commit_once(event.call, event.offsets, event.identity, event.topics)

    def _auto_commit(self, event: AutoCommit) -> Coroutine[Any, Any, Any]:
        self.auto.overtake(event.offsets)
        return self.auto.commit(event)

    def __repr__(self) -> str:
        return f"GroupCommits({self.coordinator})"


class GroupMembership:
    """The membership of a group, by the configured protocol, as a request manager.

    Args:
        config: The configuration.
        commits: The commits of the group.
        changed: Emitted when the group has given something, or got it back.

    Attributes:
        membership: Our place in the group.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        commits: GroupCommits,
        *,
        client: NetworkClient,
        metadata: MetadataManager,
        attempts: Attempts,
        calls: Calls,
        timer: Timer,
        fetching: Fetching,
        member_identity: MemberIdentity,
        poll_activity: PollActivity,
        background: BackgroundEvents,
        changed: Signal[()],
    ) -> None:
        assigned = fetching.positions.assigned
        interval = config.max_poll_interval_ms / 1000
        self._steps = ApplicationSteps(background, assigned, poll_activity, member_identity)
        self._transitions = CommittingTransitions(
            assigned,
            self._steps,
            commits.auto,
            timer,
            interval,
            changed,
            client.trace,
            auto_commit=config.enable_auto_commit,
        )
        context = MembershipContext(
            group_id=group_id,
            instance_id=config.group_instance_id,
            rack=config.client_rack or None,
            poll_interval=interval,
            request_timeout=config.request_timeout_ms / 1000,
            client=client,
            coordinator=commits.coordinator,
            metadata=metadata,
            attempts=attempts,
            calls=calls,
            timer=timer,
            assigned=assigned,
            in_hand=fetching.in_hand,
            member_identity=member_identity,
            poll_activity=poll_activity,
            background=background,
            steps=self._steps,
            transitions=self._transitions,
        )
        self.membership: CommittingMembership = membership_of(config, context)
        metadata.updated.connect(self.membership.on_metadata)
        commits.identities.refused.connect(self.membership.commit_refused)

    def handlers(self) -> Handlers:
        """Return the events about our place in the group."""
        return {
            Polled: lambda _: self.membership.polled(),
            StepDone: self._steps.done,
            Rejoin: lambda event: self.membership.rejoin(event.reason),
            Leave: self._leave,
        }

    def _leave(self, event: Leave) -> Coroutine[Any, Any, None]:
        self._transitions.tell_left(event.partitions, lost=event.lost)
        return self.membership.leave(event.call, event.how)

    def poll(self) -> None:
        """Do nothing: a membership's own work has its Timer entries."""

    def close(self) -> None:
        """Stop background work."""
        self.membership.close()

    def __repr__(self) -> str:
        return f"GroupMembership({self.membership})"


def membership_of(config: ConsumerConfig, context: MembershipContext) -> CommittingMembership:
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
