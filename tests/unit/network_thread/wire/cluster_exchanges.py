"""What is asked of any broker and of leaders, and the committed offsets."""

from prokurist.network_thread.wire.api_versions import ApiVersions, ApiVersionsAnswer
from prokurist.network_thread.wire.committed_offsets import (
    CommittedOffset,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
)
from prokurist.network_thread.wire.log_offsets import (
    EpochEnd,
    EpochQuestion,
    ListedOffset,
    ListOffsets,
    ListOffsetsAnswer,
    Moment,
    OffsetForLeaderEpoch,
    OffsetForLeaderEpochAnswer,
    OffsetQuestion,
)
from prokurist.network_thread.wire.metadata import (
    FindCoordinator,
    FindCoordinatorAnswer,
    Metadata,
    MetadataAnswer,
    PartitionMetadata,
    TopicMetadata,
)
from prokurist.network_thread.wire.rights import Operation
from prokurist.network_thread.wire.versions import Range, Versions
from prokurist.types import Node, OffsetAndMetadata, TopicPartition
from tests.unit.network_thread.wire.exchange import ID, THROTTLED, Exchange, since

IDS = {"orders": ID}
ORDERS = TopicPartition("orders", 3)

COORDINATOR = {
    "key": "g",
    "node_id": 1,
    "host": "b1",
    "port": 9092,
    "error_code": 0,
    "error_message": None,
}
OFFSET_TOPICS = {
    "topics": (
        {
            "name": "orders",
            "topic_id": ID,
            "partitions": (
                {
                    "partition_index": 3,
                    "committed_offset": 42,
                    "committed_leader_epoch": 6,
                    "metadata": "note",
                    "error_code": 0,
                },
            ),
        },
    ),
}
OFFSET_GROUP = {
    "group_id": "g",
    "member_id": "m-1",
    "member_epoch": 5,
    "topics": ({"name": "orders", "topic_id": ID, "partition_indexes": (3,)},),
}

