"""Half a minute of `make chaos-shares`, and its judge."""

import pytest

from prokurist.testing.kafka import RealKafka
from tests.chaos.chaos_of_sharers import SHARING_PROPERTIES, run
from tests.chaos.journal import Event
from tests.chaos.judge_of_shares import JudgeOfShares
from tests.chaos.schedule import SLOTS
from tests.chaos.sharing import LIMIT, SHARER_STYLES
from tests.chaos.verdict import Life


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(600)
@pytest.mark.prokurist_broker(properties=SHARING_PROPERTIES)
def test_sharers_in_trouble(prokurist_own_cluster: RealKafka) -> None:
    """B832: each record is accepted, rejected, used up, or available in the end."""
    outcome = run(prokurist_own_cluster, 5, 30.0)
    assert not outcome.wrongs, outcome.summary()
    assert set(outcome.verdict.styles) == set(SHARER_STYLES)
    assert outcome.verdict.counts["records"] > 1000
    assert "nothing was wrong" in outcome.summary()


def test_every_style_has_a_place() -> None:
    """Each sharer of a run is of another style."""
    assert len(SHARER_STYLES) == SLOTS


def life(*events: tuple[str, object]) -> Life:
    """A sharer that has written this down."""
    return Life("one", [Event(float(at), *each) for at, each in enumerate(events)])


GOT = ("got", [[0, 0, 1, "x"]])


@pytest.mark.parametrize(
    ("events", "available", "said"),
    [
        ([], set(), "never delivered"),
        ([GOT], set(), "nobody has accepted"),
        ([GOT, ("decides", [[0, 0, "RELEASE"]])], set(), "nobody has accepted"),
        ([("taken", [[0, 0]])], {(0, 0)}, "without a decision"),
        ([GOT, ("got", [[0, 0, 2, "y"]])], {(0, 0)}, "y and x"),
        ([("call", ["close", 3.0, 4.5, 0.0, "done"])], {(0, 0)}, "1500 ms late"),
    ],
)
def test_what_the_judge_finds(
    events: list[tuple[str, object]], available: set[tuple[int, int]], said: str
) -> None:
    """Each rule finds what breaks it."""
    wrongs = JudgeOfShares([life(*events)], {0: 1}, available).judge().wrongs
    assert any(said in each for each in wrongs), wrongs


@pytest.mark.parametrize(
    ("events", "available"),
    [
        ([GOT, ("decides", [[0, 0, "ACCEPT"]]), ("taken", [[0, 0]])], set()),
        ([GOT, ("decides", [[0, 0, "REJECT"]])], set()),
        ([("got", [[0, 0, LIMIT, "x"]])], set()),
        ([GOT], {(0, 0)}),
        ([("closing", None), ("taken", [[0, 0]]), ("left", None)], {(0, 0)}),
    ],
)
def test_what_the_judge_lets_pass(
    events: list[tuple[str, object]], available: set[tuple[int, int]]
) -> None:
    """Accepted, rejected, used up, available, and released by a close."""
    assert not JudgeOfShares([life(*events)], {0: 1}, available).judge().wrongs
