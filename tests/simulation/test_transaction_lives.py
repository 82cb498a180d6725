"""Random lives of a transactional producer among faults: each transaction whole, or not at all.

Each transaction writes its number to two partitions and commits it as an offset. Calls have
little time, and what they leave behind is gone on from as the errors say. In the end the logs
and the group have exactly the transactions that were committed. `PROKURIST_SEEDS=1-5000` plays
others.
"""

import os
from random import Random
from typing import Final

import pytest

from prokurist import KafkaProducer, OffsetAndMetadata, errors
from prokurist.events.transaction_state import TransactionState
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import ConsumerGroupMetadata
from tests.simulation.transacting import A, B, committed, state, transactional, world_of
from tests.simulation.world import World

SEEDS: Final = os.environ.get("PROKURIST_SEEDS", "1-40")
FIRST, LAST = (int(each) for each in SEEDS.split("-"))
GROUP: Final = ConsumerGroupMetadata("g")
APIS: Final[tuple[ApiName, ...]] = (
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "Produce",
    "EndTxn",
    "InitProducerId",
    "FindCoordinator",
)
PASSING: Final = (14, 15, 16, 51)
"""Error codes of coordinators that pass."""


class Life:
    """One producer, and the transactions that it has committed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - a replay by its seed
        self.version = 1 + seed % 2
        self.world: World = world_of(self.version, nodes=3)
        self.committed: list[bytes] = []
        self.producer: KafkaProducer = self.begin_again()

    def begin_again(self) -> KafkaProducer:
        """Start a producer of the same id, once the faults are over."""
        self.world.control.heal()
        return transactional(self.world, request_timeout_ms=1000, delivery_timeout_ms=4000)

    def trouble(self) -> None:
        """Have something go wrong, sometimes."""
        control, random = self.world.control, self.random
        api = random.choice(APIS)
        match random.randrange(8):
            case 0:
                control.cut(api, applied=random.random() < 0.5)
            case 1:
                control.drop(api, times=1, applied=random.random() < 0.5)
            case 2:
                control.answer_late(api, random.choice((0.3, 1.5)), times=1)
            case 3:
                code = 19 if api == "Produce" else random.choice(PASSING)
                control.fail(api, code, times=random.choice((1, 3)))
            case 4:
                control.move_transaction_coordinator("t", random.randrange(3) + 1)
            case 5:
                control.move_leader(random.choice((A, B)))
            case 6:
                control.disconnect()

    def play(self, number: int) -> None:
        """Play one transaction to its end."""
        value = b"%d" % number
        self.producer.begin_transaction()
        try:
            for tp in (A, B):
                self.trouble()
                self.producer.send(tp.topic, value, partition=tp.partition)
            self.trouble()
            self.producer.send_offsets_to_transaction(
                {A: OffsetAndMetadata(number)}, GROUP, self.time()
            )
            self.trouble()
            if self.random.random() < 0.8:
                self.commit(value)
        except errors.KafkaException:
            # An abort raises what is fatal.
            pass
        self.abort()

    def time(self) -> float:
        """Seconds for a call: too few, or enough."""
        return self.random.choice((0.5, 2.0, 10.0))

    def commit(self, value: bytes) -> None:
        """Commit; go on where the outcome is in doubt."""
        try:
            self.producer.commit_transaction(self.time())
        except errors.TimeoutException as error:
            is_in_doubt = state(self.producer) is TransactionState.IN_DOUBT
            if error.may_have_happened is not is_in_doubt:
                pytest.fail(f"{self.producer!r} is {state(self.producer)} after: {error}")
            if not is_in_doubt:
                raise
            self.world.control.heal()
            self.producer.commit_transaction(60.0)
        self.committed.append(value)

    def abort(self) -> None:
        """Abort what is open yet."""
        while state(self.producer) is not TransactionState.READY:
            try:
                self.producer.abort_transaction(self.time())
            except errors.TimeoutException:
                self.world.control.heal()


@pytest.mark.parametrize("seed", range(FIRST, LAST + 1))
def test_each_transaction_is_whole_or_not_at_all(seed: int) -> None:
    """B541, B544, B549, B554: whatever is lost, late, refused or moved, in both protocols."""
    life = Life(seed)
    for number in range(8):
        life.play(number)
    life.world.control.heal()
    life.producer.close(10.0)
    assert committed(life.world, A) == life.committed, f"PROKURIST_SEEDS={seed}-{seed}"
    assert committed(life.world, B) == life.committed, f"PROKURIST_SEEDS={seed}-{seed}"
    offsets = life.world.control.committed("g")
    last = int(life.committed[-1]) if life.committed else None
    assert (offsets[A].offset if A in offsets else None) == last
