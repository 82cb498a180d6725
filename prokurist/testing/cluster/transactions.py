"""A transactional id as its coordinator keeps it: Kafka's TransactionMetadata.

Phases, and the events that end them:

- EMPTY: a partition is added, or (version 2) an abort of nothing;
- ONGOING: EndTxn, the transaction's time, or an InitProducerId, which fences the producer;
- PREPARE_COMMIT, PREPARE_ABORT: the last marker is written;
- COMPLETE_COMMIT, COMPLETE_ABORT: as EMPTY.

InitProducerId leads from EMPTY and both COMPLETE phases to EMPTY. A request's version decides
which of the two protocols of KIP-890 it is held to; what the coordinator ends by itself (a
timeout, a fencing) follows the finalised `transaction.version`.

An entry ends `transactional.id.expiration.ms` after its last change, in a phase without an open
transaction (`Transactions.find`, `Transactions.entries`), or when a test has it forgotten.

Thread: the one that drives the model.
"""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import field
from enum import Enum
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.coordinated import Coordinated
from prokurist.testing.cluster.producers import ProducerStates
from prokurist.types import TopicPartition

FEATURE: Final = "transaction.version"
EPOCHS_GROW_FROM: Final = 2
"""First version of that feature with an epoch for each transaction."""
NONE: Final = -1
"""Kafka's −1 for no producer id and for no epoch."""
LAST_EPOCH: Final = 0x7FFF
OFFSETS_TOPIC: Final = "__consumer_offsets"


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """Properties `transaction.*` of brokers, with Kafka's defaults except for mere delays.

    Attributes:
        version: The finalised `transaction.version`. 0 is a cluster before Kafka 4.0, which
            has no such feature and none of the request versions that need it.
        max_timeout: The longest `transaction.timeout.ms` a producer may ask for.
        id_expiration: After how many seconds without a change a transactional id is forgotten.
        marker_delay: How long a coordinator takes to write the markers of a transaction.
    """

    version: int = 2
    max_timeout: float = 900.0
    id_expiration: float = 604_800.0
    marker_delay: float = 0.0


class TransactionPhase(Enum):
    """Phases of a transactional id, by Kafka's words."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = (
    TransactionPhase
)
PREPARING: Final = frozenset({PREPARE_COMMIT, PREPARE_ABORT})
COMPLETE: Final = frozenset({COMPLETE_COMMIT, COMPLETE_ABORT})


class ProducerNumbers(NamedTuple):
    """A producer's id and epoch, as a request names them."""

    producer_id: int
    epoch: int


