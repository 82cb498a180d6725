"""Work on the controllers' quorum, on features, and on registrations.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from dataclasses import field
from uuid import UUID

from prokurist.events.admin.work import ONE
from prokurist.lazy_dataclasses import dataclass
from prokurist.types.quorums import FeatureUpdate


@dataclass(frozen=True, slots=True)
class QuorumToDescribe:
    """Describe the controllers' quorum."""

    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class VoterToAdd:
    """Add a controller to the voters.

    Attributes:
        number: Its node id.
        directory_id: The id of its metadata directory.
        listeners: Its addresses by listener.
    """

    number: int
    directory_id: UUID
    listeners: Mapping[str, tuple[str, int]]
    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class VoterToRemove:
    """Remove a controller from the voters.

    Attributes:
        number: Its node id.
        directory_id: The id of its metadata directory.
    """

    number: int
    directory_id: UUID
    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class BrokersToUnregister:
    """Remove the registrations of brokers that are gone, by id."""

    items: Mapping[int, None]


@dataclass(frozen=True, slots=True)
class FeaturesToDescribe:
    """Describe the features of the cluster."""

    items: Mapping[str, None] = field(default_factory=lambda: ONE)


@dataclass(frozen=True, slots=True)
class FeaturesToUpdate:
    """Change the levels of features, by name.

    Attributes:
        items: The levels.
        validate_only: True to check the request, and change nothing.
    """

    items: Mapping[str, FeatureUpdate]
    validate_only: bool = False
