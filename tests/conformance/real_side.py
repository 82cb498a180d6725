"""A real Kafka as a side of a scenario: what happens behind the protocol, by admin requests."""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from typing import Any, Final
from uuid import UUID

from kio.schema.index import schema_name_map
from kio.static.constants import EntityType

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.cluster.apis import KEYS
from prokurist.testing.kafka import RealKafka
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.wire import BrokerConnection
from tests.conformance.sides import Side, transactional
from tests.unit.testing.cluster.conftest import fill

SECONDS: Final = 60.0
UNCLEAN: Final = 1
SAFELY_LOWER: Final = 2
NOT_COORDINATOR: Final = 16
TRANSACTIONAL_ID_NOT_FOUND: Final = 105
_LONG: Final = timedelta(seconds=20)


class RealSide(Side):
    """A real Kafka."""

    def __init__(self, kafka: RealKafka) -> None:
        super().__init__(kafka.direct_bootstrap.split(","))
        self._kafka = kafka
        self._clock = MonotonicClock()
        self._producers: dict[str, tuple[int, int]] = {}
        with self._connected() as node:
            offered = node.versions
        for api, key in KEYS.items():
            if (span := offered.get(key)) is not None:
                self.versions[api] = span
        self._groups_ready()
        self._transactions_ready()
        self._producers_ready()

    def create_topics(
        self, names: Sequence[str], partitions: int, config: Mapping[str, str] | None = None
    ) -> dict[str, UUID]:
        """By CreateTopics, and until the group coordinator assigns the last of them."""
        size = {"num_partitions": partitions, "replication_factor": 1, "configs": given(config)}
        made = self._create([{"name": each, **size} for each in names])
        self._groups_know(names[-1])
        return made

    def place_topic(
        self,
        name: str,
        replicas: Sequence[Sequence[int]],
        config: Mapping[str, str] | None = None,
    ) -> UUID:
        """By CreateTopics with assignments."""
        rows = [
            {"partition_index": index, "broker_ids": tuple(each - 1 for each in nodes)}
            for index, nodes in enumerate(replicas)
        ]
        topic = {"name": name, "num_partitions": -1, "replication_factor": -1}
        return self._create([{**topic, "assignments": rows, "configs": given(config)}])[name]

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

    def move_leader(
        self, name: str, partition: int, node: int, *, settled: bool = True
    ) -> None:
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
        if settled:
            self._agree(name, partition, node)

    @contextmanager
    def stopped(self, node: int) -> Iterator[None]:
        """Frozen, as a whole."""
        self._kafka.freeze(node - 1)
        try:
            yield
        finally:
            self._kafka.thaw(node - 1)

    frozen = stopped

    @contextmanager
    def killed(self, node: int, *names: str) -> Iterator[None]:
        """By SIGKILL; the others notice when its session with the controller ends."""
        others = [each for each in self._addresses if each != self._addresses[node - 1]]
        deadline = time.monotonic() + SECONDS
        self._kafka.kill(node - 1)
        try:
            while any(self._uses(each, name, node) for each in others for name in names):
                assert time.monotonic() < deadline, f"{names} are led by a dead {node}"
                time.sleep(0.1)
            yield
        finally:
            self._kafka.restart(node - 1)
        for name in names:
            for partition in range(len(self._described(others[0], name).partitions)):
                for each in self._addresses:
                    while not self._whole(self._placed(each, name, partition)):
                        time.sleep(0.1)
                self._until_leading(name, partition)

    def _uses(self, address: str, name: str, node: int) -> bool:
        """Whether a broker still believes that a node leads or follows."""
        placed = self._described(address, name).partitions
        return any(
            each.leader_id == node - 1
            or (node - 1 in each.isr_nodes and len(each.replica_nodes) > 1)
            for each in placed
        )

    @staticmethod
    def _whole(row: Any) -> bool:
        """Whether a partition has a leader, and all copies are in sync."""
        return row.leader_id >= 0 and len(row.isr_nodes) == len(row.replica_nodes)

    def until_in_sync(self, name: str, partition: int, size: int) -> None:
        """By asking the leader for metadata."""
        address = self._addresses[self._leader(name, partition) - 1]
        deadline = time.monotonic() + SECONDS
        while len(self._placed(address, name, partition).isr_nodes) != size:
            assert time.monotonic() < deadline, f"{name}/{partition} has not {size} in sync"
            time.sleep(0.1)
        self._until_leading(name, partition)

    def elect_unclean(self, name: str, partition: int, node: int) -> None:
        """By killing the leader, and electing the other when none leads."""
        leader = self._leader(name, partition)
        self._kafka.kill(leader - 1)
        self._kafka.thaw(node - 1)
        wanted = [{"topic": name, "partitions": (partition,)}]
        deadline = time.monotonic() + SECONDS
        while self._leader(name, partition) != node:
            assert time.monotonic() < deadline, f"{name}/{partition} is not led by {node}"
            values = {"election_type": UNCLEAN, "topic_partitions": wanted, "timeout": _LONG}
            self._admin("elect_leaders", 2, node, **values)
            time.sleep(0.2)
        self._kafka.restart(leader - 1)
        self._agree(name, partition, node)

    def restart(self, node: int) -> None:
        """By SIGKILL."""
        self._kafka.kill(node - 1)
        self._kafka.restart(node - 1)
        self._groups_ready()
        self._transactions_ready()
        self._producers_ready()

    def expire_producer(self, name: str, partition: int, producer_id: int) -> None:
        """By time: a broker looks twice a second here."""
        address = self._leader(name, partition)
        asked = [{"name": name, "partition_indexes": (partition,)}]
        while True:
            told = self._admin("describe_producers", 0, address, topics=asked)
            active = told.topics[0].partitions[0].active_producers
            if producer_id not in [each.producer_id for each in active]:
                break
            time.sleep(0.05)

    def expire_transaction(self, name: str) -> None:
        """By time: the coordinator forgets it soon, with the properties of such a cluster."""
        deadline = time.monotonic() + SECONDS
        while True:
            told = self._admin("describe_transactions", 0, 0, transactional_ids=[name])
            if told.transaction_states[0].error_code == TRANSACTIONAL_ID_NOT_FOUND:
                return
            assert time.monotonic() < deadline, f"{name} is not forgotten"
            time.sleep(0.05)

    def finalize(self, feature: str, level: int) -> None:
        """By UpdateFeatures, safely."""
        update = {"feature": feature, "max_version_level": level, "upgrade_type": SAFELY_LOWER}
        told = self._admin(
            "update_features",
            1,
            0,
            timeout=_LONG,
            feature_updates=[update],
            validate_only=False,
        )
        assert told.error_code == 0, told
        deadline = time.monotonic() + SECONDS
        while True:
            told = self._admin(
                "api_versions", 3, 0, client_software_name="test", client_software_version="1"
            )
            levels = {each.name: each.max_version_level for each in told.finalized_features}
            if levels.get(feature) == level:
                return
            assert time.monotonic() < deadline, f"{feature} stays at {levels}"
            time.sleep(0.05)

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

    def settle_metadata(self) -> None:
        """By time: brokers follow the controller within some ms."""
        time.sleep(0.3)

    def configure_group(self, group: str, **settings: str) -> None:
        """By IncrementalAlterConfigs; known when each broker describes it."""
        wanted = {name.replace("_", "."): value for name, value in settings.items()}
        rows = [
            {"name": name, "config_operation": 0, "value": value}
            for name, value in wanted.items()
        ]
        resource = {"resource_type": 32, "resource_name": group}
        changes = [{**resource, "configs": rows}]
        answer = self._admin("incremental_alter_configs", 1, 0, resources=changes)
        assert answer.responses[0].error_code == 0, answer
        asked = [{**resource, "configuration_keys": tuple(wanted)}]
        deadline = time.monotonic() + SECONDS
        for node in range(1, len(self._addresses) + 1):
            while True:
                told = self._admin("describe_configs", 4, node, resources=asked).results[0]
                if {each.name: each.value for each in told.configs} == wanted:
                    break
                assert time.monotonic() < deadline, f"{group} is not configured: {told}"
                time.sleep(0.05)

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
            while not self._served(each.name):
                time.sleep(0.01)
        return {each.name: each.topic_id for each in answer.topics}

    def _described(self, address: str, name: str) -> Any:
        node = self._addresses.index(address) + 1
        return self._admin("metadata", 12, node, topics=[{"name": name}]).topics[0]

    def _placed(self, address: str, name: str, partition: int) -> Any:
        placed = self._described(address, name).partitions
        [row] = [each for each in placed if each.partition_index == partition]
        return row

    def _error_of(self, address: str, name: str) -> int:
        return int(self._described(address, name).error_code)

    def _led(self, address: str, name: str) -> bool:
        topic = self._described(address, name)
        return not topic.error_code and all(each.leader_id >= 0 for each in topic.partitions)

    def _served(self, name: str) -> bool:
        """Whether the leaders have their copies: metadata names a leader some ms earlier."""
        placed = self._described(self._addresses[0], name).partitions
        codes = []
        for each in placed:
            row = {
                "partition_index": each.partition_index,
                "timestamp": -1,
                "current_leader_epoch": -1,
            }
            topics = [{"name": name, "partitions": [row]}]
            told = self._admin(
                "list_offsets", 5, each.leader_id + 1, replica_id=-1, topics=topics
            )
            codes.append(told.topics[0].partitions[0].error_code)
        return not any(codes)

    def _leader(self, name: str, partition: int) -> int:
        placed = self._described(self._addresses[0], name).partitions
        [leader] = [each.leader_id for each in placed if each.partition_index == partition]
        return int(leader) + 1

    def _agree(self, name: str, partition: int, node: int) -> None:
        """Wait until each broker names the leader, and the copies are in sync."""
        for address in self._addresses:
            while True:
                row = self._placed(address, name, partition)
                in_sync = len(row.isr_nodes) == len(row.replica_nodes)
                if row.leader_id == node - 1 and in_sync:
                    break
                time.sleep(0.02)
        self._until_leading(name, partition)

    def _until_leading(self, name: str, partition: int) -> None:
        """Wait until the leader leads: its metadata says so a moment before."""
        deadline = time.monotonic() + SECONDS
        rows = [{"partition_index": partition, "timestamp": -1, "current_leader_epoch": -1}]
        topics = [{"name": name, "partitions": rows}]
        while True:
            node = self._leader(name, partition)
            answer = self._admin("list_offsets", 5, node, replica_id=-1, topics=topics)
            if answer.topics[0].partitions[0].error_code == 0:
                return
            assert time.monotonic() < deadline, f"{node} does not lead {name}/{partition}"
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

    def _transactions_ready(self) -> None:
        """Wait until the transaction coordinators have made their topic and read it."""
        names = [f"ready-{number}" for number in range(20)]
        for name in names:
            self._coordinated(name)
        for node in range(1, len(self._addresses) + 1):
            while True:
                told = self._admin("describe_transactions", 0, node, transactional_ids=names)
                codes = {int(each.error_code) for each in told.transaction_states}
                if codes <= {NOT_COORDINATOR, TRANSACTIONAL_ID_NOT_FOUND}:
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


def given(config: Mapping[str, str] | None) -> list[dict[str, str]]:
    """A topic's properties as CreateTopics takes them."""
    return [
        {"name": name.replace("_", "."), "value": value}
        for name, value in (config or {}).items()
    ]


def _loaded(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
