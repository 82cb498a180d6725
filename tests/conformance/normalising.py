"""Turns answers into plain trees in which only what brokers have to agree on is left.

Ids that a broker makes are replaced by names in the order of their appearance, addresses
and clocks by constants, texts by whether there is one; arrays without an order are sorted.
"""

import re
import struct
import time
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any, Final
from uuid import UUID

DROPPED: Final = frozenset(
    {
        "throttle_time",
        "cluster_id",
        "client_host",
        "documentation",
        "log_dir",
        "total_bytes",
        "usable_bytes",
        "supported_features",
        "finalized_features",
        "finalized_features_epoch",
    }
)
"""Fields of this machine and of this moment, and texts that the model has not got."""

TEXTS: Final = frozenset({"error_message", "batch_index_error_message"})
EXACT: Final = frozenset(
    {
        "CreateTopics",
        "DeleteTopics",
        "CreatePartitions",
        "DescribeConfigs",
        "IncrementalAlterConfigs",
        "AlterConfigs",
        "ConsumerGroupDescribe",
        "DescribeCluster",
        "DescribeGroups",
        "DescribeAcls",
        "CreateAcls",
        "DeleteAcls",
        "DescribeUserScramCredentials",
        "AlterUserScramCredentials",
        "DescribeClientQuotas",
        "AlterClientQuotas",
        "ElectLeaders",
        "AlterPartitionReassignments",
        "ListPartitionReassignments",
    }
)
"""APIs whose texts a client shows to an administrator: they are compared to the letter."""
NODE: Final = re.compile(r"\b(broker|expected|received|Node) (-?\d+)\b")
"""A node id in such a text."""
OF_A_NODE: Final = frozenset({4, 8})
"""Types of a resource that is called by the id of a node."""
NODES: Final = frozenset(
    {
        "node_id",
        "leader_id",
        "leader",
        "controller_id",
        "broker_id",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
        "preferred_read_replica",
        "broker_ids",
        "replicas",
    }
)
"""Fields that name brokers, whose ids begin at 0 in a real Kafka and at 1 in the model."""

GIVEN_IDS: Final = {"member_id": "member", "leader": "member", "session_id": "session"}
"""Fields with ids that a broker makes up, and what to call them."""

SHARING: Final = frozenset({"ShareFetch", "ShareAcknowledge"})
"""APIs that name a leader in each row, and mean it where another one leads."""
MOVED: Final = frozenset({"not_leader_or_follower (6)", "fenced_leader_epoch (74)"})

UNORDERED: Final = frozenset(
    {
        ("JoinGroup", "members"),
        ("DescribeGroups", "members"),
        ("ConsumerGroupDescribe", "members"),
        ("ConsumerGroupDescribe", "topic_partitions"),
        ("ConsumerGroupDescribe", "partitions"),
        ("ConsumerGroupHeartbeat", "topic_partitions"),
        ("ConsumerGroupHeartbeat", "partitions"),
        ("Produce", "responses"),
        ("Produce", "partition_responses"),
        ("DescribeAcls", "resources"),
        ("DescribeAcls", "acls"),
        ("DeleteAcls", "matching_acls"),
        ("DescribeUserScramCredentials", "results"),
        ("DescribeUserScramCredentials", "credential_infos"),
        ("AlterUserScramCredentials", "results"),
        ("DescribeClientQuotas", "entries"),
        ("DescribeClientQuotas", "entity"),
        ("DescribeClientQuotas", "values"),
        ("AlterClientQuotas", "entries"),
        ("AlterClientQuotas", "entity"),
        ("OffsetDelete", "topics"),
        ("OffsetDelete", "partitions"),
        ("DeleteRecords", "topics"),
        ("DeleteRecords", "partitions"),
        ("CreateTopics", "topics"),
        ("DeleteTopics", "responses"),
        ("CreatePartitions", "results"),
        ("IncrementalAlterConfigs", "responses"),
        ("AlterConfigs", "responses"),
        ("ListConfigResources", "config_resources"),
        ("Metadata", "topics"),
        ("Metadata", "partitions"),
        ("Metadata", "brokers"),
        ("Metadata", "isr_nodes"),
        ("ListGroups", "groups"),
        ("ConsumerGroupDescribe", "groups"),
        ("DescribeGroups", "groups"),
        ("DeleteGroups", "results"),
        ("DescribeCluster", "brokers"),
        ("OffsetCommit", "topics"),
        ("OffsetCommit", "partitions"),
        ("OffsetFetch", "topics"),
        ("OffsetFetch", "partitions"),
        ("ListOffsets", "topics"),
        ("ListOffsets", "partitions"),
        ("AddPartitionsToTxn", "results_by_topic_v3_and_below"),
        ("AddPartitionsToTxn", "results_by_partition"),
        ("AddPartitionsToTxn", "results_by_transaction"),
        ("AddPartitionsToTxn", "topic_results"),
        ("TxnOffsetCommit", "topics"),
        ("TxnOffsetCommit", "partitions"),
        ("ListTransactions", "transaction_states"),
        ("DescribeTransactions", "topics"),
        ("DescribeTransactions", "partitions"),
        ("DescribeProducers", "active_producers"),
        ("OffsetForLeaderEpoch", "topics"),
        ("OffsetForLeaderEpoch", "partitions"),
    }
)
"""Arrays whose order is chance or an implementation's, by API and field."""

