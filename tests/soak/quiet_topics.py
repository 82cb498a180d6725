"""Idle, rarely written and growing topics on three real nodes, with a reference beside.

Readers take the same records: ours from a rack, from the end, in groups, after seeks, and
confluent-kafka.
Leaders move without a write between, brokers are restarted one after another, with another
version where that is asked for, frozen, killed and cut off, a topic grows and another is
created again. What the
reference has read and ours has not within twice its time, and the bound, is wrong; so is a
client that asks for much, or takes much processor time, when there is nothing to read.

Thread: one for each reader; the one that calls `run` makes everything happen.
"""

import math
import random
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final

import confluent_kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from prokurist.testing.kafka import RealKafka
from tests.oracles.bounds import Settings, returned_within
from tests.oracles.thrift import Thrift
from tests.oracles.watching import requests_of
from tests.soak.comparison import QuietTopicsResult
from tests.soak.moving import move_leaders
from tests.soak.quiet_readers import FINDS_WITHIN, PARTITIONS, QuietReaders

QUIET: Final = 5.0
READ_WITHIN: Final = 10.0
"""Seconds that the reference is waited for; what it has not read by then tells nothing."""


def processor_time() -> tuple[float, float]:
    """Seconds of processor time of our clients' network threads, and of native threads."""
    threads = [
        (each.name, time.clock_gettime(time.pthread_getcpuclockid(each.ident)))
        for each in threading.enumerate()
        if each.ident is not None
    ]
    ours = sum(spent for name, spent in threads if name.endswith("-network"))
    return ours, time.process_time() - sum(spent for _, spent in threads)


