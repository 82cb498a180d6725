"""What has to hold for a group after a chaos run, held against its members' journals.

Thread: any; a pure function of what was written down.

- Every record is processed, and no member begins behind an unprocessed one.
- What is processed again lies past the last commit that had succeeded when its reader was
  given the partition; commits and what is looked up of them never go back.
- A member processes nothing of what it does not own: from the moment in which its listener
  hears that it goes. While it owns, its offsets follow each other.
- A partition has one owner, unless a session may be over: a member was frozen or starving,
  or the cluster in trouble, within the last `GRACE` seconds.
- Every call is on time, but for what the machine took away: a stopped process, and threads
  that were ready and did not run. Every process lives, and in the end all is shared out.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from heapq import merge
from itertools import chain
from operator import itemgetter
from typing import Final

from tests.chaos.schedule import POLL_INTERVAL
from tests.chaos.verdict import Life, Span, Tenure, Verdict, shared

GRACE: Final = POLL_INTERVAL + 5.0
"""Seconds behind a trouble in which two members may both believe that they own something:
a session's or a poll interval's, and until the one that is out has been answered so."""

SILENT: Final = 30.0
"""Seconds without a line after which a member that may run counts as hung."""

LATE: Final = 500.0
"""Milliseconds behind its deadline from which on a call is late, starving not counted."""

LATE_EVEN_SO: Final = 1000.0
"""The same, however long the machine stood still in the same run."""

STARVED: Final = 2.0
"""Seconds of starving in one call from which on its member counts as frozen meanwhile."""

STUCK: Final = 60.0
"""Seconds in which nothing of a partition is processed, though a record is there and there
were rests: an eager group stands still in each round, and rounds wait for the dead."""


class Judge:
    """Goes through the journals of a group in the order of time."""

    def __init__(
        self,
        lives: Sequence[Life],
        troubled: Sequence[Span],
        asleep: float = 0.0,
        written: Mapping[int, Sequence[float]] | None = None,
    ) -> None:
        """Take the journals, and what has to be known beside them.

        Args:
            lives: The members' lives.
            troubled: When the cluster was in trouble.
            asleep: The longest that the machine can have stood still, in milliseconds.
            written: When each record was acknowledged, by partition and offset.
        """
        self.verdict = Verdict()
        self._late = min(LATE_EVEN_SO, max(LATE, asleep))
        self._lives = lives
        self._troubled = troubled
        self._written = written or {}
        self._covered: Counter[int] = Counter()
        self._committed: Counter[int] = Counter()
        self._progress: dict[int, float] = {}
        self._owned: dict[str, dict[int, Tenure]] = defaultdict(dict)
        self._tenures: dict[int, list[Tenure]] = defaultdict(list)
        self._looking: dict[str, Counter[int]] = {}
        self._seen: dict[str, float] = {}

    def judge(self, ends: dict[int, int], settled: float) -> Verdict:
        """Hold the journals against each other, in the order of time.

        Args:
            ends: How far each partition was written.
            settled: When the group had had its quiet time, and no member had left yet.
        """
        streams = ([(event.at, life, event) for event in life.events] for life in self._lives)
        for _, life, event in merge(*streams, key=itemgetter(0)):
            self._heard(life, event.at)
            getattr(self, "on_" + event.kind)(life, event.at, event.what)
        for life in self._lives:
            if life.ended < float("inf"):
                self._heard(life, life.ended)
        for tenure in chain.from_iterable(self._tenures.values()):
            tenure.until = min(tenure.until, tenure.life.ended)
        for partition, end in sorted(ends.items()):
            if self._covered[partition] != end:
                self.verdict.wrong(
                    f"lost: of partition {partition} {self._covered[partition]} records "
                    f"were processed, and {end} were written"
                )
            self._own_one_by_one(self._tenures[partition])
            owners = [
                each.life.name
                for each in self._tenures[partition]
                if each.since <= settled < each.until
            ]
            if len(owners) != 1:
                self.verdict.wrong(f"at the end partition {partition} is owned by {owners}")
        for kind, figures in self.verdict.late.table().items():
            if figures["max"] > self._late:
                self.verdict.wrong(f"{kind} was {figures['max']:.0f} ms late")
        self.verdict.wrongs += self.verdict.late.early
        return self.verdict

    def _heard(self, life: Life, now: float) -> None:
        before = self._seen.setdefault(life.name, now)
        self._seen[life.name] = now
        if now - before - shared(life.frozen, before, now) > SILENT:
            self.verdict.wrong(f"{life.name} said nothing for {now - before:.1f} s")

    # --- one for each kind of event --------------------------------------------------------

    def on_born(self, _life: Life, _now: float, style: str) -> None:
        """A member is about to join."""
        self.verdict.styles[style] += 1

    def on_assigned(self, life: Life, now: float, what: tuple[int, list[int]]) -> None:
        """It owns more."""
        generation, partitions = what
        self.verdict.counts["assigned"] += 1
        self.verdict.generation = max(self.verdict.generation, generation)
        for partition in partitions:
            if partition in self._owned[life.name]:
                self.verdict.wrong(f"{life.name} was given partition {partition} twice")
            tenure = Tenure(life, partition, now, self._committed[partition])
            self._owned[life.name][partition] = tenure
            self._tenures[partition].append(tenure)

    def on_revoking(self, life: Life, _now: float, partitions: list[int]) -> None:
        """It is about to own less, and processes nothing of that any more."""
        self.verdict.counts["revoked"] += 1
        for partition in partitions:
            if self._owned[life.name].pop(partition, None) is None:
                self.verdict.wrong(f"{life.name} gives back {partition}, which it has not")

    def on_revoked(self, life: Life, now: float, partitions: list[int]) -> None:
        """It owns less: the listener has done what it had to."""
        for partition in partitions:
            mine = [each for each in self._tenures[partition] if each.life is life]
            if mine:  # Without one, `on_revoking` has said so.
                mine[-1].until = now

    def on_lost(self, life: Life, now: float, partitions: list[int]) -> None:
        """It owns less, and others may know before it does."""
        self.verdict.counts["lost"] += 1
        for partition in partitions:
            tenure = self._owned[life.name].pop(partition, None)
            if tenure is None:
                self.verdict.wrong(f"{life.name} loses {partition}, which it has not")
            else:
                tenure.until = now

    def on_read(self, life: Life, now: float, runs: list[tuple[int, int, int]]) -> None:
        """It has processed records."""
        for partition, first, end in runs:
            covered = self._covered[partition]
            where = f"{life.name}, partition {partition}: {first}"
            tenure = self._owned[life.name].get(partition)
            if tenure is None:
                self.verdict.wrong(f"{where} was processed without owning it")
            elif tenure.due is None:
                if first < tenure.floor:
                    self.verdict.wrong(f"{where} again, and {tenure.floor} was committed")
            elif first != tenure.due:
                self.verdict.wrong(f"{where} came where {tenure.due} was due")
            if tenure is not None:
                tenure.due = end
            if first > covered:
                self.verdict.wrong(f"{where} came, but no member has processed {covered}")
            pause = now - max(self._progress.get(partition, now), self._came(partition, first))
            self.verdict.longest_pause = max(self.verdict.longest_pause, pause)
            if pause > STUCK:
                self.verdict.wrong(f"{where} came after a pause of {pause:.1f} s")
            self._progress[partition] = now
            self._covered[partition] = max(covered, end)
            self.verdict.counts["processed"] += end - first
            self.verdict.counts["processed again"] += max(0, min(end, covered) - first)

    def _came(self, partition: int, offset: int) -> float:
        """When a record was written, where that is known: rarely written ones have pauses."""
        written = self._written.get(partition, ())
        return written[offset] if offset < len(written) else 0.0

    def on_committed(self, life: Life, _now: float, pairs: list[tuple[int, int]]) -> None:
        """A commit has succeeded."""
        self.verdict.counts["commits"] += 1
        for partition, offset in pairs:
            if offset > self._covered[partition]:
                self.verdict.wrong(
                    f"{life.name} has committed {offset} of partition {partition}, and "
                    f"{self._covered[partition]} were processed"
                )
            tenure = self._owned[life.name].get(partition)
            if tenure is not None and offset < tenure.floor:
                self.verdict.wrong(
                    f"{life.name} has committed {offset} of partition {partition}, and "
                    f"{tenure.floor} was committed when it was given it"
                )
            self._committed[partition] = max(self._committed[partition], offset)

    def on_looking(self, life: Life, _now: float, _nothing: None) -> None:
        """A look-up begins: what it has to find at the least is known."""
        self._looking[life.name] = self._committed.copy()

    def on_looked(self, life: Life, _now: float, pairs: list[tuple[int, int]]) -> None:
        """A look-up has ended."""
        least = self._looking[life.name]
        for partition, offset in pairs:
            if not least[partition] <= offset <= self._covered[partition]:
                self.verdict.wrong(
                    f"{life.name} found {offset} of partition {partition} committed: "
                    f"{least[partition]} had been, and {self._covered[partition]} processed"
                )

    def on_call(
        self, life: Life, now: float, what: tuple[str, float, float, float, str]
    ) -> None:
        """A call has ended. What the machine owes the process is not counted as lateness."""
        kind, timeout, took, starved, ending = what
        verdict, stopped = self.verdict, shared(life.frozen, now - took, now)
        verdict.endings[f"{kind}: {ending}"] += 1
        behind = max(0.0, took - timeout - stopped - starved)
        gave_up = ending == "TimeoutException"
        verdict.late.ended(kind, timeout, min(took, timeout + behind), gave_up=gave_up)
        verdict.starved = max(verdict.starved, starved)
        if starved > STARVED:
            life.stalled.append((now - took, now))

    def on_window(self, _life: Life, _now: float, _what: tuple[float, object, float]) -> None:
        """A while is over: `tests.chaos.judge_of_reading` judges it."""
        self.verdict.counts["windows"] += 1

    def on_logged(self, _life: Life, _now: float, words: str) -> None:
        """A warning."""
        self.verdict.logged[words] += 1

    def on_wrong(self, life: Life, _now: float, words: str) -> None:
        """A member has seen itself what must not be."""
        self.verdict.wrong(f"{life.name}: {words}")

    def on_left(self, _life: Life, _now: float, _nothing: None) -> None:
        """A consumer is closed."""
        self.verdict.counts["left in order"] += 1

    # --- one owner --------------------------------------------------------------------------

    def _own_one_by_one(self, tenures: Sequence[Tenure]) -> None:
        """Hold each tenure of a partition against those that began while it lasted."""
        for nth, first in enumerate(tenures):
            for second in tenures[nth + 1 :]:
                if first.life is second.life or second.since >= first.until:
                    continue
                until = min(first.until, second.until)
                lasted = until - second.since
                excuses = (
                    (begin, end + GRACE)
                    for begin, end in (
                        *first.life.stalled,
                        *second.life.stalled,
                        *first.life.frozen,
                        *second.life.frozen,
                        *self._troubled,
                    )
                )
                if lasted - shared(excuses, second.since, until) > 0.001:
                    self.verdict.wrong(
                        f"{first.life.name} and {second.life.name} both owned partition "
                        f"{first.partition} for {lasted:.2f} s"
                    )
                else:
                    self.verdict.counts["owned twice, excused"] += 1
                    self.verdict.longest_overlap = max(self.verdict.longest_overlap, lasted)
