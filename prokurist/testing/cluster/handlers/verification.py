"""Questions to the coordinator of a transaction, by leaders and group coordinators (KIP-890).

A broker writes nothing of a transaction before its coordinator knows of the partition. Newer
requests have the partition added by that question, older ones have it looked up.
"""

from collections.abc import Collection, Mapping
from typing import Final

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.transaction_coordinator import add, is_up, verify
from prokurist.testing.cluster.transactions import ProducerNumbers
from prokurist.types import TopicPartition

UNREACHABLE: Final = frozenset(
    {
        ErrorCode.network_exception,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.not_coordinator,
    }
)
"""Codes that say that the coordinator was not asked."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a coordinator.

    Attributes:
        name: The transactional id.
        asked: The producer's numbers.
        partitions: The partitions it is about.
        adds: True to add them, False to look them up.
        names_abortable: True if the client knows TRANSACTION_ABORTABLE; others are told
            INVALID_TXN_STATE.
    """

    name: str
    asked: ProducerNumbers
    partitions: Collection[TopicPartition]
    adds: bool
    names_abortable: bool

    def answers(self, state: State, now: float) -> Mapping[TopicPartition, ErrorCode]:
        """Ask; return the error code of each partition, `none` if it is in the transaction."""
        if refused := unreachable(state, self.name, now):
            return dict.fromkeys(self.partitions, refused)
        if self.adds:
            code = add(state, self.name, self.asked, self.partitions, now)
            return dict.fromkeys(self.partitions, self._translated(code))
        found = verify(state, self.name, self.asked, self.partitions, now)
        return {each: self._translated(code) for each, code in found.items()}

    def _translated(self, code: ErrorCode) -> ErrorCode:
        if code == ErrorCode.producer_fenced:
            return ErrorCode.invalid_producer_epoch
        if code == ErrorCode.transaction_abortable and not self.names_abortable:
            return ErrorCode.invalid_txn_state
        return code


def unreachable(state: State, name: str, now: float) -> ErrorCode:
    """Return the error code of a broker that cannot ask a coordinator; `none` if it can."""
    node = state.transaction_coordinator(name)
    if node is None:
        return ErrorCode.coordinator_not_available
    if not is_up(state, node):
        return ErrorCode.network_exception
    return state.transaction_refusal(name, node, now)


def is_frozen(state: State, name: str) -> bool:
    """True if the coordinator takes questions and does not answer."""
    node = state.transaction_coordinator(name)
    return node is not None and state.brokers[node].frozen
