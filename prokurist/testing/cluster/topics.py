"""Topics and partitions: leader, epoch, replicas.

Thread: the one that drives the model.
"""

import re
import uuid
from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.batches import RecordBatch
from prokurist.testing.cluster.epochs import EpochCache
from prokurist.testing.cluster.log import Log
from prokurist.testing.cluster.producers import ProducerStates
from prokurist.testing.cluster.replication import Copy
from prokurist.testing.cluster.topic_config import TopicConfig

NO_LEADER: Final = -1
LONGEST_NAME: Final = 249
LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
TOPIC_IDS: Final = uuid.UUID("6b61666b-6120-4d6f-8465-6c20746f7069")
"""Namespace of topic ids: the same calls give the same ids."""


@dataclass(slots=True)
class Partition:
    """One partition.

    Attributes:
        index: Its number.
        replicas: The brokers that keep a copy, the preferred leader first.
        isr: Those that are caught up; empty once the last of them is gone.
        leader: The broker that leads; `NO_LEADER` while there is none.
        epoch: The leader epoch. It rises with each election, and when the last leader goes.
        epoch_start: Where the log ended when the leader was elected.
        eligible: Brokers outside the ISR that may lead without a loss of records: the
            last that was in sync (Kafka's eligible leader replicas).
        log: The log, as the present leader has it.
        copies: How much of it each broker has, and the high watermark that it knows.
        followed: True if the followers have fetched from the present leader.
        followed_from: When they do at the earliest.
        min_isr: How many replicas have to be in sync, so that what is written can become
            readable: never more than there are.
        producers: State of the idempotent producers that wrote to it.
    """

    index: int
    replicas: tuple[int, ...]
    isr: list[int]
    leader: int
    epoch: int = 0
    epoch_start: int = 0
    eligible: list[int] = field(default_factory=list)
    log: Log = field(default_factory=Log)
    copies: dict[int, Copy] = field(default_factory=dict)
    followed: bool = True
    followed_from: float = 0.0
    min_isr: int = 1
    producers: ProducerStates = field(default_factory=ProducerStates)

    def __repr__(self) -> str:
        return (
            f"Partition({self.index}, leader {self.leader} in epoch {self.epoch}, {self.log})"
        )

    def elect(self, leader: int, epoch: int | None = None) -> None:
        """Have a broker lead (or none), in the next epoch or a given one; it is in sync."""
        self.leader = leader
        self.epoch = self.epoch + 1 if epoch is None else epoch
        self.epoch_start = self.log.end
        if leader == NO_LEADER:
            return
        self.eligible.clear()
        if leader not in self.isr:
            self.isr.append(leader)
        # What was acknowledged every broker in sync has; the watermark stays its own.
        self.copy_of(leader).end = self.log.end
        self.followed = False

    def elect_unclean(self, leader: int, now: float) -> None:
        """Have a broker lead though it lacks records: the log is cut back to its copy."""
        self.truncate(self.copy_of(leader).end, now)
        self.isr = [leader]
        self.elect(leader)

    def place(self, live: Sequence[int]) -> None:
        """Give a new partition its first leader and ISR, among the brokers that live."""
        self.isr = [each for each in self.replicas if each in live]
        self.leader = self.isr[0] if self.isr else NO_LEADER
        self.eligible = [] if self.isr else list(self.replicas)

    def lose(self, node: int) -> None:
        """Take a broker that is gone out of the ISR; if it led, another one leads or none.

        The last of the ISR stays eligible: no other may lead until it is back.
        """
        if node in self.isr:
            self.isr.remove(node)
            if not self.isr:
                self.eligible = [node]
        if self.leader == node:
            self.elect(self.isr[0] if self.isr else NO_LEADER)

    def take_back(self, node: int) -> None:
        """Let a broker that is back catch up, and lead if none leads and it may."""
        if self.leader == NO_LEADER:
            if node in self.eligible:
                self.elect(node)
                self.producers.restart()
        elif node in self.replicas and node not in self.isr:
            self.isr.append(node)

    # --- its copies -------------------------------------------------------------------

    def copy_of(self, node: int) -> Copy:
        """A broker's copy."""
        copy = self.copies.get(node)
        if copy is None:
            copy = self.copies[node] = Copy()
        return copy

    def epochs_of(self, node: int) -> EpochCache:
        """The epochs that a broker's copy knows: those with records, a leader its own too.

        One that leads on and has not learned of its new epoch yet has records of that.
        """
        end, start = self.copy_of(node).end, self.log.start
        # An epoch of which all records were deleted is kept, as beginning at the start.
        known = self.log.epochs.up_to(max(end, start + 1) if start else end)
        if node == self.leader and self.epoch >= known.last:
            known.assign(self.epoch, self.epoch_start)
        return known

    def append(self, batch: RecordBatch) -> RecordBatch:
        """Put a batch at the leader's end; `State.follow` has the followers fetch it."""
        kept = self.log.append(batch, self.epoch)
        self.copy_of(self.leader).end = self.log.end
        return kept

    def in_transaction(self, producer_id: int, epoch: int | None = None) -> bool:
        """True if a producer has a transaction open here, in an epoch if one is given."""
        if producer_id not in self.log.open:
            return False
        return epoch is None or self.producers.epoch_of(producer_id) == epoch

    def end_transaction(
        self, marker: RecordBatch, now: float, *, committed: bool, coordinator_epoch: int = -1
    ) -> None:
        """Append a marker: it commits or aborts the producer's open transaction."""
        self.log.end_transaction(marker, self.epoch, committed=committed)
        self.producers.end(marker, now, coordinator_epoch)
        self.copy_of(self.leader).end = self.log.end

    def truncate(self, end: int, now: float) -> None:
        """Forget everything from an offset on, in every copy."""
        self.log.truncate(end)
        self.producers.rebuild(self.log.batches, now)
        for copy in self.copies.values():
            copy.cut(self.log.end)

    def fetch(self, upto: int, behind: Collection[int] = ()) -> None:
        """Have the followers fetch records below an offset; move the high watermark.

        Args:
            upto: The offset.
            behind: Brokers that do not know of the leader yet.
        """
        for node in self.isr:
            if node in behind:
                continue
            copy = self.copy_of(node)
            copy.end = max(copy.end, min(upto, self.log.end))
        self.followed = True
        self.raise_watermark()

    def raise_watermark(self) -> None:
        """Move the leader's high watermark to where the last broker in sync stands.

        While fewer are in sync than have to be, it stays where it is (KIP-966).
        """
        if len(self.isr) < self.min_isr:
            return
        if self.leader != NO_LEADER and (self.followed or len(self.isr) == 1):
            leads = self.copy_of(self.leader)
            in_sync = min(self.copy_of(node).end for node in self.isr)
            leads.watermark = max(leads.watermark, in_sync)

    def hear(self, behind: Collection[int] = ()) -> None:
        """Have the followers learn of the leader's high watermark."""
        if self.leader == NO_LEADER:
            return
        known = self.copy_of(self.leader).watermark
        for node in self.isr:
            if node in behind:
                continue
            copy = self.copy_of(node)
            copy.watermark = max(copy.watermark, min(copy.end, known))


