"""Scenes of the small client: where the two threads hand over to each other.

A scene puts its actors on the stage, has them play, and raises what is wrong. Each is
about one race, and is small enough to be played in every way.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Final

from prokurist.application.call_runner import TURN
from prokurist.errors import (
    ConcurrentModificationException,
    IllegalStateException,
    NetworkThreadDiedException,
    TimeoutException,
    WakeupException,
)
from prokurist.events.application_events import BY_NAME, CommitOnce
from prokurist.events.call import Call
from prokurist.events.committable import CommittableOffsets
from tests.simulation.lockstep.counted import Counted
from tests.simulation.lockstep.exploring import Scene
from tests.simulation.lockstep.small import AT_7, ROUNDING, RTT, Small
from tests.simulation.lockstep.stage import Stage

LONG: Final = math.inf
"""A timeout that is never to be needed."""


def play(small: Small, *bodies: Callable[[], object], mortal: bool = False) -> None:
    """Have the application's actors live, and judge."""
    for number, body in enumerate(bodies):
        small.stage.enter("app" if not number else f"app {number + 1}", body)
    small.stage.run()
    small.judge(mortal=mortal)


def in_time(small: Small, began: float, seconds: float) -> None:
    """Something has taken no longer than it has to, but for threads that were held up."""
    held_up = sum(actor.stalled for actor in small.stage.actors)
    assert small.stage.time <= began + seconds + held_up + ROUNDING, "it was waited for"


def answer_at_the_deadline(stage: Stage) -> None:
    """The answer comes in the moment in which the time is over."""
    small = Small(stage)

    def app() -> None:
        outcome = small.commit(RTT)
        assert outcome == "done" or isinstance(outcome, TimeoutException), outcome
        small.close()

    play(small, app)


def answer_just_before_the_deadline(stage: Stage) -> None:
    """The answer is there, and its caller leaves before he hears it."""
    small = Small(stage, latency=RTT * 0.9)

    def app() -> None:
        outcome = small.commit(RTT)
        assert outcome == "done" or isinstance(outcome, TimeoutException), outcome
        small.close()

    play(small, app)


def claim_just_before_the_deadline(stage: Stage) -> None:
    """The request can be written, and its caller leaves before it is."""
    small = Small(stage, before=RTT * 0.9)

    def app() -> None:
        outcome = small.commit(RTT)
        assert isinstance(outcome, TimeoutException), outcome
        small.close()

    play(small, app)


def answers_come_at_once(stage: Stage) -> None:
    """Two calls, one after the other: neither waits for anything but its answer."""
    small = Small(stage)

    def app() -> None:
        for _ in range(2):
            began = stage.time
            outcome = small.commit(LONG)
            assert outcome == "done", outcome
            in_time(small, began, RTT)
        small.close()

    play(small, app)


def no_time(stage: Stage) -> None:
    """Timeout 0: one turn, and what can be written in it is."""
    small = Small(stage)

    def app() -> None:
        outcome = small.commit(0.0)
        assert isinstance(outcome, TimeoutException), outcome
        small.close()

    play(small, app)


def wakeup_from_a_thread(stage: Stage) -> None:
    """One wake-up, two calls: exactly one of them is ended by it, or the third is."""
    small = Small(stage)

    def app() -> None:
        ended = 0
        while not woken.ended or small.caller.woken:
            outcome = small.commit(LONG)
            ended += isinstance(outcome, WakeupException)
            assert outcome == "done" or isinstance(outcome, WakeupException), outcome
        assert ended == 1, f"one wake-up ended {ended} calls"
        small.close()

    woken = stage.enter("waker", small.caller.wakeup)
    play(small, app)


def wakeup_in_a_signal_handler(stage: Stage) -> None:
    """The same on the caller's own thread, between any two statements of it."""
    small = Small(stage)
    came: list[bool] = []

    def handler() -> None:
        small.caller.wakeup()
        came.append(True)

    def app() -> None:
        ended = calls = 0
        while calls < 2 or small.caller.woken:
            outcome = small.commit(LONG)
            calls += 1
            ended += isinstance(outcome, WakeupException)
        assert ended == len(came), f"{len(came)} wake-ups ended {ended} calls"
        small.close()

    actor = stage.enter("app", app)
    stage.signal(actor, handler)
    play(small)


def wakeup_without_an_answer(stage: Stage) -> None:
    """Nothing else would ever end the call."""
    small = Small(stage, latency=LONG)

    def app() -> None:
        outcome = small.commit(LONG)
        assert isinstance(outcome, WakeupException), outcome
        small.close()

    stage.enter("waker", small.caller.wakeup)
    play(small, app)


