"""That each check of a chaos run of copiers is able to fail: for each rule, twins that lie."""

from collections.abc import Callable

import pytest

from tests.chaos.journal import Event
from tests.chaos.judge_of_copies import Copies, judge
from tests.chaos.verdict import Life


class Run:
    """Two copiers, one of which was killed in a transaction, and what is visible."""

    def __init__(self) -> None:
        self.source = {0: [b"0", b"1", b"2"], 1: [b"3", b"4"]}
        self.visible = {0: [b"a:0:0", b"a:0:1", b"b:0:2"], 1: [b"a:2:3", b"b:1:4"]}
        self.java = {tp: list(values) for tp, values in self.visible.items()}
        self.committed = {0: 3, 1: 2}
        self.held_back = {0: 0, 1: 0}
        self.journals = {
            "a": [
                ("begun", [0, 2]),
                ("ended", [0, "committed"]),
                ("begun", [1, 5]),
                ("ended", [1, "aborted"]),
                ("begun", [2, 1]),
                ("ended", [2, "in doubt"]),
            ],
            "b": [
                ("begun", [0, 1]),
                ("ended", [0, "committed"]),
                ("begun", [1, 1]),
            ],
        }

    def wrongs(self) -> list[str]:
        """What the judge finds."""
        lives = [
            Life(name, [Event(0.0, *each) for each in events])
            for name, events in self.journals.items()
        ]
        readers = {"confluent-kafka": self.visible, "Java": self.java}
        return judge(lives, Copies(self.source, readers, self.committed, self.held_back)).wrongs


def test_a_true_run() -> None:
    """Nothing is wrong with it."""
    assert not Run().wrongs()


def lose_a_copy(run: Run) -> None:
    """A record has no copy."""
    del run.visible[0][2]


def copy_twice(run: Run) -> None:
    """A record has two copies."""
    run.visible[1].append(b"b:1:4")


def turn_round(run: Run) -> None:
    """Copies are in another order."""
    run.visible[1].reverse()


def hide_from_java(run: Run) -> None:
    """Another reader sees less."""
    del run.java[0][0]


def show_the_aborted(run: Run) -> None:
    """A record of an aborted transaction is visible."""
    run.visible[0][1] = b"a:1:1"


def show_a_rival(run: Run) -> None:
    """A record of a producer that took a copier's id is visible."""
    run.visible[0].append(b"rival:t-0:x")


def halve_the_unknown(run: Run) -> None:
    """Half of a transaction in doubt is visible."""
    run.journals["a"][4] = ("begun", [2, 2])


def halve_the_committed(run: Run) -> None:
    """Half of a committed transaction is visible."""
    run.journals["b"][0] = ("begun", [0, 2])


def forget_offsets(run: Run) -> None:
    """A transaction was committed without its offsets."""
    run.committed[1] = 1


def hang(run: Run) -> None:
    """A transaction stays open."""
    run.held_back[0] = 4


@pytest.mark.parametrize(
    ("lie", "rule"),
    [
        (lose_a_copy, "6"),
        (copy_twice, "6"),
        (turn_round, "6"),
        (hide_from_java, "6"),
        (show_the_aborted, "5"),
        (show_a_rival, "6"),
        (halve_the_unknown, "5"),
        (halve_the_committed, "5"),
        (forget_offsets, "5"),
        (hang, "8"),
    ],
)
def test_a_lie_is_found(lie: Callable[[Run], None], rule: str) -> None:
    """Each of them, by its rule."""
    run = Run()
    lie(run)
    assert any(each.startswith(f"{rule}:") for each in run.wrongs())
