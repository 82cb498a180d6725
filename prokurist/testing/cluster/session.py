"""One connection to one broker: requests in, one worked on at a time, answers out.

A broker never overtakes on a connection: a delayed, parked, held or dropped request holds back
everything behind it. Client libraries rely on it, and so does the order of a test's
observations.

States, with the event that ends each:

- IDLE: the next request, once it is not muted by a throttle;
- DELAYED: the time at which the broker takes up the request;
- HELD: its rule to be undone;
- PARKED: a change of the state, or the end of the request's own patience;
- LATE: the departure time of the finished answer;
- SILENT: nothing; an answer was dropped, and no other may pass it;
- OVER: nothing; the connection is closed.

When the client closes, the request being worked on still takes effect, as it does
on a broker that has read it: a commit may have happened though no client learned of it.

Thread: the one that drives the model.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import field
from enum import Enum
from typing import Protocol

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.answers import Result, Silence, Wait
from prokurist.testing.cluster.brokers import Broker
from prokurist.testing.cluster.faults import Fate, RuleKind
from prokurist.testing.cluster.journal import Entry
from prokurist.testing.cluster.sasl import SaslExchange
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Request, Values


class Stage(Enum):
    """States of a session; the module lists the event that ends each."""

    IDLE = "idle"
    DELAYED = "delayed"
    HELD = "held"
    PARKED = "parked"
    LATE = "late"
    SILENT = "silent"
    OVER = "over"


class End(Enum):
    """Ways in which a broker ends a connection."""

    CLOSED = "closed"
    RESET = "reset"


@dataclass(frozen=True, slots=True, repr=False)
class Delivery:
    """Something that reaches a client: an answer, or the end of its connection.

    Attributes:
        session: The connection.
        frame: The answer without its length; empty where the connection ends.
        end: How it ends, if it does.
        framed: False for bytes that go out without a length before them.
    """

    session: "Session"
    frame: bytes = b""
    end: End | None = None
    framed: bool = True

    def __repr__(self) -> str:
        what = self.end.value if self.end else f"{len(self.frame)} bytes"
        return f"Delivery({what} on {self.session.number})"

    @property
    def wire(self) -> bytes:
        """The bytes as they stand on the wire."""
        length = len(self.frame).to_bytes(4) if self.framed and not self.end else b""
        return length + self.frame


class Host(Protocol):
    """A session's interface to its cluster."""

    @property
    def state(self) -> State:
        """The state that handlers work on."""
        ...

    def received(self, session: "Session", frame: bytes, now: float) -> None:
        """A frame has come from a client."""
        ...

    def left(self, session: "Session", now: float) -> None:
        """A client has closed."""
        ...

    def fate(self, session: "Session", request: Request) -> Fate:
        """Match a request against the fault rules when the broker takes it up."""
        ...

    def work(self, session: "Session", request: Request, now: float) -> Result:
        """Run the handler of a request."""
        ...

    def encode(self, request: Request, answer: Values, fate: Fate) -> bytes:
        """The frame of an answer."""
        ...

    def deliver(self, delivery: Delivery, now: float) -> None:
        """Have something reach the client."""
        ...

    def over(self, session: "Session") -> None:
        """A connection is over."""
        ...


@dataclass(slots=True)
class Job:
    """The request being worked on."""

    entry: Entry
    fate: Fate
    until: float = math.inf
    again: Callable[[float], Result] | None = None
    seen: int = -1
    frame: bytes = b""


