"""Record bytes to and from a real Kafka, past every client: produce and fetch as they are."""

import time
from datetime import timedelta
from typing import Final

from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import request as fetch
from kio.schema.fetch.v12.response import FetchResponse
from kio.schema.produce.v9 import request as produce
from kio.schema.produce.v9.response import ProduceResponse
from kio.schema.types import TopicName
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import RealKafka
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.wire import BrokerConnection

SECONDS: Final = 60.0
MOST: Final = i32(16 * 1024 * 1024)


def connected(kafka: RealKafka) -> BrokerConnection:
    """A connection to the only node there is."""
    clock = MonotonicClock()
    return BrokerConnection(
        Address.parse(kafka.direct_bootstrap), Deadline.after(clock.now(), SECONDS), clock
    )


def fetched(
    kafka: RealKafka, topic: str, offset: int = 0, *, committed: bool = False
) -> tuple[bytes, list[tuple[int, int]]]:
    """What a broker sends of the topic's partition 0, and which transactions were aborted."""
    request = fetch.FetchRequest(
        max_wait=i32Timedelta.parse(timedelta(milliseconds=500)),
        min_bytes=i32(1),
        max_bytes=MOST,
        isolation_level=i8(1 if committed else 0),
        forgotten_topics_data=(),
        topics=(
            fetch.FetchTopic(
                topic=TopicName(topic),
                partitions=(
                    fetch.FetchPartition(
                        partition=i32(0), fetch_offset=i64(offset), partition_max_bytes=MOST
                    ),
                ),
            ),
        ),
    )
    with connected(kafka) as node:
        answer = node.exchange(
            request, FetchResponse, Deadline.after(MonotonicClock().now(), SECONDS)
        )
    (partition,) = answer.responses[0].partitions
    assert partition.error_code is ErrorCode.none
    aborted = [
        (int(each.producer_id), int(each.first_offset))
        for each in partition.aborted_transactions or ()
    ]
    return bytes(partition.records or b""), aborted


def produced(kafka: RealKafka, topic: str, batch: bytes) -> ErrorCode:
    """Send one batch as it is, and say what the broker thinks of it."""
    request = produce.ProduceRequest(
        acks=i16(-1),
        timeout=i32Timedelta.parse(timedelta(seconds=10)),
        topic_data=(
            produce.TopicProduceData(
                name=TopicName(topic),
                partition_data=(
                    produce.PartitionProduceData(index=i32(0), records=batch),  # type: ignore[arg-type]
                ),
            ),
        ),
    )
    deadline = Deadline.after(MonotonicClock().now(), SECONDS)
    with connected(kafka) as node:
        while True:
            answer = node.exchange(request, ProduceResponse, deadline)
            code = answer.responses[0].partition_responses[0].error_code
            # Metadata name a leader a moment before it leads.
            if code is not ErrorCode.not_leader_or_follower:
                return code
            time.sleep(0.03)
