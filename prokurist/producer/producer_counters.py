"""What a reader of a producer's counters is given.

Thread: any reads; see `events.counter_types`.
"""

from typing import TYPE_CHECKING, Final

from prokurist.application.caller_counters import CallerCounters
from prokurist.application.open_clients import OpenClients
from prokurist.config import ProducerConfig

if TYPE_CHECKING:
    from prokurist.assembly.producer_machinery import ProducerMachinery


class CountedProducer:
    """One producer, as a reader of its counters sees it; it stays readable after `close`.

    Attributes:
        config: Its configuration.
        machinery: The network side; its parts have counters of their own.
        calls: What is counted of calls that wait.
        started: When it was built, in milliseconds since the epoch; None in virtual time.
    """

    __slots__ = ("__weakref__", "calls", "config", "machinery", "started")

    def __init__(
        self, config: ProducerConfig, machinery: "ProducerMachinery", calls: CallerCounters
    ) -> None:
        self.config: ProducerConfig = config
        self.machinery: ProducerMachinery = machinery
        self.calls: CallerCounters = calls
        self.started: int | None = None

    @property
    def client_id(self) -> str:
        """The `client.id`."""
        return self.machinery.client_id

    def __repr__(self) -> str:
        return f"CountedProducer({self.client_id})"


OPEN: Final = OpenClients[CountedProducer]()
"""The open producers of this process."""