class Run:
    """One run; see the module."""

    def __init__(
        self,
        kafka: RealKafka,
        seed: int,
        upgrade: str | None,
        tell: Callable[[str], object],
    ) -> None:
        self.kafka = kafka
        self.tell = tell
        self.kind = "none"
        self.created = 0
        self.lot = random.Random(f"{seed} quiet")  # noqa: S311 - a lot to be drawn again
        self.upgrade = upgrade
        self.outcome = QuietTopicsResult(seed)
        self.tag = tag = secrets.token_hex(3)
        self.settings = Settings()
        self.topics = {name: f"{name}-{tag}" for name in ("rare", "idle", "growing", "again")}
        self.counts = dict.fromkeys(self.topics.values(), PARTITIONS)
        for name in self.counts:
            kafka.create_topic(name, PARTITIONS, replication_factor=3)
        self.producer = self.writer()
        self.readers = QuietReaders(kafka, tag, self.outcome)
        self.began = time.monotonic()

    def say(self, what: str) -> None:
        """Note what happens."""
        line = f"{time.monotonic() - self.began:7.1f} s  {what}"
        self.outcome.happened.append(line)
        self.tell(line)

    def writer(self) -> confluent_kafka.Producer:
        """A producer that knows of no topic yet."""
        return confluent_kafka.Producer(
            {
                "bootstrap.servers": self.kafka.direct_bootstrap,
                "acks": "all",
                "linger.ms": 0,
                # Without it a request to a frozen node is waited for as long as the writer is.
                "socket.timeout.ms": 6000,
                # Topics grow here: by default it would be told of it after five minutes.
                "topic.metadata.refresh.interval.ms": 1000,
            }
        )

    # --- what happens --------------------------------------------------------------------

    def write(self, *names: str) -> None:
        """A record to each partition of some topics."""

        def written(error: Any, message: Any) -> None:
            if error is None:
                place = message.topic(), message.partition(), message.offset()
                self.outcome.written[place] = time.monotonic()
                self.outcome.after[place] = self.kind

        for name in names:
            topic = self.topics[name]
            for partition in range(self.counts[topic]):
                self._produce(topic, partition, written)
        assert not self.producer.flush(60.0), "the writer cannot write"

    def _produce(self, topic: str, partition: int, written: Callable[[Any, Any], None]) -> None:
        """Hand a record to the writer, once it knows of the partition."""
        until = time.monotonic() + 60.0
        while True:
            try:
                self.producer.produce(topic, b"", partition=partition, on_delivery=written)
            except confluent_kafka.KafkaException as error:
                unknown = confluent_kafka.KafkaError._UNKNOWN_PARTITION
                if error.args[0].code() != unknown or time.monotonic() > until:
                    raise
                self.producer.poll(0.2)
            else:
                return

    def move(self) -> None:
        """Leaders move twice, and nothing is written between.

        A reader goes to the end in the epoch between, which is over without a record, and in
        the one topic once more in the last one, of which followers know nothing.
        """
        quiet = [self.topics["rare"], self.topics["idle"]]
        self.await_ours(self.bound)
        for again in (quiet, quiet[1:]):
            for topic in quiet:
                moved = move_leaders(self.kafka, topic, PARTITIONS, 0, self.lot)
                self.say(f"{moved} leaders of {topic} move")
            self.readers.seek_to_end(again)

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
        self.readers.seek_in_new_partition(topic, self.counts[topic] - 1)
        time.sleep(1.0)
        self.write("growing")

    def appear(self) -> None:
        """A topic that only the pattern matches is created; the last one is deleted."""
        for name in [each for each in self.topics if each.startswith("new")]:
            topic = self.topics.pop(name)
            del self.counts[topic]
            # The old one goes on asking for what it has written to, which creates it again.
            self.producer = self.writer()
            self.kafka.delete_topic(topic)
        self.created += 1
        name = f"new{self.created}"
        topic = self.topics[name] = f"{name}-{self.tag}"
        self.counts[topic] = PARTITIONS
        self.outcome.only[topic] = "pattern"
        self.say(f"{topic} appears")
        self.kafka.create_topic(topic, PARTITIONS, replication_factor=3)
        self.write(name)
        self.await_reference()

    def create_again(self) -> None:
        """A topic is deleted and created again; nothing had been written to it."""
        topic = self.topics["again"]
        self.say(f"{topic} is created again")
        self.kafka.delete_topic(topic)
        self.kafka.create_topic(topic, PARTITIONS, replication_factor=3)

    def freeze(self) -> None:
        """A node is frozen, and records are written until it goes on."""
        node = self.lot.randrange(3)
        self.say(f"freeze {node}")
        self.kafka.freeze(node)
        try:
            self.write("rare")
        finally:
            self.kafka.thaw(node)

    def kill(self) -> None:
        """A node is killed, records are written without it, and it comes back."""
        node = self.lot.randrange(3)
        self.say(f"kill {node}")
        self.kafka.kill(node)
        try:
            self.write("rare")
        finally:
            self.kafka.restart(node, timeout=120.0)

    def cut(self) -> None:
        """All connections to a node are reset."""
        node = self.lot.randrange(3)
        self.say(f"cut connections to {node}")
        self.kafka.proxy(node).reset()

    def swallow(self) -> None:
        """A node's answers are lost for a while."""
        node = self.lot.randrange(3)
        self.say(f"swallow answers of {node}")
        fault = self.kafka.proxy(node).swallow("to_client")
        try:
            self.write("rare")
            time.sleep(self.lot.uniform(0.1, 4.0))
        finally:
            fault.heal()

    # --- the run ---------------------------------------------------------------------------

    def events(self, *, long: bool) -> list[Callable[[], None]]:
        """One round of changes, in an order by lot; of a long run with faults."""
        events = [self.move, self.grow, self.create_again, self.roll, self.move]
        if long:
            events += [self.freeze, self.kill, self.cut, self.swallow, self.appear]
        self.lot.shuffle(events)
        return events

    def run(self, seconds: float) -> QuietTopicsResult:
        """One short round of changes, or rounds of changes and faults for so many seconds."""
        with ExitStack() as stack:
            self.readers.start(stack, self.topics, classic=self.upgrade is not None)
            self.write("rare", "growing", "idle")
            self.await_reference()
            long = seconds > 0
            events = self.events(long=long)
            until = time.monotonic() + seconds
            while time.monotonic() < until if long else events:
                event = (events := events or self.events(long=long)).pop()
                self.kind = event.__name__
                self.outcome.faults[self.kind] += 1
                event()
                self.write("rare")
                if long:
                    self.await_reference()
                    self.await_ours(self.bound + FINDS_WITHIN)
                    self.judge_idle()
                    self.judge_read(time.monotonic())
            self.write("rare", "growing", "again", "idle")
            self.await_reference()
            # Who still reads, later than the reference, has something to do.
            self.await_ours(self.bound + FINDS_WITHIN)
            self.judge_idle()
            self.write("rare")
            self.await_reference()
            self.await_ours(self.bound + FINDS_WITHIN)
        self.judge_read()
        return self.outcome

    @property
    def bound(self) -> float:
        """Seconds for a record of a partition that is known."""
        return returned_within(self.settings)

    def judge_read(self, now: float = math.inf) -> None:
        """Hold what ours have read, or not yet, against the reference and the bound."""
        silent = self.bound + self.settings.request + self.settings.setup
        for words in self.outcome.judge(self.bound, silent, now):
            self.say("WRONG: " + words)

    def await_ours(self, seconds: float) -> None:
        """Wait until ours have read what is written, for so long at most."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if all(
                place in self.outcome.read[each]
                for each in self.readers.ours
                for place in self.outcome.written
                if self.outcome.reads(each, place)
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
        clients = {name: each._counted for name, each in self.readers.ours.items()}
        before = {name: requests_of(each) for name, each in clients.items()}
        began, spent = time.monotonic(), processor_time()
        time.sleep(QUIET)
        seconds = time.monotonic() - began
        ours, reference = (
            now - then for now, then in zip(processor_time(), spent, strict=True)
        )
        self.outcome.idle += seconds
        self.outcome.cpu = max(self.outcome.cpu, (ours / seconds, reference / seconds))
        for name, client in clients.items():
            thrift: Thrift[str] = Thrift(Settings.of(client.config, heartbeat=1.0))
            sent = requests_of(client)
            fresh = {node: sent[node] - before[name].get(node, 0) for node in sent}
            where = f"by {name}, last fault: {self.kind}"
            thrift.judge(seconds, fresh, events=None, cpu=ours / len(clients), where=where)
            self.outcome.highest = max(self.outcome.highest, thrift.highest)
            self.outcome.wrongs += thrift.wrongs
            for words in thrift.wrongs:
                self.say("WRONG: " + words)


def run(
    kafka: RealKafka,
    seed: int,
    upgrade: str | None = None,
    *,
    seconds: float = 0.0,
    tell: Callable[[str], object] = lambda _: None,
) -> QuietTopicsResult:
    """Have quiet topics read while their cluster changes, and judge it.

    Args:
        kafka: Three nodes that are ours.
        seed: Seed of the lots.
        upgrade: The version that nodes are restarted with; None for the one they have.
        seconds: For how long changes and faults are made; 0 for one round of changes.
        tell: Is told of each event.
    """
    return Run(kafka, seed, upgrade, tell).run(seconds)
