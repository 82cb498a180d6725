"""One broker that scenarios are played to: a real Kafka, or the model.

A `Side` sends requests and records answers; what is changed behind the protocol's back
(topics deleted, leaders moved, transactions ended) each kind of side does in its own way.
"""

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from typing import Any, Final
from uuid import UUID

from crc32c import crc32c
from kio.schema.index import schema_name_map
from kio.static.constants import EntityType

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.apis import KEYS, ApiName, named
from prokurist.testing.cluster.batches import (
    CRC_COUNTS_FROM,
    HEADER,
    TRANSACTIONAL,
    Record,
    make_batch,
)
from prokurist.testing.kafka import RealKafka
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.wire import BrokerConnection
from prokurist.types import TopicPartition
from tests.broker.talking import Talker
from tests.conformance.normalising import BEGAN
from tests.unit.testing.cluster.conftest import fill

SECONDS: Final = 60.0


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
    def create_topics(self, names: Sequence[str], partitions: int) -> dict[str, UUID]:
        """Make topics, one copy of each partition, and wait until groups know them."""

    @abstractmethod
    def place_topic(self, name: str, replicas: Sequence[Sequence[int]]) -> UUID:
        """Make a topic with its copies on given nodes, counted from 1."""

    @abstractmethod
    def delete_topic(self, name: str) -> None:
        """Delete a topic, and wait until brokers know."""

    @abstractmethod
    def delete_records(self, name: str, partition: int, before: int) -> None:
        """Delete records below an offset; all for -1."""

    @abstractmethod
    def move_leader(self, name: str, partition: int, node: int) -> None:
        """Have a node lead that is in sync, counted from 1, in the next epoch."""

    @abstractmethod
    def begin_transaction(self, name: str, partition: int, who: str, *values: bytes) -> None:
        """Write records in a transaction; the producer's name is new to this topic."""

    @abstractmethod
    def end_transaction(self, name: str, partition: int, who: str, *, commit: bool) -> None:
        """End it, and wait for its marker."""

    @abstractmethod
    def configure_group(self, group: str, **settings: str) -> None:
        """Change a group's configuration."""

    def talker(self, node: int) -> Talker:
        """Connections to a node, counted from 1."""
        return Talker(self._addresses[node - 1])


