"""One chaos run of copiers: groups that read, process and write, on a cluster in trouble.

Thread: the one that calls `run` troubles the cluster; one troubles the copiers, and one feeds
the source.
"""

import logging
import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from prokurist import KafkaConsumer, KafkaProducer
from prokurist import TopicPartition as Place
from prokurist.errors import KafkaException
from prokurist.testing.kafka import RealKafka
from tests.broker.java_programs import java
from tests.chaos.chaos import counted, strike
from tests.chaos.chaos_of_writers import wait
from tests.chaos.copying import CopierDuty
from tests.chaos.judge_of_copies import Copies, judge
from tests.chaos.nursery import AnyDuty, Nursery
from tests.chaos.process_group import ProcessGroup
from tests.chaos.rival import RivalDuty
from tests.chaos.schedule import SLOTS
from tests.chaos.verdict import Verdict
from tests.soak.schedule import NODES, troubles
from tests.soak.soak import befall

PARTITIONS: Final = 6
PROTOCOLS: Final = ("classic", "consumer")
RATE: Final = 300.0
"""Records that are fed in a second."""
SETTLES_WITHIN: Final = 120.0
"""Seconds without a commit after which a group counts as stuck."""
ANSWERS_WITHIN: Final = 60.0


@dataclass
class CopiersResult:
    """Result of a run.

    Attributes:
        seed: Seed of the lots.
        seconds: How long it took.
        troubles: How often each trouble of the cluster came.
        struck: How often each trouble of a copier came.
        verdicts: What the journals and the logs of each group say.
        folder: Where the journals are, if something was wrong.
        wrongs: Faults, in words; none if all is well.
    """

    seed: int
    seconds: float = 0.0
    troubles: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    folder: str = ""
    wrongs: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """All of it, to be read."""
        lines = [
            f"seed {self.seed}, {self.seconds / 60:.1f} minutes",
            f"the copiers' troubles: {counted(self.struck)}",
            f"the cluster's troubles: {counted(self.troubles)}",
        ]
        for group, verdict in self.verdicts.items():
            lines.append(f"{group}: transactions: {counted(verdict.counts)}")
            lines.append(f"{group}: rounds that have raised: {counted(verdict.endings)}")
        lines += ["WRONG: " + words for words in self.wrongs] or ["nothing was wrong"]
        if self.wrongs:
            lines.append(f"seed {self.seed}; the journals are in {self.folder}")
        return "\n".join(lines)


class Copiers(ProcessGroup):
    """The copiers of one group, replaced when they are killed; each place has its id."""

    target: str = ""

    def duty(self, slot: int, turn: int, name: str) -> AnyDuty:
        """What a copier is told; the last place has a rival, which takes the others' ids."""
        del turn
        journal, seed = str(self.folder / f"{name}.journal"), f"{self.seed} {name}"
        *ids, _ = (f"{self.target}-{each}" for each in range(SLOTS))
        if slot == len(ids):
            return RivalDuty(self.bootstrap, self.target, tuple(ids), journal, seed)
        return CopierDuty(
            bootstrap=self.bootstrap,
            source=self.topic,
            target=self.target,
            group=self.group,
            name=name,
            transactional_id=ids[slot],
            journal=journal,
            seed=seed,
        )


