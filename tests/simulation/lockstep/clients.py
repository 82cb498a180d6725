"""Scenes of the whole client: the same races, with everything that lies between."""

from collections.abc import Callable
from typing import Final

from prokurist.application.call_runner import TURN
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import (
    KafkaException,
    NetworkThreadDiedException,
    TimeoutException,
    WakeupException,
)
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.lockstep.counted import Counted
from tests.simulation.lockstep.exploring import Scene
from tests.simulation.lockstep.small import ROUNDING
from tests.simulation.lockstep.stage import Stage
from tests.simulation.lockstep.whole import StageWorld
from tests.simulation.world import LATENCY

A: Final = TopicPartition("orders", 0)
B: Final = TopicPartition("orders", 1)
RTT: Final = 2 * LATENCY
LONG: Final = 500.0
"""Longer than any thread is held up."""


class Played:
    """A consumer that has found its coordinator, and one thread that uses it.

    Args:
        stage: Where it is played.
        body: What the application does.
    """

    def __init__(self, stage: Stage, body: Callable[["Played"], object]) -> None:
        self.stage = stage
        self.world = StageWorld(stage)
        self.consumer: KafkaConsumer = self.world.stage_consumer(
            enable_auto_commit=False, auto_offset_reset="earliest"
        )
        self._body = body
        self.app = stage.enter("app", self._live)
        self.warm = False

    def _live(self) -> None:
        self.stage.quiet += 1
        self.consumer.commit_sync({B: OffsetAndMetadata(1)}, LONG)
        self.consumer.end_offsets(A, LONG)
        Counted.made.clear()
        self.warm = True
        self.stage.quiet -= 1
        self._body(self)
        self.stage.quiet += 1
        self.consumer.close(1.0)

    def by(self, timeout: float, call: Callable[[], object]) -> object:
        """A public call, by its deadline: its answer, or what it raised."""
        began, held_up = self.stage.time, self.app.stalled
        try:
            outcome = call()
        except KafkaException as error:
            outcome = error
        late = self.stage.time - began - max(timeout, TURN if not timeout else 0)
        assert late <= self.app.stalled - held_up + ROUNDING, f"{late} s late"
        return outcome

    def commit(self, offset: int, timeout: float) -> object:
        """Commit, and hold what it says against what the broker has in the end."""
        at = {A: OffsetAndMetadata(offset)}
        outcome = self.by(timeout, lambda: self.consumer.commit_sync(at, timeout))
        kept = self.world.control.committed("g").get(A)
        if outcome is None:
            assert kept is not None, "acknowledged, and not there"
            assert kept.offset == offset
        return outcome

    def run(self, *, mortal: bool = False) -> None:
        """Play it, and judge."""
        try:
            self.stage.run()
        finally:
            # A run that went wrong has closed nothing, and nothing in it is real.
            self.consumer._caller.closed = True
        self.world.judge(mortal=mortal)
        for call in Counted.made:
            call.judge()


def commit_at_the_deadline(stage: Stage) -> None:
    """The answer of a commit comes in the moment in which its caller's time is over."""
    told: list[object] = []

    def body(played: Played) -> None:
        told.append(played.commit(7, RTT))

    played = Played(stage, body)
    played.run()
    (outcome,) = told
    assert outcome is None or isinstance(outcome, TimeoutException), outcome
    if isinstance(outcome, TimeoutException) and not outcome.may_have_happened:
        assert A not in played.world.control.committed("g"), "it said that nothing happened"


def wakeup_of_a_commit(stage: Stage) -> None:
    """A wake-up from a signal handler, at any point of a commit: that one or the next."""

    def body(played: Played) -> None:
        outcomes = [played.commit(7, LONG)]
        while came and played.consumer._caller.woken:
            outcomes.append(played.commit(8, LONG))
        ended = sum(isinstance(each, WakeupException) for each in outcomes)
        assert ended == len(came), f"{len(came)} wake-ups, {outcomes}"

    def handler() -> None:
        if played.warm:
            came.append(True)
            played.consumer.wakeup()

    came: list[bool] = []
    played = Played(stage, body)
    stage.signal(played.app, handler)
    played.run()


def seek_races_a_settle(stage: Stage) -> None:
    """What one seeks stands, regardless of a look-up for the place before."""

    def body(played: Played) -> None:
        consumer = played.consumer
        consumer.assign([A, B])
        # What is committed, and then where the log begins: that comes as the poll ends.
        played.by(2 * RTT, lambda: consumer.poll(2 * RTT))
        consumer.seek(A, 7)
        assert consumer.position(A, 0) == 7
        played.by(RTT, lambda: consumer.poll(RTT))
        assert consumer.position(A, 0) == 7, "a look-up has moved it"

    Played(stage, body).run()


def assign_races_a_settle(stage: Stage) -> None:
    """What is given up and assigned again starts again; nothing of the old one sticks."""

    def body(played: Played) -> None:
        consumer = played.consumer
        consumer.assign(B)
        played.by(0.0, lambda: consumer.poll(0))
        consumer.assign(A)
        consumer.assign(B)
        consumer.seek_to_beginning(B)
        found = played.by(LONG, lambda: consumer.position(B, LONG))
        assert found == 0, f"{found} is where the first assignment was to begin"

    Played(stage, body).run()


def leave_and_seek(stage: Stage) -> None:
    """A caller whose time is over seeks at once, while the thread still looks for him."""

    def body(played: Played) -> None:
        consumer = played.consumer
        consumer.assign(A)
        played.by(0.0, lambda: consumer.position(A, 0.0))
        consumer.seek(A, 7)
        assert consumer.position(A, 0) == 7
        assert played.commit(9, LONG) is None

    Played(stage, body).run()


def death_in_the_midst(stage: Stage) -> None:
    """The network thread dies while it takes up a commit: waiting callers hear of it."""

    def body(played: Played) -> None:
        thread = played.world.members[0].thread
        turns = thread.turns

        def die() -> None:
            if thread.turns > turns:
                raise ZeroDivisionError

        thread._managers = (*thread._managers, Dying(die))
        outcome = played.commit(7, LONG)
        assert isinstance(outcome, NetworkThreadDiedException), outcome
        assert isinstance(played.commit(8, LONG), NetworkThreadDiedException)

    Played(stage, body).run(mortal=True)


class Dying:
    """A manager with a bug."""

    def __init__(self, die: Callable[[], None]) -> None:
        self.poll = die

    def close(self) -> None:
        """The end."""


def close_races_commits(stage: Stage) -> None:
    """Closing while commits are under way: each callback runs once, in order."""
    heard: list[int] = []

    def body(played: Played) -> None:
        consumer = played.consumer
        for number in (1, 2):

            def hear(_offsets: object, _error: object, number: int = number) -> None:
                heard.append(number)

            consumer.commit_async({A: OffsetAndMetadata(number)}, hear)
        played.by(RTT + TURN, lambda: consumer.close(RTT))
        assert heard == [1, 2], heard

    Played(stage, body).run()


SCENES: Final[tuple[Scene, ...]] = (
    commit_at_the_deadline,
    wakeup_of_a_commit,
    seek_races_a_settle,
    assign_races_a_settle,
    leave_and_seek,
    death_in_the_midst,
    close_races_commits,
)
