"""One chaos run: groups whose members come, go, freeze and die, on a cluster in trouble.

Thread: the one that calls `run` troubles the cluster; another one troubles all members,
and the writer has one.
"""

import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prokurist.testing.kafka import RealKafka
from tests.chaos import judge_of_reading
from tests.chaos.judge import Judge
from tests.chaos.judge_of_reading import Known, ReadingVerdict
from tests.chaos.member import HEARTBEAT
from tests.chaos.nursery import Nursery
from tests.chaos.process_group import TICK, ProcessGroup
from tests.chaos.reference import Reference
from tests.chaos.schedule import SESSION, disasters
from tests.chaos.verdict import Span, Verdict
from tests.oracles.bounds import Settings
from tests.oracles.faults import Fault
from tests.soak.lateness import Lateness
from tests.soak.schedule import NODES
from tests.soak.soak import befall, leaders_of
from tests.soak.writing import Writer

PARTITIONS: Final = 6
RARE: Final = 2
"""How many of them are rarely written."""
REST: Final = 8.0
"""Seconds without writes or trouble, after each `TROUBLES` of the cluster."""
TROUBLES: Final = 2
SETTINGS: Final = Settings(heartbeat=HEARTBEAT, commit=1.0, metadata=5.0)
"""What the members' bounds follow from, beside the defaults."""
WRITER_ENDS_WITHIN: Final = 90.0
SETTLES_WITHIN: Final = 90.0
SLEEP: Final = 0.02
"""How long the sleeps are by which the machine's own stops are measured."""
QUIET: Final = 3.0
"""Seconds in which records still come, and trouble does not."""

PROTOCOLS: Final[Mapping[str, Sequence[str]]] = {
    "classic": ("eager", "cooperative"),
    "consumer": ("consumer",),
    "both": ("eager", "cooperative", "consumer"),
}
"""Which groups there are, all on the same topic at the same time."""

PROPERTIES: Final = {
    "group.consumer.session.timeout.ms": int(SESSION * 1000),
    "group.consumer.heartbeat.interval.ms": int(HEARTBEAT * 1000),
}
"""Broker properties that a run needs: with KIP-848 it is brokers that set these."""


@dataclass
class ChaosResult:
    """Result of a run.

    Attributes:
        seed: Seed of the lots.
        seconds: How long it took.
        written: Records that are written for good.
        troubles: How often each trouble of the cluster came.
        struck: For each group how often each trouble of a member came.
        verdicts: For each group what its journals say.
        readings: For each group what the oracles say of its reading.
        machine: How late a plain sleep of another process ends meanwhile.
        folder: Where the journals are, if something was wrong.
        wrongs: Faults, in words; none if all is well.
    """

    seed: int
    seconds: float = 0.0
    written: int = 0
    troubles: Counter[str] = field(default_factory=Counter)
    struck: dict[str, Counter[str]] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    readings: dict[str, ReadingVerdict] = field(default_factory=dict)
    machine: Lateness = field(default_factory=Lateness)
    folder: str = ""
    wrongs: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """All of it, to be read."""
        lines = [
            f"seed {self.seed}, {self.seconds / 60:.1f} minutes, {self.written} records",
            "the cluster's troubles: " + counted(self.troubles),
            f"a sleep of {SLEEP} s, behind its end, in ms: {ranked(self.machine, 'sleep')}",
        ]
        for group, verdict in self.verdicts.items():
            lines += [
                f"{group}:",
                f"  members: {counted(verdict.styles)}",
                f"  troubles: {counted(self.struck.get(group, Counter()))}",
                f"  last generation {verdict.generation}; {counted(verdict.counts)}",
                f"  longest that two owned the same: {verdict.longest_overlap:.1f} s",
                f"  longest that nothing came of a partition: {verdict.longest_pause:.1f} s",
                f"  longest that a call was ready and not run: {verdict.starved:.1f} s",
                "  behind the deadline without that, in ms, of calls that came to it:",
            ]
            lines += [
                f"    {kind:13} {ranked(verdict.late, kind)}" for kind in verdict.late.table()
            ]
            if group in self.readings:
                lines += self.readings[group].summary()
            lines.append(f"  endings: {counted(verdict.endings)}")
            lines += [f"  logged {n}: {words}" for words, n in sorted(verdict.logged.items())]
        lines += ["WRONG: " + words for words in self.wrongs] or ["nothing was wrong"]
        if self.wrongs:
            lines.append(f"seed {self.seed}; the journals are in {self.folder}")
        return "\n".join(lines)


def stalled(late: Lateness) -> float:
    """The longest that the machine can have stood still, in milliseconds.

    A stop that begins within a sleep makes it late by no more than what lies behind its end.
    """
    return late.table().get("sleep", {}).get("max", 0.0) + SLEEP * 1000


def counted(counts: Mapping[str, int]) -> str:
    """A line of figures and names."""
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items())) or "none"


def ranked(late: Lateness, kind: str) -> str:
    """A line of a table of lateness."""
    figures = late.table().get(kind, {})
    return "  ".join(f"{name} {value:g}" for name, value in figures.items())


