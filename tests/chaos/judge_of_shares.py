"""Rules of a share group after a chaos run, by a ledger of each record.

Thread: any; a pure function of what was written down.

1. No record vanishes: each was accepted or rejected by a sharer that had it, or used up its
   deliveries, or was available in the end.
2. One that its last sharer has released comes again, unless its deliveries are used up.
3. Brokers take no acknowledgement on which no sharer had decided.
4. An offset has one value, whoever gets it.
5. Calls end by their time, but for what the machine took away.

How often a record comes again although a broker has confirmed its acceptance is counted: Kafka
promises that it does not, but for acknowledgements of an earlier delivery.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from tests.chaos.sharing import LIMIT
from tests.chaos.verdict import Life, Verdict, shared

LATE: Final = 100.0
"""Milliseconds behind its time from which on a call is late."""
LATE_EVEN_SO: Final = 1000.0
"""The same, however long the machine stood still in the same run."""

Place = tuple[int, int]
"""Partition and offset."""


class Story:
    """Fate of one record, as sharers saw it.

    Attributes:
        deliveries: The highest count.
        value: Its value.
        last: When it was delivered last, and to whom.
        decisions: Decisions on it, by sharer, the last one of each.
        ever: All decisions.
        accepted: When a broker confirmed that it was accepted.
        again: True if it was delivered after that.
    """

    __slots__ = ("accepted", "again", "decisions", "deliveries", "ever", "last", "value")

    def __init__(self) -> None:
        self.deliveries = 0
        self.value = ""
        self.last: tuple[float, str] = (0.0, "")
        self.decisions: dict[str, str] = {}
        self.ever: set[str] = set()
        self.accepted: float | None = None
        self.again = False


class JudgeOfShares:
    """Goes through the journals of all sharers, and then through the ledger.

    Args:
        lives: The sharers' lives.
        ends: How many records each partition has.
        available: Records that the group still had in the end.
        asleep: The longest that the machine can have stood still, in milliseconds.
    """

    def __init__(
        self,
        lives: Sequence[Life],
        ends: Mapping[int, int],
        available: set[Place],
        asleep: float = 0.0,
    ) -> None:
        self.verdict = Verdict()
        self._lives = lives
        self._ends = ends
        self._available = available
        self._late = min(LATE_EVEN_SO, max(LATE, asleep))
        self._stories: dict[Place, Story] = defaultdict(Story)
        self._releasing: set[str] = set()

    def judge(self) -> Verdict:
        """Hold the ledger against the journals."""
        events = [(event.at, life, event) for life in self._lives for event in life.events]
        for at, life, event in sorted(events, key=lambda each: each[0]):
            getattr(self, "on_" + event.kind)(life, at, event.what)
        for partition, end in self._ends.items():
            for offset in range(end):
                self._is_accounted_for((partition, offset))
        counts = self.verdict.counts
        counts["records"] = sum(self._ends.values())
        counts["again although accepted"] = sum(each.again for each in self._stories.values())
        counts["available in the end"] = len(self._available)
        for kind, figures in self.verdict.late.table().items():
            if figures["max"] > self._late:
                self.verdict.wrong(f"5: {kind} was {figures['max']:.0f} ms late")
        for words in self.verdict.late.early:
            self.verdict.wrong(f"5: {words}")
        return self.verdict

    def _is_accounted_for(self, place: Place) -> None:
        story = self._stories.get(place)
        used_up = story is not None and story.deliveries >= LIMIT
        if place in self._available or used_up:
            self.verdict.counts["used up"] += used_up
            return
        if story is None:
            self.verdict.wrong(f"1: {place} was never delivered, and is gone")
            return
        if not story.ever & {"ACCEPT", "REJECT"}:
            self.verdict.wrong(f"1: {place} is gone, and nobody has accepted or rejected it")
            return
        _, who = story.last
        # Who had it before may have accepted it while its lock lasted.
        if story.decisions.get(who) == "RELEASE" and story.ever == {"RELEASE"}:
            self.verdict.wrong(f"2: {place} was released by {who}, and is gone")

    # --- one for each kind of event ------------------------------------------------------

    def on_born(self, life: Life, _now: float, style: str) -> None:
        """A sharer is about to join."""
        self.verdict.styles[style] += 1
        if style == "iterates":
            self._releasing.add(life.name)  # An iteration that is left releases its rest.

    def on_got(self, life: Life, now: float, what: list[tuple[int, int, int, str]]) -> None:
        """Records were delivered."""
        for partition, offset, deliveries, value in what:
            self.verdict.counts["deliveries"] += 1
            story = self._stories[partition, offset]
            if story.value and story.value != value:
                self.verdict.wrong(f"4: {partition} @ {offset} is {value} and {story.value}")
            # Who was frozen since then had it before, and was about to return it.
            if story.accepted is not None and not shared(life.frozen, story.accepted, now):
                story.again = True
            story.value = value
            story.last = now, life.name
            story.deliveries = max(story.deliveries, deliveries)
            story.decisions.pop(life.name, None)

    def on_decides(self, life: Life, _now: float, what: list[tuple[int, int, str]]) -> None:
        """A sharer decides."""
        for partition, offset, mark in what:
            story = self._stories[partition, offset]
            story.decisions[life.name] = mark
            story.ever.add(mark)

    def on_taken(self, life: Life, now: float, what: list[tuple[int, int]]) -> None:
        """Brokers have confirmed."""
        self.verdict.counts["confirmed"] += len(what)
        for partition, offset in what:
            story = self._stories[partition, offset]
            decision = story.decisions.get(life.name)
            if decision is None and not story.ever and life.name not in self._releasing:
                self.verdict.wrong(
                    f"3: {partition} @ {offset} of {life.name} was taken without a decision"
                )
            if decision == "ACCEPT":
                story.accepted = story.accepted or now

    def on_refused(self, _life: Life, _now: float, what: list[tuple[int, int]]) -> None:
        """Acknowledgements were refused or lost."""
        self.verdict.counts["refused"] += len(what)

    def on_call(
        self, life: Life, now: float, what: tuple[str, float, float, float, str]
    ) -> None:
        """A call has ended. Time that the machine owes the process is not lateness."""
        kind, timeout, took, starved, ending = what
        self.verdict.endings[f"{kind}: {ending}"] += 1
        self.verdict.starved = max(self.verdict.starved, starved)
        away = shared([*life.frozen, *life.stalled], now - took, now)
        gave_up = ending == "AcknowledgeTimeoutException"
        if away == 0.0:
            took = max(took - starved, min(took, timeout))
            self.verdict.late.ended(kind, timeout, took, gave_up=gave_up)

    def on_logged(self, _life: Life, _now: float, words: str) -> None:
        """A warning."""
        self.verdict.logged[words] += 1

    def on_wrong(self, life: Life, _now: float, words: str) -> None:
        """A sharer has seen itself what must not be."""
        self.verdict.wrong(f"{life.name}: {words}")

    def on_closing(self, life: Life, _now: float, _nothing: None) -> None:
        """A sharer releases what it has not decided on."""
        self._releasing.add(life.name)

    def on_left(self, _life: Life, _now: float, _nothing: None) -> None:
        """A sharer has closed its consumer."""
        self.verdict.counts["left in order"] += 1
