"""A client without counters of its own kind, as readers of its counters see it.

Thread: any reads; see `events.counter_types`.
"""

from prokurist.application.caller_counters import CallerCounters
from prokurist.assembly.network_side import NetworkSide
from prokurist.config.connection import ConnectionKeys
from prokurist.events.clock import Clock


class CountedCore:
    """The counters that every client has; they stay readable after `close`.

    Args:
        config: Its configuration.
        side: The network side; its parts have counters of their own.
        calls: Counters of calls.
        clock: The client's clock.

    Attributes:
        config: The same.
        side: The same.
        calls: The same.
        started: When it was built, in milliseconds since the epoch; None in virtual time.
    """

    __slots__ = ("__weakref__", "_clock", "calls", "config", "side", "started")

    def __init__(
        self, config: ConnectionKeys, side: NetworkSide, calls: CallerCounters, clock: Clock
    ) -> None:
        self.config: ConnectionKeys = config
        self.side: NetworkSide = side
        self.calls: CallerCounters = calls
        self.started: int | None = None
        self._clock = clock

    @property
    def client_id(self) -> str:
        """The `client.id`."""
        return self.side.client_id

    def now(self) -> float:
        """The client's clock."""
        return self._clock.now()

    def __repr__(self) -> str:
        return f"CountedCore({self.client_id})"