class Feeder:
    """Writes records to the source, until it is stopped.

    Args:
        bootstrap: Where the cluster is.
        topic: The source.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap, delivery_timeout_ms=120_000, request_timeout_ms=3000
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._feed, name="chaos-feeder", daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        number = 0
        while not self._stopping.wait(10 / RATE):
            for _ in range(10):
                with suppress(KafkaException):
                    self._producer.send(
                        self._topic, b"%d" % number, partition=number % PARTITIONS
                    )
                number += 1

    def stop(self) -> None:
        """End it; all is delivered, or given up."""
        self._stopping.set()
        self._thread.join()
        self._producer.close(ANSWERS_WITHIN)


def run(
    kafka: RealKafka,
    seed: int,
    seconds: float,
    say: Callable[[str], object] = print,
    protocols: Sequence[str] = PROTOCOLS,
) -> CopiersResult:
    """Trouble copiers for so long, and hold their copies against the source.

    Args:
        kafka: Three nodes that are ours, with the `PROPERTIES` of a chaos run.
        seed: Seed of the lots.
        seconds: For how long troubles are made; a quiet time comes after it.
        say: Is told of each trouble of the cluster.
        protocols: A group by each of them copies all of the source.
    """
    outcome = CopiersResult(seed)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="prokurist-chaos-"))
    configs = {"min.insync.replicas": 2}

    def made(name: str) -> str:
        return kafka.unique_topic(name, PARTITIONS, replication_factor=NODES, configs=configs)

    source = made("source")
    groups: list[Copiers] = []
    with ExitStack() as stack:
        nursery = Nursery()
        stack.callback(nursery.close)
        for protocol in protocols:
            group = Copiers(nursery, kafka.bootstrap, source, protocol, seed, folder)
            group.target = made(f"copies-{protocol}")
            groups.append(group)
            stack.callback(group.close)
        feeder = Feeder(kafka.bootstrap, source)
        stop_striking = strike(groups)
        stack.callback(stop_striking)
        topics = [source, *(each.target for each in groups)]
        outcome.troubles = trouble_the_cluster(kafka, topics, seed, say, began + seconds)
        feeder.stop()
        stop_striking()
        for group in groups:
            group.calm()
        ends = ends_of(kafka, source, "read_uncommitted")
        for group in groups:
            await_copies(kafka, group, source, ends)
        for group in groups:
            group.leave()
    values = read(kafka, source)
    for group in groups:
        verdict = judge(group.lives, copies_of(kafka, group, source, values))
        outcome.verdicts[group.group] = verdict
        outcome.struck += group.struck
        outcome.wrongs += group.wrongs
        outcome.wrongs += [f"{group.group}: {each}" for each in verdict.wrongs]
    outcome.seconds = time.monotonic() - began
    if outcome.wrongs:
        outcome.folder = str(folder)
    else:
        shutil.rmtree(folder)
    return outcome


def trouble_the_cluster(
    kafka: RealKafka,
    topics: Sequence[str],
    seed: int,
    say: Callable[[str], object],
    until: float,
) -> Counter[str]:
    """Make one trouble after another until it is time, heal everything, and count them."""
    made: Counter[str] = Counter()
    lot = random.Random(f"{seed} moves")  # noqa: S311 - a lot to be drawn again
    began = time.monotonic()
    for trouble in troubles(seed):
        time.sleep(max(0.0, min(until - time.monotonic(), trouble.calm)))
        if time.monotonic() >= until:
            break
        say(f"{time.monotonic() - began:7.1f} s  {trouble}")
        made[trouble.kind] += 1
        befall(kafka, lot.choice(topics), trouble, wait, lot, made)
    kafka.heal()
    return made


def quiet() -> logging.Logger:
    """A logger that says nothing on standard error."""
    logger = logging.getLogger("prokurist.chaos.reader")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    return logger


def consumer_of(kafka: RealKafka, isolation: str) -> Consumer:
    """A reader that is not ours."""
    return Consumer(
        {
            "bootstrap.servers": kafka.direct_bootstrap,
            "group.id": "the-judge",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        },
        logger=quiet(),
    )


def ends_of(kafka: RealKafka, topic: str, isolation: str) -> dict[int, int]:
    """The end of each partition, or its last stable offset."""
    consumer = consumer_of(kafka, isolation)
    try:
        return {
            each: consumer.get_watermark_offsets(
                TopicPartition(topic, each), ANSWERS_WITHIN, cached=False
            )[1]
            for each in range(PARTITIONS)
        }
    finally:
        consumer.close()


def committed_of(kafka: RealKafka, group: str, topic: str) -> dict[int, int]:
    """The offsets of a group."""
    admin = AdminClient({"bootstrap.servers": kafka.direct_bootstrap}, logger=quiet())
    wanted = ConsumerGroupTopicPartitions(
        group, [TopicPartition(topic, each) for each in range(PARTITIONS)]
    )
    (future,) = admin.list_consumer_group_offsets([wanted]).values()
    found = future.result(ANSWERS_WITHIN).topic_partitions
    return {each.partition: max(0, each.offset) for each in found}


def await_copies(kafka: RealKafka, group: Copiers, source: str, ends: dict[int, int]) -> None:
    """Wait until the group has committed all of the source, or commits no more of it.

    On a slow machine there is much to copy yet when the troubles are over.
    """
    until, before = time.monotonic() + SETTLES_WITHIN, dict[int, int]()
    while time.monotonic() < until:
        found = committed_of(kafka, f"{group.group}-{group.target}", source)
        if found == ends:
            return
        if found != before:
            until, before = time.monotonic() + SETTLES_WITHIN, found
        time.sleep(1.0)


def copies_of(
    kafka: RealKafka, group: Copiers, source: str, values: dict[int, list[bytes]]
) -> Copies:
    """What is there of a group's copies."""
    ends, until = ends_of(kafka, group.target, "read_uncommitted"), time.monotonic() + 30.0
    while True:
        stable = ends_of(kafka, group.target, "read_committed")
        if stable == ends or time.monotonic() > until:
            break
        time.sleep(1.0)
    return Copies(
        source=values,
        visible={
            "confluent-kafka": read(kafka, group.target),
            "prokurist": read_by_ours(kafka, group.target),
            "Java": read_by_java(kafka, group.target),
        },
        committed=committed_of(kafka, f"{group.group}-{group.target}", source),
        held_back={each: ends[each] - stable[each] for each in ends},
    )


