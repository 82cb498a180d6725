"""Scenes of polls: errors, nudges and the end of the thread, at any point of one."""

from typing import Final

from prokurist.errors import KafkaException, NetworkThreadDiedException
from prokurist.events.background_events import BackgroundError
from tests.simulation.lockstep.exploring import Scene
from tests.simulation.lockstep.hand_overs import LONG, in_time, play
from tests.simulation.lockstep.small import RTT, TP, Small
from tests.simulation.lockstep.stage import Stage


def death_races_a_poll(stage: Stage) -> None:
    """The network thread dies during a poll."""
    small = Small(stage)
    small.table.assigned.assign([TP])

    def die() -> None:
        raise ZeroDivisionError

    def app() -> None:
        began = stage.time
        try:
            small.poll(LONG)
        except NetworkThreadDiedException:
            in_time(small, began, 0.0)
        else:
            raise AssertionError("the poll went on without a network thread")
        small.close()

    small.on_look_up = die
    play(small, app, mortal=True)


def two_errors_for_poll(stage: Stage) -> None:
    """Two errors come while one polls: two polls raise them, and neither waits."""
    small = Small(stage)
    small.table.assigned.assign([TP])

    def two() -> None:
        for text in ("one", "two"):
            small.background.post(BackgroundError(KafkaException(text)))

    def app() -> None:
        began, raised = stage.time, []
        for _ in range(2):
            try:
                small.poll(LONG)
            except KafkaException as error:
                raised.append(str(error))
        assert raised == ["one", "two"], raised
        in_time(small, began, 0.0)
        small.close()

    small.on_look_up = two
    play(small, app)


def a_nudge_for_poll(stage: Stage) -> None:
    """A search ends unanswered while one polls: the poll asks again, and does not wait."""
    small = Small(stage)
    small.table.assigned.assign([TP])
    asked: list[float] = []

    def ask() -> None:
        asked.append(stage.time)
        if len(asked) < 3:
            small.table.positions.given_up(small.table.positions.wanted())
            small.background.nudge()

    def app() -> None:
        began = stage.time
        assert not small.poll(RTT).count
        small.check_end(began + RTT)
        small.close()
        if not any(actor.stalled for actor in stage.actors):
            assert asked == [began] * 3, asked

    small.on_look_up = ask
    play(small, app)


def an_error_while_polls_pass(stage: Stage) -> None:
    """An error comes at any point of a poll: that poll raises it, and does not wait."""
    small = Small(stage)
    small.table.assigned.assign([TP])
    small.table.positions.ask_missing()

    def fail() -> None:
        small.background.post(BackgroundError(KafkaException("one")))

    def app() -> None:
        began = stage.time
        try:
            small.poll(LONG)
        except KafkaException:
            in_time(small, began, 0.0)
        else:
            raise AssertionError("a poll without end has ended")
        small.close()

    stage.enter("failing", fail)
    play(small, app)


SCENES: Final[tuple[Scene, ...]] = (
    death_races_a_poll,
    two_errors_for_poll,
    a_nudge_for_poll,
    an_error_while_polls_pass,
)
