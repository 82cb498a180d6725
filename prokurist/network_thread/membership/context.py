"""The dependencies that the parts of a membership share, for all protocols.

Thread: the network thread alone; nothing here changes once it is made.
"""

from collections.abc import Callable
from typing import Final

from prokurist.errors import KafkaException
from prokurist.events.assigned import AnyAssigned
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.group_log_events import MEMBER_REMOVED, POLL_INTERVAL_EXCEEDED
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.cluster.attempts import Attempts
from prokurist.network_thread.cluster.coordinators import Coordinator
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.membership.application_steps import ApplicationSteps
from prokurist.network_thread.membership.membership import Transitions
from prokurist.network_thread.membership.poll_guard import InHand, PollGuard
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.timer import Timer

POLL_MORE_OFTEN: Final = (
    "and joins again with the next poll. Poll more often, work less between two polls "
    "(max.poll.records), or raise the key"
)
RETURN_SOONER: Final = (
    "while it was in close or unsubscribe: what it commits from now on is refused. Have "
    "callbacks return sooner, or raise the key"
)


@dataclass(frozen=True, slots=True)
class MembershipContext:
    """The dependencies that the parts of a membership share.

    Attributes:
        group_id: `group.id`.
        instance_id: `group.instance.id`.
        rack: `client.rack`.
        poll_interval: `max.poll.interval.ms`, in seconds; the rebalance timeout too.
        request_timeout: `request.timeout.ms`, in seconds.
        in_hand: See `PollGuard`.
    """

    group_id: str
    instance_id: str | None
    rack: str | None
    poll_interval: float
    request_timeout: float
    client: NetworkClient
    coordinator: Coordinator
    metadata: MetadataManager
    attempts: Attempts
    calls: Calls
    timer: Timer
    assigned: AnyAssigned
    in_hand: InHand
    member_identity: MemberIdentity
    poll_activity: PollActivity
    background: BackgroundEvents
    steps: ApplicationSteps
    transitions: Transitions

    def guard_polls(self, missed: Callable[[float], None]) -> PollGuard:
        """Make the guard of a member's polls."""
        return PollGuard(
            self.poll_activity, self.in_hand, self.timer, self.poll_interval, missed
        )

    def tell_missed(self, seconds: float) -> None:
        """Emit that the member has left, since there was no poll for so long."""
        self.client.trace.emit(
            POLL_INTERVAL_EXCEEDED,
            group=self.group_id,
            seconds=seconds,
            limit=self.poll_interval * 1000,
            next=RETURN_SOONER if self.assigned.is_leaving else POLL_MORE_OFTEN,
        )

    def tell_removed(self, member_id: str, error: KafkaException, *, leaving: bool) -> None:
        """Emit that the coordinator has removed the member."""
        self.client.trace.emit(
            MEMBER_REMOVED,
            group=self.group_id,
            member=member_id,
            next="is leaving" if leaving else "joins again",
            error=error,
        )

    def ask_for_poll(self) -> None:
        """Have the next poll, or one that waits, post `Polled`."""
        self.poll_activity.ask()
        self.background.nudge()
