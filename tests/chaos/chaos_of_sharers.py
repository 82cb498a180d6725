"""One chaos run of a share group: sharers that are killed and frozen, on a cluster in trouble.

Thread: the one that calls `run` troubles the cluster; another one troubles the sharers, and the
feeder has one.
"""

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prokurist import KafkaShareConsumer
from prokurist.admin import ConfigResource, KafkaAdmin, Set
from prokurist.errors import AcknowledgeException, AcknowledgeTimeoutException, KafkaException
from prokurist.testing.kafka import RealKafka
from tests.chaos.chaos import SLEEP, counted, measure, ranked, stalled, strike
from tests.chaos.chaos_of_copiers import PARTITIONS, Feeder, ends_of, trouble_the_cluster
from tests.chaos.judge_of_shares import JudgeOfShares, Place
from tests.chaos.nursery import Nursery
from tests.chaos.process_group import ProcessGroup
from tests.chaos.schedule import SESSION
from tests.chaos.sharing import LIMIT, LOCK, SHARER_STYLES, SharerDuty
from tests.chaos.verdict import Verdict
from tests.soak.lateness import Lateness
from tests.soak.schedule import NODES

SETTLES_WITHIN: Final = 120.0
ANSWERS_WITHIN: Final = 60.0
QUIET: Final = 3.0
"""Seconds in which records still come, and trouble does not."""

SHARING_PROPERTIES: Final[dict[str, object]] = {
    "group.share.min.session.timeout.ms": 1000,
    "group.share.session.timeout.ms": int(SESSION * 1000),
    "group.share.min.heartbeat.interval.ms": 100,
    "group.share.heartbeat.interval.ms": 500,
    "group.share.min.record.lock.duration.ms": 1000,
    "group.share.record.lock.duration.ms": int(LOCK * 1000),
    "group.share.delivery.count.limit": LIMIT,
    # As many as the topic has, so that leaders of both can be moved.
    "share.coordinator.state.topic.num.partitions": PARTITIONS,
}
"""Broker properties that a run needs: short locks and sessions, and many deliveries."""


