"""A request on its way: submitted, written, answered.

Thread: the network thread alone.
"""

from collections.abc import Callable, Collection
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar

from prokurist.events.backoff import Backoff
from prokurist.events.call import Try
from prokurist.events.trace import Trace
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.wire.apis import Api
from prokurist.network_thread.wire.request import Request
from prokurist.types import Node

if TYPE_CHECKING:
    from prokurist.network_thread.operations.timer import Due

Response = TypeVar("Response")

ANOTHER_AFTER: Final = 1.0
"""Seconds that a request for any broker waits for one broker's connection.

Well above the time of a connect to any broker in reach, and well below the ten seconds of its
setup, the cost of a broker that swallows everything.
"""


Expected: TypeAlias = Collection[Api | Request[object]]
"""Requests to come; whole requests where their content narrows the versions."""


class Lane(Enum):
    """Kinds of traffic, each with connections of its own.

    A broker works on one request of a connection at a time, so a request that it may park must
    not stand before one with a waiting caller. A lane costs nothing until the first request is
    sent on it.
    """

    GENERAL = "general"
    """Metadata, offsets, the search for the coordinator: answered at once."""
    COORDINATOR = "coordinator"
    """Commits, look-ups of committed offsets, heartbeats."""
    FETCH = "fetch"
    """Fetch, which waits at the broker for records, and has long answers."""
    JOIN = "join"
    """JoinGroup and SyncGroup: they wait at the broker for the other members. Administrative
    changes: they wait there for the controller."""
    PRODUCE = "produce"
    """Produce: it waits at the broker for the other replicas, and may be long."""


STAND_INS: Final = {
    Lane.GENERAL: (Lane.COORDINATOR, Lane.FETCH, Lane.JOIN, Lane.PRODUCE),
    Lane.COORDINATOR: (Lane.GENERAL, Lane.FETCH, Lane.JOIN, Lane.PRODUCE),
    Lane.FETCH: (Lane.GENERAL, Lane.COORDINATOR, Lane.JOIN, Lane.PRODUCE),
    Lane.JOIN: (Lane.COORDINATOR, Lane.GENERAL, Lane.FETCH, Lane.PRODUCE),
    Lane.PRODUCE: (Lane.GENERAL, Lane.COORDINATOR, Lane.FETCH, Lane.JOIN),
}
"""Lanes that carry the requests of a lane whose connection the broker refuses.

They come in the order of the least delay, for these requests and for the lane's own.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """The configuration that bounds connections; seconds.

    Attributes:
        request: `request.timeout.ms`.
        setup: `socket.connection.setup.timeout.ms` and its `.max.`; grows with failures in a
            row.
        reconnect: `reconnect.backoff.ms` and its `.max.`.
        idle: `connections.max.idle.ms`; infinite for never.
        in_flight: Requests written and unanswered at once.
    """

    request: float
    setup: Backoff
    reconnect: Backoff
    idle: float
    in_flight: int


@dataclass(frozen=True, slots=True)
class Answer(Generic[Response]):
    """A broker's answer, and the attempt that it belongs to."""

    response: Response
    attempt: Try | None
    node: Node


class Claimant(Protocol):
    """Interface of a request's call: claims the request before the write, and hears of its end.

    Attributes:
        trace: The client's trace; None where it is not read.
        number: Its number there.
    """

    trace: Trace | None
    number: int

    def claim(self, request: str, node: str, now: float, *, effect: bool) -> Try | None:
        """Claim the request before it is written; see `Call.claim`."""
        ...

    def ended(
        self,
        attempt: Try,
        now: float,
        outcome: str,
        error: BaseException | None = None,
        *,
        undone: bool = False,
    ) -> None:
        """Note the end of an attempt; see `Call.ended`."""
        ...


class Unsent:
    """A request that was submitted and not written.

    Attributes:
        call: The call that the request is for; None for background work.
        answered: False if the broker sends no answer: it ends once written.
        effect: True if it changes state on the broker.
        patience: How long its answer may take; None for `request.timeout.ms`.
        any_broker: Another broker would do as well.
        lane: Its lane of traffic, also on another lane's connection.
        late: Called with an answer that comes after the caller has left; None to drop it.
        due: When it has waited long enough, where no call's deadline says so.
    """

    __slots__ = (
        "answered",
        "any_broker",
        "call",
        "due",
        "effect",
        "lane",
        "late",
        "patience",
        "promise",
        "request",
        "since",
    )

    def __init__(
        self,
        request: Any,
        call: Claimant | None,
        *,
        effect: bool,
        patience: float | None = None,
        any_broker: bool = False,
        lane: Lane = Lane.GENERAL,
        answered: bool = True,
        late: Callable[[Any], None] | None = None,
    ) -> None:
        self.late: Callable[[Any], None] | None = late
        self.answered: bool = answered
        self.lane: Lane = lane
        self.request: Any = request
        self.call: Claimant | None = call
        self.effect: bool = effect
        self.patience: float | None = patience
        self.any_broker: bool = any_broker
        self.promise: Promise[Answer[Any]] = Promise()
        self.due: Due | None = None
        self.since: float = 0.0


class Sent:
    """A request that was written.

    Attributes:
        length: How many bytes it has.
        began: When it was written.
        abandoned: Its caller has left; only its place in the line still counts.
        due: When its connection becomes suspect.
    """

    __slots__ = (
        "abandoned",
        "attempt",
        "began",
        "correlation",
        "due",
        "length",
        "unsent",
        "version",
    )

    def __init__(
        self,
        unsent: Unsent,
        correlation: int,
        version: int,
        length: int,
        attempt: Try | None,
        began: float,
    ) -> None:
        self.unsent: Unsent = unsent
        self.correlation: int = correlation
        self.version: int = version
        self.length: int = length
        self.attempt: Try | None = attempt
        self.began: float = began
        self.due: Due | None = None
        self.abandoned: bool = False
