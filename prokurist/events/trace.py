"""The trace point of a client: both threads emit log events here, and readers receive them.

The core emits; it formats nothing and knows no reader. The log
is one reader (`logs`), a recording another (`timeline`). The events are two
tables (`events/log_events.py` and `call_log_events.py`); none is emitted for a record.

Thread: either emits, outside of every lock. Readers are called on the emitting thread, so they
guard their shared state themselves; the tuple of them is replaced, never changed.

Invariants: a client has one `Trace`, which `assembly` makes. Events that happen many times in a
call are emitted only while it is `fine`: the code checks that first, and has no other cost
without a reader.
"""

from collections.abc import Callable, Mapping
from enum import Enum, IntEnum
from itertools import count
from string import Formatter
from typing import Final, Protocol

from prokurist.events.clock import Clock
from prokurist.lazy_dataclasses import dataclass

EVERY: Final = 60.0
"""Minimum seconds between repeated warnings about one continuing problem."""


class Level(IntEnum):
    """The level of a log event; the numbers are those of Python's logging."""

    RECORDED = 0
    """Of use on a time line only; never in a log."""
    DEBUG = 10
    INFO = 20
    """A change of state that an operator may want to see, in a client that is well."""
    WARNING = 30
    """Something that an operator should know of; the client goes on by itself."""
    ERROR = 40
    """Something that an operator has to mend."""
    CRITICAL = 50
    """A bug of ours: the client is of no use any more."""


class Side(Enum):
    """The thread that emits a log event."""

    APPLICATION = "application"
    NETWORK = "network"


@dataclass(frozen=True, slots=True, eq=False)
class EventKind:
    """A kind of log event: a row of the table.

    Attributes:
        name: Its stable name.
        level: How loud it is.
        text: The sentence, with its keys in braces.
        learns: An operator's use of it, for the documentation.
        area: Its area; the logger is `prokurist.` and this.
        side: The thread that emits it.
        also: Keys that the sentence leaves out.
        traceback: True if the traceback of `error` is useful.
        fine: True if it happens many times in a call.
        story: The key that tells one trouble from another, where it is told as a storm:
            while it lasts, one line each `EVERY` seconds.
        patience: Seconds that such a trouble may last before it is worth a line.
        ends: The problem that it ends. It is emitted only after that one.
    """

    name: str
    level: Level
    text: str
    learns: str
    area: str
    side: Side
    also: tuple[str, ...] = ()
    traceback: bool = False
    fine: bool = False
    story: str | None = None
    patience: float = 0.0
    ends: "EventKind | None" = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the event, those of its sentence first."""
        told = [key for _, key, _, _ in Formatter().parse(self.text) if key]
        return (*dict.fromkeys(told), *self.also)


class Reader(Protocol):
    """A reader of log events: the log, or a recording."""

    def __call__(
        self, trace: "Trace", kind: EventKind, values: Mapping[str, object], /
    ) -> None:
        """Take an event; it must neither raise nor wait."""


class Trace:
    """Emits a client's log events to its readers.

    Args:
        client_id: Whose it is.
        group: Its group, if it has one.
        now: The clock's reading.

    Attributes:
        fine: True if a reader wants events that happen many times in a call.
    """

    __slots__ = ("_fine_readers", "_numbers", "_readers", "client_id", "fine", "group", "now")

    def __init__(
        self, client_id: str = "", group: str | None = None, now: Callable[[], float] = float
    ) -> None:
        self.client_id: Final = client_id
        self.group: Final = group
        self.now: Final = now
        self.fine: bool = False
        self._readers: tuple[Reader, ...] = ()
        self._fine_readers: tuple[Reader, ...] = ()
        self._numbers = count(1)

    @classmethod
    def of(cls, client_id: str, group: str | None, clock: Clock) -> "Trace":
        """The trace of a client."""
        return cls(client_id, group, clock.now)

    def number(self) -> int:
        """The number of the next call that is traced."""
        return next(self._numbers)

    def emit(self, kind: EventKind, /, **values: object) -> None:
        """Emit an event; one of single calls goes only to readers that want those."""
        for read in self._fine_readers if kind.fine else self._readers:
            read(self, kind, values)

    def read_by(self, reader: Reader, *, fine: bool) -> None:
        """Add a reader; with `fine`, also of events that happen many times in a call."""
        self._readers = (*self._readers, reader)
        if fine:
            self._fine_readers = (*self._fine_readers, reader)
        self.fine = bool(self._fine_readers)

    def left_by(self, reader: Reader) -> None:
        """Remove a reader."""
        self._readers = tuple(each for each in self._readers if each != reader)
        self._fine_readers = tuple(each for each in self._fine_readers if each != reader)
        self.fine = bool(self._fine_readers)

    def __repr__(self) -> str:
        return f"Trace({self.client_id}, {len(self._readers)} readers)"


UNREAD: Final = Trace()
"""A trace without readers, for parts that a test builds by themselves."""