def run(
    kafka: RealKafka,
    seed: int,
    seconds: float,
    flavours: Sequence[str],
    say: Callable[[str], object] = print,
    clients: Sequence[str] = ("core",),
) -> ChaosResult:
    """Trouble groups for so long, and judge what they did.

    Args:
        kafka: Three nodes that are ours, with `PROPERTIES`.
        seed: Seed of the lots.
        seconds: For how long troubles are made; a quiet time comes after it.
        flavours: Which groups there are; keys of `FLAVOURS`.
        say: Is told of each trouble of the cluster.
        clients: Clients of the members, which take them by turns; keys of `READERS`.
    """
    outcome = ChaosResult(seed)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="prokurist-chaos-"))
    topic = kafka.unique_topic(
        "chaos", PARTITIONS, replication_factor=NODES, configs={"min.insync.replicas": 2}
    )
    with ExitStack() as stack:
        nursery = Nursery()
        stack.callback(nursery.close)
        process_groups = [
            ProcessGroup(nursery, kafka.bootstrap, topic, each, seed, folder, clients)
            for each in flavours
        ]
        for process_group in process_groups:
            stack.callback(process_group.close)
        stop_measuring = measure(outcome.machine)
        stack.callback(stop_measuring)
        writer = Writer(kafka.bootstrap, topic, PARTITIONS, seed, rare=RARE)
        writer.start()
        reference = Reference(kafka.bootstrap, topic, PARTITIONS)
        reference.start()
        stack.callback(reference.stop)
        rests: list[Span] = []
        rest = threading.Event()
        stop_striking = strike(process_groups, rest)
        stack.callback(stop_striking)

        def rested() -> None:
            rest.set()
            writer.rest(REST)
            since = time.monotonic()
            time.sleep(REST)
            # Before a member may be troubled again.
            rests.append((since, time.monotonic()))
            rest.clear()

        faults = trouble_the_cluster(kafka, topic, outcome, began + seconds, say, rested)
        stop_striking()
        for process_group in process_groups:
            process_group.calm()
        time.sleep(QUIET)
        writer.stop(WRITER_ENDS_WITHIN)
        outcome.wrongs += writer.failures
        ends = writer.acknowledged
        until = time.monotonic() + SETTLES_WITHIN
        while time.monotonic() < until:
            if all(process_group.is_settled(ends) for process_group in process_groups):
                break
            time.sleep(0.25)
        settled = time.monotonic()
        stop_measuring()
        reference.stop()
        for process_group in process_groups:
            process_group.leave()
    outcome.written = sum(ends.values())
    asleep = stalled(outcome.machine)
    troubled = [(each.since, each.until) for each in faults]
    known = Known(SETTINGS, writer.times, reference.came, faults, rests, asleep / 1000)
    for process_group in process_groups:
        group, lives = process_group.group, process_group.lives
        verdict = Judge(lives, troubled, asleep, writer.times).judge(ends, settled)
        outcome.verdicts[group] = verdict
        reading = outcome.readings[group] = judge_of_reading.judge(lives, known)
        outcome.struck[group] = process_group.struck
        outcome.wrongs += process_group.wrongs + verdict.wrongs + reading.wrongs
    outcome.seconds = time.monotonic() - began
    if outcome.wrongs:
        outcome.folder = str(folder)
    else:
        shutil.rmtree(folder)
    return outcome


def trouble_the_cluster(
    kafka: RealKafka,
    topic: str,
    outcome: ChaosResult,
    until: float,
    say: Callable[[str], object],
    rest: Callable[[], None],
) -> list[Fault]:
    """Make troubles and undo them, with rests between, until it is time: what there was."""
    faults: list[Fault] = []
    lot = random.Random(f"{outcome.seed} moves")  # noqa: S311 - a lot to be drawn again
    began = time.monotonic()

    def wait(due: float, _doing: str) -> bool:
        time.sleep(max(0.0, due - time.monotonic()))
        return True

    for trouble in disasters(outcome.seed):
        time.sleep(max(0.0, min(until, time.monotonic() + trouble.calm) - time.monotonic()))
        if time.monotonic() >= until:
            break
        say(f"{time.monotonic() - began:7.1f} s  {trouble}")
        outcome.troubles[trouble.kind] += 1
        leaders = leaders_of(kafka, topic)
        since = time.monotonic()
        befall(kafka, topic, trouble, wait, lot, outcome.troubles)
        fault = Fault(trouble.kind, trouble.node, since, time.monotonic(), leaders)
        faults.append(fault)
        if len(faults) % TROUBLES == 0:
            time.sleep(trouble.calm)
            rest()
    kafka.heal()
    return faults


def strike(
    process_groups: Sequence[ProcessGroup], rests: threading.Event | None = None
) -> Callable[[], None]:
    """Have members join, and a thread trouble them, but while `rests` is set.

    Returns:
        What ends that.
    """
    stopped = threading.Event()

    def go() -> None:
        for process_group in process_groups:
            process_group.start()
        while not stopped.wait(TICK):
            for process_group in process_groups:
                process_group.step(rests=rests is not None and rests.is_set())

    thread = threading.Thread(target=go, name="chaos-blows", daemon=True)

    def stop() -> None:
        stopped.set()
        thread.join()

    thread.start()
    return stop


def measure(late: Lateness) -> Callable[[], None]:
    """Have a thread sleep and see how late it wakes: what the machine itself is late by.

    Returns:
        What ends it.
    """
    stopped = threading.Event()

    def go() -> None:
        while not stopped.is_set():
            began = time.monotonic()
            time.sleep(SLEEP)
            late.ended("sleep", SLEEP, time.monotonic() - began, gave_up=False)

    threading.Thread(target=go, name="chaos-clock", daemon=True).start()
    return stopped.set
