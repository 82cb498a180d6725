"""Looks up the end offsets of assigned partitions when a lag is asked for.

Thread: the network thread alone. No caller waits for it: an answer goes to the
`Positions`, where the next call finds it, and an error to the log.
"""

from prokurist.errors import KafkaException
from prokurist.events.application_events import LookUpEnd
from prokurist.events.assigned import AssignedPartition
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.log_events import LAG_UNKNOWN
from prokurist.events.positions import Positions
from prokurist.events.trace import Trace
from prokurist.network_thread.offsets.offsets_manager import OffsetsManager
from prokurist.network_thread.offsets.position_search import LEAST, Taking, nothing
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.log_offsets import Moment
from prokurist.types import TopicPartition


class LagManager:
    """Looks up end offsets for lags, in the background.

    Args:
        positions: The positions.
        calls: Bounds the look-ups.
        offsets: Asks the leaders.
        timer: The Timer.
        patience: `default.api.timeout.ms`, in seconds.
        read_committed: True if logs end at their last stable offset.
        trace: The client's trace.
    """

    def __init__(
        self,
        positions: Positions,
        calls: Calls,
        offsets: OffsetsManager,
        timer: Timer,
        *,
        patience: float,
        read_committed: bool,
        trace: Trace,
    ) -> None:
        self._trace = trace
        self._positions = positions
        self._calls = calls
        self._offsets = offsets
        self._timer = timer
        self._patience = max(patience, LEAST)
        self._read_committed = read_committed

    def handlers(self) -> Handlers:
        """Return the event of a lag that is asked for."""
        return {LookUpEnd: self._look_up}

    def _look_up(self, event: LookUpEnd) -> None:
        now, tp = self._timer.now, event.partition
        call = Call("current_lag", now, Deadline.after(now, self._patience), partitions=(tp,))
        self._calls.start(call, self._end(call, tp, event.born))

    async def _end(self, call: Call, tp: TopicPartition, born: int) -> None:
        end: int | None = None
        asked = AssignedPartition(tp, born)
        try:
            listed = await self._offsets.listed(
                call,
                {tp: int(Moment.LATEST)},
                read_committed=self._read_committed,
                taker=Taking(nothing, lambda _: self._positions.still_wanted(asked)),
            )
            end = listed[tp].offset if tp in listed else None
        except Withdrawn:
            raise
        except KafkaException as error:
            self._trace.emit(LAG_UNKNOWN, partition=tp, error=error)
        finally:
            self._positions.end_found(tp, born, end)

    def __repr__(self) -> str:
        return f"LagManager({self._offsets})"