@dataclass(slots=True, repr=False)
class Transaction:
    """A transactional id, and its present or last transaction.

    Attributes:
        name: The transactional id.
        producer_id: The id of its producer.
        next_id: Returns a producer id that was never given out.
        epoch: The epoch of its producer; −1 before the first InitProducerId.
        last_epoch: The epoch before, where its owner may still ask with it; else −1.
        previous_id: The producer id before the last change of phase.
        coming_id: The producer id that takes over once the markers are written; else −1.
        timeout: After how many seconds an open transaction is aborted.
        phase: Where it stands.
        partitions: The partitions of the open transaction, `__consumer_offsets` included.
        unmarked: Those of them that still lack their marker.
        started_at: When the open transaction was begun.
        updated_at: When anything of this changed last.
        epochs_grow: True if the last end was one of version 2.
        coordinator_epoch: Grows with each coordinator.
        attempt_planned: True while another attempt to write markers is planned.
    """

    name: str
    producer_id: int
    next_id: Callable[[], int]
    epoch: int = NONE
    last_epoch: int = NONE
    previous_id: int = NONE
    coming_id: int = NONE
    timeout: float = 0.0
    phase: TransactionPhase = EMPTY
    partitions: set[TopicPartition] = field(default_factory=set)
    unmarked: set[TopicPartition] = field(default_factory=set)
    started_at: float | None = None
    updated_at: float = 0.0
    epochs_grow: bool = False
    coordinator_epoch: int = 0
    attempt_planned: bool = False

    def __repr__(self) -> str:
        numbers = f"{self.producer_id}/{self.epoch}"
        return (
            f"Transaction({self.name}, {self.phase.value}, {numbers}, "
            f"{len(self.partitions)} partitions)"
        )

    @property
    def commits(self) -> bool:
        """True if the transaction is committed, or about to be."""
        return self.phase in (PREPARE_COMMIT, COMPLETE_COMMIT)

    @property
    def open_partitions(self) -> set[TopicPartition]:
        """The partitions that have no marker of the present transaction yet."""
        return self.unmarked if self.phase in PREPARING else self.partitions

    @property
    def exhausted(self) -> bool:
        """True if no epoch is left for a producer: the last one is for fencing."""
        return self.epoch >= LAST_EPOCH - 1

    # --- InitProducerId ---------------------------------------------------------------------

    def initialise(
        self, asked: ProducerNumbers | None, timeout: float, now: float
    ) -> ErrorCode:
        """Give out the next epoch; the producer has none yet, or names its numbers.

        An open transaction has to be aborted before: `fence`.
        """
        if self.phase in PREPARING:
            return ErrorCode.concurrent_transactions
        if asked is not None and not self._may_be(asked):
            return ErrorCode.producer_fenced
        if self.phase is ONGOING:
            return ErrorCode.concurrent_transactions
        if self.exhausted and (asked is None or asked.epoch == self.epoch):
            last = NONE if asked is None else self.epoch
            self._move(EMPTY, now)
            self.producer_id, self.epoch, self.last_epoch = self.next_id(), 0, last
        elif self.exhausted:
            return ErrorCode.unknown_server_error
        elif asked is None:
            self._move(EMPTY, now)
            self.epoch, self.last_epoch = self.epoch + 1, NONE
        elif self.epoch in (asked.epoch, NONE):
            self._move(EMPTY, now)
            self.epoch, self.last_epoch = self.epoch + 1, self.epoch
        elif asked.epoch == self.last_epoch:
            # Its answer was lost. No other producer has come: that would have cleared this.
            self._move(EMPTY, now)
        else:
            return ErrorCode.producer_fenced
        self.timeout = timeout
        self.partitions = set()
        self.started_at = None
        return ErrorCode.none

    def _may_be(self, asked: ProducerNumbers) -> bool:
        return (
            self.epoch == NONE
            or asked.producer_id == self.producer_id
            or (asked.producer_id == self.previous_id and asked.epoch >= LAST_EPOCH - 1)
        )

    # --- partitions -------------------------------------------------------------------------

    def refusal_of(self, asked: ProducerNumbers, *, ends_first: bool = False) -> ErrorCode:
        """Return the error code for partitions of a producer; `none` if they are welcome.

        Args:
            asked: The producer's numbers.
            ends_first: True if an end has to be complete before the numbers are looked at.
        """
        if ends_first and self.phase in PREPARING:
            return ErrorCode.concurrent_transactions
        if asked.producer_id != self.producer_id:
            return ErrorCode.invalid_producer_id_mapping
        if asked.epoch != self.epoch:
            return ErrorCode.producer_fenced
        if self.phase in PREPARING:
            return ErrorCode.concurrent_transactions
        return ErrorCode.none

    def add(self, partitions: AbstractSet[TopicPartition], now: float) -> bool:
        """Add partitions; return True if the transaction begins by that."""
        begins = self.phase is not ONGOING
        if begins or not partitions <= self.partitions:
            self._move(ONGOING, now)
        if begins:
            self.started_at = now
        self.partitions |= partitions
        return begins

    # --- its end ----------------------------------------------------------------------------

    def end(
        self, asked: ProducerNumbers, now: float, *, committed: bool, epochs_grow: bool
    ) -> ErrorCode | None:
        """Prepare the end of the transaction, as its producer asks.

        Returns:
            None if the markers are to be written now; the answer where nothing changes.
        """
        refused = self._end_of_2(asked) if epochs_grow else self._end_of_1(asked)
        if refused:
            return refused
        again = epochs_grow and self._is_repetition(asked)
        if self.phase in COMPLETE and (again or not epochs_grow):
            return ErrorCode.none if self.commits == committed else ErrorCode.invalid_txn_state
        if self.phase is not ONGOING and (committed or not epochs_grow):
            return ErrorCode.invalid_txn_state
        phase = PREPARE_COMMIT if committed else PREPARE_ABORT
        self._prepare(phase, now, epochs_grow=epochs_grow)
        return None

    def _end_of_1(self, asked: ProducerNumbers) -> ErrorCode:
        if asked.producer_id != self.producer_id:
            return ErrorCode.invalid_producer_id_mapping
        if asked.epoch != self.epoch:
            return ErrorCode.producer_fenced
        preparing = self.phase in PREPARING
        return ErrorCode.concurrent_transactions if preparing else ErrorCode.none

    def _end_of_2(self, asked: ProducerNumbers) -> ErrorCode:
        # Before the numbers are looked at: they may be those that the end will bring.
        if self.phase in PREPARING:
            return ErrorCode.concurrent_transactions
        if asked.producer_id != self.producer_id and not self._overflowed(asked):
            return ErrorCode.invalid_producer_id_mapping
        again = self.phase in COMPLETE and self._is_repetition(asked)
        valid = again or asked.epoch == self.epoch
        return ErrorCode.none if valid else ErrorCode.producer_fenced

    def _overflowed(self, asked: ProducerNumbers) -> bool:
        return (
            asked.producer_id == self.previous_id
            and asked.epoch == LAST_EPOCH - 1
            and self.epoch == 0
        )

    def _is_repetition(self, asked: ProducerNumbers) -> bool:
        return self.epoch == asked.epoch + 1 or self._overflowed(asked)

    def fence(self, now: float, *, epochs_grow: bool) -> None:
        """Prepare the abort of an open transaction, by the coordinator itself.

        By version 1 its producer is fenced for good. By version 2 its present epoch remains the
        last one, with which it may go on if no other producer comes.
        """
        if not epochs_grow:
            self.epoch = min(self.epoch + 1, LAST_EPOCH)
            self.last_epoch = NONE
        self._prepare(PREPARE_ABORT, now, epochs_grow=epochs_grow)

    def _prepare(self, phase: TransactionPhase, now: float, *, epochs_grow: bool) -> None:
        if self.phase is not ONGOING:
            self.started_at = now
        exhausted = self.exhausted
        self._move(phase, now)
        self.epochs_grow = epochs_grow
        self.coming_id = NONE
        if epochs_grow:
            self.coming_id = self.next_id() if exhausted else NONE
            self.last_epoch = self.epoch
            self.epoch = min(self.epoch + 1, LAST_EPOCH)
        self.unmarked = set(self.partitions)

    def following(self) -> ProducerNumbers:
        """The numbers of its producer in the next transaction."""
        if self.epochs_grow and self.coming_id != NONE:
            return ProducerNumbers(self.coming_id, 0)
        return ProducerNumbers(self.producer_id, self.epoch)

    def complete(self, now: float) -> None:
        """Every marker is written."""
        following = self.following()
        self._move(COMPLETE_COMMIT if self.commits else COMPLETE_ABORT, now)
        self.producer_id, self.epoch = following
        self.coming_id = NONE
        self.partitions = set()

    def fail_over(self) -> None:
        """Another broker reads the log: it writes every marker of a prepared end once more."""
        self.coordinator_epoch += 1
        if self.phase in PREPARING:
            self.unmarked = set(self.partitions)

    def expires_at(self, expiration: float) -> float | None:
        """When it is forgotten unless it changes; None for not in this phase."""
        busy = self.phase in PREPARING or self.phase is ONGOING
        return None if busy else self.updated_at + expiration

    def _move(self, phase: TransactionPhase, now: float) -> None:
        self.phase = phase
        self.previous_id = self.producer_id
        self.updated_at = now


