"""A scrape delays no call: what it holds, and for how much of its work, in virtual time."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import TimeoutException
from prokurist.metrics.prometheus import ClientsCollector
from prokurist.types import TopicPartition
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")

PARTITIONS = 1_000
WIDE = [TopicPartition("wide", number) for number in range(PARTITIONS)]
AT_A_TIME = 250
"""What docs/design.md promises; a call waits for as many at most."""


class Held:
    """The lock of the assignment, and how many partitions were looked at while it was held."""

    def __init__(self) -> None:
        self.looks: list[int] = []
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()
        self.looks.append(0)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def look(self) -> None:
        """A partition was looked at."""
        assert self._lock.locked(), "without the lock"
        self.looks[-1] += 1


class Looked(dict[TopicPartition, Any]):
    """The table of partitions; each look is told."""

    look: Callable[[], None]

    def get(self, tp: TopicPartition, default: Any = None) -> Any:
        """A look."""
        self.look()
        return super().get(tp, default)


def wide() -> tuple[World, KafkaConsumer]:
    """A consumer of a thousand partitions."""
    world = World(topics={"wide": PARTITIONS})
    consumer = world.consumer(fetches=False)
    consumer.assign(WIDE)
    for tp in WIDE:
        consumer.seek(tp, 0)
    return world, consumer


def scrape(consumer: KafkaConsumer) -> Callable[[], object]:
    """A scrape by Prometheus."""
    clients = [("mine", consumer._counted)]
    registry = CollectorRegistry()
    registry.register(ClientsCollector(clients=lambda: clients))
    return lambda: generate_latest(registry)


@pytest.mark.parametrize("reader", [scrape, lambda consumer: consumer.metrics])
def test_some_partitions_at_a_time(
    reader: Callable[[KafkaConsumer], Callable[[], object]],
) -> None:
    """The lock that calls take as well is let go after each 250; all are looked at, once."""
    _, consumer = wide()
    read = reader(consumer)
    assigned, held = consumer._committable.assigned, Held()
    looked = Looked(assigned.rows)
    looked.look = held.look
    assigned.lock = consumer._committable._lock = held  # type: ignore[assignment]
    assigned.rows = looked
    read()
    assert sum(held.looks) == PARTITIONS
    assert max(held.looks) == AT_A_TIME


def test_it_sends_no_request() -> None:
    """Calls end at their deadlines, to the moment, and the loop turns as without a reader."""

    def life(*, scraped: bool) -> list[tuple[float, int, int, int]]:
        world, consumer = wide()
        member = world.members[-1]
        consumer.committed(WIDE[0])
        read, seen = scrape(consumer), []
        with world.control.freeze():
            for _ in range(3):
                began = world.clock.time
                for step in range(20) if scraped else ():
                    world.at(began + step / 20, read)
                with pytest.raises(TimeoutException):
                    consumer.committed(WIDE[0], timeout=1.0)
                counts = member.network.turns, member.network.wakes
                seen.append((world.clock.time - began, *counts, member.thread.mailbox.posted))
        return seen

    assert life(scraped=True) == life(scraped=False)
    assert [took for took, *_ in life(scraped=True)] == pytest.approx([1.0] * 3)
