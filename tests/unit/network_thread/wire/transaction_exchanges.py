"""The steps of a transaction, each asked and answered once."""

from prokurist.network_thread.wire.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    CoordinatorAnswer,
    EndTxn,
    EndTxnAnswer,
    PartitionErrors,
    TransactionalProducer,
    TxnOffsetCommit,
)
from prokurist.types import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from tests.unit.network_thread.wire.exchange import THROTTLED, Exchange, since

ORDERS = TopicPartition("orders", 3)
PRODUCER = TransactionalProducer("t", 4000, 2)
NAMED = {"transactional_id": "t", "producer_id": 4000, "producer_epoch": 2}

EXCHANGES = (
    Exchange(
        "add_partitions_to_txn",
        range(4),
        lambda _: AddPartitionsToTxn(PRODUCER, (ORDERS,)),
        {
            "v3_and_below_transactional_id": "t",
            "v3_and_below_producer_id": 4000,
            "v3_and_below_producer_epoch": 2,
            "v3_and_below_topics": ({"name": "orders", "partitions": (3,)},),
        },
        {
            **THROTTLED,
            "results_by_topic_v3_and_below": (
                {
                    "name": "orders",
                    "results_by_partition": (
                        {"partition_index": 3, "partition_error_code": 0},
                    ),
                },
            ),
        },
        lambda _: PartitionErrors({ORDERS: 0}, 0.25),
    ),
    Exchange(
        "add_offsets_to_txn",
        range(5),
        lambda _: AddOffsetsToTxn(PRODUCER, "g"),
        {**NAMED, "group_id": "g"},
        {**THROTTLED, "error_code": 0},
        lambda _: CoordinatorAnswer(0, 0.25),
    ),
    Exchange(
        "txn_offset_commit",
        range(3, 6),
        lambda v: TxnOffsetCommit(
            PRODUCER,
            ConsumerGroupMetadata("g", 5, "m-1", "i-1"),
            ((ORDERS, OffsetAndMetadata(42, "note", 6)),),
            adds_group=v >= 5,
        ),
        {
            **NAMED,
            "group_id": "g",
            "generation_id": 5,
            "member_id": "m-1",
            "group_instance_id": "i-1",
            "topics": (
                {
                    "name": "orders",
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
        {
            **THROTTLED,
            "topics": (
                {"name": "orders", "partitions": ({"partition_index": 3, "error_code": 0},)},
            ),
        },
        lambda _: PartitionErrors({ORDERS: 0}, 0.25),
    ),
    Exchange(
        "end_txn",
        range(6),
        lambda v: EndTxn(PRODUCER, committed=True, raises_epoch=v >= 5),
        {**NAMED, "committed": True},
        {**THROTTLED, "error_code": 0, "producer_id": 4000, "producer_epoch": 3},
        lambda v: EndTxnAnswer(0, since(5, v, 4000), since(5, v, 3), 0.25),
    ),
)
