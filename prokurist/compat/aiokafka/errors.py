"""aiokafka's exceptions; each that a face raises has ours as its cause.

The brokers' errors are made of a table when they are asked for, by name or number.
"""

import re
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from prokurist.compat.absent import absent
from prokurist.compat.aiokafka.error_names import NAMES, OTHER_NAMES, RETRIABLE, STALE
from prokurist.errors import (
    AuthenticationException,
    CommitFailedException,
    ConfigException,
    DeliveryAbortedException,
    DisconnectException,
    IllegalGenerationException,
    IllegalStateException,
    InvalidProducerEpochException,
    KafkaException,
    NetworkException,
    NoOffsetForPartitionException,
    ProducerFencedException,
    RebalanceInProgressException,
    RetriableCommitFailedException,
    SerializationException,
    SslAuthenticationException,
    TimeoutException,
    TopicAuthorizationException,
    UnknownMemberIdException,
    UnknownTopicOrPartitionException,
)
from prokurist.errors.codes import by_code


class KafkaError(RuntimeError):
    """The root of them.

    Attributes:
        retriable: Another try may succeed.
        invalid_metadata: What the client knew of the cluster was stale.
    """

    retriable = False
    invalid_metadata = False

    def __str__(self) -> str:
        name = type(self).__name__
        return f"{name}: {super().__str__()}" if self.args else name


class BrokerResponseError(KafkaError):
    """An error of a broker's answer.

    Attributes:
        errno: Its number.
        message: Kafka's name for it.
        description: What it says.
    """

    errno: int
    message: str
    description: str = ""

    def __str__(self) -> str:
        return f"[Error {self.errno}] {super().__str__()}"


class IllegalStateError(KafkaError):
    """A call that is not allowed in the client's present state."""


class IllegalArgumentError(KafkaError):
    """An argument that cannot be used."""


class KafkaTimeoutError(KafkaError):
    """The time of a call is over."""


class KafkaConnectionError(KafkaError):
    """A connection could not be made, or has ended."""

    retriable = True
    invalid_metadata = True


class KafkaConfigurationError(KafkaError):
    """A configuration that cannot be used."""


class AuthenticationFailedError(KafkaError):
    """A broker has refused the credentials."""


class CommitFailedError(KafkaError):
    """The group no longer counts this member."""


class NoOffsetForPartitionError(KafkaError):
    """Nothing is committed, and `auto_offset_reset` is `none`."""


class ProducerClosed(KafkaError):
    """The producer was stopped."""


class ProducerFenced(KafkaError):
    """Another producer has the transactional id, or a transaction took too long."""


class ConsumerStoppedError(Exception):
    """The consumer was stopped, before the call or during it."""


class IllegalOperation(Exception):
    """A call that the configuration does not allow, such as a commit without a group."""


_OWN: tuple[tuple[type[KafkaException], type[KafkaError]], ...] = (
    (ConfigException, KafkaConfigurationError),
    (IllegalStateException, IllegalStateError),
    (TimeoutException, KafkaTimeoutError),
    (CommitFailedException, CommitFailedError),
    (NoOffsetForPartitionException, NoOffsetForPartitionError),
    (SslAuthenticationException, KafkaConnectionError),
    (AuthenticationException, AuthenticationFailedError),
    (DisconnectException, KafkaConnectionError),
    (NetworkException, KafkaConnectionError),
    (DeliveryAbortedException, ProducerClosed),
    (ProducerFencedException, ProducerFenced),
    (InvalidProducerEpochException, ProducerFenced),
    (IllegalGenerationException, CommitFailedError),
    (UnknownMemberIdException, CommitFailedError),
    (RebalanceInProgressException, CommitFailedError),
)
"""The client's own side, and what aiokafka has a class of its own for: the first that fits."""


@cache
def _kind(error_code: int) -> type[BrokerResponseError]:
    known = by_code().get(error_code)
    words = "NoException" if known is None else known.__name__
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words.removesuffix("Exception")).upper()
    given = {
        "errno": error_code,
        "message": name,
        "description": ((known and known.__doc__) or name).partition("\n")[0],
        "retriable": error_code in RETRIABLE,
        "invalid_metadata": error_code in STALE,
        "__module__": __name__,
        "__doc__": known and known.__doc__,
    }
    return type(NAMES[error_code], (BrokerResponseError,), given)


def for_code(error_code: int) -> type[BrokerResponseError]:
    """The class for a broker's number; UnknownError for one that aiokafka does not know."""
    return _kind(error_code if error_code in NAMES else -1)


def as_theirs(error: KafkaException) -> Exception:
    """Convert an exception of ours to aiokafka's.

    Args:
        error: Ours.

    Returns:
        aiokafka's; or what a user's own code has raised below it.
    """
    cause = error.__cause__
    if isinstance(cause, Exception):
        if isinstance(error, RetriableCommitFailedException):
            return as_theirs(cause) if isinstance(cause, KafkaException) else cause
        if isinstance(error, SerializationException) or type(error) is KafkaException:
            return cause
    last = error.last_error if isinstance(error, TimeoutException) else None
    if isinstance(last, UnknownTopicOrPartitionException | TopicAuthorizationException):
        return for_code(last.error_code or -1)(str(error))
    for ours, theirs in _OWN:
        if isinstance(error, ours):
            return theirs(str(error))
    if error.error_code is None:
        return KafkaError(str(error))
    return for_code(error.error_code)(str(error))


_NEVER: Final = MappingProxyType(
    {
        "AuthenticationMethodNotSupported": (KafkaError, False, False),
        "Cancelled": (KafkaError, True, False),
        "CorrelationIdError": (KafkaError, True, False),
        "IncompatibleBrokerVersion": (KafkaError, False, False),
        "KafkaProtocolError": (KafkaError, True, False),
        "KafkaUnavailableError": (KafkaError, False, False),
        "MetadataEmptyBrokerList": (KafkaError, True, False),
        "NoBrokersAvailable": (KafkaError, True, True),
        "NodeNotReadyError": (KafkaError, True, False),
        "QuotaViolationError": (KafkaError, False, False),
        "RecordTooLargeError": (KafkaError, False, False),
        "StaleMetadata": (KafkaError, True, True),
        "TooManyInFlightRequests": (KafkaError, True, False),
        "UnrecognizedBrokerVersion": (KafkaError, False, False),
        "UnsupportedCodecError": (KafkaError, False, False),
    }
)
"""Errors of aiokafka's own internals, never raised here: for `except` clauses."""


@cache
def _never(name: str) -> type[KafkaError]:
    base, retriable, invalid_metadata = _NEVER[name]
    words = {"retriable": retriable, "invalid_metadata": invalid_metadata}
    told = {"__module__": __name__, "__doc__": "Never raised."}
    return type(name, (base,), {**words, **told})


def __getattr__(name: str) -> Any:
    for number, known in NAMES.items():
        if known == name:
            return _kind(number)
    if name in OTHER_NAMES:
        return _kind(OTHER_NAMES[name])
    if name in _NEVER:
        return _never(name)
    raise absent(__name__, name, {})
