"""A transactional producer by hand, before a model in virtual time."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from prokurist.types import TopicPartition
from tests.unit.testing.cluster.producing import batch, produce

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)
TRANSACTIONAL = 0x10


class Ended(NamedTuple):
    """The answer to an EndTxn: its code and the numbers it brings."""

    code: int
    producer_id: int = -1
    epoch: int = -1


class Writer:
    """A producer of version 2 of the protocol, or with `version=1` of version 1.

    Attributes:
        numbers: Its producer id and epoch.
    """

    def __init__(
        self, lab: "Lab", name: str = "t", *, version: int = 2, timeout: float = 60.0
    ) -> None:
        self.lab = lab
        self.name = name
        self.numbers: tuple[int, int] = (-1, -1)
        self._grows = version == 2
        self._timeout = timedelta(seconds=timeout)
        self.sequences: dict[TopicPartition, int] = {}

    @property
    def node(self) -> int:
        """The broker that coordinates it."""
        return self.lab.control.transaction_coordinator(self.name) or -1

    def init(self, *, node: int | None = None, own: bool = False) -> int:
        """Ask for the next epoch; the error code."""
        producer_id, epoch = self.numbers if own else (-1, -1)
        told = self.lab.ask(
            "InitProducerId",
            5,
            node=node or self.node,
            transactional_id=self.name,
            transaction_timeout=self._timeout,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        if not told.error_code:
            self.numbers = (told.producer_id, told.producer_epoch)
            self.sequences = {}
        return int(told.error_code)

    def add(self, tp: TopicPartition = ORDERS, *, node: int | None = None) -> int:
        """Add a partition; the error code."""
        told = self.lab.ask(
            "AddPartitionsToTxn",
            3,
            node=node or self.node,
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.numbers[0],
            v3_and_below_producer_epoch=self.numbers[1],
            v3_and_below_topics=[{"name": tp.topic, "partitions": [tp.partition]}],
        )
        [topic] = told.results_by_topic_v3_and_below
        return int(topic.results_by_partition[0].partition_error_code)

    def write(self, tp: TopicPartition = ORDERS, count: int = 1) -> tuple[int, int]:
        """Write a batch; the error code and the offset it got."""
        sequence = self.sequences.get(tp, 0)
        told = produce(
            self.lab, self.batch(sequence, count), 12 if self._grows else 11, **self.row(tp)
        )
        if not told[0]:
            self.sequences[tp] = sequence + count
        return int(told[0]), told[1]

    def batch(self, sequence: int = 0, count: int = 1) -> bytes:
        """A batch of its transaction."""
        return batch(count, producer=(*self.numbers, sequence), attributes=TRANSACTIONAL)

    def row(self, tp: TopicPartition = ORDERS) -> dict[str, Any]:
        """The fields of a produce request for a partition."""
        leader, _ = self.lab.control.leader(tp)
        return {
            "node": leader,
            "topic": tp.topic,
            "partition": tp.partition,
            "transactional_id": self.name,
            "timeout": timedelta(seconds=30),
        }

    def open(self, tp: TopicPartition = ORDERS, count: int = 1) -> None:
        """Write a batch that is taken."""
        if not self._grows:
            assert self.add(tp) == 0
        assert self.write(tp, count)[0] == 0

    def commit_offsets(self, group: str, offset: int, **more: Any) -> int:
        """Commit the offset of a partition for a group; the error code."""
        if not self._grows:
            self.lab.ask("AddOffsetsToTxn", 3, node=self.node, **self._asks(), group_id=group)
        row = {
            "partition_index": 0,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        values = {"member_id": "", "generation_id": -1, "group_instance_id": None, **more}
        told = self.lab.ask(
            "TxnOffsetCommit",
            5 if self._grows else 3,
            node=self.lab.control.coordinator(group) or -1,
            **self._asks(),
            group_id=group,
            topics=[{"name": "orders", "partitions": [row]}],
            **values,
        )
        return int(told.topics[0].partitions[0].error_code)

    def end(
        self,
        *,
        commit: bool = True,
        node: int | None = None,
        numbers: tuple[int, int] | None = None,
    ) -> Ended:
        """End the transaction."""
        version = 5 if self._grows else 4
        told = self.lab.ask(
            "EndTxn", version, node=node or self.node, **self._asks(numbers), committed=commit
        )
        if version < 5:
            return Ended(int(told.error_code))
        if not told.error_code:
            self.numbers = (told.producer_id, told.producer_epoch)
            self.sequences = {}
        return Ended(int(told.error_code), told.producer_id, told.producer_epoch)

    def state(self) -> str:
        """Where its transaction stands, by Kafka's word; empty for an unknown id."""
        known = self.lab.control.transactions().get(self.name)
        return known.state if known else ""

    def _asks(self, numbers: tuple[int, int] | None = None) -> dict[str, Any]:
        producer_id, epoch = numbers or self.numbers
        return {
            "transactional_id": self.name,
            "producer_id": producer_id,
            "producer_epoch": epoch,
        }
