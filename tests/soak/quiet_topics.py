"""Idle, rarely written and growing topics on three real nodes, with a reference beside.

Three readers take the same records: ours from a rack, ours in a group, and confluent-kafka.
Leaders move without a write between, brokers are restarted one after another, with another
version where that is asked for, a topic grows and another is created again. What the
reference has read and ours has not within twice its time, and the bound, is wrong; so is a
client that asks for much when there is nothing to read.

Thread: one for each reader; the one that calls `run` makes everything happen.
"""

import random
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any, Final

import confluent_kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from prokurist import KafkaConsumer
from prokurist.testing.kafka import RealKafka
from tests.oracles.bounds import Settings, returned_within
from tests.oracles.thrift import Thrift
from tests.oracles.watching import requests_of
from tests.soak.moving import move_leaders

PARTITIONS: Final = 3
QUIET: Final = 5.0
READ_WITHIN: Final = 10.0
"""Seconds that the reference is waited for; what it has not read by then tells nothing."""

Place = tuple[str, int, int]


@dataclass
class Outcome:
    """What came of a run.

    Attributes:
        seed: What drew the lots.
        happened: What was done, with its time.
        written: When each record was acknowledged.
        read: For each reader when each record came.
        highest: The most requests a second on one connection, with nothing to do.
        wrongs: What was wrong, in words.
    """

    seed: int
    happened: list[str] = field(default_factory=list)
    written: dict[Place, float] = field(default_factory=dict)
    read: dict[str, dict[Place, float]] = field(default_factory=dict)
    highest: float = 0.0
    wrongs: list[str] = field(default_factory=list)

    def judge(self, bound: float) -> None:
        """Hold our readers against the reference, and the bound."""
        reference = self.read["reference"]
        for name, came in self.read.items():
            for place, at in self.written.items():
                if name == "reference" or place not in reference:
                    continue
                allowed = max(2 * (reference[place] - at), bound)
                took = came.get(place, float("inf")) - at
                if took > allowed:
                    self.wrongs.append(
                        f"{name}: {place} came after {took:.1f} s, and the reference had it "
                        f"after {reference[place] - at:.1f} s"
                    )

    def summary(self) -> str:
        """All of it, to be read."""
        lines = [f"seed {self.seed}, {len(self.written)} records", *self.happened]
        for name, came in self.read.items():
            took = [came[each] - at for each, at in self.written.items() if each in came]
            lines.append(
                f"{name}: {len(took)} read, the latest {max(took, default=0):.1f} s on"
            )
        lines.append(f"with nothing to do at most {self.highest:.1f} requests a second")
        return "\n".join(lines + (["WRONG: " + each for each in self.wrongs[:20]]))


def reading(poll: Callable[[], list[Place]], came: dict[Place, float]) -> Callable[[], None]:
    """Poll in a thread of its own, and note when each record came; returns what ends it."""
    stopped = threading.Event()

    def go() -> None:
        while not stopped.is_set():
            for place in poll():
                came.setdefault(place, time.monotonic())

    thread = threading.Thread(target=go, name="quiet-reader", daemon=True)
    thread.start()

    def stop() -> None:
        stopped.set()
        thread.join()

    return stop


