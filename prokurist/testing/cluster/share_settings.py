"""Configuration of share groups.

Thread: any; the values are immutable.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """Properties `share.*` of a group, with Kafka's defaults except for mere delays.

    Attributes:
        from_earliest: True for `share.auto.offset.reset=earliest`; else a group begins at the
            end of each partition.
        read_committed: True for `share.isolation.level=read_committed`.
        lock_duration: Seconds for which acquired records are locked.
        delivery_limit: How often a record is delivered before it is archived.
        most_locks: How many records of a partition may be in flight.
        renews: True if locks can be renewed.
        session_timeout: The session of a member.
        heartbeat_interval: How often a member is told to speak.
        initializing: How long the coordinator takes for the state of a new partition; a member
            that joins gets nothing of it before.
        most_members: How many members a group may have.
        most_sessions: How many share sessions a broker keeps.
    """

    from_earliest: bool = False
    read_committed: bool = False
    lock_duration: float = 30.0
    delivery_limit: int = 5
    most_locks: int = 2000
    renews: bool = True
    session_timeout: float = 45.0
    heartbeat_interval: float = 5.0
    initializing: float = 0.05
    most_members: int = 200
    most_sessions: int = 2000
