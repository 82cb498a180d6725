"""Produce and InitProducerId, asked and answered once."""

from prokurist.network_thread.wire.fetch import LeaderHint
from prokurist.network_thread.wire.produce import (
    InitProducerId,
    Produce,
    ProduceAnswer,
    ProducedPartition,
    ProducerIdAnswer,
)
from prokurist.types import Node, TopicPartition
from tests.unit.network_thread.wire.exchange import ID, THROTTLED, Exchange, since

RECORDS = bytes(range(200))
ORDERS = TopicPartition("orders", 3)

EXCHANGES = (
    Exchange(
        "produce",
        range(3, 14),
        lambda v: Produce(
            -1,
            1.5,
            {ORDERS: RECORDS},
            {"orders": ID},
            transactional_id="t",
            adds_partitions=v >= 12,
        ),
        {
            "transactional_id": "t",
            "acks": -1,
            "timeout": 1500,
            "topic_data": (
                {
                    "name": "orders",
                    "topic_id": ID,
                    "partition_data": ({"index": 3, "records": RECORDS},),
                },
            ),
        },
        {
            **THROTTLED,
            "responses": (
                {
                    "name": "orders",
                    "topic_id": ID,
                    "partition_responses": (
                        {
                            "index": 3,
                            "error_code": 0,
                            "base_offset": 42,
                            "log_append_time": 1_700_000_000_000,
                            "log_start_offset": 7,
                            "record_errors": (
                                {"batch_index": 2, "batch_index_error_message": "no key"},
                            ),
                            "error_message": "one of them",
                            "current_leader": {"leader_id": 2, "leader_epoch": 9},
                        },
                    ),
                },
            ),
            "node_endpoints": ({"node_id": 2, "host": "b2", "port": 9092, "rack": "east"},),
        },
        lambda v: ProduceAnswer(
            (
                ProducedPartition(
                    ORDERS,
                    0,
                    42,
                    1_700_000_000_000,
                    since(5, v, 7),
                    since(8, v, {2: "no key"}, {}),
                    since(8, v, "one of them"),
                    since(10, v, LeaderHint(2, 9)),
                ),
            ),
            since(10, v, (Node(2, "b2", 9092, "east"),), ()),
            0.25,
        ),
    ),
    Exchange(
        "init_producer_id",
        range(6),
        lambda v: InitProducerId("t", 60.0, since(3, v, 4000, -1), since(3, v, 2, -1)),
        {
            "transactional_id": "t",
            "transaction_timeout": 60_000,
            "producer_id": 4000,
            "producer_epoch": 2,
        },
        {**THROTTLED, "error_code": 0, "producer_id": 4000, "producer_epoch": 3},
        lambda _: ProducerIdAnswer(0, 4000, 3, 0.25),
    ),
)
