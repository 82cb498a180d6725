"""Broker errors about requests, controllers, quorum, quotas and telemetry."""

from prokurist.errors.tree import ApiException, RetriableException


class UnknownServerException(ApiException):
    """The broker failed in a way it has no code for, or sent a code we do not know.

    `error_code` keeps the number that came.
    """

    error_code: int | None = -1

    def __init__(self, message: str = "", *, error_code: int = -1) -> None:
        super().__init__(message)
        self.error_code = error_code


class ControllerMovedException(ApiException):
    """The controller has moved on."""

    error_code: int | None = 11


class UnsupportedVersionException(ApiException):
    """The broker does not speak the request in a version that can carry it."""

    error_code: int | None = 35


class TopicExistsException(ApiException):
    """There is a topic of this name."""

    error_code: int | None = 36


class InvalidPartitionsException(ApiException):
    """The number of partitions cannot be."""

    error_code: int | None = 37


class InvalidReplicationFactorException(ApiException):
    """There are fewer brokers than replicas asked for, or none were asked for."""

    error_code: int | None = 38


class InvalidReplicaAssignmentException(ApiException):
    """The brokers named for the replicas cannot be."""

    error_code: int | None = 39


class NotControllerException(RetriableException):
    """This broker is not the controller, or no longer."""

    error_code: int | None = 41


class InvalidRequestException(ApiException):
    """The broker can read the request and makes no sense of it."""

    error_code: int | None = 42


class PolicyViolationException(ApiException):
    """The request goes against a policy that the cluster's owners have set."""

    error_code: int | None = 44


class OperationNotAttemptedException(ApiException):
    """Something before this in the same request failed."""

    error_code: int | None = 55


class LogDirNotFoundException(ApiException):
    """The broker has no such log directory."""

    error_code: int | None = 57


class ReassignmentInProgressException(ApiException):
    """The partition is being moved already."""

    error_code: int | None = 60


class TopicDeletionDisabledException(ApiException):
    """The cluster does not delete topics."""

    error_code: int | None = 73


class StaleBrokerEpochException(ApiException):
    """A broker speaks for an earlier life of its own."""

    error_code: int | None = 77


class NoReassignmentInProgressException(ApiException):
    """The partition is not being moved."""

    error_code: int | None = 85


class ThrottlingQuotaExceededException(RetriableException):
    """A quota is used up for now."""

    error_code: int | None = 89


class ResourceNotFoundException(ApiException):
    """There is no such resource."""

    error_code: int | None = 91


class DuplicateResourceException(ApiException):
    """The same resource was named twice."""

    error_code: int | None = 92


class InconsistentVoterSetException(ApiException):
    """The voters named are not the quorum's."""

    error_code: int | None = 94


class InvalidUpdateVersionException(ApiException):
    """The version to update to cannot be."""

    error_code: int | None = 95


class FeatureUpdateFailedException(ApiException):
    """A feature of the cluster could not be updated."""

    error_code: int | None = 96


class SnapshotNotFoundException(ApiException):
    """There is no such snapshot."""

    error_code: int | None = 98


class DuplicateBrokerRegistrationException(ApiException):
    """A broker of this id is registered and alive."""

    error_code: int | None = 101


class BrokerIdNotRegisteredException(ApiException):
    """No broker of this id is registered."""

    error_code: int | None = 102


class InconsistentClusterIdException(ApiException):
    """The broker belongs to another cluster."""

    error_code: int | None = 104


class IneligibleReplicaException(ApiException):
    """The replica may not join those in sync."""

    error_code: int | None = 107


class NewLeaderElectedException(ApiException):
    """A change came too late: a new leader has been elected."""

    error_code: int | None = 108


class MismatchedEndpointTypeException(ApiException):
    """A controller was asked where a broker answers, or the other way round."""

    error_code: int | None = 114


class UnsupportedEndpointTypeException(ApiException):
    """The kind of endpoint is not known."""

    error_code: int | None = 115


class UnknownControllerIdException(ApiException):
    """There is no controller of this id."""

    error_code: int | None = 116


class UnknownSubscriptionIdException(ApiException):
    """The telemetry subscription has changed: ask for it again."""

    error_code: int | None = 117


class TelemetryTooLargeException(ApiException):
    """More telemetry was pushed than the broker takes at once."""

    error_code: int | None = 118


class InvalidRegistrationException(ApiException):
    """A controller will not have a broker's registration."""

    error_code: int | None = 119


class InvalidVoterKeyException(ApiException):
    """A voter's key is not the quorum's."""

    error_code: int | None = 125


class DuplicateVoterException(ApiException):
    """The voter is in the quorum already."""

    error_code: int | None = 126


class VoterNotFoundException(ApiException):
    """The voter is not in the quorum."""

    error_code: int | None = 127


class RebootstrapRequiredException(ApiException):
    """The broker asks the client to begin again at its bootstrap servers (KIP-1102)."""

    error_code: int | None = 129


class ControllerIdNotRegisteredException(ApiException):
    """No controller of this id is registered."""

    error_code: int | None = 136
