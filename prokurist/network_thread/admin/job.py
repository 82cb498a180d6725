"""Administrative work: an operation as data, and one call under way that is done by it.

Thread: the network thread alone; operations are frozen tables.

A kind of work has one `AdminOperation`: its message, its brokers, its errors, and the meaning
of its repetition. `operations/` has them by area. An `AdminJob` is one call, with what is known
of its items.
"""

import copy
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from prokurist.errors import (
    AuthenticationException,
    IllegalStateException,
    KafkaException,
    UnsupportedVersionException,
)
from prokurist.errors.codes import by_code
from prokurist.events.admin.items_call import ItemsCall
from prokurist.events.admin.work import WHOLE, Work
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.cluster.attempts import Attempts, Route
from prokurist.network_thread.cluster.coordinators import Coordinators
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.error_actions import ErrorTable
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.admin.answers import ItemsAnswer
from prokurist.network_thread.wire.request import Request

Response = TypeVar("Response")

MOST_ITEMS: Final = 500
"""Items in one request."""

UNCERTAIN: Final = frozenset({-1, 7})
"""Error codes after which the broker may have done it all the same: UNKNOWN_SERVER_ERROR and
REQUEST_TIMED_OUT."""

OF_ALL: Final = (
    AuthenticationException,
    IllegalStateException,
    UnsupportedVersionException,
)
"""Errors that say something of the client or of its brokers, and nothing of an item."""

Items: TypeAlias = Mapping[Any, Any]
"""Items of some work, and what is asked for each."""

Groups: TypeAlias = list[tuple[Route, list[Hashable]]]
"""Items by the route of their request."""


class Again(Enum):
    """Meanings of a repetition, after an attempt without an answer."""

    QUESTION = "it asks again, and changes nothing"
    SAME = "it makes the same state, with the same answer"
    ECHO = "it finds the state made, which its answer calls an error"
    NEVER = "it would do more than once what was asked for once: it is not repeated"


class Place(Protocol):
    """Finds the brokers of some items; settles those that have none."""

    async def __call__(self, job: "AdminJob", items: Sequence[Hashable], /) -> Groups:
        """Return the items by route."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminOperation:
    """The way in which one kind of work is done.

    Attributes:
        table: Actions by error code; its `api` is the name of the request.
        again: The meaning of a repetition.
        place: The brokers that are asked; see `places`.
        message: Makes the request for some items, with the seconds that it may take.
        rows: Reads the items of an answer, where the message does not.
        prepare: Looks up what the request needs, before the first.
        check: Judges an echo: returns the value of the item, or raises the error of an item
            that is not what was asked for. None where the error proves that it was done.
        echoed: The value of an echo, where there is no `check`.
        finish: Goes on behind the last outcome, as `wait=True` does.
        most: Items in one request.
        older: The operation for brokers that do not know the request.
        apart: Parts items before `place`, which then takes each part by itself: where `place`
            asks brokers, a silent one holds up its own items.
    """

    table: ErrorTable
    again: Again
    place: Place
    message: Callable[["AdminJob", Items, float], Request[Any]]
    rows: Callable[["AdminJob", Any], ItemsAnswer] | None = None
    prepare: Callable[["AdminJob"], Awaitable[None]] | None = None
    check: Callable[["AdminJob", Any, KafkaException], Awaitable[Any]] | None = None
    echoed: Callable[["AdminJob", Any], Any] | None = None
    finish: Callable[["AdminJob"], Awaitable[None]] | None = None
    most: int = MOST_ITEMS
    older: "AdminOperation | None" = None
    apart: Place | None = None


SHARE: Final = 0.9
"""Of the time that is left, the share that a broker is given."""
MOST: Final = 60.0
LEAST: Final = 0.001
"""Seconds that a broker is given; with none it would not try."""


@dataclass(frozen=True, slots=True)
class AdminTools:
    """The parts of the client core that administration uses.

    Attributes:
        client: Its connections.
        metadata: The metadata of the cluster.
        attempts: Asks brokers until they have answered.
        coordinators: The coordinators of groups and transactional ids.
        timer: The Timer.
        attempt: `request.timeout.ms`, in seconds.
    """

    client: NetworkClient
    metadata: MetadataManager
    attempts: Attempts
    coordinators: Coordinators
    timer: Timer
    attempt: float


class AdminJob:
    """One call, its work, and what is known of its items.

    Args:
        tools: The client core.
        call: The call.
        work: The work.
        operation: How it is done.

    Attributes:
        notes: Kept by the operation between its steps.
        stale: Items whose broker was refuted: they are looked up with fresh metadata.
        echoes: Items whose repetition found the state made, with the error that says so.
        fault: The error for which nothing could be asked, which is no item's; None if there is
            none.
    """

    def __init__(
        self, tools: AdminTools, call: ItemsCall, work: Work, operation: AdminOperation
    ) -> None:
        self.tools: AdminTools = tools
        self.call: ItemsCall = call
        self.work: Any = work
        self.operation: AdminOperation = operation
        self.notes: dict[Any, Any] = {}
        self.stale: set[Hashable] = set()
        self.echoes: dict[Hashable, KafkaException] = {}
        self.fault: KafkaException | None = None

    @property
    def seconds(self) -> float:
        """The time that a broker is given for a request."""
        left = self.call.deadline.remaining(self.tools.timer.now)
        return max(LEAST, min(left, self.tools.attempt, MOST / SHARE) * SHARE)

    def items_of(self, keys: Iterable[Hashable]) -> dict[Hashable, Any]:
        """The request for some items."""
        items = self.work.items
        return {key: items.get(key) for key in keys}

    def unsettled(self, keys: Iterable[Hashable]) -> list[Hashable]:
        """The items that have no outcome yet."""
        return [key for key in keys if not self.call.is_settled(key)]

    def error(
        self,
        item: Hashable,
        code: int,
        message: str | None = None,
        table: ErrorTable | None = None,
    ) -> KafkaException:
        """The exception for the error code of an item."""
        return (table or self.operation.table).error(code, message or text_of(item, code))

    def refuse_all(self, keys: Iterable[Hashable], error: KafkaException) -> None:
        """Give items an error that concerns all of them, each a copy of its own."""
        for key in keys:
            if not self.call.is_settled(key):
                self.call.refuse(key, copy.copy(error))

    def give_up(self, keys: Iterable[Hashable], error: KafkaException) -> None:
        """Give items the error for which they could not be asked about."""
        if isinstance(error, OF_ALL):
            self.fault = error
        self.refuse_all(keys, error)

    async def ask(
        self, route: Route, request: Request[Response], table: ErrorTable
    ) -> Response:
        """Ask a question within the job, until it is answered without an error.

        Raises:
            KafkaException: No other attempt can help.
        """
        return await self.tools.attempts.request(route, request, table, self.call)

    def __repr__(self) -> str:
        return f"AdminJob({self.call})"


def text_of(item: Hashable, code: int) -> str | None:
    """The text for a bare error code; None to leave it to the error's class."""
    cls = by_code().get(code)
    if item == WHOLE or cls is None:
        return None
    line = (cls.__doc__ or cls.__name__).partition("\n")[0].rstrip(".")
    return f"{item}: {line}"
