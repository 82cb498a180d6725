"""What a rebalance costs: those who keep their partitions, and those who wait for some.

A real Kafka, a topic of 60 partitions, and a writer that writes to all of them at once,
100 times a second. The members of a group do nothing but `poll(0.2)`, each in a process of
its own. To four of them a fifth comes, one leaves by `close`, one is killed, and one is
frozen for good while another joins. Then, in another group, 18 join the two that there
are. For each client and protocol:

- The longest `poll(0.2)` of any member, in each phase; beside it the longest wait of
  0.2 s for nothing that a process without a client made meanwhile. Where 18 join at once,
  those who were there, and those who join, apart.
- How long records of a partition that stayed with its reader lay there unread, at most.
- How long it took until others read what a member had, and until all had their share.

Sessions are 6 s long and heartbeats come every second, for all of them.

    python benchmarks/rebalance.py [--only NAME]... [--keep]
"""

import argparse
import os
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import taking_part
from conditions import show
from data_files import Conditions, keep
from data_files import show as show_table
from journals import Journal, Lines, Readings, Write, is_shared
from peers import HERE, PREPARED_WITHIN, Measured, Missing, Silent, java_program
from rebalance_tables import PHASES, tables

from prokurist.testing.kafka import KafkaUnavailable, RealKafka

PARTITIONS = 60
PACE = 0.01
CROWD_PACE = 0.1
"""Twenty members on a small machine read what they are given, and have time left."""

MEMBERS = 4
CROWD = 20
QUIET = 3.0
LOOK_BACK = 1.0
"""Who has read something in this time has it."""

SETTLED_WITHIN = 30.0
CROWD_WITHIN = 60.0
BROKER = {
    "group.consumer.session.timeout.ms": 6000,
    "group.consumer.heartbeat.interval.ms": 1000,
}


@dataclass(frozen=True)
class Kind:
    """A client and how it shares partitions."""

    client: str
    protocol: str

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.client}, {self.protocol}"


KINDS = (
    Kind("prokurist", "range"),
    Kind("prokurist", "cooperative"),
    Kind("prokurist", "consumer"),
    Kind("confluent-kafka", "range"),
    Kind("confluent-kafka", "cooperative"),
    Kind("confluent-kafka", "consumer"),
    Kind("kafka-python", "range"),
    Kind("kafka-python", "cooperative"),
    Kind("aiokafka", "range"),
    Kind("Java", "range"),
    Kind("Java", "cooperative"),
    Kind("Java", "consumer"),
)


class Unsettled(Exception):
    """The members of a group did not come to have their shares in time."""