class RealSide(Side):
    """A real Kafka."""

    def __init__(self, kafka: RealKafka) -> None:
        super().__init__(kafka.direct_bootstrap.split(","))
        self._kafka = kafka
        self._clock = MonotonicClock()
        self._producers: dict[str, tuple[int, int]] = {}
        with self._connected() as node:
            offered = node.versions
        for folder_api in _apis():
            if (span := offered.get(folder_api[1])) is not None:
                self.versions[folder_api[0]] = span
        self._groups_ready()
        self._coordinated("ready")
        self._producers_ready()

    def create_topics(self, names: Sequence[str], partitions: int) -> dict[str, UUID]:
        """By CreateTopics, and until the group coordinator assigns the last of them."""
        made = self._create(
            [
                {"name": each, "num_partitions": partitions, "replication_factor": 1}
                for each in names
            ]
        )
        self._groups_know(names[-1])
        return made

    def place_topic(self, name: str, replicas: Sequence[Sequence[int]]) -> UUID:
        """By CreateTopics with assignments."""
        rows = [
            {"partition_index": index, "broker_ids": tuple(each - 1 for each in nodes)}
            for index, nodes in enumerate(replicas)
        ]
        topic = {"name": name, "num_partitions": -1, "replication_factor": -1}
        return self._create([{**topic, "assignments": rows}])[name]

    def delete_topic(self, name: str) -> None:
        """By DeleteTopics, and until each broker has dropped it."""
        self._kafka.delete_topic(name)
        for address in self._addresses:
            while self._error_of(address, name) != 3:
                time.sleep(0.01)

    def delete_records(self, name: str, partition: int, before: int) -> None:
        """By DeleteRecords to the leader."""
        row = {"partition_index": partition, "offset": before}
        topics = [{"name": name, "partitions": [row]}]
        answer = self._admin(
            "delete_records", 2, self._leader(name, partition), topics=topics, timeout=_LONG
        )
        assert answer.topics[0].partitions[0].error_code == 0, answer

    def move_leader(self, name: str, partition: int, node: int) -> None:
        """By making the node the preferred one, and electing it."""
        leader = self._leader(name, partition)
        if leader == node:
            return
        placed = self._described(self._addresses[leader - 1], name).partitions
        [replicas] = [p.replica_nodes for p in placed if p.partition_index == partition]
        order = (node - 1, *(each for each in replicas if each != node - 1))
        row = {"partition_index": partition, "replicas": order}
        topics = [{"name": name, "partitions": [row]}]
        answer = self._admin(
            "alter_partition_reassignments", 0, 0, topics=topics, timeout=_LONG
        )
        assert answer.error_code == 0, answer
        deadline = time.monotonic() + SECONDS
        while self._leader(name, partition) != node:
            assert time.monotonic() < deadline, f"{name}/{partition} does not move to {node}"
            wanted = [{"topic": name, "partitions": (partition,)}]
            self._admin("elect_leaders", 2, 0, topic_partitions=wanted, timeout=_LONG)
            time.sleep(0.02)
        self._agree(name, partition, node)

    def begin_transaction(self, name: str, partition: int, who: str, *values: bytes) -> None:
        """By InitProducerId, AddPartitionsToTxn and Produce."""
        transaction = f"{name}-{who}"
        self._coordinated(transaction)
        timeout = timedelta(seconds=60)
        begun: Any = None
        for _ in range(200):
            begun = self._admin(
                "init_producer_id",
                4,
                0,
                transactional_id=transaction,
                transaction_timeout=timeout,
                producer_id=-1,
                producer_epoch=-1,
            )
            if begun.error_code == 0:
                break
            time.sleep(0.05)
        self._producers[transaction] = (begun.producer_id, begun.producer_epoch)
        topics = [{"name": name, "partitions": (partition,)}]
        for _ in range(200):
            added = self._admin(
                "add_partitions_to_txn",
                3,
                0,
                v3_and_below_transactional_id=transaction,
                v3_and_below_producer_id=begun.producer_id,
                v3_and_below_producer_epoch=begun.producer_epoch,
                v3_and_below_topics=topics,
            )
            rows = added.results_by_topic_v3_and_below[0].results_by_partition
            if rows[0].partition_error_code == 0:
                break
            time.sleep(0.05)
        batch = transactional(values, begun.producer_id)
        data = [{"name": name, "partition_data": [{"index": partition, "records": batch}]}]
        answer = self._admin(
            "produce",
            9,
            self._leader(name, partition),
            transactional_id=transaction,
            acks=-1,
            timeout=_LONG,
            topic_data=data,
        )
        assert answer.responses[0].partition_responses[0].error_code == 0, answer

    def end_transaction(self, name: str, partition: int, who: str, *, commit: bool) -> None:
        """By EndTxn; the marker is there when the log's end has moved."""
        transaction = f"{name}-{who}"
        producer, epoch = self._producers.pop(transaction)
        end = self._end(name, partition)
        answer = self._admin(
            "end_txn",
            3,
            0,
            transactional_id=transaction,
            producer_id=producer,
            producer_epoch=epoch,
            committed=commit,
        )
        assert answer.error_code == 0, answer
        while self._end(name, partition) == end:
            time.sleep(0.01)

    def configure_group(self, group: str, **settings: str) -> None:
        """By IncrementalAlterConfigs."""
        rows = [
            {"name": name.replace("_", "."), "config_operation": 0, "value": value}
            for name, value in settings.items()
        ]
        resource = {"resource_type": 32, "resource_name": group, "configs": rows}
        answer = self._admin("incremental_alter_configs", 1, 0, resources=[resource])
        assert answer.responses[0].error_code == 0, answer
        time.sleep(0.2)

    # --- inside -------------------------------------------------------------------

    @contextmanager
    def _connected(self, node: int = 0) -> Iterator[BrokerConnection]:
        """A connection to a node from 1; 0 for any."""
        address = Address.parse(self._addresses[max(node - 1, 0)])
        deadline = Deadline.after(self._clock.now(), SECONDS)
        with BrokerConnection(address, deadline, self._clock) as made:
            yield made

    def _admin(self, folder: str, version: int, node: int, **values: Any) -> Any:
        """Ask something that no scenario compares."""
        kinds = schema_name_map[folder][version]
        request, answer = (
            _loaded(kinds[kind]) for kind in (EntityType.request, EntityType.response)
        )
        with self._connected(node) as connection:
            deadline = Deadline.after(self._clock.now(), SECONDS)
            return connection.exchange(fill(request, values), answer, deadline)

    def _create(self, topics: Sequence[Mapping[str, Any]]) -> dict[str, UUID]:
        answer = self._admin("create_topics", 7, 0, topics=list(topics), timeout=_LONG)
        assert all(each.error_code == 0 for each in answer.topics), answer
        for each in answer.topics:
            for address in self._addresses:
                while not self._led(address, each.name):
                    time.sleep(0.01)
        return {each.name: each.topic_id for each in answer.topics}

    def _described(self, address: str, name: str) -> Any:
        node = self._addresses.index(address) + 1
        return self._admin("metadata", 12, node, topics=[{"name": name}]).topics[0]

    def _error_of(self, address: str, name: str) -> int:
        return int(self._described(address, name).error_code)

    def _led(self, address: str, name: str) -> bool:
        topic = self._described(address, name)
        return not topic.error_code and all(each.leader_id >= 0 for each in topic.partitions)

    def _leader(self, name: str, partition: int) -> int:
        placed = self._described(self._addresses[0], name).partitions
        [leader] = [each.leader_id for each in placed if each.partition_index == partition]
        return int(leader) + 1

    def _agree(self, name: str, partition: int, node: int) -> None:
        """Wait until each broker names the leader, and the copies are in sync."""
        for address in self._addresses:
            while True:
                placed = self._described(address, name).partitions
                [row] = [each for each in placed if each.partition_index == partition]
                in_sync = len(row.isr_nodes) == len(row.replica_nodes)
                if row.leader_id == node - 1 and in_sync:
                    break
                time.sleep(0.02)

    def _end(self, name: str, partition: int) -> int:
        rows = [{"partition_index": partition, "timestamp": -1, "current_leader_epoch": -1}]
        topics = [{"name": name, "partitions": rows}]
        node = self._leader(name, partition)
        answer = self._admin("list_offsets", 5, node, replica_id=-1, topics=topics)
        return int(answer.topics[0].partitions[0].offset)

    def _coordinated(self, transaction: str) -> None:
        while self._admin("find_coordinator", 3, 0, key=transaction, key_type=1).error_code:
            time.sleep(0.05)

    def _groups_ready(self) -> None:
        """Wait until the coordinator has made its topic and read it."""
        for number in range(20):
            group = f"ready-{number}"
            while self._admin("find_coordinator", 3, 0, key=group, key_type=0).error_code:
                time.sleep(0.05)
            asked = {"group_id": group, "member_epoch": -1, "topics": None}
            for node in range(1, len(self._addresses) + 1):
                while True:
                    told = self._admin("offset_fetch", 9, node, groups=[asked]).groups[0]
                    if told.error_code in (0, 16):
                        break
                    time.sleep(0.05)

    def _producers_ready(self) -> None:
        """Wait until producer ids can be had."""
        values = {"transactional_id": None, "transaction_timeout": _LONG, "producer_id": -1}
        for node in range(1, len(self._addresses) + 1):
            while self._admin("init_producer_id", 4, node, **values).error_code:
                time.sleep(0.05)

    def _groups_know(self, name: str) -> None:
        """Wait until the coordinator, which hears later than others, assigns a topic."""
        values: dict[str, Any] = {"rebalance_timeout": _LONG, "topic_partitions": []}
        for number in itertools.count():
            values |= {"group_id": f"{name}-known-{number}", "member_id": "m"}
            told = self._admin(
                "consumer_group_heartbeat",
                0,
                0,
                **values,
                subscribed_topic_names=(name,),
            )
            if told.error_code or (told.assignment and told.assignment.topic_partitions):
                return
            time.sleep(0.02)


