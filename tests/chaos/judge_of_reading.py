"""Holds the readers of a chaos run against the oracles of liveness and thrift, by journals.

- A record that is written for good is returned to the member that owns its partition, within
  the bound of the configuration and the fault in hand; a fault of one broker is none of the
  partitions that others lead, once their positions are known.
- What another client has read meanwhile comes within twice its time, or the bound.
- A member with nothing to read sends few requests and takes little processor time; one that
  has no more than so many things to do.

Thread: any; a pure function of what was written down.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.chaos.journal import Event
from tests.chaos.verdict import Life, Span, shared
from tests.oracles.bounds import Settings, returned_within
from tests.oracles.faults import Fault
from tests.oracles.liveness import Liveness
from tests.oracles.thrift import Thrift

POLLS: Final = 2.5
"""Seconds between two polls of a member; its longer calls are counted beside."""

SETTLED: Final = 1.5
"""Seconds behind something that happened, until a member counts as one without work."""

TOLD: Final = 20

Times = Mapping[int, Sequence[float]]
"""For each partition the moment of each record, by its offset."""


@dataclass(frozen=True)
class Known:
    """What is known beside the journals.

    Attributes:
        settings: The members'.
        written: When each record was acknowledged.
        reference: When another client has read it; infinite for what it has not.
        faults: What befell the cluster.
        rests: When nothing was written.
        slack: Seconds that the machine may be late by.
    """

    settings: Settings
    written: Times
    reference: Times = field(default_factory=dict)
    faults: Sequence[Fault] = ()
    rests: Sequence[Span] = ()
    slack: float = 0.0


@dataclass
class ReadingVerdict:
    """What came of it.

    Attributes:
        wrongs: What was wrong, in words.
        longest: Seconds that a record was due at the most, its leader's absence not counted.
        compared: Records whose time was held against the reference's.
        windows: How many windows of requests were judged: with nothing to do, and others.
        highest: The most requests a second to one broker with nothing to do.
        cpu: The largest share of a core, with nothing to do.
    """

    wrongs: list[str] = field(default_factory=list)
    longest: float = 0.0
    compared: int = 0
    windows: Counter[str] = field(default_factory=Counter)
    highest: float = 0.0
    cpu: float = 0.0

    def summary(self) -> list[str]:
        """All of it, to be read."""
        longest, idle, busy = self.longest, self.windows["idle"], self.windows["busy"]
        return [
            f"  longest that a record of a reachable leader was due: {longest:.1f} s",
            f"  records whose time was held against confluent-kafka's: {self.compared}",
            f"  windows of requests: {idle} with nothing to do, {busy} others",
            f"  with nothing to do: {self.highest:.1f} requests/s to a broker at most",
            f"  and {self.cpu:.2%} of a core",
        ]


def judge(lives: Sequence[Life], known: Known) -> ReadingVerdict:
    """Hold the readers of one group against both oracles.

    Args:
        lives: The members of one group, judged by `tests.chaos.judge` before: it finds out
            when the machine did not let them run.
        known: What is known beside.
    """
    outcome = ReadingVerdict()
    owns = [(life, list(tenures(life))) for life in lives]
    read: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for _, those in owns:
        for owned in those:
            read[owned.partition] += owned.reads
    for life, those in owns:
        for owned in those:
            if owned.first is None:
                # Where it would have begun, or before.
                ends = [end for at, end in read[owned.partition] if at < owned.since]
                owned.first = max(ends, default=0)
            Owner(life, owned, known, outcome).judge()
        judge_requests(life, known, outcome)
    del outcome.wrongs[TOLD:]
    return outcome


@dataclass
class Owned:
    """A partition in one member's hands.

    Attributes:
        partition: Which.
        since: From when on.
        until: Until when.
        reads: When records were processed, and the offset behind them.
        first: The first offset that came; of one of which nothing came, up to where the
            group had read before; None while that is not known.
    """

    partition: int
    since: float
    until: float = float("inf")
    reads: list[tuple[float, int]] = field(default_factory=list)
    first: int | None = None


def tenures(life: Life) -> Iterator[Owned]:
    """What a member owned, one after another."""
    owned: dict[int, Owned] = {}
    last = 0.0
    for at, kind, what in life.events:
        last = at
        if kind == "assigned":
            owned |= {each: Owned(each, at) for each in what[1]}
        elif kind == "read":
            for partition, first, end in what:
                if (mine := owned.get(partition)) is not None:
                    mine.first = first if mine.first is None else mine.first
                    mine.reads.append((at, end))
        elif kind in ("revoking", "lost"):
            for each in what:
                if (mine := owned.pop(each, None)) is not None:
                    mine.until = at
                    yield mine
    for mine in owned.values():
        mine.until = min(last, life.ended)
        yield mine


class Owner:
    """One partition of one member: its reads, held against what was due of it."""

    def __init__(self, life: Life, owned: Owned, known: Known, outcome: ReadingVerdict) -> None:
        self._life = life
        self._owned = owned
        self._known = known
        self._outcome = outcome
        self._liveness: Liveness[int] = Liveness(known.settings, polls=POLLS + known.slack)
        self._written = known.written.get(owned.partition, ())
        self._reference = known.reference.get(owned.partition, ())
        self._due: int | None = None
        self._away = 0
        self._stopped = 0
        self._since = owned.since

    def judge(self) -> None:
        """Go through everything that befell it, in the order of time."""
        owned = self._owned
        self._due = owned.first
        self._liveness.look(owned.since, {owned.partition: None})
        for at, kind, what in sorted(self._moments(), key=lambda each: each[0]):
            if not owned.since <= at <= owned.until:
                if kind == "begins" and at < owned.since:
                    self._fault_begins(owned.since, what)
                elif at < owned.since:
                    self._stopped += {"stops": 1, "goes on": -1}.get(kind, 0)
                continue
            self._look(at)
            match kind:
                case "read":
                    self._read(at, what)
                case "begins":
                    self._fault_begins(at, what)
                case "ends":
                    self._fault_ends(at, what)
                case "stops":
                    self._stopped += 1
                case _:
                    self._stopped -= 1
                    self._liveness.befell(at)
                    self._since = at
        self._look(owned.until)
        self._outcome.wrongs += self._liveness.wrongs
        self._outcome.longest = max(self._outcome.longest, self._liveness.longest)

    def _moments(self) -> Iterator[tuple[float, str, Any]]:
        for at, end in self._owned.reads:
            yield at, "read", end
        spans = [*self._life.frozen, *self._life.stalled]
        for at, kind, what in self._life.events:
            if kind == "call" and what[0] != "poll":
                spans.append((at - what[2], at))
        for since, until in spans:
            yield since, "stops", None
            yield until, "goes on", None
        for fault in self._known.faults:
            if fault.until > self._owned.since:
                yield fault.since, "begins", fault
                yield fault.until, "ends", fault

    def _is_first(self) -> bool:
        """Whether its position may not be known yet, for which a coordinator is needed."""
        return self._due == self._owned.first

    def _fault_begins(self, at: float, fault: Fault) -> None:
        if self._is_first() or fault.takes_away(self._owned.partition):
            self._away += 1
        if self._is_first() or fault.meets(self._owned.partition):
            self._befell(at, fault)

    def _fault_ends(self, at: float, fault: Fault) -> None:
        self._away = 0
        self._befell(at, fault)

    def _befell(self, at: float, fault: Fault) -> None:
        self._liveness.befell(at)
        if fault.is_silent and (self._is_first() or fault.meets(self._owned.partition)):
            self._liveness.silent(at)

    def _look(self, now: float) -> None:
        """Judge what has been due until now."""
        due = None
        halted = self._away or self._stopped
        if not halted and (at := self._written_at(self._due)) is not None and at < now:
            due = f"record {self._due}"
            since = max(at, self._since)
            self._liveness.look(since, {self._owned.partition: due}, self._describe)
        self._liveness.look(now, {self._owned.partition: due}, self._describe)

    def _written_at(self, offset: int | None) -> float | None:
        if offset is None or offset >= len(self._written):
            return None
        return self._written[offset]

    def _read(self, at: float, end: int) -> None:
        self._compare(at)
        self._liveness.returned(self._owned.partition, at)
        self._due, self._since = end, at
        if (written := self._written_at(end)) is None or written > at:
            self._liveness.look(at, {self._owned.partition: None})

    def _compare(self, at: float) -> None:
        """Hold it against the reference's, whatever befell the leader of both."""
        written, due = self._written_at(self._due), self._due
        if due is None or written is None or self._is_first() or due >= len(self._reference):
            return
        self._outcome.compared += 1
        theirs = self._reference[due] - written
        bound = returned_within(self._known.settings, polls=POLLS + self._known.slack)
        ours = at - max(written, self._since)
        if ours > max(2 * theirs, bound):
            self._outcome.wrongs.append(
                f"reference: {self._describe(0)}: record {due} took {ours:.1f} s, and "
                f"confluent-kafka had it after {theirs:.1f} s"
            )

    def _describe(self, _partition: int) -> str:
        return f"{self._life.name}, partition {self._owned.partition}"


