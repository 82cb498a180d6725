"""What an iteration has in hand, both twins alike; and what ends its quick steps."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from prokurist.application.call_runner import CallRunner
from prokurist.config import OffsetReset
from prokurist.events import pure_hand
from prokurist.events.clock import MonotonicClock
from prokurist.events.hand import CHOICE, make_hand
from prokurist.events.mailbox import Mailbox
from prokurist.events.member_identity import PollActivity
from prokurist.events.position_state import Position
from prokurist.types import TopicPartition
from tests.consumer_table import ConsumerTable

TP, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
IS_NATIVE = CHOICE.name == "native"


class Record(NamedTuple):
    """As much of a record as counts here."""

    offset: int
    leader_epoch: int | None = None


RECORDS = [Record(nth) for nth in range(5)]


@pytest.mark.parametrize("twin", [pure_hand, CHOICE.module], ids=["pure", "chosen"])
def test_records_are_handed_out_one_by_one(twin: Any) -> None:
    """The last, the one before, and whether the user has done with it."""
    hand = twin.Hand(twin.Steady(), RECORDS, lambda: 0.0)
    assert (hand.last, hand.before, hand.in_hand, hand.given) == (None, None, False, 0)
    for nth, record in enumerate(RECORDS):
        assert hand.step() is None
        assert hand.take() is record
        hand.give(record)
        assert (hand.last, hand.in_hand, hand.given) == (record, True, nth + 1)
        assert hand.before is (RECORDS[nth - 1] if nth else None)
    assert hand.take() is None


@pytest.mark.parametrize("twin", [pure_hand, CHOICE.module], ids=["pure", "chosen"])
def test_what_is_taken_back_comes_again(twin: Any) -> None:
    """The user has the one before it, and has done with that."""
    hand = twin.Hand(twin.Steady(), RECORDS, lambda: 0.0)
    hand.give(hand.take())
    hand.give(hand.take())
    hand.take_back()
    assert (hand.last, hand.in_hand, hand.given) == (RECORDS[0], False, 1)
    assert hand.take() is RECORDS[1]


@pytest.mark.parametrize("twin", [pure_hand, CHOICE.module], ids=["pure", "chosen"])
def test_what_is_taken_stays_the_next_until_it_is_given(twin: Any) -> None:
    """What comes in between, an interrupt or a refusal, loses nothing."""
    hand = twin.Hand(twin.Steady(), RECORDS, lambda: 0.0)
    assert hand.take() is hand.take() is RECORDS[0]
    hand.give(RECORDS[0])
    assert hand.take() is RECORDS[1]


class Interrupted:
    """Records whose iterator is ended once by an interrupt, as any generator is by one."""

    def __init__(self, at: int) -> None:
        self.at: int | None = at

    def __iter__(self) -> Iterator[Record]:
        for nth, record in enumerate(RECORDS):
            if nth == self.at:
                self.at = None
                raise KeyboardInterrupt
            yield record


@pytest.mark.parametrize("quick", [False, True], ids=["slow", "quick"])
@pytest.mark.parametrize("at", range(len(RECORDS)))
@pytest.mark.parametrize("twin", [pure_hand, CHOICE.module], ids=["pure", "chosen"])
def test_an_interrupt_that_ends_the_iterator_loses_no_record(
    twin: Any, at: int, *, quick: bool
) -> None:
    """B34, B174: an iterator at its end would say that all was handed out."""
    steady = twin.Steady()
    hand = twin.Hand(steady, Interrupted(at), lambda: 0.0)
    if quick:
        steady.on()

    def following() -> Any:
        record = hand.step()
        if record is None and (record := hand.take()) is not None:
            hand.give(record)
        return record

    seen = [following() for _ in range(at)]
    with pytest.raises(KeyboardInterrupt):
        following()
    assert hand.given == at
    assert seen + [following() for _ in RECORDS[at:]] == RECORDS
    assert following() is None


def test_a_quick_step_is_made_while_nothing_happens() -> None:
    """The native twin's; the pure one makes none."""
    now = 0.0
    hand = make_hand(steady := CHOICE.module.Steady(), RECORDS, lambda: now)
    steady.on()
    assert hand.step() is (RECORDS[0] if IS_NATIVE else None)
    steady.off()
    assert hand.step() is None
    steady.on()
    hand.due = 5.0
    assert hand.step() is (RECORDS[1] if IS_NATIVE else None)
    now = 5.0
    assert hand.step() is None


def test_what_ends_it_while_the_next_record_is_fetched() -> None:
    """That record is not lost: a slow step hands it out, or it is read again."""

    def fetched() -> Any:
        yield RECORDS[0]
        steady.off()
        yield RECORDS[1]

    steady = CHOICE.module.Steady()
    hand = make_hand(steady, fetched(), lambda: 0.0)
    steady.on()
    assert hand.step() is (RECORDS[0] if IS_NATIVE else None)
    assert hand.step() is None
    assert hand.take() is RECORDS[IS_NATIVE]


class Recorder:
    """A `Steady` that notes what the partition was when it was put off."""

    def __init__(self, look: Callable[[], Any]) -> None:
        self.look = look
        self.seen: list[Any] = []

    def on(self) -> None:
        """Nothing."""

    def off(self) -> None:
        """Note it."""
        self.seen.append(self.look())


def of_group() -> ConsumerTable:
    """A partition that a group has given, with a position."""
    made = ConsumerTable(OffsetReset("latest"))
    made.assigned.subscribe(["orders"], listens=False)
    made.assigned.add(0, [TP], awaiting=False)
    made.positions.seek(TP, Position(3, 1))
    [wanted] = made.positions.wanted()
    made.positions.confirmed(wanted, 1)
    return made


CHANGES: dict[str, Callable[[ConsumerTable], object]] = {
    "give_up": lambda made: made.assigned.give_up(0, [TP]),
    "lose": lambda made: made.assigned.lose(0),
    "drop": lambda made: made.assigned.drop(0, [TP]),
    "leaders_are": lambda made: made.positions.leaders_are({TP: 2}),
    "seek": lambda made: made.positions.seek(TP, Position(9)),
    "seek_by": lambda made: made.positions.seek_by([TP], OffsetReset("earliest")),
    "let_go": lambda made: made.assigned.let_go(),
    "unsubscribe": lambda made: made.assigned.unsubscribe(),
    "add": lambda made: made.assigned.add(0, [TP], awaiting=True),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_happens_to_a_partition_ends_quick_steps_first(
    change: Callable[[ConsumerTable], object],
) -> None:
    """Before anything of it has changed: a step in between would hand out what is not there."""
    made = of_group()

    def look() -> Any:
        state = made.assigned.rows.get(TP)
        return state and (state.ticket, state.giving_up, state.awaiting, state.standing)

    before = look()
    made.assigned.steady = recorder = Recorder(look)
    change(made)
    assert look() != before
    assert recorder.seen[0] == before


def test_wake_ups_calls_and_polls_that_are_wanted_end_quick_steps() -> None:
    """Each by itself."""
    caller = CallRunner(MonotonicClock(), Mailbox(lambda: None), 1.0)
    activity = PollActivity()
    for end in (caller.wakeup, activity.ask, activity.summon, lambda: enter(caller)):
        caller.steady = activity.steady = recorder = Recorder(lambda: 1)
        end()
        assert recorder.seen == [1]


def enter(caller: CallRunner) -> None:
    """Make a call."""
    with caller.inside("poll"):
        pass
