"""Leaders that move without a failure: another replica is preferred, and elected."""

import random
from datetime import timedelta
from typing import Final

from kio.schema.alter_partition_reassignments.v0 import request as alter
from kio.schema.alter_partition_reassignments.v0.response import (
    AlterPartitionReassignmentsResponse,
)
from kio.schema.elect_leaders.v2 import request as elect
from kio.schema.elect_leaders.v2.response import ElectLeadersResponse
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i32Timedelta

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import RealKafka
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.wire import BrokerConnection

SECONDS: Final = 10.0
BRIEFLY: Final = i32Timedelta.parse(timedelta(seconds=5))


def move_leaders(
    kafka: RealKafka, topic: str, partitions: int, node: int, lot: random.Random
) -> int:
    """Have a random half of the partitions of a topic led by another random replica.

    Args:
        kafka: Three nodes, each with every partition.
        topic: The topic.
        partitions: How many it has.
        node: Whom to ask.
        lot: What decides.

    Returns:
        How many partitions have another leader for it.

    Raises:
        AdminFailed: The node does not answer.
    """
    chosen = lot.sample(range(partitions), (partitions + 1) // 2)
    orders = [
        alter.ReassignablePartition(
            partition_index=i32(each),
            replicas=tuple(BrokerId(one) for one in lot.sample(range(3), 3)),
        )
        for each in chosen
    ]
    clock = MonotonicClock()
    deadline = Deadline.after(clock.now(), SECONDS)
    address = Address.parse(kafka.direct_bootstrap.split(",")[node])
    with BrokerConnection(address, deadline, clock) as connection:
        connection.exchange(
            alter.AlterPartitionReassignmentsRequest(
                timeout=BRIEFLY,
                topics=(
                    alter.ReassignableTopic(name=TopicName(topic), partitions=tuple(orders)),
                ),
            ),
            AlterPartitionReassignmentsResponse,
            deadline,
        )
        elected = connection.exchange(
            elect.ElectLeadersRequest(
                election_type=i8(0),
                topic_partitions=(
                    elect.TopicPartitions(
                        topic=TopicName(topic), partitions=tuple(map(i32, chosen))
                    ),
                ),
                timeout=BRIEFLY,
            ),
            ElectLeadersResponse,
            deadline,
        )
    return sum(
        partition.error_code is ErrorCode.none
        for result in elected.replica_election_results
        for partition in result.partition_result
    )