def interrupt_in_a_wait(stage: Stage) -> None:
    """Ctrl-C: it comes out at once, the call is withdrawn, and closing goes on as usual."""
    small = Small(stage, before=RTT)

    def interrupt() -> None:
        raise KeyboardInterrupt

    def app() -> None:
        try:
            assert small.commit(LONG) == "done"
        except KeyboardInterrupt:
            assert not Counted.made[0].is_open, "it was not withdrawn"
            assert small.commit(LONG) == "done"
        small.close()

    actor = stage.enter("app", app)
    stage.signal(actor, interrupt, when=lambda: small.caller._waiting_at is not None)
    play(small)


def close_races_a_post(stage: Stage) -> None:
    """The thread is ended while an event is posted: the poster hears so, and does not wait."""
    small = Small(stage, latency=1.0)

    def app() -> None:
        began = stage.time
        outcome = small.commit(LONG)
        assert isinstance(outcome, (IllegalStateException, str)), outcome
        in_time(small, began, 1.0)
        small.close()

    stage.enter("closer", small.thread.abandon)
    play(small, app)


def death_races_a_post(stage: Stage) -> None:
    """The network thread dies while an event is posted; every caller hears of it at once."""
    small = Small(stage, latency=LONG)
    told: list[bool] = []

    def die() -> None:
        if told:
            raise ZeroDivisionError

    def tell() -> None:
        told.append(True)
        small.wake()

    def app() -> None:
        for _ in range(2):
            began = stage.time
            outcome = small.commit(LONG)
            assert isinstance(outcome, NetworkThreadDiedException), outcome
            in_time(small, began, 0.0)
        small.close()

    small.each_turn.do = die
    stage.enter("killer", tell)
    play(small, app, mortal=True)


def close_with_commits_under_way(stage: Stage) -> None:
    """Every callback runs once, in order, before `close` returns in its time."""
    small = Small(stage)
    heard: list[int] = []

    def hear(number: int, _offsets: object, _error: object) -> None:
        heard.append(number)

    def app() -> None:
        for number in range(2):
            with small.caller.inside("commit_async"):
                small.commits.later(CommittableOffsets(AT_7, BY_NAME), partial(hear, number))
        began = stage.time
        small.close(RTT * 4)
        small.check_end(began + RTT * 4 + TURN)
        assert heard == [0, 1], heard

    play(small, app)


def two_threads_call(stage: Stage) -> None:
    """One is inside; the other is refused, and the first is none the worse."""
    small = Small(stage)
    inside: list[str] = []
    done: list[object] = []

    def app() -> None:
        try:
            with small.caller.inside("commit_sync"):
                inside.append("one")
                assert len(inside) == 1, "two threads are inside"
                call = small.caller.call("commit_sync", LONG)
                asked = small.caller.ask(call, CommitOnce(call, AT_7))
                done.append(small.caller.drive(asked))
                inside.pop()
        except ConcurrentModificationException:
            done.append("refused")
        over.append(True)
        if len(over) == 2:
            assert "done" in done, done
            small.close()

    over: list[bool] = []
    play(small, app, app)


def two_posts_at_once(stage: Stage) -> None:
    """Two threads post without waiting: both events are taken up, as soon as can be."""
    stage.free_start = True
    small = Small(stage)
    posted: list[Call] = []

    def post() -> None:
        began = stage.time
        call = small.caller.call("commit_async", LONG)
        small.caller.post(CommitOnce(call, AT_7))
        posted.append(call)
        if len(posted) == 2:
            for each in posted:
                assert small.caller.drive(small.caller.wait_for_end(each, each.deadline))
                in_time(small, began, RTT)
            small.close()

    play(small, post, post)


def answers_are_waited_for_late(stage: Stage) -> None:
    """A call may have ended before a thread waits for it."""
    small = Small(stage)

    def app() -> None:
        began = stage.time
        calls = [small.caller.call("commit_async", LONG) for _ in range(2)]
        for call in calls:
            small.caller.post(CommitOnce(call, AT_7))
        for call in calls:
            assert small.caller.drive(small.caller.wait_for_end(call, call.deadline))
            in_time(small, began, RTT)
        small.close()

    play(small, app)


SCENES: Final[tuple[Scene, ...]] = (
    answer_at_the_deadline,
    answer_just_before_the_deadline,
    claim_just_before_the_deadline,
    answers_come_at_once,
    no_time,
    wakeup_from_a_thread,
    wakeup_in_a_signal_handler,
    wakeup_without_an_answer,
    interrupt_in_a_wait,
    close_races_a_post,
    death_races_a_post,
    close_with_commits_under_way,
    two_threads_call,
    two_posts_at_once,
    answers_are_waited_for_late,
)
