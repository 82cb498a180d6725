"""Quiet topics on three real nodes, and that the comparison with the reference can fail."""

import pytest

from prokurist.testing.kafka import RealKafka
from tests.soak.comparison import QuietTopicsResult
from tests.soak.quiet_topics import run


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(400)
def test_quiet_topics_while_their_cluster_changes(prokurist_own_cluster: RealKafka) -> None:
    """What confluent-kafka reads we read as soon, and with nothing to do little is asked."""
    outcome = run(prokurist_own_cluster, 7)
    assert not outcome.wrongs, outcome.summary()
    assert outcome.highest > 0
    assert len(outcome.read["reference"]) > len(outcome.written) / 2


def test_the_comparison_can_fail() -> None:
    """A record that comes after twice the reference's time and the bound, or never."""
    place, other = ("t", 0, 0), ("t", 0, 1)
    outcome = QuietTopicsResult(1, written={place: 10.0, other: 10.0})
    outcome.read = {"ours": {place: 31.0}, "reference": {place: 20.0, other: 11.0}}
    found = [outcome.judge(bound=5.0, now=now) for now in (14.0, 17.0)]
    assert [[words.split(", and")[0] for words in each] for each in found] == [
        ["ours: ('t', 0, 0) came after 21.0 s"],
        ["ours: ('t', 0, 1) has not come for 7.0 s"],
    ]
    assert not outcome.judge(bound=5.0), "each is told once"
    outcome = QuietTopicsResult(1, written={place: 10.0}, finds={"ours": 16.0})
    outcome.read = {"ours": {place: 31.0}, "reference": {place: 11.0}}
    assert not outcome.judge(bound=5.0)
    outcome.read["ours"].clear()
    assert "has not come for inf s" in outcome.judge(bound=5.0)[0]


def test_the_bound_follows_from_the_fault_and_the_subscription() -> None:
    """A silent broker allows more time, and what a reader has not subscribed to is not due."""
    silent, cut, new = ("t", 0, 0), ("t", 0, 1), ("new", 0, 0)
    outcome = QuietTopicsResult(
        1, written=dict.fromkeys((silent, cut, new), 10.0), only={new[0]: "other"}
    )
    outcome.after = {silent: "freeze", cut: "cut"}
    outcome.read = {
        "ours": {silent: 30.0, cut: 30.0},
        "reference": dict.fromkeys((silent, cut, new), 11.0),
    }
    outcome.judge(bound=5.0, silent=45.0)
    assert len(outcome.wrongs) == 1
    assert "last fault: cut" in outcome.wrongs[0]
    assert "by fault, in s: cut 20.0, freeze 20.0" in outcome.summary()
    assert "nothing was wrong" in QuietTopicsResult(1).summary()