EXCHANGES = (
    Exchange(
        "api_versions",
        range(5),
        lambda _: ApiVersions("prokurist", "1.2.3"),
        {"client_software_name": "prokurist", "client_software_version": "1.2.3"},
        {
            **THROTTLED,
            "error_code": 0,
            "api_keys": (
                {"api_key": 3, "min_version": 0, "max_version": 13},
                {"api_key": 999, "min_version": 2, "max_version": 2},
            ),
            "supported_features": ({"name": "kraft", "min_version": 0, "max_version": 1},),
            "finalized_features_epoch": 9,
            "finalized_features": (
                {"name": "group.version", "max_version_level": 1, "min_version_level": 1},
            ),
            "zk_migration_ready": True,
        },
        lambda v: ApiVersionsAnswer(
            0,
            Versions({3: Range(0, 13), 999: Range(2, 2)}),
            since(1, v, 0.25, 0.0),
            since(3, v, (("group.version", 1),), ()),
            since(3, v, 9, -1),
        ),
    ),
    Exchange(
        "metadata",
        range(14),
        lambda v: Metadata(
            names=("orders",), allow_auto_topic_creation=v < 4, with_operations=v >= 8
        ),
        {
            "topics": ({"name": "orders", "topic_id": None},),
            "allow_auto_topic_creation": False,
            "include_cluster_authorized_operations": False,
            "include_topic_authorized_operations": True,
        },
        {
            **THROTTLED,
            "brokers": (
                {"node_id": 1, "host": "b1", "port": 9092, "rack": "r1"},
                {"node_id": 2, "host": "::1", "port": 9093, "rack": None},
            ),
            "cluster_id": "c",
            "controller_id": 2,
            "cluster_authorized_operations": -(2**31),
            "error_code": 0,
            "topics": (
                {
                    "error_code": 0,
                    "name": "orders",
                    "topic_id": ID,
                    "is_internal": True,
                    "topic_authorized_operations": 0b1_0000_1000,
                    "partitions": (
                        {
                            "error_code": 5,
                            "partition_index": 3,
                            "leader_id": -1,
                            "leader_epoch": 6,
                            "replica_nodes": (2, 1),
                            "isr_nodes": (2,),
                            "offline_replicas": (1,),
                        },
                    ),
                },
            ),
        },
        lambda v: MetadataAnswer(
            error=0,
            brokers=(Node(1, "b1", 9092, since(1, v, "r1")), Node(2, "::1", 9093)),
            cluster_id=since(2, v, "c"),
            controller_id=since(1, v, 2),
            topics=(
                TopicMetadata(
                    error=0,
                    name="orders",
                    topic_id=since(10, v, ID),
                    internal=since(1, v, True, False),
                    partitions=(
                        PartitionMetadata(
                            partition=3,
                            error=5,
                            leader_id=None,
                            leader_epoch=since(7, v, 6),
                            replicas=(2, 1),
                            in_sync_replicas=(2,),
                            offline_replicas=since(5, v, (1,), ()),
                        ),
                    ),
                    operations=since(8, v, frozenset({Operation.READ, Operation.DESCRIBE})),
                ),
            ),
            throttle=since(3, v, 0.25, 0.0),
        ),
    ),
    Exchange(
        "find_coordinator",
        range(7),
        lambda _: FindCoordinator("g"),
        {"key": "g", "key_type": 0, "coordinator_keys": ("g",)},
        {**THROTTLED, **COORDINATOR, "coordinators": (COORDINATOR,)},
        lambda v: FindCoordinatorAnswer(
            error=0, node=Node(1, "b1", 9092), throttle=since(1, v, 0.25, 0.0)
        ),
    ),
    Exchange(
        "offset_commit",
        range(2, 11),
        lambda v: OffsetCommit(
            group_id="g",
            offsets=((ORDERS, OffsetAndMetadata(42, "note", 6)),),
            generation=5,
            member_id="m-1",
            instance_id=since(7, v, "i-1"),
            is_member_epoch=v >= 9,
            topic_ids=IDS,
        ),
        {
            "group_id": "g",
            "generation_id_or_member_epoch": 5,
            "member_id": "m-1",
            "group_instance_id": "i-1",
            "retention_time": -1,
            "topics": (
                {
                    "name": "orders",
                    "topic_id": ID,
                    "partitions": (
                        {
                            "partition_index": 3,
                            "committed_offset": 42,
                            "committed_leader_epoch": 6,
                            "committed_metadata": "note",
                        },
                    ),
                },
            ),
        },
        {**THROTTLED, **OFFSET_TOPICS},
        lambda v: OffsetCommitAnswer(((ORDERS, 0),), since(3, v, 0.25, 0.0)),
    ),
    Exchange(
        "offset_fetch",
        range(1, 11),
        lambda v: OffsetFetch(
            group_id="g",
            partitions=(ORDERS,),
            require_stable=v >= 7,
            member_id="m-1",
            member_epoch=5,
            topic_ids=IDS,
        ),
        {**OFFSET_GROUP, "groups": (OFFSET_GROUP,), "require_stable": True},
        {
            **THROTTLED,
            **OFFSET_TOPICS,
            "error_code": 0,
            "groups": ({"group_id": "g", "error_code": 0, **OFFSET_TOPICS},),
        },
        lambda v: OffsetFetchAnswer(
            error=0,
            committed=(CommittedOffset(ORDERS, 0, 42, since(5, v, 6), "note"),),
            throttle=since(3, v, 0.25, 0.0),
        ),
    ),
    Exchange(
        "list_offsets",
        range(1, 12),
        lambda v: ListOffsets(
            questions=(OffsetQuestion(ORDERS, Moment.LATEST, 6),),
            read_committed=v >= 2,
            timeout=1.5,
        ),
        {
            "replica_id": -1,
            "isolation_level": 1,
            "timeout": 1500,
            "topics": (
                {
                    "name": "orders",
                    "partitions": (
                        {"partition_index": 3, "timestamp": -1, "current_leader_epoch": 6},
                    ),
                },
            ),
        },
        {
            **THROTTLED,
            "topics": (
                {
                    "name": "orders",
                    "partitions": (
                        {
                            "partition_index": 3,
                            "error_code": 0,
                            "timestamp": -1,
                            "offset": 42,
                            "leader_epoch": 6,
                        },
                    ),
                },
            ),
        },
        lambda v: ListOffsetsAnswer(
            offsets=(ListedOffset(ORDERS, 0, 42, None, since(4, v, 6)),),
            throttle=since(2, v, 0.25, 0.0),
        ),
    ),
    Exchange(
        "offset_for_leader_epoch",
        range(3, 5),
        lambda _: OffsetForLeaderEpoch((EpochQuestion(ORDERS, 4, 6),)),
        {
            "replica_id": -1,
            "topics": (
                {
                    "topic": "orders",
                    "partitions": (
                        {"partition": 3, "current_leader_epoch": 6, "leader_epoch": 4},
                    ),
                },
            ),
        },
        {
            **THROTTLED,
            "topics": (
                {
                    "topic": "orders",
                    "partitions": (
                        {"error_code": 0, "partition": 3, "leader_epoch": 4, "end_offset": 40},
                    ),
                },
            ),
        },
        lambda _: OffsetForLeaderEpochAnswer((EpochEnd(ORDERS, 0, 4, 40),), 0.25),
    ),
)
