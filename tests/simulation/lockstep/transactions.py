"""Scenes of transactions: calls that end, records that are sent, errors that come meanwhile.

Whatever the order, the caller and the coordinator agree on the outcome in the end, and a record
that `send` has taken is in the transaction that was open then.
"""

import math
from collections.abc import Callable
from typing import Final

from prokurist.errors import (
    IllegalStateException,
    KafkaException,
    ProducerFencedException,
    TimeoutException,
)
from prokurist.events.accumulator.implementation import Delivery
from prokurist.events.transaction_state import TransactionState
from prokurist.producer.producer import KafkaProducer
from prokurist.types import TopicPartition
from tests.simulation.lockstep.exploring import Scene
from tests.simulation.lockstep.stage import Stage
from tests.simulation.lockstep.whole import StageWorld
from tests.simulation.world import LATENCY

A: Final = TopicPartition("orders", 0)
RTT: Final = 2 * LATENCY
LONG: Final = 500.0
"""Longer than any thread is held up."""
FENCED: Final = 90
NOT_ENOUGH_REPLICAS: Final = 19


class Played:
    """A producer with a record in an open transaction, and the thread that ends it.

    Args:
        stage: Where it is played.
        body: What the application does.
    """

    def __init__(self, stage: Stage, body: Callable[["Played"], object]) -> None:
        self.stage = stage
        self.world = StageWorld(stage)
        self.producer: KafkaProducer = self.world.stage_producer(
            stage, transactional_id="t", transaction_timeout_ms=900_000, linger_ms=0
        )
        self._body = body
        self.is_open = self.over = False
        self.app = stage.enter("app", self._live)

    def _live(self) -> None:
        self.stage.quiet += 1
        self.producer.init_transactions(LONG)
        self.producer.begin_transaction()
        self.send()
        self.producer.flush(LONG)
        self.is_open = True
        self.stage.quiet -= 1
        try:
            self._body(self)
        finally:
            self.over = True
        self.stage.quiet += 1
        self.producer.close(1.0)

    def send(self) -> Delivery:
        """Send a record."""
        return self.producer.send("orders", b"v", partition=0)

    @property
    def state(self) -> TransactionState:
        """The state of the transaction."""
        transaction = self.producer._accumulator.transaction
        assert transaction is not None
        return transaction.state

    @property
    def kept(self) -> str:
        """Kafka's word for the state that the coordinator has."""
        return self.world.control.transactions()["t"].state

    def outcome(self, call: Callable[[], object]) -> KafkaException | None:
        """What a call has raised."""
        try:
            call()
        except KafkaException as error:
            return error
        return None

    def run(self) -> None:
        """Play it, and judge."""
        try:
            self.stage.run()
        finally:
            self.producer._closed = self.producer._ended = True
        self.world.judge()


def a_commit_at_the_deadline(stage: Stage) -> None:
    """The answer comes in the moment in which the time is over: the state is right."""

    def body(played: Played) -> None:
        error = played.outcome(lambda: played.producer.commit_transaction(RTT))
        if error is None:
            assert played.state is TransactionState.READY
            assert played.kept == "CompleteCommit"
            return
        assert isinstance(error, TimeoutException), error
        if error.may_have_happened:
            assert played.state is TransactionState.IN_DOUBT, played.state
        else:
            assert played.state is TransactionState.OPEN, played.state
            assert played.kept == "Ongoing", "it said that nothing was written"
        assert played.outcome(lambda: played.producer.commit_transaction(LONG)) is None
        assert played.kept == "CompleteCommit"

    Played(stage, body).run()


def an_abort_at_the_deadline(stage: Stage) -> None:
    """An abort out of time goes on by the next; the next transaction is not part of it."""

    def body(played: Played) -> None:
        error = played.outcome(lambda: played.producer.abort_transaction(RTT))
        if error is not None:
            assert isinstance(error, TimeoutException), error
            assert played.state is TransactionState.ABORTING, played.state
            assert played.outcome(lambda: played.producer.abort_transaction(LONG)) is None
        assert played.kept == "CompleteAbort"
        played.producer.begin_transaction()
        delivery = played.send()
        failure = played.outcome(lambda: played.producer.commit_transaction(LONG))
        assert failure is None, repr(failure)
        assert not delivery._batch.failed
        assert played.kept == "CompleteCommit"

    Played(stage, body).run()


def a_fence_at_the_deadline(stage: Stage) -> None:
    """The coordinator refuses a commit whose caller may have left: the producer is over."""

    def body(played: Played) -> None:
        with played.world.control.fail("EndTxn", FENCED, times=None):
            error = played.outcome(lambda: played.producer.commit_transaction(RTT))
            if isinstance(error, TimeoutException):
                error = played.outcome(lambda: played.producer.commit_transaction(LONG))
        assert isinstance(error, ProducerFencedException), error
        assert error.fatal
        assert played.state is TransactionState.FATAL, played.state
        again = played.outcome(played.producer.begin_transaction)
        assert isinstance(again, ProducerFencedException), again

    Played(stage, body).run()


def a_send_races_a_commit(stage: Stage) -> None:
    """What `send` has taken is committed with the rest, and what comes later is refused."""
    taken: list[Delivery] = []

    def body(played: Played) -> None:
        # A batch that has to be written once more is behind an end that does not wait for it.
        played.world.control.fail("Produce", NOT_ENOUGH_REPLICAS)
        assert played.outcome(lambda: played.producer.commit_transaction(LONG)) is None
        for delivery in tuple(taken):
            assert delivery.done(), "the commit has returned before a record of it"
        assert played.kept == "CompleteCommit"

    def sender() -> None:
        stage.wait(lambda: played.is_open, math.inf, "an open transaction")
        for _ in range(2):
            try:
                taken.append(played.send())
            except IllegalStateException:
                return

    played = Played(stage, body)
    stage.enter("sender", sender)
    played.run()
    assert not any(each._batch.failed for each in taken), "a record was taken and not committed"


def a_send_races_an_abort(stage: Stage) -> None:
    """No record that was taken before the abort is in the transaction that follows."""
    taken: list[Delivery] = []

    def body(played: Played) -> None:
        assert played.outcome(lambda: played.producer.abort_transaction(LONG)) is None
        assert all(each.done() for each in taken), "a record is left"
        assert played.kept == "CompleteAbort"

    def sender() -> None:
        stage.wait(lambda: played.is_open, math.inf, "an open transaction")
        try:
            taken.append(played.send())
        except IllegalStateException:
            return

    played = Played(stage, body)
    stage.enter("sender", sender)
    played.run()


SCENES: Final[tuple[Scene, ...]] = (
    a_commit_at_the_deadline,
    an_abort_at_the_deadline,
    a_fence_at_the_deadline,
    a_send_races_a_commit,
    a_send_races_an_abort,
)