@dataclass
class SharersResult:
    """Result of a run.

    Attributes:
        seed: Seed of the lots.
        seconds: How long it took.
        troubles: How often each trouble of the cluster came.
        struck: How often each trouble of a sharer came.
        verdict: Verdict on the journals.
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
            f"sharers: {counted(verdict.styles)}",
            f"their troubles: {counted(self.struck)}",
            f"the cluster's troubles: {counted(self.troubles)}",
            f"a sleep of {SLEEP} s, behind its end, in ms: {ranked(self.machine, 'sleep')}",
            f"longest that a call was ready and not run: {verdict.starved:.1f} s",
            "behind the deadline without that, in ms, of calls that came to it:",
        ]
        lines += [f"  {kind:13} {ranked(verdict.late, kind)}" for kind in verdict.late.table()]
        lines.append(f"endings: {counted(verdict.endings)}")
        lines += [f"logged {n}: {words}" for words, n in sorted(verdict.logged.items())]
        lines += ["WRONG: " + words for words in self.wrongs] or ["nothing was wrong"]
        if self.wrongs:
            lines.append(f"seed {self.seed}; the journals are in {self.folder}")
        return "\n".join(lines)


class Sharers(ProcessGroup):
    """The sharers of a run: one of each style, replaced when it is killed."""

    def duty(self, slot: int, turn: int, name: str) -> SharerDuty:
        """Orders of a sharer."""
        del turn
        return SharerDuty(
            bootstrap=self.bootstrap,
            topic=self.topic,
            group=self.group,
            style=list(SHARER_STYLES)[slot],
            journal=str(self.folder / f"{name}.journal"),
            seed=f"{self.seed} {name}",
        )


def run(
    kafka: RealKafka,
    seed: int,
    seconds: float,
    say: Callable[[str], object] = print,
) -> SharersResult:
    """Trouble a share group for so long, and account for each record.

    Args:
        kafka: Three nodes that are ours, with `SHARING_PROPERTIES`.
        seed: Seed of the lots.
        seconds: For how long troubles are made; a quiet time comes after it.
        say: Is told of each trouble of the cluster.
    """
    outcome = SharersResult(seed)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="prokurist-chaos-"))
    topic = kafka.unique_topic(
        "shared", PARTITIONS, replication_factor=NODES, configs={"min.insync.replicas": 2}
    )
    group = f"sharers-of-{topic}"
    begin_at_first(kafka, group)
    with ExitStack() as stack:
        nursery = Nursery()
        stack.callback(nursery.close)
        sharers = Sharers(nursery, kafka.bootstrap, topic, group, seed, folder)
        stack.callback(sharers.close)
        stop_measuring = measure(outcome.machine)
        stack.callback(stop_measuring)
        feeder = Feeder(kafka.bootstrap, topic)
        stop_striking = strike([sharers])
        stack.callback(stop_striking)
        topics = [topic, topic, "__share_group_state"]
        outcome.troubles = trouble_the_cluster(kafka, topics, seed, say, began + seconds)
        stop_striking()
        sharers.calm()
        time.sleep(QUIET)
        feeder.stop()
        ends = ends_of(kafka, topic, "read_uncommitted")
        await_end(kafka, group)
        sharers.leave()
        stop_measuring()
    available = drain(kafka, topic, group)
    asleep = stalled(outcome.machine)
    outcome.verdict = JudgeOfShares(sharers.lives, ends, available, asleep).judge()
    outcome.struck = sharers.struck
    outcome.wrongs = sharers.wrongs + outcome.verdict.wrongs
    if left := lag_of(kafka, group):
        outcome.wrongs.append(f"{left} records are neither delivered nor at their end")
    outcome.seconds = time.monotonic() - began
    if outcome.wrongs:
        outcome.folder = str(folder)
    else:
        shutil.rmtree(folder)
    return outcome


def begin_at_first(kafka: RealKafka, group: str) -> None:
    """Have a group begin at the first record of each partition."""
    with KafkaAdmin(bootstrap_servers=kafka.direct_bootstrap) as admin:
        changes = {"share.auto.offset.reset": Set("earliest")}
        admin.alter_configs({ConfigResource.group(group): changes}, timeout=60.0).check()


def lag_of(kafka: RealKafka, group: str) -> int:
    """Number of records of a group that are not at their end."""
    with KafkaAdmin(bootstrap_servers=kafka.direct_bootstrap) as admin:
        found = admin.share_offsets([group], timeout=ANSWERS_WITHIN)[group]
        return sum(each.lag or 0 for each in found.values() if each is not None)


def await_end(kafka: RealKafka, group: str) -> None:
    """Wait until the group has decided on all records, or its time is over."""
    until = time.monotonic() + SETTLES_WITHIN
    while time.monotonic() < until:
        try:
            if lag_of(kafka, group) == 0:
                return
        except KafkaException:
            pass  # The cluster is settling still.
        time.sleep(1.0)


def drain(kafka: RealKafka, topic: str, group: str) -> set[Place]:
    """Accept what is available in the end; nothing is locked any more when it ends."""
    found: set[Place] = set()
    with KafkaShareConsumer(
        bootstrap_servers=kafka.direct_bootstrap, group_id=group
    ) as consumer:
        consumer.subscribe(topic)
        quiet = time.monotonic()
        until = quiet + SETTLES_WITHIN
        while time.monotonic() < min(quiet + 2 * LOCK, until):
            records = consumer.poll(1.0)
            found.update((each.partition, each.offset) for each in records)
            if records:
                quiet = time.monotonic()
            try:
                consumer.commit_sync(10.0)
            except (AcknowledgeException, AcknowledgeTimeoutException):
                continue  # What was not taken comes again.
    return found
