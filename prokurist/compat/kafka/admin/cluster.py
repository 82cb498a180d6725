"""Brokers, their disks, controllers and features, as kafka-python administers them."""

from collections.abc import Iterable, Mapping
from typing import Any

from prokurist.admin import FeatureUpdate, LogDir, QuorumReplica, Replica, Upgrade
from prokurist.compat.kafka.admin.base import AdminBase, code_of, names_of, raise_first
from prokurist.compat.kafka.admin.values import TopicPartitionReplica, UpdateFeatureType
from prokurist.compat.kafka.errors import KafkaError, for_code
from prokurist.types import Node, TopicPartition


class ClusterCalls(AdminBase):
    """Calls of a KafkaAdminClient about the cluster."""

    def describe_cluster(self) -> dict[str, Any]:
        """Describe the cluster and its brokers.

        Raises:
            KafkaError: No broker answers in time.
        """
        with self._converted():
            found = self._admin.describe_cluster(operations=True, timeout=self._wait)
        return {
            "cluster_id": found.cluster_id,
            "controller_id": -1 if found.controller is None else found.controller.id,
            "brokers": [_broker(each, is_fenced=False) for each in found.brokers],
            "authorized_operations": names_of(found.operations),
        }

    def describe_log_dirs(
        self,
        topic_partitions: Mapping[str, Iterable[int]] | Iterable[str] | None = None,
        brokers: Iterable[int] | None = None,
    ) -> list[dict[str, Any]]:
        """Describe the log directories of brokers, with the replicas in them.

        Args:
            topic_partitions: Numbers by topic, or topics; None for all.
            brokers: The brokers by id; None for all.

        Raises:
            KafkaError: A broker does not answer.
        """
        wanted: dict[str, set[int] | None] | None = None
        if isinstance(topic_partitions, Mapping):
            wanted = {topic: set(numbers) for topic, numbers in topic_partitions.items()}
        elif topic_partitions is not None:
            wanted = dict.fromkeys(topic_partitions, None)
        with self._converted():
            found = self._admin.describe_log_dirs(brokers, timeout=self._wait)
            raise_first(found)
        return [
            {"broker": number, "log_dirs": [_log_dir(each, wanted) for each in dirs.values()]}
            for number, dirs in found.succeeded.items()
        ]

    def alter_replica_log_dirs(
        self, replica_assignments: Mapping[TopicPartitionReplica | tuple[str, int, int], str]
    ) -> dict[TopicPartitionReplica, type[KafkaError]]:
        """Move replicas to other log directories of their brokers.

        Args:
            replica_assignments: The directory of each replica.

        Returns:
            The class of an error by replica; `NoError` where there is none.

        Raises:
            KafkaError: A broker does not answer.
        """
        items = {Replica(*each): path for each, path in replica_assignments.items()}
        with self._converted():
            found = self._admin.alter_log_dirs(items, timeout=self._wait)
            return {
                TopicPartitionReplica(*each): for_code(code_of(found.errors.get(each)))
                for each in found
            }

    def describe_metadata_quorum(self) -> dict[str, Any]:
        """Describe the controllers' quorum.

        Raises:
            KafkaError: No broker answers in time.
        """
        with self._converted():
            found = self._admin.quorum(timeout=self._wait)
        partition = {
            "partition_index": 0,
            "leader_id": -1 if found.leader_id is None else found.leader_id,
            "leader_epoch": found.leader_epoch,
            "high_watermark": found.high_watermark,
            "current_voters": [_replica(each) for each in found.voters],
            "observers": [_replica(each) for each in found.observers],
            "error": None,
        }
        nodes = [
            {
                "node_id": number,
                "listeners": [
                    {"name": name, "host": host, "port": port}
                    for name, (host, port) in listeners.items()
                ],
            }
            for number, listeners in found.listeners.items()
        ]
        topic = {"topic_name": "__cluster_metadata", "partitions": [partition]}
        return {"topics": [topic], "nodes": nodes}

    def describe_features(
        self, send_request_to_controller: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Describe the features of the cluster: `supported`, and `finalized`.

        Args:
            send_request_to_controller: Accepted without effect.

        Raises:
            KafkaError: No broker answers in time.
        """
        del send_request_to_controller
        with self._converted():
            found = self._admin.features(timeout=self._wait)
        told: dict[str, dict[str, Any]] = {}
        for name, levels in found.items():
            row = told.setdefault(name, {})
            if levels.supported is not None:
                row["supported"] = levels.supported
            if levels.finalized is not None:
                row["finalized"] = (levels.finalized, levels.finalized)
        return told

    def update_features(
        self,
        feature_updates: Mapping[str, int | tuple[UpdateFeatureType | int | str, int]],
        validate_only: bool = False,
        timeout_ms: float = 60_000,
    ) -> dict[str, str]:
        """Change the levels of features.

        Args:
            feature_updates: The level of each; or a pair of the kind of update and the level.
            validate_only: True to check the request, and change nothing.
            timeout_ms: Milliseconds.

        Returns:
            `"OK"` by feature.

        Raises:
            KafkaError: A level was not changed.
            TypeError: The levels are no dict.
        """
        if not isinstance(feature_updates, Mapping):
            raise TypeError(f"levels are a dict by feature, not {feature_updates!r}")
        items = {}
        for name, given in feature_updates.items():
            kind, level = given if isinstance(given, tuple) else (Upgrade.UPGRADE, given)
            items[name] = FeatureUpdate(
                int(level),
                Upgrade(
                    UpdateFeatureType.value_for(int(kind) if isinstance(kind, int) else kind)
                ),
            )
        with self._converted():
            found = self._admin.update_features(
                items,
                validate_only=validate_only,
                timeout=self._left(self._until(timeout_ms)),
            )
            raise_first(found)
        return dict.fromkeys(found, "OK")


def _broker(node: Node, *, is_fenced: bool) -> dict[str, Any]:
    return {
        "broker_id": node.id,
        "host": node.host,
        "port": node.port,
        "rack": node.rack,
        "is_fenced": is_fenced,
    }


def _replica(each: QuorumReplica) -> dict[str, Any]:
    return {
        "replica_id": each.id,
        "replica_directory_id": None if each.directory_id is None else str(each.directory_id),
        "log_end_offset": -1 if each.log_end_offset is None else each.log_end_offset,
        "last_fetch_timestamp": -1 if each.last_fetch is None else each.last_fetch,
        "last_caught_up_timestamp": -1 if each.last_caught_up is None else each.last_caught_up,
    }


def _log_dir(found: LogDir, wanted: Mapping[str, set[int] | None] | None) -> dict[str, Any]:
    topics: dict[str, list[dict[str, Any]]] = {}
    for tp, replica in found.replicas.items():
        if not _is_wanted(tp, wanted):
            continue
        topics.setdefault(tp.topic, []).append(
            {
                "partition_index": tp.partition,
                "partition_size": replica.size,
                "offset_lag": replica.offset_lag,
                "is_future_key": replica.is_future,
            }
        )
    return {
        "error_code": code_of(found.error),
        "log_dir": found.path,
        "topics": [{"name": name, "partitions": each} for name, each in topics.items()],
        "total_bytes": -1 if found.total_bytes is None else found.total_bytes,
        "usable_bytes": -1 if found.usable_bytes is None else found.usable_bytes,
        "is_cordoned": found.cordoned,
    }


def _is_wanted(tp: TopicPartition, wanted: Mapping[str, set[int] | None] | None) -> bool:
    if wanted is None:
        return True
    numbers = wanted.get(tp.topic, set())
    return numbers is None or tp.partition in numbers