@dataclass
class Group:
    """The members of one group, by name, and the process that each of them is.

    Attributes:
        checkout: Whose prokurist they are; None for the one that is installed.
    """

    kind: Kind
    bootstrap: str
    topic: str
    folder: Path
    java: tuple[str, ...]
    stack: ExitStack
    checkout: Path | None = None
    group: str = field(default_factory=lambda: f"g-{secrets.token_hex(4)}")
    journals: dict[str, Journal] = field(default_factory=dict)
    processes: dict[str, Measured] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)

    def prepare(self, count: int, *, in_a_crowd: bool = False) -> list[str]:
        """Start members that do not join yet; a crowd of Java's is threads of one process."""
        names = [f"m{len(self.journals) + nth}" for nth in range(count)]
        for name in names:
            self.journals[name] = Journal(self.folder / f"{self.group}-{name}")
        in_one = count if in_a_crowd and self.kind.client == "Java" else 1
        begun = []
        for nth in range(0, count, in_one):
            together = names[nth : nth + in_one]
            process = self._start(together)
            begun.append(process)
            self.processes |= dict.fromkeys(together, process)
        for process in begun:
            if process.hear(2 * PREPARED_WITHIN) != "ready":
                raise Silent("it said something else than that it is ready")
        return names

    def _start(self, names: Sequence[str]) -> Measured:
        journals = [str(self.journals[name].path) for name in names]
        where = self.bootstrap, self.group, self.topic
        if self.kind.client == "Java":
            command = (*self.java, self.kind.protocol, *where, *journals)
        else:
            program = str(HERE / "clients" / "member.py")
            python = sys.executable, program, self.kind.client, self.kind.protocol
            command = (*python, *where, *journals)
        return self.stack.enter_context(Measured(command, self.checkout))

    def join(self, names: Sequence[str]) -> None:
        """Let them join."""
        self.present |= set(names)
        for process in dict.fromkeys(self.processes[name] for name in names):
            process.go()

    def gone(self, name: str) -> None:
        """One is not to be counted on any more."""
        self.present.remove(name)

    def catch_up(self) -> None:
        """Read all journals."""
        for journal in self.journals.values():
            journal.catch_up()

    def settle(self, within: float = SETTLED_WITHIN) -> float:
        """Wait until those who are there have read their shares for a while: when that was.

        Raises:
            Unsettled: They do not, within so many seconds.
        """
        began = time.monotonic()
        while time.monotonic() < began + within:
            time.sleep(0.25)
            self.catch_up()
            now = time.monotonic()
            members = [self.journals[name] for name in self.present]
            if now - LOOK_BACK >= began and is_shared(members, now - LOOK_BACK, PARTITIONS):
                return now
        back = time.monotonic() - LOOK_BACK
        shares = {name: len(self.journals[name].recent(back)) for name in sorted(self.present)}
        raise Unsettled(f"not settled within {within:.0f} s, but {shares}")


@dataclass
class Bystanders:
    """The writer, and who waits for nothing."""

    written: Lines
    bare: Journal
    times: list[Write] = field(default_factory=list)

    def catch_up(self) -> None:
        """Read what they have noted."""
        self.times += [Write(*map(float, each.split())) for each in self.written.new()]
        self.bare.catch_up()


@contextmanager
def bystanders(bootstrap: str, topic: str, pace: float, folder: Path) -> Iterator[Bystanders]:
    """Both of them at work."""
    written, waited = folder / f"{topic}-written", folder / f"{topic}-bare"
    clients = HERE / "clients"
    writing = sys.executable, str(clients / "writer.py")
    bare = sys.executable, str(clients / "member.py"), "bare", "-"
    with (
        Measured((*writing, bootstrap, topic, str(PARTITIONS), str(pace), str(written))) as one,
        Measured((*bare, bootstrap, "-", topic, str(waited))) as other,
    ):
        for each in (one, other):
            each.wait_until_ready()
        for each in (one, other):
            each.go()
        yield Bystanders(Lines(written), Journal(waited))


def figures(
    group: Group, beside: Bystanders, since: float, until: float, without: str = ""
) -> tuple[dict[str, Any], Readings]:
    """What every phase has, and who has read what in it; without a frozen member's polls."""
    beside.catch_up()
    readings = Readings.between(group.journals, since - LOOK_BACK, until)
    polls = [
        journal.longest(since, until)
        for name, journal in group.journals.items()
        if name != without
    ]
    return {
        "longest poll": max(polls),
        "longest bare wait": beside.bare.longest(since, until),
        "staying": len(readings.staying()),
        "longest pause": readings.longest_pause(beside.times),
        "settled": readings.settled(since) - since,
    }, readings


