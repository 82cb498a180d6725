"""Reports of a group's coordinator: found, lost, out of reach, unable to write.

Thread: the network thread alone.

Each time that it turns out to be out of reach is told of, and when it serves again; the
log makes of that a line a minute (`logs.storms`). One that goes on failing, and is named again
and again, is told as lost and as found once a minute.
"""

import math

from prokurist.errors import CoordinatorNotAvailableException, KafkaException
from prokurist.events.group_log_events import (
    COORDINATOR_AVAILABLE,
    COORDINATOR_CONFIRMED,
    COORDINATOR_FOUND,
    COORDINATOR_LOST,
    COORDINATOR_REACHABLE,
    COORDINATOR_UNAVAILABLE,
    COORDINATOR_UNREACHABLE,
)
from prokurist.events.trace import EVERY, Trace
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import Node


class CoordinatorReports:
    """Emits what becomes of a group's coordinator.

    Args:
        group_id: The group.
        trace: The client's trace.
        timer: The Timer.
    """

    def __init__(self, group_id: str, trace: Trace, timer: Timer) -> None:
        self._group_id = group_id
        self._trace = trace
        self._timer = timer
        # Since when it has not answered, and when that was seen last; None while it does.
        self._trouble: tuple[float, float] | None = None
        # Whether it has refused something since it took something of that kind: what is
        # written, or a heartbeat alone.
        self._refuses_writes = self._refuses_beats = False
        # What was told last: who it is, if it was found; and who was lost, and when.
        self._told: Node | None = None
        self._told_lost: tuple[Node | None, float] = (None, -math.inf)

    def found(self, node: Node) -> None:
        """Emit that a look-up has found it."""
        kind = COORDINATOR_CONFIRMED if node == self._told else COORDINATOR_FOUND
        self._told = node
        self._trace.emit(kind, node=node)

    def lost(self, node: Node, why: KafkaException, since: float | None, *, beat: bool) -> None:
        """Emit that it was forgotten; see `Coordinator.forget`."""
        now = self._timer.now
        lost, at = self._told_lost
        if node != lost or now - at >= EVERY:
            self._told, self._told_lost = None, (node, now)
            self._trace.emit(COORDINATOR_LOST, node=node, error=why)
        if not isinstance(why, CoordinatorNotAvailableException):
            self.unreachable(why, now if since is None else since)
            return
        self._refuses_beats |= beat
        self._refuses_writes |= not beat
        if self._trouble is not None:
            # It has answered: whatever silence comes next begins now.
            self._trouble = now, now
        self._trace.emit(COORDINATOR_UNAVAILABLE, node=node, group=self._group_id, error=why)

    def unreachable(self, error: KafkaException, since: float) -> None:
        """Emit that it cannot be asked, and since when: an idle client began later."""
        now = self._timer.now
        if self._trouble is not None and now - self._trouble[1] <= EVERY:
            since = min(since, self._trouble[0])
        self._trouble = since, now
        self._trace.emit(
            COORDINATOR_UNREACHABLE, group=self._group_id, error=error, seconds=now - since
        )

    def served(self, node: Node, *, wrote: bool, beat: bool) -> None:
        """Emit the end of a trouble: it has answered; see `Coordinator.served`."""
        refuses = self._refuses_writes or self._refuses_beats
        if refuses and (wrote or (beat and not self._refuses_writes)):
            self._refuses_writes = self._refuses_beats = False
            self._trace.emit(COORDINATOR_AVAILABLE, node=node, group=self._group_id)
        if self._trouble is not None:
            self._trouble = None
            self._trace.emit(COORDINATOR_REACHABLE, node=node, group=self._group_id)

    def __repr__(self) -> str:
        return f"CoordinatorReports({self._group_id})"