class Transactions:
    """All transactional ids of the cluster.

    Attributes:
        settings: The brokers' configuration.
        held: True while no marker is written, because a test says so.
        offsets: The producers that committed offsets, by partition of `__consumer_offsets`.
    """

    __slots__ = ("_by_name", "_seats", "held", "offsets", "settings")

    def __init__(self) -> None:
        self.settings: TransactionSettings = TransactionSettings()
        self.held: bool = False
        self.offsets: dict[int, OffsetsPartition] = {}
        self._by_name: dict[str, Transaction] = {}
        self._seats: dict[str, Coordinated] = {}

    def __repr__(self) -> str:
        return f"Transactions({len(self._by_name)} transactional ids)"

    def find(self, name: str, now: float) -> Transaction | None:
        """The transactional id of a name, if it is known and not expired."""
        found = self._by_name.get(name)
        if found is not None and self._is_over(found, now):
            self.forget(name)
            return None
        return found

    def make(self, name: str, now: float, next_id: Callable[[], int]) -> Transaction:
        """A transactional id that was not known before, with a producer id of its own."""
        made = Transaction(name, next_id(), next_id, updated_at=now)
        self._by_name[name] = made
        return made

    def entries(self, now: float) -> Iterator[Transaction]:
        """All that are known, in the order of their making."""
        for each in list(self._by_name.values()):
            if self._is_over(each, now):
                self.forget(each.name)
            else:
                yield each

    def forget(self, name: str) -> None:
        """Forget a transactional id."""
        self._by_name.pop(name, None)

    def seat(self, name: str) -> Coordinated:
        """The seat of a transactional id's coordinator, known or not."""
        return self._seats.setdefault(name, Coordinated())

    def moved_to(self, name: str) -> int | None:
        """The broker that a test moved a coordinator to; None where the name decides."""
        seat = self._seats.get(name) if self._seats else None
        return None if seat is None else seat.coordinator

    def loading(self, name: str, now: float) -> bool:
        """True while the coordinator of a transactional id loads."""
        seat = self._seats.get(name) if self._seats else None
        return seat is not None and seat.loading(now)

    def offsets_partition(self, index: int) -> "OffsetsPartition":
        """A partition of `__consumer_offsets`."""
        return self.offsets.setdefault(index, OffsetsPartition())

    def _is_over(self, each: Transaction, now: float) -> bool:
        end = each.expires_at(self.settings.id_expiration)
        return end is not None and end <= now


@dataclass(slots=True)
class OffsetsPartition:
    """A partition of `__consumer_offsets`, as far as transactions are concerned.

    Attributes:
        producers: State of the producers that committed offsets in transactions.
        open: The producers with an open transaction.
    """

    producers: ProducerStates = field(default_factory=ProducerStates)
    open: set[int] = field(default_factory=set)

    def in_transaction(self, producer_id: int, epoch: int | None = None) -> bool:
        """True if a producer has a transaction open here, in an epoch if one is given."""
        if producer_id not in self.open:
            return False
        return epoch is None or self.producers.epoch_of(producer_id) == epoch

    def write(self, producer_id: int, epoch: int, now: float) -> None:
        """Note that a producer wrote offsets in its transaction."""
        self.producers.enter(producer_id, epoch, now)
        self.open.add(producer_id)


def java_hash(text: str) -> int:
    """Java's hash of a string, without its sign as Kafka's `Utils.abs` has it."""
    number = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        number = (31 * number + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    signed = number - (1 << 32) if number >= 1 << 31 else number
    return 0 if signed == -(1 << 31) else abs(signed)
