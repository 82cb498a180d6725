"""The oracles of a chaos run are able to fail, and stay silent where all is well."""

from typing import Any

import pytest

from tests.chaos.journal import Event
from tests.chaos.judge_of_reading import Known, ReadingVerdict, judge
from tests.chaos.verdict import Life
from tests.oracles.bounds import Settings
from tests.oracles.faults import Fault

LEADERS = [0, 1]


class Run:
    """A member that reads the two partitions of a topic, a record a second of each."""

    def __init__(self, seconds: int = 60) -> None:
        self.events: list[tuple[float, str, Any]] = [(0.0, "born", "sync")]
        self.events.append((0.5, "assigned", [1, [0, 1]]))
        self.seconds = seconds
        self.reads: list[tuple[float, int, int]] = [
            (each + 0.1, number, each) for each in range(1, seconds) for number in (0, 1)
        ]
        self.frozen: list[tuple[float, float]] = []
        self.known: dict[str, Any] = {}

    def without(self, partition: int, since: float, until: float) -> "Run":
        """Nothing of a partition is returned for a while, and then all of it."""
        late = [each for each in self.reads if each[1] == partition and since < each[0] < until]
        self.reads = [each for each in self.reads if each not in late]
        self.reads += [(until, partition, offset) for _, _, offset in late]
        return self

    def judged(self) -> ReadingVerdict:
        """What the oracles say."""
        reads = [(at, "read", [[number, each, each + 1]]) for at, number, each in self.reads]
        events = [Event(*each) for each in sorted([*self.events, *reads], key=lambda e: e[0])]
        written = {number: [float(each) for each in range(self.seconds)] for number in (0, 1)}
        life = Life("one", [*events, Event(self.seconds, "window", [1.0, {}, 0.0])])
        life.frozen += self.frozen
        return judge([life], Known(Settings(), written, **self.known))


def test_a_run_in_which_all_is_well() -> None:
    """Each record comes within a second."""
    outcome = Run().judged()
    assert not outcome.wrongs
    assert outcome.longest < 2.0


def test_a_record_that_is_not_returned_is_found() -> None:
    """Once, while it is due, or at the end of the journal."""
    for until in (40.0, 1000.0):
        outcome = Run().without(1, 10.0, until).judged()
        assert len(outcome.wrongs) == 1
        assert outcome.wrongs[0].startswith("liveness: one, partition 1: record 10")


def test_a_partition_of_which_nothing_comes_is_found() -> None:
    """Its position is not known to any journal."""
    run = Run()
    run.reads = [each for each in run.reads if each[1] == 0]
    assert "partition 1: record 0 has been due" in run.judged().wrongs[0]


@pytest.mark.parametrize(
    ("kind", "node", "wrong"),
    [
        ("kill", 1, False),
        ("kill", 0, True),
        ("freeze", 0, True),
        ("freeze all", 0, False),
        ("move", 1, True),
    ],
)
def test_the_fault_in_hand(kind: str, node: int, wrong: bool) -> None:  # noqa: FBT001
    """The broker of another partition is no excuse."""
    run = Run().without(1, 10.0, 42.0)
    run.known["faults"] = [Fault(kind, node, 10.0, 41.0, LEADERS)]
    assert bool(run.judged().wrongs) == wrong


def test_a_frozen_member_owes_nothing() -> None:
    """Nor does one that the machine did not let run."""
    run = Run().without(1, 10.0, 42.0).without(0, 10.0, 42.0)
    run.frozen = [(10.0, 41.5)]
    assert not run.judged().wrongs


def test_what_the_reference_has_read() -> None:
    """A silent broker's excuse ends where another client reads on."""
    for theirs, wrong in ((14.0, True), (60.0, False)):
        run = Run(90).without(1, 10.0, 50.0)
        run.known["faults"] = [Fault("freeze", 1, 10.0, 11.0, LEADERS)]
        came = [max(each + 0.1, theirs if 10 <= each <= 50 else 0.0) for each in range(90)]
        run.known["reference"] = {1: came}
        wrongs = run.judged().wrongs
        assert bool(wrongs) == wrong
        assert all(each.startswith("reference: one, partition 1") for each in wrongs)


def test_requests_and_processor_time_with_nothing_to_do() -> None:
    """In a rest the small bounds hold; where something was done the large one does."""
    run = Run()
    run.reads = [each for each in run.reads if each[0] < 20]
    run.known["rests"] = [(25.0, 40.0)]
    for at, sent, cpu in ((30.0, 12, 0.02), (33.0, 60, 0.02), (36.0, 12, 1.9)):
        run.events.append((at, "window", [2.0, {"1": sent}, cpu]))
    run.events.append((10.0, "window", [2.0, {"1": 4000}, 0.1]))
    run.events.append((12.0, "window", [2.0, {"1": 60}, 1.9]))
    found = [each for each in run.judged().wrongs if each.startswith("thrift")]
    assert [words.split(" in ")[0] for words in found] == [
        "thrift: 4000 requests on 1",
        "thrift: 60 requests on 1",
        "thrift: 1.90 s of processor time",
    ]
