"""Configuration of share groups.

Thread: any; the values are immutable.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """Properties `share.*` of a group, with Kafka's defaults except for mere delays.

    Attributes:
        from_earliest: True for `share.auto.offset.reset=earliest`; else a group begins at the
            end of each partition.
        read_committed: True for `share.isolation.level=read_committed`.
        lock_duration: Seconds for which acquired records are locked.
        delivery_limit: Deliveries of a record after which it is archived.
        most_locks: The most records of a partition in flight.
        renews: True if locks can be renewed.
        session_timeout: The session of a member.
        heartbeat_interval: Seconds between two heartbeats of a member.
        initializing: Seconds that the coordinator takes for the state of a new partition; a
            member that joins gets nothing of it before.
        most_members: The most members of a group.
        most_sessions: The most share sessions of a broker.
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


def configured(settings: ShareSettings, given: Mapping[str, str]) -> ShareSettings:
    """The settings of a group with the properties that an administrator has set."""
    changes: dict[str, Any] = {}
    for name, value in given.items():
        match name:
            case "share.auto.offset.reset":
                changes["from_earliest"] = value == "earliest"
            case "share.isolation.level":
                changes["read_committed"] = value == "read_committed"
            case "share.record.lock.duration.ms":
                changes["lock_duration"] = int(value) / 1000
            case "share.delivery.count.limit":
                changes["delivery_limit"] = int(value)
            case "share.partition.max.record.locks":
                changes["most_locks"] = int(value)
            case "share.renew.acknowledge.enable":
                changes["renews"] = value == "true"
            case "share.session.timeout.ms":
                changes["session_timeout"] = int(value) / 1000
            case "share.heartbeat.interval.ms":
                changes["heartbeat_interval"] = int(value) / 1000
            case _:
                pass
    return replace(settings, **changes)
