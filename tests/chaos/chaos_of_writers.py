"""One chaos run of writers: producers that are killed and frozen, on a cluster in trouble.

Thread: the one that calls `run` troubles the cluster and its topic; another one troubles the
writers.
"""

import logging
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from prokurist.testing.kafka import RealKafka
from tests.chaos.chaos import SLEEP, counted, measure, ranked, stalled, strike
from tests.chaos.judge_of_logs import JudgeOfLogs
from tests.chaos.logs import read_logs
from tests.chaos.nursery import Nursery
from tests.chaos.process_group import ProcessGroup
from tests.chaos.verdict import Verdict
from tests.chaos.writing import STYLES, WriterDuty
from tests.soak.lateness import Lateness
from tests.soak.schedule import FEWEST, NODES, WEIGHTS, Trouble, troubles
from tests.soak.soak import befall
from tests.topic_configs import set_config

PARTITIONS: Final = 6
MOST_PARTITIONS: Final = 12
SMALL: Final = 20_000
"""`max.message.bytes` while it is lowered: below what a batch may grow to, and below the
large values."""
LARGE: Final = 1_048_588
ANSWERS_WITHIN: Final = 20.0
QUIET: Final = 3.0
"""Seconds in which records are still sent, and trouble does not come."""

WRITER_WEIGHTS: Final = WEIGHTS | {"limit": 3, "grow": 1, "cut off": 2}
"""How often each trouble of the cluster comes."""


@dataclass
class WritersResult:
    """Result of a run.

    Attributes:
        seed: Seed of the lots.
        seconds: How long it took.
        troubles: How often each trouble of the cluster came.
        struck: How often each trouble of a writer came.
        verdict: What the journals and the logs say.
        machine: How late a plain sleep of another process ends meanwhile.
        folder: Where the journals are, if something was wrong.
        wrongs: Faults, in words; none if all is well.
    """

    seed: int
    seconds: float = 0.0
    troubles: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    verdict: Verdict = field(default_factory=Verdict)
    machine: Lateness = field(default_factory=Lateness)
    folder: str = ""
    wrongs: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """All of it, to be read."""
        verdict = self.verdict
        lines = [
            f"seed {self.seed}, {self.seconds / 60:.1f} minutes",
            f"records: {counted(verdict.counts)}",
            f"writers: {counted(verdict.styles)}",
            f"their troubles: {counted(self.struck)}",
            f"the cluster's troubles: {counted(self.troubles)}",
            f"a sleep of {SLEEP} s, behind its end, in ms: {ranked(self.machine, 'sleep')}",
            f"longest that a call was ready and not run: {verdict.starved:.1f} s",
            f"in which writers could not run, summed up: {verdict.held:.1f} s",
            "behind the deadline without that, in ms, of calls that came to it:",
        ]
        lines += [f"  {kind:13} {ranked(verdict.late, kind)}" for kind in verdict.late.table()]
        lines.append(f"endings: {counted(verdict.endings)}")
        lines += [f"logged {n}: {words}" for words, n in sorted(verdict.logged.items())]
        lines += ["WRONG: " + words for words in self.wrongs] or ["nothing was wrong"]
        if self.wrongs:
            lines.append(f"seed {self.seed}; the journals are in {self.folder}")
        return "\n".join(lines)


class Writers(ProcessGroup):
    """The writers of a run: one of each style, replaced when it is killed."""

    def duty(self, slot: int, turn: int, name: str) -> WriterDuty:
        """Orders of a writer."""
        return WriterDuty(
            bootstrap=self.bootstrap,
            topic=self.topic,
            name=name,
            client=self.clients[(slot + turn) % len(self.clients)],
            style=list(STYLES)[slot],
            journal=str(self.folder / f"{name}.journal"),
            seed=f"{self.seed} {name}",
        )


def writer_troubles(seed: int, pace: float = 1.0) -> Iterator[Trouble]:
    """What befalls the cluster, one trouble after another, without an end.

    Args:
        seed: Seed of the lots.
        pace: What each calm time and each trouble's length is multiplied by.
    """
    for each in troubles(seed, WRITER_WEIGHTS):
        yield replace(each, calm=each.calm * pace, length=each.length * pace)


