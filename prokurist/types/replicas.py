"""Replicas: where they lie, how they move, which of them leads.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from typing import NamedTuple

from prokurist.errors import KafkaException
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition


class Replica(NamedTuple):
    """A replica of a partition at one broker."""

    topic: str
    partition: int
    broker: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} at broker {self.broker}"


@dataclass(frozen=True, slots=True)
class ReplicaInLogDir:
    """A replica in a log directory.

    Attributes:
        size: Its bytes.
        offset_lag: Offsets that it is behind: behind the high watermark, or behind the present
            replica if it is a future one.
        is_future: True if the replica is being moved to this directory.
    """

    size: int
    offset_lag: int
    is_future: bool = False


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log directory of a broker.

    Attributes:
        path: Its path.
        replicas: The replicas in it.
        error: Its error, as KafkaStorageException; None if there is none.
        total_bytes: The size of its volume; None from brokers before 3.3.
        usable_bytes: The free bytes of its volume; None from brokers before 3.3.
        cordoned: True if no new replica is put there.
    """

    path: str
    replicas: Mapping[TopicPartition, ReplicaInLogDir]
    error: KafkaException | None = None
    total_bytes: int | None = None
    usable_bytes: int | None = None
    cordoned: bool = False


@dataclass(frozen=True, slots=True)
class Election:
    """The outcome of an election of one partition's leader.

    Attributes:
        elected: True if a leader was elected; False if none was needed.
        earlier_attempt: True if an attempt whose answer was lost may have elected it.
    """

    elected: bool
    earlier_attempt: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel the reassignment of a partition."""


@dataclass(frozen=True, slots=True)
class ReassignmentAccepted:
    """A reassignment that has begun, or was cancelled; the copying goes on by itself.

    Attributes:
        earlier_attempt: True if an attempt whose answer was lost has cancelled it.
    """

    earlier_attempt: bool = False


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A reassignment under way.

    Attributes:
        replicas: All brokers that hold the partition at present.
        adding: Those of them that are being added.
        removing: Those of them that will be removed.
    """

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
