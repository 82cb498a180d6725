"""What a scenario is played to: a real Kafka, or the model.

A `Side` sends requests and records answers; what is changed behind the protocol's back
(topics deleted, leaders moved, transactions ended) each kind of side does in its own way.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from uuid import UUID

from crc32c import crc32c

from prokurist.testing.cluster.batches import (
    CRC_COUNTS_FROM,
    HEADER,
    TRANSACTIONAL,
    Record,
    make_batch,
)
from tests.broker.requests_by_hand import Talker
from tests.conformance.normalising import BEGAN


@dataclass(frozen=True)
class Topic:
    """A topic of a scenario."""

    name: str
    id: UUID


class Side(ABC):
    """One broker, or several.

    Attributes:
        first_node: The lowest node id.
        versions: What can be asked of each API.
    """

    first_node: int = 0

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses
        self.versions: dict[str, tuple[int, int]] = {}

    # --- what each kind of side does in its own way ---------------------------------

    @abstractmethod
    def create_topics(
        self, names: Sequence[str], partitions: int, config: Mapping[str, str] | None = None
    ) -> dict[str, UUID]:
        """Make topics, one copy of each partition, and wait until groups know them.

        Args:
            names: Their names.
            partitions: How many each has.
            config: Their properties: Kafka's names with underscores.
        """

    @abstractmethod
    def place_topic(
        self,
        name: str,
        replicas: Sequence[Sequence[int]],
        config: Mapping[str, str] | None = None,
    ) -> UUID:
        """Make a topic with its copies on given nodes, counted from 1."""

    @abstractmethod
    def delete_topic(self, name: str) -> None:
        """Delete a topic, and wait until brokers know."""

    @abstractmethod
    def delete_records(self, name: str, partition: int, before: int) -> None:
        """Delete records below an offset; all for -1."""

    @abstractmethod
    def move_leader(
        self, name: str, partition: int, node: int, *, settled: bool = True
    ) -> None:
        """Have a node lead that is in sync, counted from 1, in the next epoch.

        Args:
            name: The topic.
            partition: The partition.
            node: The node.
            settled: Whether to wait until all nodes know it and all replicas are in sync.
        """

    @abstractmethod
    def stopped(self, node: int) -> AbstractContextManager[object]:
        """Have a node follow no leader meanwhile."""

    @abstractmethod
    def frozen(self, node: int) -> AbstractContextManager[object]:
        """Have a node do nothing meanwhile; it has to stay in the cluster."""

    @abstractmethod
    def killed(self, node: int, *names: str) -> AbstractContextManager[object]:
        """Have a node be dead meanwhile; the others know, and in the end it is back in sync.

        Args:
            node: Which; not the first.
            names: Topics with copies there.
        """

    @abstractmethod
    def until_in_sync(self, name: str, partition: int, size: int) -> None:
        """Wait until so many replicas of a partition are in sync."""

    @abstractmethod
    def elect_unclean(self, name: str, partition: int, node: int) -> None:
        """Have a node lead that is stopped and out of sync; the old leader follows it then."""

    @abstractmethod
    def restart(self, node: int) -> None:
        """Kill a node and start it again; wait until it serves what it served before."""

    @abstractmethod
    def expire_producer(self, name: str, partition: int, producer_id: int) -> None:
        """Wait until a broker forgets a producer whose last batch is older than a day."""

    @abstractmethod
    def expire_transaction(self, name: str) -> None:
        """Wait until brokers forget a transactional id that is not used."""

    @abstractmethod
    def finalize(self, feature: str, level: int) -> None:
        """Change the level of a feature, and wait until brokers know."""

    @abstractmethod
    def begin_transaction(self, name: str, partition: int, who: str, *values: bytes) -> None:
        """Write records in a transaction; the producer's name is new to this topic."""

    @abstractmethod
    def end_transaction(self, name: str, partition: int, who: str, *, commit: bool) -> None:
        """End it, and wait for its marker."""

    @abstractmethod
    def settle_metadata(self) -> None:
        """Wait until brokers know what the controller has done; nothing tells that."""

    @abstractmethod
    def configure_group(self, group: str, **settings: str) -> None:
        """Configure a group that there is not yet."""

    def talker(self, node: int) -> Talker:
        """Connections to a node, counted from 1."""
        return Talker(self._addresses[node - 1])


def transactional(values: Sequence[bytes], producer: int) -> bytes:
    """A batch of a transaction."""
    records = [Record(each, timestamp=BEGAN + nth) for nth, each in enumerate(values)]
    plain = make_batch(records, producer_id=producer, attributes=TRANSACTIONAL).data
    # The model's batches have no sequence; a broker wants one from 0.
    head = list(HEADER.unpack_from(plain))
    head[11] = 0
    body = HEADER.pack(*head)[CRC_COUNTS_FROM:] + plain[HEADER.size :]
    head[4] = crc32c(body)
    return HEADER.pack(*head) + plain[HEADER.size :]
