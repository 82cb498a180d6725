"""The dependencies that the parts of a membership share, for both protocols.

Thread: the network thread alone; nothing here changes once it is made.
"""

from dataclasses import dataclass

from prokurist.events.background_events import BackgroundEvents
from prokurist.events.backoff import Backoff
from prokurist.events.log_events import POLL_INTERVAL_EXCEEDED
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.events.subscription import Subscription
from prokurist.network_thread.cluster.coordinator_manager import CoordinatorManager
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.membership.application_steps import ApplicationSteps
from prokurist.network_thread.membership.partition_transitions import PartitionTransitions
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.timer import Timer


@dataclass(frozen=True, slots=True)
class MembershipContext:
    """The dependencies that the parts of a membership share.

    Attributes:
        group_id: `group.id`.
        instance_id: `group.instance.id`.
        rack: `client.rack`.
        poll_interval: `max.poll.interval.ms`, in seconds; the rebalance timeout too.
        request_timeout: `request.timeout.ms`, in seconds.
    """

    group_id: str
    instance_id: str | None
    rack: str | None
    poll_interval: float
    request_timeout: float
    client: NetworkClient
    coordinator: CoordinatorManager
    metadata: MetadataManager
    calls: Calls
    timer: Timer
    backoff: Backoff
    subscription: Subscription
    member_identity: MemberIdentity
    poll_activity: PollActivity
    background: BackgroundEvents
    steps: ApplicationSteps
    transitions: PartitionTransitions

    def tell_missed(self, seconds: float) -> None:
        """Emit that the member has left, since there was no poll for so long."""
        self.client.trace.emit(
            POLL_INTERVAL_EXCEEDED,
            group=self.group_id,
            seconds=seconds,
            limit=self.poll_interval * 1000,
        )

    def ask_for_poll(self) -> None:
        """Have the next poll, or one that waits, post `Polled`."""
        self.poll_activity.ask()
        self.background.nudge()
