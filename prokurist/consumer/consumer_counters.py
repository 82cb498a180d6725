"""Counters of the application thread, and the view of a client for their readers.

Thread: the application's writes, any reads; see `events.counters`.
"""

from typing import TYPE_CHECKING, Final

from prokurist.config import ConsumerConfig
from prokurist.events.counter_types import Family
from prokurist.events.work_counters import WorkCounters

if TYPE_CHECKING:
    from prokurist.application.call_runner import CallRunner
    from prokurist.application.caller_counters import CallerCounters
    from prokurist.assembly.consumer import ConsumerSide


MOST_TOPICS: Final = 1000
"""Most topics with counters of their own."""


class Consumed:
    """The records and bytes that were returned of one topic.

    Attributes:
        records: How many.
        bytes: The size of their batches on the wire; counted when the last record of an
            answer's part is returned.
    """

    __slots__ = ("bytes", "records")

    def __init__(self) -> None:
        self.records: int = 0
        self.bytes: int = 0


class CountedConsumer:
    """One client as a reader of counters sees it; readable after `close` as well.

    Attributes:
        config: Its configuration.
        side: The network side; its parts have counters of their own.
        caller: The application's side.
        topics: Counters of returned records, by topic.
        started: When it was built, in milliseconds since the epoch; None in virtual time.
        workers: Counters of its workers; None where it has none.
    """

    __slots__ = ("__weakref__", "caller", "config", "side", "started", "topics", "workers")

    def __init__(
        self,
        config: ConsumerConfig,
        side: "ConsumerSide",
        caller: "CallRunner",
        topics: Family[Consumed],
    ) -> None:
        self.config: ConsumerConfig = config
        self.started: int | None = None
        self.workers: WorkCounters | None = None
        self.side: ConsumerSide = side
        self.caller: CallRunner = caller
        self.topics: Family[Consumed] = topics

    @property
    def calls(self) -> "CallerCounters":
        """Counters of calls."""
        return self.caller.counters

    def now(self) -> float:
        """The client's clock."""
        return self.caller.now()

    @property
    def client_id(self) -> str:
        """The `client.id`."""
        return self.side.client_id

    def __repr__(self) -> str:
        return f"CountedConsumer({self.client_id})"
