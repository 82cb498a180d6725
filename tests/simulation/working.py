"""Base of tests of workers: records with keys, and a ledger of work on them."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from prokurist import ConsumerRecord, TopicPartition
from prokurist.aio import KafkaConsumer
from prokurist.parallel import TaskWorkers
from prokurist.testing.cluster.batches import Record
from prokurist.testing.cluster.group_settings import GroupSettings
from tests.simulation.returning import committed
from tests.simulation.virtual_loop import consumer
from tests.simulation.world import World

Place = tuple[TopicPartition, int]


def keyed(
    partitions: int = 1,
    records: int = 10,
    keys: int = 3,
    *,
    dead: int = 0,
    random: Random | None = None,
) -> World:
    """A world with records whose keys take turns, or come at random; a topic for dead ones."""
    world = World(topics={"orders": partitions, **({"orders.dead": dead} if dead else {})})
    world.control.configure_groups(GroupSettings(consumer_heartbeat_interval=3.0))
    for number in range(partitions):
        for nth in range(records):
            key = nth % keys if random is None else random.randrange(keys)
            tp = TopicPartition("orders", number)
            world.control.append(tp, Record(b"%d" % nth, b"%d" % key))
    return world


def place_of(record: ConsumerRecord) -> Place:
    """Where a record is."""
    return TopicPartition(record.topic, record.partition), record.offset


class Ledger:
    """Work that has begun and ended, and its rules.

    Args:
        world: The world, whose commits are looked at.

    Attributes:
        keys: The key of each record that has begun.
        done: Records that were worked on, or are dead letters.
        begun: Each attempt, in order.
        faults: What has broken a rule; an error of a handler would only be tried again.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.keys: dict[Place, Any] = {}
        self.done: set[Place] = set()
        self.begun: list[Place] = []
        self.faults: list[str] = []
        self._running: set[tuple[object, TopicPartition, Any]] = set()

    def begins(self, worker: object, record: ConsumerRecord) -> None:
        """An attempt begins: all records of its key before it are done, and none runs here."""
        place = tp, offset = place_of(record)
        self.begun.append(place)
        self.keys[place] = key = bytes(record.key)
        running = worker, tp, key
        if running in self._running:
            self.faults.append(f"{place}: another one of its key runs")
        self._running.add(running)
        before = [
            each
            for each, its in self.keys.items()
            if each[0] == tp and each[1] < offset and its == key
        ]
        if not set(before) <= self.done:
            self.faults.append(f"{place} begins before one of its key is done")

    def ends(self, worker: object, record: ConsumerRecord, *, well: bool) -> None:
        """An attempt has ended."""
        place = place_of(record)
        self._running.discard((worker, place[0], self.keys[place]))
        if well:
            self.done.add(place)

    def is_dead(self, record: ConsumerRecord) -> None:
        """A record is a dead letter."""
        self.done.add(place_of(record))

    def check_commits(self) -> None:
        """Committed records are done."""
        topic = self.world.cluster.state.topics["orders"]
        for number in range(len(topic.partitions)):
            tp = TopicPartition("orders", number)
            for offset in range(committed(self.world, tp) or 0):
                if (tp, offset) not in self.done:
                    self.faults.append(f"{tp} @ {offset} is committed, and not done")


class Letters:
    """Takes dead letters in the place of a producer."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger
        self.sent: list[tuple[int, int]] = []

    def send(self, record: ConsumerRecord, error: BaseException, attempts: int) -> None:
        """Take one."""
        del error
        self.sent.append((record.offset, attempts))
        if self.ledger is not None:
            self.ledger.is_dead(record)


def reading(world: World, protocol: str = "consumer", **keys: Any) -> KafkaConsumer:
    """A consumer of tasks for workers."""
    keys.setdefault("auto_commit_interval_ms", 1000)
    if protocol == "classic":
        keys.setdefault("partition_assignment_strategy", "cooperative-sticky")
    return consumer(
        world,
        group_id="g",
        group_protocol=protocol,
        auto_offset_reset="earliest",
        enable_auto_offset_store=False,
        **keys,
    )


async def until(is_so: Callable[[], object], seconds: float = 300.0) -> None:
    """Wait until something is so."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not is_so():
        assert loop.time() < end, "it never was"
        await asyncio.sleep(0.1)


async def stopped(workers: TaskWorkers, running: "asyncio.Task[None]") -> None:
    """End workers."""
    workers.stop()
    await running