@dataclass(slots=True)
class Topic:
    """One topic.

    Attributes:
        name: Its name.
        id: Its id.
        partitions: Its partitions.
        config: The properties in force that the model heeds.
        given: All properties that are set for it, as an administrator wrote them.
    """

    name: str
    id: uuid.UUID
    partitions: list[Partition]
    config: TopicConfig = field(default_factory=TopicConfig)
    given: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Topic({self.name}, {len(self.partitions)} partitions, {self.id})"

    def configure(self, config: TopicConfig) -> None:
        """Take another configuration."""
        self.config = config
        for each in self.partitions:
            each.min_isr = min(config.min_insync_replicas, len(each.replicas))

    def partition(self, index: int) -> Partition | None:
        """The partition of a number, if there is one."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


INTERNAL: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
"""Brokers' internal topics, marked as such in metadata."""


def legal_name(name: str) -> bool:
    """True if Kafka allows the topic name."""
    return (
        0 < len(name) <= LONGEST_NAME
        and name not in {".", ".."}
        and LEGAL_NAME.fullmatch(name) is not None
    )


def make_topic(
    name: str, topic_id: uuid.UUID, partitions: int, replication: int, nodes: Sequence[int]
) -> Topic:
    """A new topic, its replicas dealt out in turn.

    Args:
        name: Its name.
        topic_id: Its id.
        partitions: How many.
        replication: How many copies of each.
        nodes: The brokers to deal them to.
    """
    topic = Topic(name, topic_id, [])
    add_partitions(topic, partitions, replication, nodes)
    return topic


def assign(partitions: Sequence[Partition], assigned: Sequence[Sequence[int]]) -> None:
    """Give new partitions the brokers that an administrator has named."""
    for partition, nodes in zip(partitions, assigned, strict=False):
        partition.replicas = tuple(nodes)


def add_partitions(topic: Topic, total: int, replication: int, nodes: Sequence[int]) -> None:
    """Grow a topic to a number of partitions."""
    for index in range(len(topic.partitions), total):
        replicas = tuple(nodes[(index + turn) % len(nodes)] for turn in range(replication))
        topic.partitions.append(Partition(index, replicas, list(replicas), replicas[0]))
    topic.configure(topic.config)