def read(kafka: RealKafka, topic: str) -> dict[int, list[bytes]]:
    """All committed values, by confluent-kafka.

    Raises:
        TimeoutError: It took too long.
    """
    consumer = consumer_of(kafka, "read_committed")
    found: dict[int, list[bytes]] = {each: [] for each in range(PARTITIONS)}
    ended: set[int | None] = set()
    until = time.monotonic() + 120.0
    try:
        consumer.assign([TopicPartition(topic, each, 0) for each in found])
        while len(ended) < PARTITIONS:
            if time.monotonic() > until:
                raise TimeoutError(f"{topic} was not read to its end: {ended}")
            for message in consumer.consume(5000, 1.0):
                partition = message.partition()
                if message.error() is not None:
                    ended.add(partition)
                elif partition is not None:
                    found[partition].append(message.value() or b"")
    finally:
        consumer.close()
    return found


def read_by_ours(kafka: RealKafka, topic: str) -> dict[int, list[bytes]]:
    """The same by our consumer.

    Raises:
        TimeoutError: It took too long.
    """
    places = [Place(topic, each) for each in range(PARTITIONS)]
    found: dict[int, list[bytes]] = {each: [] for each in range(PARTITIONS)}
    until = time.monotonic() + 120.0
    with KafkaConsumer(
        bootstrap_servers=kafka.direct_bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.assign(places)
        ends = consumer.end_offsets(places, ANSWERS_WITHIN)
        while any(consumer.position(each, ANSWERS_WITHIN) < ends[each] for each in places):
            if time.monotonic() > until:
                raise TimeoutError(f"{topic} was not read to its end")
            for record in consumer.poll(1.0):
                found[record.partition].append(record.value or b"")
    return found


def read_by_java(kafka: RealKafka, topic: str) -> dict[int, list[bytes]]:
    """The same by Java's consumer, until nothing comes for ten seconds."""
    lines = java(
        *("org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", topic),
        *("--bootstrap-server", kafka.direct_bootstrap, "--from-beginning"),
        *("--timeout-ms", "10000", "--isolation-level", "read_committed"),
        *("--formatter-property", "print.partition=true"),
    )
    found: dict[int, list[bytes]] = {each: [] for each in range(PARTITIONS)}
    for line in lines:
        if line.startswith("Partition:"):  # At the end of its time it tells so as well.
            head, _, value = line.partition("\t")
            found[int(head.removeprefix("Partition:"))].append(value.encode())
    return found
