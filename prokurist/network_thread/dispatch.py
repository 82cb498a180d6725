"""Which manager works for which event of the application.

Thread: the network thread alone.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from prokurist.errors import InvalidGroupIdException
from prokurist.events.application_events import (
    ApplicationEvent,
    Attend,
    AutoCommit,
    Close,
    CloseBegins,
    Commit,
    CommitOnce,
    DropStale,
    GroupEvent,
    InstanceId,
    Leave,
    ListTopics,
    LookUpCommitted,
    LookUpEnd,
    LookUpOffsets,
    LookUpPosition,
    LookUpPositions,
    LookUpTopic,
    Polled,
    Prefetch,
    PushLast,
    Rejoin,
    StepDone,
    Withdraw,
)
from prokurist.network_thread.cluster.topic_manager import TopicManager
from prokurist.network_thread.fetch.manager import FetchManager
from prokurist.network_thread.offsets.lag_manager import LagManager
from prokurist.network_thread.offsets.offsets_manager import OffsetsManager
from prokurist.network_thread.offsets.positions_manager import PositionsManager
from prokurist.network_thread.operations.calls import Calls

if TYPE_CHECKING:
    from prokurist.network_thread.telemetry.manager import TelemetryManager


def dispatch(
    calls: Calls,
    offsets: OffsetsManager,
    topics: TopicManager,
    positions: PositionsManager,
    lags: LagManager,
    fetches: FetchManager,
    take_group: Callable[[GroupEvent], None],
    telemetry: "TelemetryManager | None",
) -> Callable[[ApplicationEvent], None]:
    """Make the function that passes each event to its manager, or to `take_group`."""

    def take(event: ApplicationEvent) -> None:
        match event:
            case (
                Commit()
                | CommitOnce()
                | AutoCommit()
                | LookUpCommitted()
                | Polled()
                | StepDone()
                | Rejoin()
                | Leave()
                | CloseBegins()
            ):
                take_group(event)
            case LookUpOffsets(call, moments, read_committed):
                work = offsets.look_up(call, moments, read_committed=read_committed)
                calls.start(call, work)
            case LookUpTopic(call, topic):
                calls.start(call, topics.partitions_of(call, topic))
            case ListTopics(call, names):
                calls.start(call, topics.list_topics(call, names))
            case LookUpPosition() | LookUpPositions() | DropStale():
                positions.take(event)
            case Prefetch():
                fetches.stir()
            case Attend(call, partition):
                calls.start(call, fetches.attending.attend(call, partition))
            case LookUpEnd():
                lags.take(event)
            case InstanceId() | PushLast() if telemetry is not None:
                telemetry.take(event, calls)
            case Withdraw(call):
                calls.withdraw(call)
            case Close():
                raise AssertionError("the thread itself takes Close")

    return take


def without_group(event: GroupEvent) -> None:
    """Refuse an event that needs a group, in a client without one (B51)."""
    event.call.fail(
        InvalidGroupIdException(
            f"{event.call.operation} needs a group: set group.id in the configuration"
        )
    )