def judge_requests(life: Life, known: Known, outcome: ReadingVerdict) -> None:
    """Hold what a member has sent against what it had to do, window by window."""
    thrift: Thrift[str] = Thrift(known.settings)
    doing = [each.at for each in life.events if is_doing(each)]
    for at, kind, what in life.events:
        if kind != "window":
            continue
        seconds, sent, cpu = what
        since = at - seconds
        rests = any(begin + SETTLED <= since and at <= end for begin, end in known.rests)
        happened = happenings(doing, since, at)
        faults = [each for each in known.faults if each.since <= at and since <= each.until]
        stopped = shared((*life.frozen, *life.stalled), since - SETTLED, at)
        is_idle = rests and not (faults or stopped or happenings(doing, since - SETTLED, at))
        outcome.windows["idle" if is_idle else "busy"] += 1
        thrift.judge(
            seconds,
            sent,
            events=None if is_idle else 1 + happened + 2 * len(faults),
            cpu=cpu,
            where=f"by {life.name}",
        )
        if is_idle:
            outcome.cpu = max(outcome.cpu, cpu / seconds)
    outcome.highest = max(outcome.highest, thrift.highest)
    outcome.wrongs += thrift.wrongs


def is_doing(event: Event) -> bool:
    """Whether it may call for requests; a poll is written down when its time is over."""
    if event.kind == "call":
        return bool(event.what[0] != "poll")
    return event.kind not in ("window", "born")


def happenings(moments: Sequence[float], since: float, until: float) -> int:
    """How many of some moments, in order, lie between two others."""
    return bisect_right(moments, until) - bisect_left(moments, since)
