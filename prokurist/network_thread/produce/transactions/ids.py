"""The id and epoch of a transactional producer, given by its coordinator.

Thread: the network thread alone. Nothing is asked for here: `init_transactions` and the ends of
transactions bring them.
"""

from prokurist.errors import KafkaException
from prokurist.events.producer_log_events import PRODUCER_ID_ASSIGNED
from prokurist.events.trace import Trace
from prokurist.network_thread.operations.signal import Signal
from prokurist.network_thread.produce.producer_ids import ProducerId


class TransactionalIds:
    """The present id and epoch; see `ProducerIds`.

    Args:
        trace: The client's trace.

    Attributes:
        current: The id and epoch for new batches; None while there is none.
        can_begin_again: False: another epoch begins with the end of a transaction.
        own: The id and epoch that the coordinator gave last; None before the first.
        last_error: None: an open transaction has an id.
        refused: Emits an error that rules out further batches of the producer.
        exhausted: Emitted when numbers of a partition would have to begin again.
    """

    def __init__(self, trace: Trace) -> None:
        self.current: ProducerId | None = None
        self.can_begin_again: bool = False
        self.own: ProducerId | None = None
        self.last_error: KafkaException | None = None
        self.refused: Signal[KafkaException] = Signal()
        self.exhausted: Signal[()] = Signal()
        self._trace = trace

    def give(self, given: ProducerId) -> None:
        """Number by an id and epoch from now on."""
        if given != self.own:
            self._trace.emit(PRODUCER_ID_ASSIGNED, id=given.id, epoch=given.epoch)
        self.current = self.own = given

    def want(self) -> None:
        """Do nothing: the next epoch comes with the end of the transaction."""

    def begin_again(self) -> None:
        """Rule out further batches of the transaction; its abort brings the next epoch."""
        self.current = None
        self.exhausted.emit()

    def close(self) -> None:
        """Do nothing: nothing is being asked for."""

    def __repr__(self) -> str:
        return f"TransactionalIds({self.current})"
