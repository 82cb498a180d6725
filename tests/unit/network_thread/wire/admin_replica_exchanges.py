"""What administrators ask about records, replicas, the quorum and features."""

from prokurist.events.admin.work import WHOLE
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.features import UpdateFeatures
from prokurist.network_thread.wire.admin.log_dirs import AlterReplicaLogDirs, DescribeLogDirs
from prokurist.network_thread.wire.admin.moving import (
    AlterPartitionReassignments,
    ElectLeaders,
    ListPartitionReassignments,
)
from prokurist.network_thread.wire.admin.quorum import (
    AddRaftVoter,
    DescribeQuorum,
    RemoveRaftVoter,
    UnregisterBroker,
)
from prokurist.network_thread.wire.admin.records import DeleteRecords
from prokurist.types import TopicPartition
from prokurist.types.quorums import (
    FeatureUpdate,
    QuorumChange,
    QuorumDescription,
    QuorumReplica,
    Upgrade,
)
from prokurist.types.replicas import (
    Cancel,
    Election,
    LogDir,
    Reassignment,
    ReassignmentAccepted,
    Replica,
    ReplicaInLogDir,
)
from tests.unit.network_thread.wire.exchange import ID, THROTTLED, Exchange, since

TP = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 3)
DONE = {"error_code": 0, "error_message": None}
VOTER = {
    "replica_id": 1,
    "replica_directory_id": ID,
    "log_end_offset": 90,
    "last_fetch_timestamp": 500,
    "last_caught_up_timestamp": 400,
}


def voter(version: int) -> QuorumReplica:
    """The same in our words."""
    return QuorumReplica(
        1, since(2, version, ID), 90, since(1, version, 500), since(1, version, 400)
    )