def phases(group: Group, beside: Bystanders) -> Iterator[tuple[str, dict[str, Any]]]:
    """One after the other; each begins with a group that has settled.

    Raises:
        Unsettled: It does not settle again.
    """
    first = group.prepare(MEMBERS)
    fifth, sixth = group.prepare(1), group.prepare(1)
    group.join(first)
    group.settle()

    since = time.monotonic()
    time.sleep(QUIET)
    yield "quiet", figures(group, beside, since, group.settle())[0]

    since = time.monotonic()
    group.join(fifth)
    yield "one joins", figures(group, beside, since, group.settle())[0]

    leaver, victim, frozen, _ = first
    since = time.monotonic()
    group.processes[leaver].go()
    group.gone(leaver)
    until = group.settle()
    began = float(group.processes[leaver].hear(SETTLED_WITHIN))
    found, readings = figures(group, beside, since, until)
    yield "one leaves", found | {"elsewhere": after(readings.elsewhere(leaver, began), began)}

    since = time.monotonic()
    group.processes[victim].process.kill()
    group.gone(victim)
    found, readings = figures(group, beside, since, group.settle())
    yield (
        "one is killed",
        found | {"elsewhere": after(readings.elsewhere(victim, since), since)},
    )

    since = time.monotonic()
    os.kill(group.processes[frozen].pid, signal.SIGSTOP)
    group.join(sixth)
    group.gone(frozen)
    found, readings = figures(group, beside, since, group.settle(), without=frozen)
    yield (
        "one freezes, one joins",
        found | {"elsewhere": after(readings.elsewhere(frozen, since), since)},
    )


def after(when: float | None, since: float) -> float | None:
    """A moment as seconds since another."""
    return None if when is None else when - since


def crowd(group: Group, beside: Bystanders) -> dict[str, Any]:
    """Eighteen join two.

    Raises:
        Unsettled: They do not settle.
    """
    two = group.prepare(2)
    rest = group.prepare(CROWD - 2, in_a_crowd=True)
    group.join(two)
    group.settle()
    since = time.monotonic()
    group.join(rest)
    until = group.settle(CROWD_WITHIN)
    polls = {name: each.longest(since, until) for name, each in group.journals.items()}
    return figures(group, beside, since, until)[0] | {
        "longest poll": max(polls[name] for name in two),
        "longest poll of who joins": max(polls[name] for name in rest),
    }


def of_kind(kafka: RealKafka, kind: Kind, java: tuple[str, ...]) -> dict[str, Any]:
    """All phases of one kind; what did not come about has its reason for a figure."""
    found: dict[str, Any] = {}
    for is_crowd, pace in ((False, PACE), (True, CROWD_PACE)):
        bootstrap, topic = kafka.direct_bootstrap, kafka.unique_topic(partitions=PARTITIONS)
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            beside = stack.enter_context(bystanders(bootstrap, topic, pace, Path(folder)))
            group = Group(kind, bootstrap, topic, Path(folder), java, stack)
            try:
                if is_crowd:
                    found[PHASES[-1]] = crowd(group, beside)
                else:
                    found |= phases(group, beside)
            except (Unsettled, Silent) as why:
                found["failed" if not is_crowd else "crowd failed"] = str(why)
        kafka.delete_topic(topic)
    return found


def java_members(classes: Path) -> tuple[str, ...]:
    """How Java's program is run; nothing, with a line that says why, where it cannot be."""
    try:
        return java_program(classes, "Member")
    except (Missing, KafkaUnavailable) as why:
        show(f"left out: Java's consumers, {why}")
        return ()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [kind.name for kind in KINDS]
    parser.add_argument("--only", action="append", default=[], choices=names)
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    options = parser.parse_args()
    conditions = Conditions()
    result: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as classes, RealKafka(properties=BROKER) as kafka:
        java = java_members(Path(classes))
        for kind in KINDS:
            if options.only and kind.name not in options.only:
                continue
            if kind.client == "Java" and not java:
                continue
            result[kind.name] = of_kind(kafka, kind, java)
            why = [result[kind.name].get(each) for each in ("failed", "crowd failed")]
            load = os.getloadavg()[0]
            show(f"{kind.name}: done, load {load:.1f} {' '.join(filter(None, why))}")
    found = tables(result)
    for title, table in found.items():
        show_table(title, table)
    if options.keep:
        told = conditions.told() | {"kafka": kafka.version}
        keep("rebalance", found, taking_part.of_groups(), told)


if __name__ == "__main__":
    main()
