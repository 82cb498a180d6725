"""The controllers' quorum, and the features of the cluster.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A voter or an observer of the controllers' quorum.

    Attributes:
        id: Its node id.
        directory_id: The id of its metadata directory; None from brokers before 3.9.
        log_end_offset: The end of its log; None where the leader does not know it.
        last_fetch: The time of its last fetch, in epoch milliseconds; None where unknown.
        last_caught_up: The last time at which it was caught up; None where unknown.
    """

    id: int
    directory_id: UUID | None
    log_end_offset: int | None
    last_fetch: int | None = None
    last_caught_up: int | None = None


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    """The controllers' quorum (KRaft).

    Attributes:
        leader_id: The active controller; None during an election.
        leader_epoch: Its epoch.
        high_watermark: The offset up to which the metadata log is committed.
        voters: The voters.
        observers: All other nodes that follow the log.
        listeners: The addresses of controllers by id and by listener; empty before 3.9.
    """

    leader_id: int | None
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    listeners: Mapping[int, Mapping[str, tuple[str, int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuorumChange:
    """A voter that was added or removed, or a broker that was unregistered.

    Attributes:
        earlier_attempt: True if an attempt whose answer was lost has done it.
    """

    earlier_attempt: bool = False


class Upgrade(IntEnum):
    """Kinds of updates of a feature; the numbers are the protocol's."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    """A downgrade that loses no metadata."""
    UNSAFE_DOWNGRADE = 3
    """A downgrade that may lose metadata."""


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """The level that a feature is to have.

    Attributes:
        level: The level; 0 to disable the feature.
        kind: The kind of update.

    Raises:
        ValueError: The level is negative, or 0 in an upgrade.
        TypeError: A value is of another type.
    """

    level: int
    kind: Upgrade = Upgrade.UPGRADE

    def __post_init__(self) -> None:
        if isinstance(self.level, bool) or not isinstance(self.level, int):
            raise TypeError(f"a feature's level is an int, not {self.level!r}")
        if not isinstance(self.kind, Upgrade):
            raise TypeError(f"the kind of an update is an Upgrade, not {self.kind!r}")
        if not 0 <= self.level < 1 << 15:
            raise ValueError(f"a feature's level is from 0 to 32767: {self.level}")
        if self.level == 0 and self.kind is Upgrade.UPGRADE:
            raise ValueError(
                "level 0 disables a feature, which is a downgrade: pass "
                "Upgrade.SAFE_DOWNGRADE or Upgrade.UNSAFE_DOWNGRADE"
            )


@dataclass(frozen=True, slots=True)
class FeatureLevels:
    """A feature of the cluster.

    Attributes:
        finalized: The level in use; None if it is not in use.
        supported: The lowest and the highest level that the asked broker supports; None if it
            does not know the feature.
    """

    finalized: int | None
    supported: tuple[int, int] | None
