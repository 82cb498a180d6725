"""View of a share consumer for readers of its counters.

Thread: the application's writes, any reads; see `events.counter_types`.
"""

from typing import TYPE_CHECKING

from prokurist.config import ShareConsumerConfig

if TYPE_CHECKING:
    from prokurist.application.call_runner import CallRunner
    from prokurist.application.caller_counters import CallerCounters
    from prokurist.assembly.share import ShareSide
    from prokurist.share.collecting import ShareCollector


class CountedShareConsumer:
    """One share consumer as a reader of counters sees it; readable after `close` as well.

    Attributes:
        config: Its configuration.
        side: The network side; its parts have counters of their own.
        caller: The application's side.
        collector: Counts returned records.
        started: When it was built, in milliseconds since the epoch; None in virtual time.
    """

    __slots__ = ("__weakref__", "caller", "collector", "config", "side", "started")

    def __init__(
        self,
        config: ShareConsumerConfig,
        side: "ShareSide",
        caller: "CallRunner",
        collector: "ShareCollector",
    ) -> None:
        self.config: ShareConsumerConfig = config
        self.side: ShareSide = side
        self.caller: CallRunner = caller
        self.collector: ShareCollector = collector
        self.started: int | None = None

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
        return f"CountedShareConsumer({self.client_id})"