BEGAN: Final = int(time.time() - 3600) * 1000
"""The timestamp of the first record that a scenario writes, in milliseconds: an hour ago.

A broker that is given records of long ago begins another segment with the next ones, and
an answer to a fetch ends where a segment does.
"""
NOW: Final = BEGAN + 1_800_000
"""What is stamped later was stamped by the broker."""

BATCH: Final = struct.Struct(">qiibIhiqqqhii")
LENGTH_COUNTS_FROM: Final = 12


def has_news(row: Any) -> bool:
    """Whether a row of ShareFetch says anything: a full answer may name all partitions."""
    if hasattr(row, "partitions"):
        return any(map(has_news, row.partitions))
    return bool(row.error_code or row.acknowledge_error_code or row.acquired_records)


class Normaliser:
    """Names for what one broker made up, during one scenario.

    Args:
        first_node: The lowest node id of the cluster; it becomes 1.
    """

    def __init__(self, first_node: int) -> None:
        self._shift = 1 - first_node
        self._topics: dict[UUID, str] = {}
        self._names: dict[tuple[str, Any], str] = {}
        self._own: set[Any] = set()

    def know_topic(self, topic_id: UUID, name: str) -> None:
        """Give a topic id a name."""
        self._topics[topic_id] = f"id of {name}"

    def asked(self, values: Mapping[str, Any]) -> Any:
        """A request's values; ids that no broker gave out stay as they are."""
        return {name: self._asked(name, value) for name, value in values.items()}

    def answered(self, api: str, body: Any) -> Any:
        """An answer as a tree of dictionaries, lists and plain values."""
        return self._plain(api, "", body)

    def _asked(self, name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            row = self.asked(value)
            if value.get("resource_type") in OF_A_NODE:
                row["resource_name"] = self._node_name(value["resource_name"])
            return row
        if isinstance(value, (list, tuple)):
            return [self._asked(name, each) for each in value]
        if name in ("broker_ids", "replicas") and isinstance(value, int):
            return value + self._shift
        if "producer_id" in name and ("producer", value) in self._names:
            return self._names["producer", value]
        if name == "records" and self._is_of_a_producer(value):
            return self._batches(value)
        if name in GIVEN_IDS and value:
            known = self._names.get((GIVEN_IDS[name], value))
            if known is None:
                self._own.add(value)
            return known or value
        if isinstance(value, UUID) and value not in self._topics:
            self._own.add(value)
        return self._topics.get(value, value) if isinstance(value, UUID) else value

    def _plain(self, api: str, name: str, value: Any) -> Any:
        if is_dataclass(value):
            row = {
                each.name: self._plain(api, each.name, getattr(value, each.name))
                for each in fields(value)
                if each.name not in DROPPED
            }
            if row.get("resource_type") in OF_A_NODE:
                row["resource_name"] = self._node_name(row["resource_name"])
            if "current_leader" in row and api in SHARING and row["error_code"] not in MOVED:
                # Left at 0, as if there were a leader 0, where there is nothing to tell.
                del row["current_leader"]
            return row
        if isinstance(value, tuple):
            if name == "api_keys" and len(value) > 1:
                return "what it offers"
            if api == "ShareFetch" and name in ("responses", "partitions"):
                value = tuple(each for each in value if has_news(each))
            rows = [self._plain(api, name, each) for each in value]
            if name == "configs":
                return {row["name"]: row for row in rows}
            return sorted(rows, key=repr) if (api, name) in UNORDERED else rows
        return self._value(api, name, value)

    def _value(self, api: str, name: str, value: Any) -> Any:
        match value:
            case IntEnum():
                return f"{value.name} ({int(value)})"
            case UUID():
                known = value in self._own
                return value if known else self._topics.get(value) or self._named("id", value)
            case timedelta():
                return value.total_seconds()
            case datetime():
                stamp = round(value.timestamp() * 1000)
                return "the broker's clock" if stamp > NOW else stamp - BEGAN
            case None | bool():
                return value
            case bytes() if name == "records":
                return self._batches(value)
            case str() if name in TEXTS and api in EXACT:
                return NODE.sub(lambda it: f"{it[1]} {int(it[2]) + self._shift}", value)
            case str() if name in TEXTS:
                return "a text" if value else value
            case str() if name == "host" and api != "DescribeAcls":
                return "a host" if value else value
            case int() if name == "port":
                return "a port" if value > 0 else value
            case int() if name in NODES and name != "session_id":
                return int(value) + self._shift if value >= 0 else int(value)
            case int() if name == "producer_id" and value >= 0:
                return self._named("producer", value)
            case _ if name in GIVEN_IDS and value:
                known = value in self._own or (api == "DescribeGroups" and name == "leader")
                return value if known else self._named(GIVEN_IDS[name], value)
            case int() if name in ("timestamp", "last_timestamp") and value > NOW:
                return "the broker's clock"
            case int():
                return int(value)
            case _:
                return value

    def _node_name(self, name: str) -> str:
        """The name of a node's resource, as that of a node from 1."""
        return str(int(name) + self._shift) if name.isdigit() else name

    def _is_of_a_producer(self, data: bytes) -> bool:
        """Return True if a written batch has a producer id that the broker gave out."""
        return (
            len(data) >= BATCH.size and ("producer", BATCH.unpack_from(data)[9]) in self._names
        )

    def _named(self, kind: str, value: Any) -> str:
        # A field of the same name may have the same number for another thing.
        count = sum(each == kind for each, _ in self._names) + 1
        return self._names.setdefault((kind, value), f"{kind} #{count}")

    def _batches(self, data: bytes) -> list[Any]:
        """Each batch's header and how much there is of it; the last may be cut."""
        rows: list[Any] = []
        while data:
            if len(data) < BATCH.size:
                return [*rows, f"{len(data)} bytes of a header"]
            base, length, epoch, magic, _, attributes, delta, first, most, pid, *_ = (
                BATCH.unpack_from(data)
            )
            control = bool(attributes & 0x20)
            latest = "the broker's clock" if attributes & 0x08 else most - BEGAN
            batch, data = data[: length + LENGTH_COUNTS_FROM], data[length + 12 :]
            rows.append(
                {
                    "base_offset": base,
                    "leader_epoch": epoch,
                    "magic": magic,
                    "attributes": attributes,
                    "last_offset_delta": delta,
                    "times": "of a marker" if control else (first - BEGAN, latest),
                    "producer_id": self._named("producer", pid) if pid >= 0 else pid,
                    "size": length + LENGTH_COUNTS_FROM,
                    "here": len(batch),
                    "body": "of a marker" if control else batch[BATCH.size :].hex(),
                }
            )
        return rows
