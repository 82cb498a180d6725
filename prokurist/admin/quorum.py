"""The controllers' quorum, features of the cluster, registrations of brokers.

Thread: any application thread.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from prokurist.admin.arguments import mapping_of, require_kind, require_name
from prokurist.admin.calls import AdminCalls
from prokurist.admin.results import Results
from prokurist.events.admin.quorum import (
    BrokersToUnregister,
    FeaturesToDescribe,
    FeaturesToUpdate,
    QuorumToDescribe,
    VoterToAdd,
    VoterToRemove,
)
from prokurist.types import require_int
from prokurist.types.quorums import (
    FeatureLevels,
    FeatureUpdate,
    QuorumChange,
    QuorumDescription,
)

PORTS = 65_535


class Quorum(AdminCalls):
    """Calls of `KafkaAdmin` about controllers, features and registrations."""

    def quorum(self, *, timeout: float | timedelta | None = None) -> QuorumDescription:
        """Describe the controllers' quorum (KRaft).

        Args:
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: The time is over.
            UnsupportedVersionException: The cluster has no such quorum.
        """
        found: QuorumDescription = self._one("quorum", QuorumToDescribe(), timeout)
        return found

    def add_voter(
        self,
        number: int,
        directory_id: UUID,
        listeners: Mapping[str, tuple[str, int]],
        *,
        timeout: float | timedelta | None = None,
    ) -> QuorumChange:
        """Add a controller to the voters of a dynamic quorum (Kafka 3.9 and newer).

        Args:
            number: Its node id.
            directory_id: The id of its metadata directory.
            listeners: Host and port by listener, such as
                `{"CONTROLLER": ("host", 9093)}`.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            DuplicateVoterException: It is a voter already.
            TimeoutException: The time is over; `may_have_happened` says whether it may have
                been added.
        """
        require_voter(number, directory_id)
        example = '{"CONTROLLER": ("host", 9093)}'
        for name, address in mapping_of("listeners", listeners, example=example).items():
            require_name("listeners", name)
            require_address(name, address)
        if not listeners:
            raise ValueError(f"a voter has a listener at least, such as {example}")
        work = VoterToAdd(number, directory_id, dict(listeners))
        added: QuorumChange = self._one("add_voter", work, timeout)
        return added

    def remove_voter(
        self, number: int, directory_id: UUID, *, timeout: float | timedelta | None = None
    ) -> QuorumChange:
        """Remove a controller from the voters of a dynamic quorum (Kafka 3.9 and newer).

        Args:
            number: Its node id.
            directory_id: The id of its metadata directory; `quorum()` tells it.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: The time is over; `may_have_happened` says whether it may have
                been removed.
            VoterNotFoundException: It is no voter.
        """
        require_voter(number, directory_id)
        removed: QuorumChange = self._one(
            "remove_voter", VoterToRemove(number, directory_id), timeout
        )
        return removed

    def unregister_broker(
        self, number: int, *, timeout: float | timedelta | None = None
    ) -> QuorumChange:
        """Remove the registration of a broker that is gone for good.

        Args:
            number: Its id.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            BrokerIdNotRegisteredException: No broker of this id is registered.
            IllegalStateException: It is alive; nothing was asked.
            TimeoutException: The time is over; `may_have_happened` says whether it may have
                been removed.
        """
        require_int("a broker's id", number, 31)
        work = BrokersToUnregister({number: None})
        removed: QuorumChange = self._one("unregister_broker", work, timeout)
        return removed

    def features(self, *, timeout: float | timedelta | None = None) -> dict[str, FeatureLevels]:
        """Describe the features of the cluster by name, such as `metadata.version`.

        Args:
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: The time is over.
        """
        found: dict[str, FeatureLevels] = self._one("features", FeaturesToDescribe(), timeout)
        return found

    def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str, None]:
        """Change the levels of features; brokers from 4.0 on change all of them, or none.

        Args:
            updates: The levels by feature.
            validate_only: True to check the request, and change nothing.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; `check()` raises if any has failed.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        example = '{"metadata.version": FeatureUpdate(25)}'
        for name, update in mapping_of("updates", updates, example=example).items():
            require_name("features", name)
            require_kind(f"the update of {name}", update, FeatureUpdate)
        work = FeaturesToUpdate(dict(updates), validate_only)
        return self._results("update_features", work, timeout)


def require_voter(number: object, directory_id: object) -> None:
    """Check what names a voter.

    Raises:
        TypeError: It cannot be.
    """
    require_int("a voter's id", number, 31)
    require_kind("a directory's id", directory_id, UUID)


def require_address(name: str, address: Any) -> None:
    """Check a host and a port.

    Raises:
        TypeError: They are none.
        ValueError: There is no such port.
    """
    if not isinstance(address, tuple) or len(address) != len(("host", "port")):
        raise TypeError(f"listener {name} is a host and a port, not {address!r}")
    host, port = address
    require_name("hosts", host)
    require_int(f"the port of listener {name}", port, 31)
    if not 0 < port <= PORTS:
        raise ValueError(f"the port of listener {name} is from 1 to {PORTS}: {port}")
