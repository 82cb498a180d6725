"""A minute of `make soak`, and that its checks are able to fail."""

from collections.abc import Callable
from itertools import islice

import pytest

from prokurist.testing.kafka import RealKafka
from tests.oracles.faults import Fault
from tests.soak.lateness import Lateness
from tests.soak.numbering import Places, value_of
from tests.soak.oracles import Oracles, Told
from tests.soak.schedule import WEIGHTS, troubles
from tests.soak.soak import SoakResult, run


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(400)
def test_a_minute_of_trouble(prokurist_own_cluster: RealKafka) -> None:
    """B106: nothing is lost, nothing comes twice, and no call is late."""
    outcome = run(prokurist_own_cluster, seed=7, seconds=60.0)
    assert not outcome.wrongs, outcome.summary()
    assert outcome.troubles.total() >= 5, outcome.summary()
    assert outcome.written[0] > 1000
    assert outcome.found["records"] >= outcome.written[0]
    assert "nothing was wrong" in outcome.summary()


def test_a_seed_replays_its_troubles() -> None:
    """The same seed, the same list; every kind comes."""
    first = list(islice(troubles(1), 200))
    assert first == list(islice(troubles(1), 200))
    assert first != list(islice(troubles(2), 200))
    assert {each.kind for each in first} == set(WEIGHTS)
    assert all(0 <= each.length <= 12 for each in first)


def lost(places: Places) -> None:
    """One is left out."""
    places.saw(0, 1, value_of(0, 1))


def again(places: Places) -> None:
    """One comes twice."""
    for _ in range(2):
        places.saw(0, 0, value_of(0, 0))


def elsewhere(places: Places) -> None:
    """One comes from another partition."""
    places.saw(0, 0, value_of(1, 0))


def cut_short(places: Places) -> None:
    """A byte is missing at the end."""
    places.saw(0, 0, value_of(0, 0))
    places.saw(0, 1, value_of(0, 1)[:-1])


@pytest.mark.parametrize("fault", [lost, again, elsewhere, cut_short])
def test_the_check_of_records_can_fail(fault: Callable[[Places], None]) -> None:
    """For each reason."""
    places = Places([0, 1])
    for sequence in range(5):
        places.saw(1, sequence, value_of(1, sequence))
    assert not places.wrongs
    fault(places)
    assert len(places.wrongs) == 1


def test_what_was_sought_is_due_next() -> None:
    """Reading again what one has gone back to is no fault; it counts once."""
    places = Places([0])
    for sequence in range(5):
        places.saw(0, sequence, value_of(0, sequence))
    places.sought(0, 2)
    places.saw(0, 2, value_of(0, 2))
    assert (places.wrongs, places.highest, places.count) == ([], {0: 5}, 6)


def test_the_check_of_deadlines_can_fail() -> None:
    """Calls that give up too early, and calls that are late."""
    late = Lateness()
    for nth in range(1000):
        late.ended("poll", 0.2, 0.2 + nth / 1e6, gave_up=False)
    late.ended("poll", 0.2, 0.1, gave_up=False)
    assert late.table()["poll"] == {
        "calls": 1001,
        "to the deadline": 1000,
        "p50": 0.5,
        "p99": 1.0,
        "p99.9": 1.0,
        "max": 1.0,
    }
    assert not late.early
    late.ended("committed", 0.3, 0.1, gave_up=True)
    late.ended("poll", 0.2, 1.3, gave_up=False)
    assert late.early == ["committed(0.3) gave up after 0.1000 s"]
    outcome = SoakResult(1, found={"wrongs": late.early, "lateness": late.table()})
    outcome.judge()
    assert outcome.wrongs == [*late.early, "poll was 1100 ms late"]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (SoakResult(1), "has said nothing"),
        (SoakResult(1, found={"wrongs": []}, longest=(60.0, "in partition 1")), "lay there"),
        (
            SoakResult(1, found={"wrongs": []}, resident=[each << 17 for each in range(900)]),
            "has grown by 56 MiB",
        ),
    ],
)
def test_the_other_checks_can_fail(outcome: SoakResult, words: str) -> None:
    """The reader that is silent, the record that is not read, the memory that grows."""
    outcome.judge()
    assert len(outcome.wrongs) == 1
    assert words in outcome.wrongs[0]
    assert "WRONG: " + outcome.wrongs[0] in outcome.summary()


def looked(fault: Fault | None, seconds: int = 40) -> list[str]:
    """A partition that is read no more, and another that is; led by nodes 0 and 1."""
    oracles = Oracles({0: [0.0], 1: [float(each) for each in range(seconds)]})
    if fault is not None:
        oracles.begins(fault)
    for now in range(seconds):
        oracles.look(float(now), {1: now})
    return oracles.wrongs


def test_what_is_not_read_is_found_but_where_its_leader_is_away() -> None:
    """The bound for a leader that is well; none while its node is down; no other's trouble."""
    assert "liveness: partition 0: record 0 has been due" in looked(None)[0]
    assert not looked(Fault("kill", 0, 0.0, leaders=[0, 1]))
    assert not looked(Fault("freeze all", 2, 0.0, leaders=[0, 1]))
    assert len(looked(Fault("kill", 1, 0.0, leaders=[0, 1]))) == 1
    assert len(looked(Fault("freeze", 1, 0.0, leaders=[0, 1]), 80)) == 1


def test_a_reader_that_asks_or_computes_for_nothing_is_found() -> None:
    """Requests and processor time between two words, with nothing to do."""
    oracles = Oracles({})
    oracles.told(Told(0.0, {"1": 0}, 0.0, 0))
    oracles.told(Told(1.0, {"1": 9}, 0.02, 0))
    assert not oracles.wrongs
    assert "requests/s" in oracles.summary()[1]
    oracles.told(Told(2.0, {"1": 900}, 0.03, 0))
    oracles.told(Told(3.0, {"1": 902}, 1.0, 0))
    assert [words.split(" in ")[0] for words in oracles.wrongs] == [
        "thrift: 891 requests on 1",
        "thrift: 0.97 s of processor time",
    ]
