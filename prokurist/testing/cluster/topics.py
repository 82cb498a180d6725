"""Topics and partitions: who leads, in which epoch, with which copies.

Thread: whoever drives the model.
"""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from prokurist.testing.cluster.log import Log
from prokurist.testing.cluster.producers import ProducerNumbers

NO_LEADER: Final = -1
LONGEST_NAME: Final = 249
LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
TOPIC_IDS: Final = uuid.UUID("6b61666b-6120-4d6f-8465-6c20746f7069")
"""Where topic ids are derived from, so that the same calls give the same ids."""


@dataclass(slots=True)
class Partition:
    """One partition.

    Attributes:
        index: Its number.
        replicas: The brokers that keep a copy, the preferred leader first.
        isr: Those that are caught up.
        leader: The broker that leads; `NO_LEADER` while there is none.
        epoch: The leader epoch.
        log: What is in it.
        producers: The numbers of the idempotent producers that wrote to it.
    """

    index: int
    replicas: tuple[int, ...]
    isr: list[int]
    leader: int
    epoch: int = 0
    log: Log = field(default_factory=Log)
    producers: ProducerNumbers = field(default_factory=ProducerNumbers)

    def __repr__(self) -> str:
        return (
            f"Partition({self.index}, leader {self.leader} in epoch {self.epoch}, {self.log})"
        )

    def elect(self, leader: int, epoch: int | None = None) -> None:
        """Have another broker lead, in the next epoch or a given one."""
        self.leader = leader
        self.epoch = self.epoch + 1 if epoch is None else epoch
        self.log.begin_epoch(self.epoch)


@dataclass(slots=True)
class Topic:
    """One topic."""

    name: str
    id: uuid.UUID
    partitions: list[Partition]
    max_message_bytes: int = 1_048_588

    def __repr__(self) -> str:
        return f"Topic({self.name}, {len(self.partitions)} partitions, {self.id})"

    def partition(self, index: int) -> Partition | None:
        """The partition of a number, if there is one."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


INTERNAL: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
"""What brokers keep for themselves, and say so."""


def legal_name(name: str) -> bool:
    """Whether Kafka lets a topic be called that."""
    return (
        0 < len(name) <= LONGEST_NAME
        and name not in {".", ".."}
        and LEGAL_NAME.fullmatch(name) is not None
    )


def make_topic(
    name: str, partitions: int, replication: int, nodes: Sequence[int], nth: int
) -> Topic:
    """A new topic, its replicas dealt out in turn.

    Args:
        name: Its name.
        partitions: How many.
        replication: How many copies of each.
        nodes: The brokers to deal them to.
        nth: How many topics of that name there were before; it makes the id.
    """
    topic = Topic(name, uuid.uuid5(TOPIC_IDS, f"{name}/{nth}"), [])
    add_partitions(topic, partitions, replication, nodes)
    return topic


def add_partitions(topic: Topic, total: int, replication: int, nodes: Sequence[int]) -> None:
    """Grow a topic to a number of partitions."""
    for index in range(len(topic.partitions), total):
        replicas = tuple(nodes[(index + turn) % len(nodes)] for turn in range(replication))
        topic.partitions.append(Partition(index, replicas, list(replicas), replicas[0]))
