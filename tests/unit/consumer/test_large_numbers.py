"""Numbers for which the protocol has no room: they are refused before anything is sent."""

from collections.abc import Callable
from typing import Any

import pytest

from prokurist import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition

TP = TopicPartition("orders", 0)
LARGE = TopicPartition("orders", 2**31)
SERVERS: dict[str, Any] = {"bootstrap_servers": "localhost:1"}


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda it: it.seek(TP, 2**70), f"offset has 63 bits.*: {2**70}"),
        (lambda it: it.commit_sync({TP: OffsetAndMetadata(2**63)}), "offset has 63 bits"),
        (lambda it: it.store_offsets({TP: 2**63}), "offset has 63 bits"),
        (lambda it: it.seek(TP, OffsetAndMetadata(1, "", 2**31)), "leader_epoch has 31 bits"),
        (lambda it: it.offsets_for_times({TP: 2**70}, 0), "timestamp of orders-0 has 63 bits"),
        (lambda it: it.offsets_for_times({LARGE: 1}, 0), f"at most {2**31 - 1}"),
        (lambda it: it.assign(LARGE), f"at most {2**31 - 1}"),
        (lambda it: it.committed(LARGE, 0), f"at most {2**31 - 1}"),
        (lambda it: it.end_offsets(LARGE, 0), f"at most {2**31 - 1}"),
    ],
    ids=[f"call {number}" for number in range(9)],
)
def test_a_consumer_refuses_them(call: Callable[[Any], object], told: str) -> None:
    """B399: with the number and the most there may be."""
    with KafkaConsumer(**SERVERS, group_id="billing") as consumer:
        consumer.assign(TP)
        with pytest.raises(ValueError, match=told):
            call(consumer)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda it: it.send("orders", b"v", timestamp=2**63), "timestamp has 63 bits"),
        (lambda it: it.send("orders", b"v", partition=2**31), "partition has 31 bits"),
        (lambda it: it.send_many("orders", [b"v"], partition=2**31), "partition has 31 bits"),
    ],
    ids=[f"call {number}" for number in range(3)],
)
def test_a_producer_refuses_them(call: Callable[[Any], object], told: str) -> None:
    """B399: a partition was waited for until the time was over."""
    with KafkaProducer(**SERVERS, max_block_ms=0) as it, pytest.raises(ValueError, match=told):
        call(it)
