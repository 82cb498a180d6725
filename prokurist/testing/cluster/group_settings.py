"""Broker configuration of groups.

Thread: any; the values are immutable.
"""

from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Properties `group.*`, with Kafka's defaults except for mere delays.

    Attributes:
        initial_rebalance_delay: How long the first rebalance of an empty classic
            group waits for more members. Kafka's default is 3 s.
        max_size: How many members a group may have, of either protocol.
        min_session_timeout: The shortest session a classic member may ask for.
        max_session_timeout: The longest one.
        new_member_timeout: How long a new classic member may wait for its first
            generation before it is forgotten.
        consumer_session_timeout: The session of a member of the consumer protocol.
        consumer_heartbeat_interval: How often such a member is told to speak.
        assignment_interval: The least time between two assignments of a group of
            the consumer protocol. Kafka 4.3 has 1 s, and older ones have none.
        older_epochs_commit: True if a member may commit in the epoch before, for partitions
            kept since (KIP-1251). Kafka before 4.3 does not allow it.
        offsets_partitions: How many partitions `__consumer_offsets` has
            (`offsets.topic.num.partitions`); a transaction names the one of a group.
    """

    initial_rebalance_delay: float = 0.0
    max_size: int = 2**31 - 1
    min_session_timeout: float = 6.0
    max_session_timeout: float = 1800.0
    new_member_timeout: float = 300.0
    consumer_session_timeout: float = 45.0
    consumer_heartbeat_interval: float = 5.0
    assignment_interval: float = 0.0
    older_epochs_commit: bool = True
    offsets_partitions: int = 50
