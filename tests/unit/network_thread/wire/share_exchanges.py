"""The messages of share groups."""

from prokurist.network_thread.wire.consumer_group import TopicIdPartitions
from prokurist.network_thread.wire.fetch import LeaderHint
from prokurist.network_thread.wire.share_fetch import (
    RECORD_LIMIT,
    AcknowledgedPartition,
    AcquiredRange,
    OffsetTypes,
    ShareAcknowledge,
    ShareAcknowledgeAnswer,
    ShareFetch,
    ShareFetchAnswer,
    ShareFetchedPartition,
    SharePartition,
)
from prokurist.network_thread.wire.share_group import (
    ShareGroupHeartbeat,
    ShareGroupHeartbeatAnswer,
)
from prokurist.types import Node
from tests.unit.network_thread.wire.exchange import ID, Exchange, since

RECORDS = bytes(range(100))
ORDERS = SharePartition(ID, 3)
ACCEPTED = ((ORDERS, (OffsetTypes(10, 12, (1,)), OffsetTypes(14, 15, (2, 3)))),)
BATCHES = (
    {"first_offset": 10, "last_offset": 12, "acknowledge_types": (1,)},
    {"first_offset": 14, "last_offset": 15, "acknowledge_types": (2, 3)},
)
NODES = ({"node_id": 2, "host": "b2", "port": 9093, "rack": "west"},)
NONE = {"leader_id": -1, "leader_epoch": -1}

EXCHANGES = (
    Exchange(
        "share_group_heartbeat",
        range(1, 2),
        lambda _: ShareGroupHeartbeat("g", "me", 3, "east", ("orders",)),
        {
            "group_id": "g",
            "member_id": "me",
            "member_epoch": 3,
            "rack_id": "east",
            "subscribed_topic_names": ("orders",),
        },
        {
            "throttle_time": 250,
            "error_code": 0,
            "error_message": None,
            "member_id": "me",
            "member_epoch": 4,
            "heartbeat_interval": 5000,
            "assignment": {"topic_partitions": ({"topic_id": ID, "partitions": (0, 2)},)},
        },
        lambda _: ShareGroupHeartbeatAnswer(
            0, 4, 5.0, (TopicIdPartitions(ID, (0, 2)),), throttle=0.25
        ),
    ),
    Exchange(
        "share_fetch",
        range(1, 3),
        lambda v: ShareFetch(
            "g",
            "me",
            5,
            added=(SharePartition(ID, 4),),
            forgotten=(SharePartition(ID, 6),),
            acknowledged=ACCEPTED,
            max_wait=0.5,
            min_bytes=1,
            max_bytes=50 << 20,
            max_records=500,
            batch_size=500,
            mode=since(2, v, RECORD_LIMIT, 0),
        ),
        {
            "group_id": "g",
            "member_id": "me",
            "share_session_epoch": 5,
            "max_wait": 500,
            "min_bytes": 1,
            "max_bytes": 50 << 20,
            "max_records": 500,
            "batch_size": 500,
            "share_acquire_mode": 1,
            "is_renew_ack": False,
            "topics": (
                {
                    "topic_id": ID,
                    "partitions": (
                        {"partition_index": 4, "acknowledgement_batches": ()},
                        {"partition_index": 3, "acknowledgement_batches": BATCHES},
                    ),
                },
            ),
            "forgotten_topics_data": ({"topic_id": ID, "partitions": (6,)},),
        },
        {
            "throttle_time": 250,
            "error_code": 0,
            "error_message": None,
            "acquisition_lock_timeout": 30_000,
            "responses": (
                {
                    "topic_id": ID,
                    "partitions": (
                        {
                            "partition_index": 3,
                            "error_code": 0,
                            "error_message": None,
                            "acknowledge_error_code": 121,
                            "acknowledge_error_message": "not the owner",
                            "current_leader": {"leader_id": 2, "leader_epoch": 7},
                            "records": RECORDS,
                            "acquired_records": (
                                {"first_offset": 20, "last_offset": 29, "delivery_count": 2},
                            ),
                        },
                    ),
                },
            ),
            "node_endpoints": NODES,
        },
        lambda _: ShareFetchAnswer(
            0,
            30.0,
            (
                ShareFetchedPartition(
                    ORDERS,
                    0,
                    memoryview(RECORDS),
                    (AcquiredRange(20, 29, 2),),
                    acknowledge_error=121,
                    acknowledge_message="not the owner",
                    leader=LeaderHint(2, 7),
                ),
            ),
            nodes=(Node(2, "b2", 9093, "west"),),
            throttle=0.25,
        ),
    ),
    Exchange(
        "share_acknowledge",
        range(1, 3),
        lambda _: ShareAcknowledge("g", "me", 6, ACCEPTED),
        {
            "group_id": "g",
            "member_id": "me",
            "share_session_epoch": 6,
            "is_renew_ack": False,
            "topics": (
                {
                    "topic_id": ID,
                    "partitions": ({"partition_index": 3, "acknowledgement_batches": BATCHES},),
                },
            ),
        },
        {
            "throttle_time": 250,
            "error_code": 0,
            "error_message": None,
            "acquisition_lock_timeout": 30_000,
            "responses": (
                {
                    "topic_id": ID,
                    "partitions": (
                        {
                            "partition_index": 3,
                            "error_code": 0,
                            "error_message": None,
                            "current_leader": NONE,
                        },
                    ),
                },
            ),
            "node_endpoints": (),
        },
        lambda v: ShareAcknowledgeAnswer(
            0,
            since(2, v, 30.0, 0.0),
            (AcknowledgedPartition(ORDERS, 0),),
            throttle=0.25,
        ),
    ),
)