EXCHANGES = (
    Exchange(
        "delete_records",
        range(3),
        lambda _: DeleteRecords({TP: 5, OTHER: -1}, 1.5),
        {
            "topics": (
                {
                    "name": "orders",
                    "partitions": (
                        {"partition_index": 0, "offset": 5},
                        {"partition_index": 3, "offset": -1},
                    ),
                },
            ),
            "timeout": 1500,
        },
        {
            **THROTTLED,
            "topics": (
                {
                    "name": "orders",
                    "partitions": (
                        {"partition_index": 0, "low_watermark": 5, "error_code": 0},
                    ),
                },
            ),
        },
        lambda _: ItemsAnswer({TP: ItemAnswer(value=5)}, throttle=0.25),
    ),
    Exchange(
        "describe_log_dirs",
        range(1, 6),
        lambda _: DescribeLogDirs(2),
        {"topics": None},
        {
            **THROTTLED,
            "error_code": 0,
            "results": (
                {
                    "error_code": 0,
                    "log_dir": "/a",
                    "topics": (
                        {
                            "name": "orders",
                            "partitions": (
                                {
                                    "partition_index": 3,
                                    "partition_size": 70,
                                    "offset_lag": 2,
                                    "is_future_key": True,
                                },
                            ),
                        },
                    ),
                    "total_bytes": 100,
                    "usable_bytes": 30,
                    "is_cordoned": True,
                },
            ),
        },
        lambda v: ItemsAnswer(
            {
                2: ItemAnswer(
                    value={
                        "/a": LogDir(
                            "/a",
                            {OTHER: ReplicaInLogDir(70, 2, is_future=True)},
                            None,
                            since(4, v, 100),
                            since(4, v, 30),
                            since(5, v, True, False),
                        )
                    }
                )
            },
            throttle=0.25,
        ),
    ),
    Exchange(
        "alter_replica_log_dirs",
        range(1, 3),
        lambda _: AlterReplicaLogDirs(
            {Replica("orders", 0, 2): "/a", Replica("orders", 3, 2): "/b"}
        ),
        {
            "dirs": (
                {"path": "/a", "topics": ({"name": "orders", "partitions": (0,)},)},
                {"path": "/b", "topics": ({"name": "orders", "partitions": (3,)},)},
            )
        },
        {
            **THROTTLED,
            "results": (
                {
                    "topic_name": "orders",
                    "partitions": ({"partition_index": 3, "error_code": 0},),
                },
            ),
        },
        lambda _: ItemsAnswer({Replica("orders", 3, 2): ItemAnswer()}, throttle=0.25),
    ),
    Exchange(
        "elect_leaders",
        range(3),
        lambda v: ElectLeaders((TP, OTHER), since(1, v, True, False), 1.5),
        {
            "election_type": 1,
            "topic_partitions": ({"topic": "orders", "partitions": (0, 3)},),
            "timeout": 1500,
        },
        {
            **THROTTLED,
            "error_code": 0,
            "replica_election_results": (
                {"topic": "orders", "partition_result": ({"partition_id": 0, **DONE},)},
            ),
        },
        lambda _: ItemsAnswer({TP: ItemAnswer(value=Election(elected=True))}, throttle=0.25),
    ),
    Exchange(
        "alter_partition_reassignments",
        range(2),
        lambda _: AlterPartitionReassignments({TP: (2, 3), OTHER: Cancel()}, True, 1.5),
        {
            "timeout": 1500,
            "allow_replication_factor_change": True,
            "topics": (
                {
                    "name": "orders",
                    "partitions": (
                        {"partition_index": 0, "replicas": (2, 3)},
                        {"partition_index": 3, "replicas": None},
                    ),
                },
            ),
        },
        {
            **THROTTLED,
            **DONE,
            "allow_replication_factor_change": True,
            "responses": ({"name": "orders", "partitions": ({"partition_index": 0, **DONE},)},),
        },
        lambda _: ItemsAnswer({TP: ItemAnswer(value=ReassignmentAccepted())}, throttle=0.25),
    ),
    Exchange(
        "list_partition_reassignments",
        range(1),
        lambda _: ListPartitionReassignments((TP, OTHER), 1.5),
        {"timeout": 1500, "topics": ({"name": "orders", "partition_indexes": (0, 3)},)},
        {
            **THROTTLED,
            **DONE,
            "topics": (
                {
                    "name": "orders",
                    "partitions": (
                        {
                            "partition_index": 0,
                            "replicas": (1, 2, 3),
                            "adding_replicas": (3,),
                            "removing_replicas": (1,),
                        },
                    ),
                },
            ),
        },
        lambda _: ItemsAnswer(
            {WHOLE: ItemAnswer(value={TP: Reassignment((1, 2, 3), (3,), (1,))})}, throttle=0.25
        ),
    ),
    Exchange(
        "describe_quorum",
        range(3),
        lambda _: DescribeQuorum(),
        {
            "topics": (
                {"topic_name": "__cluster_metadata", "partitions": ({"partition_index": 0},)},
            )
        },
        {
            **DONE,
            "topics": (
                {
                    "topic_name": "__cluster_metadata",
                    "partitions": (
                        {
                            "partition_index": 0,
                            **DONE,
                            "leader_id": 1,
                            "leader_epoch": 7,
                            "high_watermark": 88,
                            "current_voters": (VOTER,),
                            "observers": (),
                        },
                    ),
                },
            ),
            "nodes": (
                {
                    "node_id": 1,
                    "listeners": ({"name": "CONTROLLER", "host": "h", "port": 9093},),
                },
            ),
        },
        lambda v: ItemsAnswer(
            {
                WHOLE: ItemAnswer(
                    value=QuorumDescription(
                        1,
                        7,
                        88,
                        (voter(v),),
                        (),
                        since(2, v, {1: {"CONTROLLER": ("h", 9093)}}, {}),
                    )
                )
            }
        ),
    ),
    Exchange(
        "add_raft_voter",
        range(2),
        lambda _: AddRaftVoter(4, ID, {"CONTROLLER": ("h", 9093)}, 1.5),
        {
            "cluster_id": None,
            "timeout": 1500,
            "voter_id": 4,
            "voter_directory_id": ID,
            "listeners": ({"name": "CONTROLLER", "host": "h", "port": 9093},),
            "ack_when_committed": True,
        },
        {**THROTTLED, **DONE},
        lambda _: ItemsAnswer({WHOLE: ItemAnswer(value=QuorumChange())}, throttle=0.25),
    ),
    Exchange(
        "remove_raft_voter",
        range(1),
        lambda _: RemoveRaftVoter(4, ID),
        {"cluster_id": None, "voter_id": 4, "voter_directory_id": ID},
        {**THROTTLED, **DONE},
        lambda _: ItemsAnswer({WHOLE: ItemAnswer(value=QuorumChange())}, throttle=0.25),
    ),
    Exchange(
        "unregister_broker",
        range(1),
        lambda _: UnregisterBroker(4),
        {"broker_id": 4},
        {**THROTTLED, **DONE},
        lambda _: ItemsAnswer({4: ItemAnswer(value=QuorumChange())}, throttle=0.25),
    ),
    Exchange(
        "update_features",
        range(3),
        lambda v: UpdateFeatures(
            {
                "metadata.version": FeatureUpdate(
                    21, since(1, v, Upgrade.SAFE_DOWNGRADE, Upgrade.UPGRADE)
                )
            },
            1.5,
            validate_only=since(1, v, True, False),
        ),
        {
            "timeout": 1500,
            "feature_updates": (
                {
                    "feature": "metadata.version",
                    "max_version_level": 21,
                    "upgrade_type": 2,
                    "allow_downgrade": False,
                },
            ),
            "validate_only": True,
        },
        {**THROTTLED, **DONE, "results": ({"feature": "metadata.version", **DONE},)},
        lambda _: ItemsAnswer({"metadata.version": ItemAnswer()}, throttle=0.25),
    ),
)