def run(
    kafka: RealKafka,
    seed: int,
    seconds: float,
    say: Callable[[str], object] = print,
    *,
    pace: float = 1.0,
    clients: Sequence[str] = ("core",),
) -> WritersResult:
    """Trouble writers for so long, and hold what they were told against the logs.

    Args:
        kafka: Three nodes that are ours.
        seed: Seed of the lots.
        seconds: For how long troubles are made; a quiet time comes after it.
        say: Is told of each trouble of the cluster.
        pace: See `writer_troubles`.
        clients: Clients of the writers, which take them by turns; keys of `SENDERS`.
    """
    outcome = WritersResult(seed)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="prokurist-chaos-"))
    topic = kafka.unique_topic(
        "chaos", PARTITIONS, replication_factor=NODES, configs={"min.insync.replicas": 2}
    )
    with ExitStack() as stack:
        nursery = Nursery()
        stack.callback(nursery.close)
        writers = Writers(nursery, kafka.bootstrap, topic, "writers", seed, folder, clients)
        stack.callback(writers.close)
        stop_measuring = measure(outcome.machine)
        stack.callback(stop_measuring)
        stop_striking = strike([writers])
        stack.callback(stop_striking)
        Troubles(kafka, topic, outcome, say).make(began + seconds, pace)
        stop_striking()
        writers.calm()
        time.sleep(QUIET)
        writers.leave()
        stop_measuring()
    asleep = stalled(outcome.machine)
    logs = read_logs(kafka.direct_bootstrap, topic)
    outcome.verdict = JudgeOfLogs(writers.lives, logs, asleep).judge()
    outcome.struck = writers.struck
    outcome.wrongs = writers.wrongs + outcome.verdict.wrongs
    outcome.seconds = time.monotonic() - began
    if outcome.wrongs:
        outcome.folder = str(folder)
    else:
        shutil.rmtree(folder)
    return outcome


class Troubles:
    """Makes the troubles of the cluster and its topic, and undoes them."""

    def __init__(
        self,
        kafka: RealKafka,
        topic: str,
        outcome: WritersResult,
        say: Callable[[str], object],
    ) -> None:
        self._kafka = kafka
        self._topic = topic
        self._outcome = outcome
        self._say = say
        self._lot = random.Random(f"{outcome.seed} moves")  # noqa: S311 - drawn again
        self._partitions = PARTITIONS

    def make(self, until: float, pace: float) -> None:
        """Make one after another until it is time, and heal everything."""
        began = time.monotonic()
        for trouble in writer_troubles(self._outcome.seed, pace):
            time.sleep(max(0.0, min(until - time.monotonic(), trouble.calm)))
            if time.monotonic() >= until and self._outcome.troubles.total() >= FEWEST:
                break
            self._say(f"{time.monotonic() - began:7.1f} s  {trouble}")
            self._outcome.troubles[trouble.kind] += 1
            self._make_one(trouble)
        self._kafka.heal()
        self._limit(LARGE)

    def _make_one(self, trouble: Trouble) -> None:
        match trouble.kind:
            case "limit":
                self._limit(SMALL)
                time.sleep(trouble.length)
                self._limit(LARGE)
            case "grow":
                self._grow()
            case "cut off":
                proxy = self._kafka.proxy(trouble.node)
                fault = proxy.refuse()
                proxy.reset()
                time.sleep(trouble.length)
                fault.heal()
            case _:
                troubles, lot = self._outcome.troubles, self._lot
                befall(self._kafka, self._topic, trouble, wait, lot, troubles)

    def _limit(self, size: int) -> None:
        """Set `max.message.bytes`; a cluster that is still settling may not take it."""
        with suppress(KafkaException):
            set_config(self._admin(), self._topic, "max.message.bytes", size, ANSWERS_WITHIN)

    def _grow(self) -> None:
        """Give the topic a partition more."""
        if self._partitions == MOST_PARTITIONS:
            return
        with suppress(KafkaException):
            client = self._admin()
            wanted = NewPartitions(self._topic, self._partitions + 1)
            (future,) = client.create_partitions([wanted]).values()
            future.result(ANSWERS_WITHIN)
            self._partitions += 1

    def _admin(self) -> AdminClient:
        """A client for one change; it says nothing on standard error."""
        quiet = logging.getLogger("prokurist.chaos.admin")
        quiet.propagate = False
        quiet.addHandler(logging.NullHandler())
        servers: dict[str, str | int | float | bool] = {
            "bootstrap.servers": self._kafka.direct_bootstrap
        }
        return AdminClient(servers, logger=quiet)


def wait(until: float, _doing: str) -> bool:
    """Let a trouble last."""
    time.sleep(max(0.0, until - time.monotonic()))
    return True
