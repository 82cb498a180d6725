"""Features that the cluster has finalised, as brokers tell in their greetings (KIP-584).

Thread: the network thread writes; any thread reads one attribute.

Brokers learn of a change one after the other: the answer with the latest epoch counts.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from prokurist.network_thread.operations.signal import Signal
from prokurist.network_thread.wire.api_versions import ApiVersionsAnswer

GROUP_VERSION: Final = "group.version"
"""From level 1 on there is the protocol of KIP-848: `group.protocol=consumer`."""

TRANSACTION_VERSION: Final = "transaction.version"
IMPLICIT_SINCE: Final = 2
"""From this level on brokers add partitions to transactions, and each end raises the epoch."""


class Features:
    """Feature levels finalised by the cluster.

    Attributes:
        levels: The features with their levels; None before any broker has told.
        changed: Emitted when that is known, and when it has changed.
    """

    def __init__(self) -> None:
        self.levels: Mapping[str, int] | None = None
        self.changed: Signal[()] = Signal()
        self._epoch = -1

    def told(self, answer: ApiVersionsAnswer) -> None:
        """Take the features of a broker's ApiVersions answer, unless they are older."""
        told = dict(answer.finalized)
        if answer.finalized_in < self._epoch or told == self.levels:
            return
        self._epoch = answer.finalized_in
        self.levels = MappingProxyType(told)
        self.changed.emit()

    @property
    def consumer_protocol(self) -> bool | None:
        """True if the cluster supports `group.protocol=consumer`; None before any answer."""
        levels = self.levels
        return None if levels is None else levels.get(GROUP_VERSION, 0) >= 1

    @property
    def implicit_transactions(self) -> bool:
        """True if all brokers add partitions to transactions themselves (KIP-890)."""
        return (self.levels or {}).get(TRANSACTION_VERSION, 0) >= IMPLICIT_SINCE

    def __repr__(self) -> str:
        return f"Features({dict(self.levels or {})}, epoch {self._epoch})"