@dataclass(eq=False, slots=True, repr=False)
class Session:
    """The connection.

    Attributes:
        number: Counted over the whole cluster, from 1.
        broker: The broker at the other end.
        host: The cluster.
        stage: Where it stands.
        orphan: The client has closed; nothing is delivered any more.
        sasl: How far its authentication has come; None where the listener has none.
    """

    number: int
    broker: Broker
    host: Host
    stage: Stage = Stage.IDLE
    orphan: bool = False
    sasl: SaslExchange | None = None
    _waiting: deque[Entry] = field(default_factory=deque)
    _job: Job | None = None
    _muted_until: float = -math.inf

    def __repr__(self) -> str:
        doing = f" with {self._job.entry.request}" if self._job else ""
        return (
            f"Session({self.number} to {self.broker.node.id}, "
            f"{self.stage.value}{doing}, {len(self._waiting)} waiting)"
        )

    # --- what the client does -----------------------------------------------------

    def receive(self, frame: bytes, now: float) -> None:
        """One whole request frame has come, without its length prefix."""
        if self.stage is not Stage.OVER and not self.orphan:
            self.host.received(self, frame, now)

    def close(self, now: float) -> None:
        """The client has closed; twice is once."""
        if self.stage is not Stage.OVER and not self.orphan:
            self.host.left(self, now)

    # --- what the cluster does ----------------------------------------------------

    def enqueue(self, entry: Entry) -> None:
        """A request stands in line."""
        self._waiting.append(entry)

    def abandon(self) -> None:
        """The client has gone: finish the request in hand, forget the others."""
        self.orphan = True
        if self._job is None and self._waiting:
            # Frozen or muted, the broker will still read what lay in the socket.
            self._waiting = deque([self._waiting[0]])
        else:
            self._waiting.clear()
        if self.stage in (Stage.PARKED, Stage.LATE, Stage.SILENT) or not self.busy:
            self.finish()

    def finish(self) -> None:
        """The connection is over, from whichever side."""
        self.stage = Stage.OVER
        self._waiting.clear()
        self._job = None
        self.host.over(self)

    @property
    def busy(self) -> bool:
        """True while any request is in progress or queued."""
        return self._job is not None or bool(self._waiting)

    def due(self) -> float:
        """When the session has something to do; `math.inf` for not by itself."""
        job = self._job
        if (job is None and not self._waiting) or self.broker.frozen:
            return math.inf
        match self.stage:
            case Stage.IDLE:
                if self._waiting:
                    return max(self._waiting[0].at, self._muted_until)
            case Stage.DELAYED | Stage.LATE if job:
                return job.until
            case Stage.HELD if job:
                rule = job.fate.get(RuleKind.HOLD)
                return -math.inf if rule is None or not rule.live else math.inf
            case Stage.PARKED if job:
                state = self.host.state
                return job.until if job.seen == state.version else state.changed_at
            case _:
                pass
        return math.inf

    def step(self, now: float) -> None:
        """Do due work."""
        match self.stage:
            case Stage.IDLE:
                self._take_up(self._waiting.popleft(), now)
            case Stage.DELAYED | Stage.HELD:
                self._work(now)
            case Stage.PARKED:
                job = self._in_hand()
                if job.again is not None:
                    self._settle(job.again(now), now)
            case Stage.LATE:
                self._send(now)
            case Stage.SILENT | Stage.OVER:
                raise AssertionError(f"{self} has nothing to do")

    # --- one request after another --------------------------------------------------

    def _in_hand(self) -> Job:
        if self._job is None:
            raise AssertionError(f"{self} works on nothing")
        return self._job

    def _take_up(self, entry: Entry, now: float) -> None:
        entry.taken_up = now
        job = self._job = Job(entry, self.host.fate(self, entry.request))
        if cut := job.fate.get(RuleKind.CUT, applied=False):
            self._end(End.RESET if cut.reset else End.CLOSED, now)
        elif job.fate.get(RuleKind.DROP, applied=False):
            self._fall_silent()
        elif job.fate.get(RuleKind.HOLD):
            self.stage = Stage.HELD
        elif delay := job.fate.get(RuleKind.DELAY):
            self.stage = Stage.DELAYED
            job.until = now + delay.seconds
        else:
            self._work(now)

    def _work(self, now: float) -> None:
        job = self._in_hand()
        self._settle(self.host.work(self, job.entry.request, now), now)

    def _settle(self, result: Result, now: float) -> None:
        job = self._in_hand()
        if isinstance(result, Wait):
            self.stage = Stage.PARKED
            job.until, job.again = result
            job.seen = self.host.state.version
            if self.orphan:
                self.finish()
        elif result is Silence.CLOSE:
            self._end(End.CLOSED, now)
        elif cut := job.fate.get(RuleKind.CUT):
            self._end(End.RESET if cut.reset else End.CLOSED, now)
        elif job.fate.get(RuleKind.DROP):
            self._fall_silent()
        elif result is Silence.UNASKED:
            self._next(now)
        else:
            job.frame = self.host.encode(job.entry.request, result, job.fate)
            if late := job.fate.get(RuleKind.LATE):
                self.stage = Stage.LATE
                job.until = now + late.seconds
                if self.orphan:
                    self.finish()
            else:
                self._send(now)

    def _send(self, now: float) -> None:
        job = self._in_hand()
        if not self.orphan:
            garbage = job.fate.get(RuleKind.GARBAGE)
            framed = garbage is None or garbage.framed
            self.host.deliver(Delivery(self, job.frame, framed=framed), now)
            job.entry.answered = now
        self._next(now)

    def _next(self, now: float) -> None:
        throttle = self._in_hand().fate.get(RuleKind.THROTTLE)
        if throttle:
            self._muted_until = now + throttle.seconds
        self._job = None
        self.stage = Stage.IDLE
        if self.orphan and not self._waiting:
            self.finish()

    def _fall_silent(self) -> None:
        self.stage = Stage.SILENT
        if self.orphan:
            self.finish()

    def _end(self, end: End, now: float) -> None:
        if not self.orphan:
            self.host.deliver(Delivery(self, end=end), now)
        self.finish()
