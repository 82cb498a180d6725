"""What counting costs, and what a scrape costs: `python benchmarks/metrics.py`.

A recording is timed against an empty statement; a scrape is of a client in virtual time
with many partitions assigned, as text by `prometheus_client` and as a mapping. All of it
in the time of the processor that it takes, so that a busy machine changes little.
"""

import sys
import time
import timeit
from pathlib import Path

from data_files import Conditions
from prometheus_client import CollectorRegistry, generate_latest

sys.path.insert(0, str(Path(__file__).parents[1]))

from prokurist.events.counter_types import Family, Histogram
from prokurist.metrics.prometheus import ClientsCollector
from prokurist.types import TopicPartition
from tests.simulation.world import World

ROUNDS = 7
MANY = 500_000


def nanoseconds(statement: str, **names: object) -> float:
    """The best of some rounds, without what the loop itself takes."""
    empty = min(timeit.repeat("pass", number=MANY, repeat=ROUNDS, timer=time.process_time))
    taken = min(
        timeit.repeat(
            statement, globals=names, number=MANY, repeat=ROUNDS, timer=time.process_time
        )
    )
    return (taken - empty) / MANY * 1e9


class Counters:
    """What a counter is: an attribute in a slot."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


def recordings() -> None:
    """Each kind of recording."""
    family = Family(Histogram)
    family.of("Fetch")
    print(f"counter += 1           {nanoseconds('c.count += 1', c=Counters()):7.0f} ns")
    print(f"histogram.observe(x)   {nanoseconds('h.observe(0.003)', h=Histogram()):7.0f} ns")
    print(f"family.of(label)       {nanoseconds('f.of(l)', f=family, l='Fetch'):7.0f} ns")


def scrape(partitions: int) -> None:
    """One client with so many partitions that all have a lag."""
    wide = [TopicPartition("wide", number) for number in range(partitions)]
    world = World(topics={"wide": partitions})
    consumer = world.consumer(fetches=False)
    consumer.assign(wide)
    for tp in wide:
        consumer.seek(tp, tp.partition)
    fetching = world.members[0].side.fetching
    for wish in fetching.fetchable():
        fetching.fetched(wish, None, end=partitions, start=0)
    registry = CollectorRegistry()
    clients = [("mine", consumer._counted)]  # noqa: SLF001 - no socket: it is not in the list
    collector = ClientsCollector(clients=lambda: clients)
    registry.register(collector)  # type: ignore[arg-type]
    for name, work in (
        ("collected", lambda: list(collector.collect())),
        ("as text", lambda: generate_latest(registry)),
        ("as a mapping", consumer.metrics),
    ):
        best = min(timeit.repeat(work, number=1, repeat=ROUNDS, timer=time.process_time))
        print(f"{partitions:7} partitions, {name:13} {best * 1e3:8.1f} ms")
    consumer.assign([])
    consumer.close()


if __name__ == "__main__":
    print(*Conditions().told().values(), sep="; ")
    recordings()
    for count in (0, 1_000, 100_000):
        scrape(count)
