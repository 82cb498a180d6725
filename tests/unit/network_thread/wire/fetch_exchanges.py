"""Fetch, in which records are walked where they lie."""

from prokurist.network_thread.wire.fetch import (
    Fetch,
    FetchAnswer,
    FetchedPartition,
    FetchQuestion,
    LeaderHint,
)
from prokurist.types import Node, TopicPartition
from tests.unit.network_thread.wire.exchange import ID, Exchange, since

RECORDS = bytes(range(200))
ORDERS = TopicPartition("orders", 3)

EXCHANGES = (
    Exchange(
        "fetch",
        range(4, 19),
        lambda _: Fetch(
            questions=(FetchQuestion(ORDERS, 42, 1 << 20, 6),),
            forgotten=(TopicPartition("orders", 4), TopicPartition("orders", 5)),
            topic_ids={"orders": ID},
            session_id=77,
            session_epoch=3,
            max_wait=0.5,
            min_bytes=1,
            max_bytes=50 << 20,
            read_committed=True,
            rack="east",
        ),
        {
            "cluster_id": None,
            "replica_id": -1,
            "replica_state": {"replica_id": -1, "replica_epoch": -1},
            "max_wait": 500,
            "min_bytes": 1,
            "max_bytes": 50 << 20,
            "isolation_level": 1,
            "session_id": 77,
            "session_epoch": 3,
            "topics": (
                {
                    "topic": "orders",
                    "topic_id": ID,
                    "partitions": (
                        {
                            "partition": 3,
                            "current_leader_epoch": 6,
                            "fetch_offset": 42,
                            "last_fetched_epoch": -1,
                            "log_start_offset": -1,
                            "partition_max_bytes": 1 << 20,
                            "replica_directory_id": None,
                            "high_watermark": (1 << 63) - 1,
                        },
                    ),
                },
            ),
            "forgotten_topics_data": (
                {"topic": "orders", "topic_id": ID, "partitions": (4, 5)},
            ),
            "rack_id": "east",
        },
        {
            "throttle_time": 250,
            "error_code": 0,
            "session_id": 78,
            "responses": (
                {
                    "topic": "orders",
                    "topic_id": ID,
                    "partitions": (
                        {
                            "partition_index": 3,
                            "error_code": 0,
                            "high_watermark": 50,
                            "last_stable_offset": 48,
                            "log_start_offset": 7,
                            "diverging_epoch": {"epoch": -1, "end_offset": -1},
                            "current_leader": {"leader_id": 2, "leader_epoch": 7},
                            "snapshot_id": {"end_offset": -1, "epoch": -1},
                            "aborted_transactions": ({"producer_id": 900, "first_offset": 44},),
                            "preferred_read_replica": 5,
                            "records": RECORDS,
                        },
                    ),
                },
            ),
            "node_endpoints": ({"node_id": 2, "host": "b2", "port": 9093, "rack": "west"},),
        },
        lambda v: FetchAnswer(
            error=0,
            session_id=since(7, v, 78, 0),
            partitions=(
                FetchedPartition(
                    ORDERS,
                    0,
                    memoryview(RECORDS),
                    high_watermark=50,
                    last_stable_offset=48,
                    log_start=since(5, v, 7),
                    aborted=((900, 44),),
                    preferred_replica=since(11, v, 5),
                    leader=since(12, v, LeaderHint(2, 7)),
                ),
            ),
            nodes=since(16, v, (Node(2, "b2", 9093, "west"),), ()),
            throttle=0.25,
        ),
    ),
)
