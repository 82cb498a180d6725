"""The oracles of a soak: what its reader returns and sends, held against the fault in hand.

Thread: the one that makes the troubles looks; what the reader tells comes on another one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.oracles.bounds import Settings
from tests.oracles.faults import Fault
from tests.oracles.liveness import Liveness
from tests.oracles.thrift import Thrift

POLLS: Final = 5.0
"""Seconds until the reader polls again and tells of it: its longest call, and a second."""

SETTLED: Final = 2.0
"""Seconds behind the last thing that happened until a reader counts as one without work."""

SETTINGS: Final = Settings(commit=1.0, metadata=10.0)
"""What the reader's bounds follow from, beside the defaults."""


@dataclass(frozen=True)
class Told:
    """What the reader tells once a second.

    Attributes:
        at: When.
        sent: How many requests it has sent to each broker.
        spent: Seconds of processor time.
        done: How many polls have returned records, and other calls were made.
    """

    at: float
    sent: Mapping[str, int]
    spent: float
    done: int


class Oracles:
    """Holds a soak's reader against both bounds.

    Args:
        written: For each partition when each record was acknowledged.

    Attributes:
        liveness: What judges whether all is read.
        thrift: What judges requests and processor time.
        cpu: The largest share of a core with nothing to do.
    """

    def __init__(self, written: Mapping[int, Sequence[float]]) -> None:
        self.liveness: Liveness[int] = Liveness(SETTINGS, polls=POLLS)
        self.thrift: Thrift[str] = Thrift(SETTINGS)
        self.cpu = 0.0
        self._written = written
        self._fault: Fault | None = None
        self._read: dict[int, int] = {}
        self._busy_until = 0.0
        self._last: Told | None = None

    @property
    def wrongs(self) -> list[str]:
        """What both have found, in words."""
        return [*self.liveness.wrongs, *self.thrift.wrongs]

    def begins(self, fault: Fault) -> None:
        """A fault begins: it is none of the partitions that others lead."""
        self._fault = fault
        met = [each for each in self._written if fault.meets(each)]
        self.liveness.befell(fault.since, met)

    def ends(self, now: float) -> None:
        """It is undone: whatever it has moved begins to be known."""
        if self._fault is not None and self._fault.is_silent:
            self.liveness.silent(now)
        self._fault = None
        self._busy_until = now + SETTLED
        self.liveness.befell(now)

    def look(self, now: float, read: Mapping[int, int]) -> None:
        """Judge what is due of each partition whose leader can be reached."""
        fault, due = self._fault, dict[int, object | None]()
        if fault is not None and fault.is_silent:
            self.liveness.silent(now)
        for partition, times in self._written.items():
            offset = read.get(partition, 0)
            if offset > self._read.get(partition, 0):
                self._read[partition] = offset
                self.liveness.returned(partition, now)
            if fault is None or not fault.takes_away(partition):
                due[partition] = f"record {offset}" if offset < len(times) else None
        self.liveness.look(now, due, lambda each: f"partition {each}")

    def told(self, told: Told) -> None:
        """Judge the window between two words of the reader."""
        last, self._last = self._last, told
        if last is None or told.at - last.at <= 0:
            return
        events = told.done - last.done
        seconds = told.at - last.at
        idle = not events and self._fault is None and last.at >= self._busy_until
        if events:
            self._busy_until = told.at + SETTLED
        sent = {node: count - last.sent.get(node, 0) for node, count in told.sent.items()}
        cpu = told.spent - last.spent
        self.thrift.judge(seconds, sent, events=None if idle else 2 + events, cpu=cpu)
        if idle:
            self.cpu = max(self.cpu, cpu / seconds)

    def summary(self) -> list[str]:
        """What was judged, to be read."""
        thrift, longest = self.thrift, self.liveness.longest
        return [
            f"longest that a record of a reachable leader was due: {longest:.1f} s",
            f"with nothing to do, {thrift.idle:.0f} s: at most {thrift.highest:.1f} requests/s",
            f"to a broker, and {self.cpu:.2%} of a core",
        ]
