"""The loop turns when something is due, and at no other time: state by state."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import TimeoutException
from prokurist.events.application_events import Commit, LookUpCommitted
from prokurist.network_thread.io.network import Happening
from prokurist.types import OffsetAndMetadata
from tests.simulation.looking_up import ORDERS, filled

A: Final = ORDERS[0]
LONG: Final = 200.0
JUST: Final = 1e-6


class Engine:
    """A consumer in some state.

    Attributes:
        waits_until: When the loop's wait is over; None if it never is.
        call: One that waits while the state lasts, where it is such a state.
    """

    def __init__(self, **keys: object) -> None:
        self.world = filled()
        self.consumer: KafkaConsumer = self.world.consumer(**keys)  # type: ignore[arg-type]
        self.member = self.world.members[0]
        self.call = self.world.call("background", LONG)
        self.waits_until: float | None = None
        poll = self.member.network.poll

        def waiting(seconds: float | None) -> list[Happening]:
            now = self.world.clock.time
            self.waits_until = None if seconds is None else now + seconds
            return poll(seconds)

        self.member.network.poll = waiting  # type: ignore[method-assign]

    @property
    def turns(self) -> int:
        """How often the loop has turned."""
        return self.member.network.turns

    def warm(self) -> None:
        """Everything is known, and the connections stand."""
        self.consumer.assign(ORDERS)
        self.consumer.poll(1.0)
        self.consumer.commit_sync()

    def commit(self) -> None:
        """A commit that is not waited for here."""
        self.call = self.world.call("commit_sync", LONG)
        self.member.thread.mailbox.post(Commit(self.call, {A: OffsetAndMetadata(7)}))

    def look_up(self) -> None:
        """A look-up that is not waited for here."""
        self.call = self.world.call("committed", LONG)
        self.member.thread.mailbox.post(LookUpCommitted(self.call, (A,)))


def nothing_assigned(engine: Engine) -> None:
    """A consumer that was built and never used."""
    assert not engine.consumer.assignment()


def no_data(engine: Engine) -> None:
    """Assigned, positions known, and nothing to read."""
    engine.warm()


def all_paused(engine: Engine) -> None:
    """Assigned, and none of it wanted."""
    engine.warm()
    engine.consumer.pause(ORDERS)
    engine.consumer.poll(1.0)


def positions_unwanted(engine: Engine) -> None:
    """Assigned, sought by policy, and the position is not looked up yet."""
    engine.warm()
    engine.consumer.seek_to_end()


def coordinator_unknown(engine: Engine) -> None:
    """Every look-up of it is refused."""
    engine.world.control.fail("FindCoordinator", 15, times=None)
    engine.commit()


def coordinator_being_looked_up(engine: Engine) -> None:
    """The look-up is on the wire, and not answered."""
    engine.world.control.hold("FindCoordinator")
    engine.look_up()


def throttled(engine: Engine) -> None:
    """The coordinator has asked for quiet, and a commit waits for that."""
    engine.warm()
    engine.world.control.throttle("OffsetCommit", 50.0, times=1)
    engine.consumer.commit_sync()
    engine.commit()


def backing_off(engine: Engine) -> None:
    """The coordinator loads, and is asked again after a pause."""
    engine.warm()
    engine.world.control.coordinator_loading("g")
    engine.commit()


def a_long_answer(engine: Engine) -> None:
    """A request is on the wire, and its answer takes its time."""
    engine.warm()
    engine.world.control.answer_late("OffsetCommit", 100.0)
    engine.commit()


def node_in_backoff(engine: Engine) -> None:
    """The coordinator refuses connections; a request waits for the next try."""
    engine.warm()
    coordinator = engine.world.control.coordinator("g")
    assert coordinator is not None
    engine.world.control.kill(coordinator, missed=False)
    engine.commit()


def no_broker_answers(engine: Engine) -> None:
    """Every packet is lost."""
    for number in (1, 2, 3):
        engine.member.network.block(f"10.0.0.{number}", 9092)
    engine.look_up()


def all_frozen(engine: Engine) -> None:
    """All brokers stand still; connections come up, and nothing is said on them."""
    engine.world.control.freeze()
    engine.commit()


STATES: Final[tuple[tuple[Callable[[Engine], None], int], ...]] = (
    (nothing_assigned, 0),
    (no_data, 60),
    (all_paused, 0),
    (positions_unwanted, 0),
    (coordinator_unknown, 300),
    (coordinator_being_looked_up, 30),
    (throttled, 60),
    (backing_off, 300),
    (a_long_answer, 60),
    (node_in_backoff, 700),
    (no_broker_answers, 120),
    (all_frozen, 120),
)
"""Each state, and the turns that its retries take in a minute."""


@pytest.fixture(params=STATES, ids=lambda state: state[0].__name__)
def state(request: pytest.FixtureRequest) -> "Iterator[tuple[Engine, int]]":
    """An engine in a state, a little after it came there; and its turns a minute."""
    reach, turns = request.param
    engine = Engine(reconnect_backoff_ms=1_000, request_timeout_ms=30_000)
    reach(engine)
    engine.world.clock.sleep(1.5)
    yield engine, turns
    engine.consumer.close(0)


def test_no_turn_while_time_stands_still(state: "tuple[Engine, int]") -> None:
    """B265: in each kind of wait, the loop turns no more when it has done what is due."""
    engine, _ = state
    turns, wakes = engine.turns, engine.member.network.wakes
    for _ in range(100):
        engine.world.clock.sleep(0)
    assert (engine.turns, engine.member.network.wakes) == (turns, wakes)


def test_few_turns_while_time_goes_on(state: "tuple[Engine, int]") -> None:
    """B265: in a minute, what its retries take; none where nothing is tried."""
    engine, most = state
    before = engine.turns
    engine.world.clock.sleep(60.0)
    assert engine.turns - before <= most


def test_the_loop_waits_until_the_next_due_time(state: "tuple[Engine, int]") -> None:
    """B216: it sleeps until the first of all that is due, and then it turns."""
    engine, _ = state
    for _ in range(20):
        top = engine.member.side.timer.top()
        assert engine.waits_until == (None if top is None else pytest.approx(top.at))
        due = min(engine.member.due(), engine.world._next_due())
        if due == math.inf:
            break
        turns = engine.turns
        engine.world.clock.sleep(due - JUST - engine.world.clock.time)
        assert engine.turns == turns, "it turned before anything was due"
        was = engine.member.due()
        engine.world.clock.sleep(2 * JUST)
        assert was > due + JUST or engine.turns > turns, "it slept past its due time"


@pytest.mark.parametrize("timeout", [0.3, 0.0])
def test_a_call_ends_on_time(state: "tuple[Engine, int]", timeout: float) -> None:
    """B22: by its own time, regardless of what the loop sleeps for."""
    engine, _ = state
    began = engine.world.clock.time
    with suppress(TimeoutException):
        engine.consumer.committed(A, timeout)
    assert engine.world.clock.time <= began + timeout + JUST
