"""What a membership of either protocol stands on.

Thread: the network thread alone; nothing here changes once it is made.
"""

from dataclasses import dataclass

from prokurist.events.background_events import BackgroundEvents
from prokurist.events.backoff import Backoff
from prokurist.events.membership import Enrolment, Presence
from prokurist.events.subscription import Subscription
from prokurist.events.tellings import POLL_MISSED
from prokurist.network_thread.calls import Calls
from prokurist.network_thread.client import NetworkClient
from prokurist.network_thread.coordinator_manager import CoordinatorManager
from prokurist.network_thread.membership.handover import Handover
from prokurist.network_thread.membership.steps import Steps
from prokurist.network_thread.metadata_manager import MetadataManager
from prokurist.network_thread.timer import Timer


@dataclass(frozen=True, slots=True)
class Ground:
    """See the module.

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
    enrolment: Enrolment
    presence: Presence
    background: BackgroundEvents
    steps: Steps
    handover: Handover

    def tell_missed(self, seconds: float) -> None:
        """There was no poll for so long that the member has left."""
        self.client.trace.tell(
            POLL_MISSED,
            group=self.group_id,
            seconds=seconds,
            limit=self.poll_interval * 1000,
        )

    def ask_for_poll(self) -> None:
        """Have the next poll, or one that waits now, say that it has come."""
        self.presence.ask()
        self.background.nudge()