class ModelSide(Side):
    """The model, served over loopback."""

    first_node = 1

    def __init__(self, broker: EmbeddedBroker) -> None:
        super().__init__(broker.bootstrap.split(","))
        self._broker = broker
        self._producers: dict[str, int] = {}
        with broker._change() as (cluster, _):
            for each in cluster.brokers():
                each.node = replace(each.node, rack=f"rack-{each.node.id - 1}")
        for name, _ in _apis():
            api = named(name)
            self.versions[name] = (api.oldest, api.newest)

    def create_topics(self, names: Sequence[str], partitions: int) -> dict[str, UUID]:
        """Through the controls."""
        for each in names:
            self._broker.create_topic(each, partitions, replication=1)
        return {each: self._id_of(each) for each in names}

    def place_topic(self, name: str, replicas: Sequence[Sequence[int]]) -> UUID:
        """Made somewhere, and then placed."""
        self._broker.create_topic(name, len(replicas), replication=1)
        with self._broker._change() as (cluster, _):
            for each, nodes in zip(
                cluster.state.topics[name].partitions, replicas, strict=True
            ):
                each.replicas, each.isr, each.leader = tuple(nodes), list(nodes), nodes[0]
        return self._id_of(name)

    def delete_topic(self, name: str) -> None:
        """Through the controls."""
        self._broker.delete_topic(name)

    def delete_records(self, name: str, partition: int, before: int) -> None:
        """Through the controls."""
        tp = TopicPartition(name, partition)
        self._broker.delete_records(tp, self._broker.offsets(tp)[1] if before < 0 else before)

    def move_leader(self, name: str, partition: int, node: int) -> None:
        """Through the controls."""
        if self._broker.leader(TopicPartition(name, partition))[0] != node:
            self._broker.move_leader(TopicPartition(name, partition), node)

    def begin_transaction(self, name: str, partition: int, who: str, *values: bytes) -> None:
        """As bytes; the model knows no transactions by wire."""
        number = self._producers.setdefault(f"{name}-{who}", 5000 + len(self._producers))
        self._broker.append_bytes(
            TopicPartition(name, partition), transactional(values, number)
        )

    def end_transaction(self, name: str, partition: int, who: str, *, commit: bool) -> None:
        """Through the controls."""
        number = self._producers[f"{name}-{who}"]
        self._broker.end_transaction(TopicPartition(name, partition), number, committed=commit)

    def configure_group(self, group: str, **settings: str) -> None:
        """For all groups: the model has no configuration of one."""
        raise NotImplementedError

    def _id_of(self, name: str) -> UUID:
        with self._broker._change() as (cluster, _):
            return cluster.state.topics[name].id


_LONG: Final = timedelta(seconds=20)


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


def _apis() -> list[tuple[ApiName, int]]:
    return list(KEYS.items())


def _loaded(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
