"""What came of a run with quiet topics: our readers held against the reference and the bound.

Thread: any; data.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

SILENT_KINDS: Final = frozenset({"freeze", "swallow"})
"""Faults in which a broker takes requests and does not answer."""

Place = tuple[str, int, int]


@dataclass
class QuietTopicsResult:
    """Result of a run.

    Attributes:
        seed: Seed of the lots.
        happened: What was done, with its time.
        written: When each record was acknowledged.
        read: For each reader when each record came.
        after: For each record the kind of fault that it was written during or after.
        faults: How often each kind of fault was made.
        highest: The most requests a second on one connection, with nothing to do.
        idle: Seconds that were judged with nothing to do.
        cpu: The largest share of a core that the threads of all our clients took in such a
            window, and that of all threads of confluent-kafka (its producer's too).
        only: Topics that one reader alone reads, and its name.
        narrow: Readers that do not read all topics, and those that they read.
        finds: Seconds that readers may take beside to find new topics and partitions.
        wrongs: What was wrong, in words.
    """

    seed: int
    happened: list[str] = field(default_factory=list)
    written: dict[Place, float] = field(default_factory=dict)
    read: dict[str, dict[Place, float]] = field(default_factory=dict)
    after: dict[Place, str] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    highest: float = 0.0
    idle: float = 0.0
    cpu: tuple[float, float] = (0.0, 0.0)
    only: dict[str, str] = field(default_factory=dict)
    narrow: dict[str, frozenset[str]] = field(default_factory=dict)
    finds: dict[str, float] = field(default_factory=dict)
    wrongs: list[str] = field(default_factory=list)
    _told: set[tuple[str, Place]] = field(default_factory=set)

    def judge(
        self, bound: float, silent: float | None = None, now: float = math.inf
    ) -> list[str]:
        """Hold our readers against the reference, and the bound.

        Args:
            bound: Seconds within which a record of a partition that is known is returned.
            silent: The same for a record written while a broker did not answer.
            now: When what has not come is not there yet; infinite at the end.

        Returns:
            What is wrong and was not before.
        """
        reference, new = self.read["reference"], list[str]()
        for name, came in self.read.items():
            for place, at in self.written.items():
                if name == "reference" or place not in reference or not self.reads(name, place):
                    continue
                kind = self.after.get(place, "")
                within = silent if silent is not None and kind in SILENT_KINDS else bound
                within += self.finds.get(name, 0.0)
                allowed = max(2 * (reference[place] - at), within)
                took = came.get(place, now) - at
                if took > allowed and (name, place) not in self._told:
                    self._told.add((name, place))
                    came_or_not = "came after" if place in came else "has not come for"
                    new.append(
                        f"{name}: {place} {came_or_not} {took:.1f} s, and the reference had it "
                        f"after {reference[place] - at:.1f} s (last fault: {kind or 'none'})"
                    )
        self.wrongs += new
        return new

    def reads(self, name: str, place: Place) -> bool:
        """Whether a reader's subscription has the topic of a record."""
        topic = place[0]
        return self.only.get(topic, name) == name and topic in self.narrow.get(name, {topic})

    def summary(self) -> str:
        """All of it, to be read."""
        lines = [f"seed {self.seed}, {len(self.written)} records", *self.happened]
        for name, came in self.read.items():
            took = [came[each] - at for each, at in self.written.items() if each in came]
            lines.append(
                f"{name}: {len(took)} read, the latest {max(took, default=0):.1f} s on"
            )
            lines.append(f"  by fault, in s: {self.latest_by_fault(came)}")
        counts = ", ".join(f"{n} {kind}" for kind, n in sorted(self.faults.items()))
        ours, reference = self.cpu
        lines.append(f"faults: {counts or 'none'}")
        lines.append(
            f"with nothing to do, {self.idle:.0f} s: at most {self.highest:.1f} requests/s on "
            f"a connection; {ours:.2%} of a core, confluent-kafka {reference:.2%}"
        )
        lines += ["WRONG: " + each for each in self.wrongs[:20]] or ["nothing was wrong"]
        return "\n".join(lines)

    def latest_by_fault(self, came: Mapping[Place, float]) -> str:
        """The longest that a record took to be read, by the last fault before it."""
        latest: dict[str, float] = {}
        for place, at in self.written.items():
            if place in came:
                kind = self.after.get(place, "none")
                latest[kind] = max(latest.get(kind, 0.0), came[place] - at)
        return ", ".join(f"{kind} {took:.1f}" for kind, took in sorted(latest.items()))
