"""The id and epoch under which an idempotent producer numbers its batches.

Thread: the network thread alone. Appending does not wait for them; the first request does.
"""

from typing import Final, NamedTuple, Protocol

from prokurist.errors import ClusterAuthorizationException, KafkaException
from prokurist.events.producer_log_events import PRODUCER_ID_ASSIGNED
from prokurist.events.trace import Trace
from prokurist.network_thread.cluster.attempts import Attempts
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.routes import AnyBroker
from prokurist.network_thread.error_actions import INIT_PRODUCER_ID
from prokurist.network_thread.operations.operation import Operation, Withdrawn
from prokurist.network_thread.operations.signal import Signal
from prokurist.network_thread.wire.produce import InitProducerId

LAST_EPOCH: Final = 0x7FFF
CLUSTER_AUTHORIZATION_FAILED: Final = 31


class ProducerId(NamedTuple):
    """An id, and how often its numbering has begun again."""

    id: int
    epoch: int


class NumberingIds(Protocol):
    """Interface of the numbers of batches: the present id, and a way to another epoch.

    Attributes:
        current: The id and epoch for new batches; None while there is none.
        can_begin_again: True if another epoch may begin at any time.
        last_error: The obstacle to one.
        refused: Emits the error when the cluster gives none.
    """

    can_begin_again: bool
    current: ProducerId | None
    last_error: KafkaException | None
    refused: Signal[KafkaException]

    def want(self) -> None:
        """Ask for an id, where that is done unasked."""
        ...

    def begin_again(self) -> None:
        """Number by another epoch from now on, or by none."""
        ...

    def close(self) -> None:
        """Stop asking."""
        ...


class ProducerIds:
    """Asks for an id, and raises its epoch.

    Args:
        metadata: Knows which broker can be asked.
        attempts: Asks.
        trace: The client's trace.

    Attributes:
        current: The id and epoch for new batches; None while there is none.
        can_begin_again: True: another epoch may begin at any time.
        last_error: Why there is none yet.
        refused: Emits the error when the cluster gives none.
    """

    def __init__(
        self,
        metadata: MetadataManager,
        attempts: Attempts,
        trace: Trace,
    ) -> None:
        self.current: ProducerId | None = None
        self.can_begin_again: bool = True
        self.last_error: KafkaException | None = None
        self.refused: Signal[KafkaException] = Signal()
        self._route = AnyBroker(metadata.brokers)
        self._attempts = attempts
        self._trace = trace
        self._asking: Operation[None] | None = None

    def want(self) -> None:
        """Ask for an id, if there is none and nothing has asked."""
        if self.current is None and self._asking is None:
            asking = Operation(self._ask(), "InitProducerId", self._asked)
            self._asking = None if asking.ended else asking

    async def _ask(self) -> None:
        answer = await self._attempts.request(
            self._route,
            InitProducerId(),
            INIT_PRODUCER_ID,
            note=self._note,
            failure=refusal,
            pause="producer id backoff",
        )
        self._is_given(ProducerId(answer.producer_id, answer.epoch))

    def _note(self, error: KafkaException) -> None:
        self.last_error = error

    def _is_given(self, given: ProducerId) -> None:
        self.current, self.last_error = given, None
        self._trace.emit(PRODUCER_ID_ASSIGNED, id=given.id, epoch=given.epoch)

    def _asked(self, _nothing: None, error: KafkaException | None) -> None:
        self._asking = None
        if error is not None and not isinstance(error, Withdrawn):
            self.last_error = error
            self.refused.emit(error)

    def begin_again(self) -> None:
        """Number by a new epoch from now on; after the last one, under another id."""
        if self.current is None:
            return
        if self.current.epoch >= LAST_EPOCH:
            self.current = None
            self.want()
        else:
            self.current = ProducerId(self.current.id, self.current.epoch + 1)
            self._trace.emit(PRODUCER_ID_ASSIGNED, id=self.current.id, epoch=self.current.epoch)

    def close(self) -> None:
        """Stop asking."""
        if self._asking is not None:
            self._asking.throw(Withdrawn("the client is closing"))

    def __repr__(self) -> str:
        return f"ProducerIds({self.current})"


def refusal(code: int) -> KafkaException:
    """The exception for a code of InitProducerId."""
    if code == CLUSTER_AUTHORIZATION_FAILED:
        return ClusterAuthorizationException(
            "not allowed to write idempotently: grant the right to write to a topic, or "
            "IdempotentWrite on the cluster for brokers before 2.8; or set "
            "enable.idempotence=False"
        )
    return INIT_PRODUCER_ID.error(code)
