"""Counters of a producer, and the view of it for their readers.

Thread: any reads; see `events.counter_types`.
"""

from typing import TYPE_CHECKING, Final

from prokurist.application.caller_counters import CallerCounters
from prokurist.config import ProducerConfig
from prokurist.events.counter_types import Count, Family, Histogram

if TYPE_CHECKING:
    from prokurist.assembly.producer import ProducerSide


METADATA: Final = "metadata"
MEMORY: Final = "memory"


class SendCounters:
    """Counters of waits and failures of `send`.

    Any application thread adds to it: what two of them add in one moment may count once.

    Attributes:
        waits: How long calls waited, by what for.
        errors: Records that came into no batch, by the error's name.
    """

    def __init__(self) -> None:
        self.waits: Family[Histogram] = Family(Histogram)
        self.errors: Family[Count] = Family(Count)
        for what in (METADATA, MEMORY):
            self.waits.of(what)

    def __repr__(self) -> str:
        return f"SendCounters({self.waits}, {self.errors})"


class CountedProducer:
    """One producer, as a reader of its counters sees it; it stays readable after `close`.

    Attributes:
        config: Its configuration.
        side: The network side; its parts have counters of their own.
        calls: What is counted of calls that wait.
        sends: What is counted of records that are not in a batch at once.
        started: When it was built, in milliseconds since the epoch; None in virtual time.
    """

    __slots__ = ("__weakref__", "calls", "config", "sends", "side", "started")

    def __init__(
        self,
        config: ProducerConfig,
        side: "ProducerSide",
        calls: CallerCounters,
        sends: SendCounters,
    ) -> None:
        self.config: ProducerConfig = config
        self.side: ProducerSide = side
        self.calls: CallerCounters = calls
        self.sends: SendCounters = sends
        self.started: int | None = None

    @property
    def client_id(self) -> str:
        """The `client.id`."""
        return self.side.client_id

    def now(self) -> float:
        """The client's clock."""
        return self.side.accumulator.now()

    def __repr__(self) -> str:
        return f"CountedProducer({self.client_id})"
