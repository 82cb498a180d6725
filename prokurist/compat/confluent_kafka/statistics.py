"""Statistics for `stats_cb`: those of librdkafka's numbers that are counted here.

Each has librdkafka's name; programs that look for others find none. All numbers that there
are stand in docs/metrics.md.
"""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from prokurist.events.clock import epoch_milliseconds

CONSUMER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rxmsgs": "prokurist_consumer_records_total",
        "rxmsg_bytes": "prokurist_consumer_bytes_total",
        "rx_bytes": "prokurist_node_received_bytes_total",
        "tx_bytes": "prokurist_node_sent_bytes_total",
    }
)
"""librdkafka's name and ours, of a consumer's numbers."""

PRODUCER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "txmsgs": "prokurist_producer_records_sent_total",
        "txmsg_bytes": "prokurist_producer_bytes_total",
        "rx_bytes": "prokurist_node_received_bytes_total",
        "tx_bytes": "prokurist_node_sent_bytes_total",
    }
)
"""The same of a producer's."""


class Statistics:
    """Calls `stats_cb` when it is time, in a poll.

    Args:
        callback: The user's; None for none.
        interval: Seconds from one call to the next; 0 for never.
        names: librdkafka's name and ours, of each number.
        now: The clock.
    """

    def __init__(
        self,
        callback: Callable[[str], object] | None,
        interval: float,
        names: Mapping[str, str],
        now: Callable[[], float],
    ) -> None:
        self._callback = callback if interval > 0 else None
        self._interval = interval
        self._names = names
        self._now = now
        self._made = now()
        self._due = self._made + interval

    @property
    def are_due(self) -> bool:
        """True if the next statistics are due."""
        return self._callback is not None and self._now() >= self._due

    def tell(self, metrics: Mapping[str, float]) -> None:
        """Call it with the numbers of a client's `metrics()`."""
        if self._callback is None:
            return
        now = self._now()
        self._due = now + self._interval
        told: dict[str, float | str] = {
            "type": "consumer" if self._names is CONSUMER else "producer",
            "ts": int(now * 1e6),
            "time": epoch_milliseconds() // 1000,
            "age": int((now - self._made) * 1e6),
        }
        for theirs, ours in self._names.items():
            told[theirs] = int(
                sum(value for key, value in metrics.items() if key.partition("{")[0] == ours)
            )
        self._callback(json.dumps(told))

    def __repr__(self) -> str:
        return f"Statistics({self._interval} s)"