class Run:
    """One run; see the module."""

    def __init__(self, kafka: RealKafka, seed: int, upgrade: str | None) -> None:
        self.kafka = kafka
        self.lot = random.Random(f"{seed} quiet")  # noqa: S311 - a lot to be drawn again
        self.upgrade = upgrade
        self.outcome = Outcome(seed)
        tag = secrets.token_hex(3)
        self.topics = {name: f"{name}-{tag}" for name in ("rare", "idle", "growing", "again")}
        self.counts = dict.fromkeys(self.topics.values(), PARTITIONS)
        for name in self.counts:
            kafka.create_topic(name, PARTITIONS, replication_factor=3)
        self.producer = confluent_kafka.Producer(
            {"bootstrap.servers": kafka.direct_bootstrap, "acks": "all", "linger.ms": 0}
        )
        self.ours: dict[str, KafkaConsumer] = {}
        self.began = time.monotonic()

    def say(self, what: str) -> None:
        """Note what happens."""
        self.outcome.happened.append(f"{time.monotonic() - self.began:7.1f} s  {what}")

    # --- readers -----------------------------------------------------------------------

    def start_readers(self, stack: ExitStack) -> None:
        """Start all of them; each is ended with the stack."""
        pattern = "|".join(self.counts)
        common: dict[str, Any] = {
            "bootstrap_servers": self.kafka.direct_bootstrap,
            "auto_offset_reset": "earliest",
            "metadata_max_age_ms": 5_000,
        }
        rack = KafkaConsumer(**common, group_id="rack", client_rack="rack-1")
        group = KafkaConsumer(**common, group_id="group", group_protocol="consumer")
        if self.upgrade is not None:
            stack.callback(group.close)
            group = KafkaConsumer(**common, group_id="classic")
        for name, consumer in (("rack", rack), ("group", group)):
            consumer.subscribe(list(self.counts))
            self.ours[name] = consumer
            stack.callback(consumer.close, 5.0)
            self.outcome.read[name] = {}
            stack.callback(reading(self._poll_ours(consumer), self.outcome.read[name]))
        reference = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.kafka.direct_bootstrap,
                "group.id": "reference",
                "auto.offset.reset": "earliest",
                "topic.metadata.refresh.interval.ms": 5_000,
                "log_level": 0,
            }
        )
        reference.subscribe([f"^({pattern})$"])
        stack.enter_context(closing(reference))
        self.outcome.read["reference"] = {}

        def poll() -> list[Place]:
            records = reference.consume(100, 0.1)
            return [
                (str(each.topic()), int(each.partition() or 0), int(each.offset() or 0))
                for each in records
                if not each.error()
            ]

        stack.callback(reading(poll, self.outcome.read["reference"]))

    @staticmethod
    def _poll_ours(consumer: KafkaConsumer) -> Callable[[], list[Place]]:
        return lambda: [
            (each.topic, each.partition, each.offset) for each in consumer.poll(0.1)
        ]

    # --- what happens --------------------------------------------------------------------

    def write(self, *names: str) -> None:
        """A record to each partition of some topics."""

        def written(error: Any, message: Any) -> None:
            if error is None:
                place = message.topic(), message.partition(), message.offset()
                self.outcome.written[place] = time.monotonic()

        for name in names:
            topic = self.topics[name]
            for partition in range(self.counts[topic]):
                self.producer.produce(topic, b"", partition=partition, on_delivery=written)
        assert not self.producer.flush(60.0), "the writer cannot write"

    def move(self) -> None:
        """Leaders move twice, and nothing is written between."""
        for _ in range(2):
            topic = self.topics[self.lot.choice(("rare", "idle"))]
            moved = move_leaders(self.kafka, topic, PARTITIONS, 0, self.lot)
            self.say(f"{moved} leaders of {topic} move")

    def roll(self) -> None:
        """One node after another is restarted, with another version where one is given."""
        for node in range(3):
            self.say(f"restart {node} {self.upgrade or ''}")
            self.kafka.restart(node, timeout=120.0, version=self.upgrade)
            time.sleep(1.0)

    def grow(self) -> None:
        """A topic grows."""
        topic = self.topics["growing"]
        self.counts[topic] += 1
        self.say(f"{topic} grows to {self.counts[topic]}")
        admin = AdminClient({"bootstrap.servers": self.kafka.direct_bootstrap})
        admin.create_partitions([NewPartitions(topic, self.counts[topic])])[topic].result(30)
        time.sleep(1.0)

    def create_again(self) -> None:
        """A topic is deleted and created again; nothing had been written to it."""
        topic = self.topics["again"]
        self.say(f"{topic} is created again")
        self.kafka.delete_topic(topic)
        self.kafka.create_topic(topic, PARTITIONS, replication_factor=3)

    # --- the run ---------------------------------------------------------------------------

    def run(self) -> Outcome:
        """All of it."""
        with ExitStack() as stack:
            self.start_readers(stack)
            self.write("rare", "growing")
            self.await_reference()
            events = [self.move, self.grow, self.create_again, self.roll, self.move]
            self.lot.shuffle(events)
            for event in events:
                event()
                self.write("rare")
            self.write("rare", "growing", "again", "idle")
            self.await_reference()
            self.judge_idle()
            self.write("rare")
            self.await_reference()
            settings = Settings.of(self.ours["rack"]._counted.config)
            self.await_ours(self.bound(settings))
        self.outcome.judge(self.bound(settings))
        return self.outcome

    def bound(self, settings: Settings) -> float:
        """Seconds for a record; new partitions are found by `metadata.max.age.ms`."""
        return returned_within(settings) + settings.metadata

    def await_ours(self, seconds: float) -> None:
        """Wait until ours have read what is written, for so long at most."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if all(
                self.outcome.written.keys() <= self.outcome.read[each].keys()
                for each in self.ours
            ):
                return
            time.sleep(0.1)

    def await_reference(self) -> None:
        """Wait until the reference has read what is written.

        Of a topic that was created again it may go on behind the end, and read nothing.
        """
        until = time.monotonic() + READ_WITHIN
        while time.monotonic() < until:
            if self.outcome.written.keys() <= self.outcome.read["reference"].keys():
                return
            time.sleep(0.1)

    def judge_idle(self) -> None:
        """Nothing is written for a while: hold what ours ask for against the bound."""
        time.sleep(2.0)
        clients = {name: each._counted for name, each in self.ours.items()}
        before = {name: requests_of(each) for name, each in clients.items()}
        began = time.monotonic()
        time.sleep(QUIET)
        seconds = time.monotonic() - began
        for name, client in clients.items():
            thrift: Thrift[str] = Thrift(Settings.of(client.config, heartbeat=1.0))
            sent = requests_of(client)
            fresh = {node: sent[node] - before[name].get(node, 0) for node in sent}
            thrift.judge(seconds, fresh, events=None, where=f"by {name}")
            self.outcome.highest = max(self.outcome.highest, thrift.highest)
            self.outcome.wrongs += thrift.wrongs


def run(kafka: RealKafka, seed: int, upgrade: str | None = None) -> Outcome:
    """Have quiet topics read while their cluster changes, and judge it.

    Args:
        kafka: Three nodes that are ours.
        seed: What draws the lots.
        upgrade: The version that nodes are restarted with; None for the one they have.
    """
    return Run(kafka, seed, upgrade).run()
