"""kafka-python's exceptions; each that a face raises has ours as its cause.

The brokers' errors are made of a table when they are asked for, by name or number.
"""

from functools import cache
from types import MappingProxyType
from typing import Any, Final

from prokurist.compat.absent import absent
from prokurist.compat.kafka.error_names import NAMES
from prokurist.errors import (
    AuthorizationException,
    CommitFailedException,
    ConfigException,
    DeliveryAbortedException,
    DisconnectException,
    IllegalStateException,
    KafkaException,
    LogTruncationException,
    NetworkException,
    NoOffsetForPartitionException,
    RetriableCommitFailedException,
    SerializationException,
    SslAuthenticationException,
    TimeoutException,
)
from prokurist.errors.codes import by_code


class KafkaError(Exception):
    """The root of them.

    Attributes:
        errno: The broker's number; None for an error of the client's side.
        retriable: Another try may succeed.
        invalid_metadata: What the client knew of the cluster was stale.
    """

    errno: int | None = None
    retriable = False
    invalid_metadata = False


class RetriableError(KafkaError):
    """Another try may succeed."""

    retriable = True


class InvalidMetadataError(RetriableError):
    """The client's metadata of the cluster are stale."""

    invalid_metadata = True


class BrokerResponseError(KafkaError):
    """An error of a broker's answer."""


class NoError(BrokerResponseError):
    """No error, in results by item."""

    errno: int | None = 0


class AuthorizationError(BrokerResponseError):
    """Not allowed."""


class KafkaTimeoutError(RetriableError):
    """The time of a call is over."""


class KafkaConnectionError(InvalidMetadataError):
    """A connection could not be made, or has ended."""


class KafkaConfigurationError(KafkaError):
    """A configuration that cannot be used."""


class IllegalStateError(KafkaError):
    """A call that is not allowed in the client's present state."""


class CommitFailedError(KafkaError):
    """The group no longer counts this member."""


class NoOffsetForPartitionError(KafkaError):
    """Nothing is committed, and `auto_offset_reset` is `none`."""


class LogTruncationError(KafkaError):
    """A log was cut back before the position, and `auto_offset_reset` is `none`."""


class Cancelled(RetriableError):
    """A record that was given up."""


_OWN: tuple[tuple[type[KafkaException], type[KafkaError]], ...] = (
    (ConfigException, KafkaConfigurationError),
    (IllegalStateException, IllegalStateError),
    (TimeoutException, KafkaTimeoutError),
    (CommitFailedException, CommitFailedError),
    (NoOffsetForPartitionException, NoOffsetForPartitionError),
    (LogTruncationException, LogTruncationError),
    (DisconnectException, KafkaConnectionError),
    (NetworkException, KafkaConnectionError),
    (SslAuthenticationException, KafkaConnectionError),
    (DeliveryAbortedException, Cancelled),
)
"""The client's own side: the first class that fits."""


@cache
def for_code(error_code: int) -> type[KafkaError]:
    """The class for a broker's number."""
    if not error_code:
        return NoError
    known = by_code().get(error_code)
    bases: tuple[type[KafkaError], ...] = (BrokerResponseError,)
    if known is not None and issubclass(known, AuthorizationException):
        bases = (AuthorizationError,)
    elif known is not None and known.refreshes_metadata:
        bases = (InvalidMetadataError, BrokerResponseError)
    elif known is not None and known.retriable:
        bases = (RetriableError, BrokerResponseError)
    name = NAMES.get(error_code, "UnknownError")
    words = {"errno": error_code, "__module__": __name__, "__doc__": known and known.__doc__}
    return type(name, bases, words)


def as_theirs(error: KafkaException) -> Exception:
    """Convert an exception of ours to kafka-python's.

    Args:
        error: Ours.

    Returns:
        kafka-python's; or what a user's own code has raised below it.
    """
    cause = error.__cause__
    if isinstance(cause, Exception):
        if isinstance(error, RetriableCommitFailedException):
            return as_theirs(cause) if isinstance(cause, KafkaException) else cause
        if isinstance(error, SerializationException) or type(error) is KafkaException:
            return cause
    for ours, theirs in _OWN:
        if isinstance(error, ours):
            return theirs(str(error))
    kind = KafkaError if error.error_code is None else for_code(error.error_code)
    return kind(str(error))


_NEVER: Final = MappingProxyType(
    {
        "CorrelationIdError": RetriableError,
        "IllegalArgumentError": KafkaError,
        "IncompatibleBrokerVersion": KafkaError,
        "InvalidReceiveError": KafkaError,
        "KafkaProtocolError": KafkaError,
        "MetadataEmptyBrokerList": RetriableError,
        "NodeNotReadyError": RetriableError,
        "QuotaViolationError": KafkaError,
        "StaleMetadata": InvalidMetadataError,
        "TooManyInFlightRequests": RetriableError,
        "UnknownBrokerIdError": KafkaError,
        "UnrecognizedBrokerVersion": KafkaError,
        "UnsupportedCodecError": KafkaError,
    }
)
"""Errors of kafka-python's own internals, never raised here: for `except` clauses."""
_LEFT_OUT: Final = MappingProxyType(
    {
        "NoBrokersAvailable": "of kafka-python 2; a call that needs a broker ends with "
        "KafkaTimeoutError"
    }
)


@cache
def _never(name: str) -> type[KafkaError]:
    return type(name, (_NEVER[name],), {"__module__": __name__, "__doc__": "Never raised."})


def __getattr__(name: str) -> Any:
    for number, known in NAMES.items():
        if known == name:
            return for_code(number)
    if name in _NEVER:
        return _never(name)
    raise absent(__name__, name, _LEFT_OUT)
