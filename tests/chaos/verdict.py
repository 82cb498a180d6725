"""What came of a chaos run for one group: the lives of its members, and the verdict.

Thread: any; data.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.chaos.journal import Event
from tests.soak.lateness import Lateness

Span = tuple[float, float]

TOLD: Final = 20


@dataclass
class Life:
    """One process: a member from its start to its end.

    Attributes:
        name: Which.
        events: Its journal.
        frozen: When it was stopped, and went on.
        stalled: When the machine did not let it run.
        ended: When it was dead for certain; never, by default.
        client: What it is a program of; a key of `READERS` and `SENDERS`.
    """

    name: str
    events: Sequence[Event]
    frozen: list[Span] = field(default_factory=list)
    stalled: list[Span] = field(default_factory=list)
    ended: float = float("inf")
    client: str = "core"


@dataclass
class Tenure:
    """A partition that a member has.

    Attributes:
        life: Whose.
        partition: Which.
        since: When the listener was told so.
        floor: Where reading may begin at the earliest: what was committed by then.
        until: When it has been given back, or the owner was dead.
        due: The offset that has to come next, once the first has come.
    """

    life: Life
    partition: int
    since: float
    floor: int
    until: float = float("inf")
    due: int | None = None


@dataclass
class Verdict:
    """What came of it.

    Attributes:
        wrongs: In words; the first of them.
        counts: How often this and that happened.
        late: How late calls ended.
        starved: Seconds that the machine took away from a call at the most.
        held: Seconds in which the machine did not let one of the processes run, summed up.
        endings: How calls ended.
        styles: How many members there were of each style.
        logged: Warnings, by what they say.
        generation: The last generation or epoch that a member was told of.
        longest_overlap: Seconds that two members believed to own the same, excused.
        longest_pause: Seconds in which nothing of some partition was processed.
    """

    wrongs: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    late: Lateness = field(default_factory=Lateness)
    endings: Counter[str] = field(default_factory=Counter)
    styles: Counter[str] = field(default_factory=Counter)
    logged: Counter[str] = field(default_factory=Counter)
    starved: float = 0.0
    held: float = 0.0
    generation: int = 0
    longest_overlap: float = 0.0
    longest_pause: float = 0.0

    def wrong(self, words: str) -> None:
        """Keep what was wrong, unless there is plenty."""
        if len(self.wrongs) < TOLD:
            self.wrongs.append(words)


def shared(spans: Iterable[Span], since: float, until: float) -> float:
    """How many of the seconds between two moments lie in some of these spans."""
    total, reached = 0.0, since
    for begin, end in sorted(spans):
        reached = max(reached, begin)
        if (stop := min(end, until)) > reached:
            total += stop - reached
            reached = stop
    return total
