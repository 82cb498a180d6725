"""confluent-kafka's error for each exception of ours."""

from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.errors import (
    AuthenticationException,
    BufferExhaustedException,
    CommitFailedException,
    ConfigException,
    DeliveryAbortedException,
    DisconnectException,
    IllegalStateException,
    InvalidOffsetException,
    LogTruncationException,
    NetworkException,
    ProducerFencedException,
    ProducerInDoubtException,
    RetriableCommitFailedException,
    SerializationException,
    SslAuthenticationException,
    TimeoutException,
    TransactionTimedOutException,
    UnknownTopicOrPartitionException,
    WakeupException,
)
from prokurist.errors import KafkaException as OurException

CODES: tuple[tuple[type[OurException], int], ...] = (
    (ConfigException, KafkaError._INVALID_ARG),
    (ProducerFencedException, KafkaError._FENCED),
    (ProducerInDoubtException, KafkaError._CONFLICT),
    (IllegalStateException, KafkaError._STATE),
    (BufferExhaustedException, KafkaError._QUEUE_FULL),
    (TimeoutException, KafkaError._TIMED_OUT),
    (LogTruncationException, KafkaError._LOG_TRUNCATION),
    (InvalidOffsetException, KafkaError._AUTO_OFFSET_RESET),
    (SslAuthenticationException, KafkaError._SSL),
    (AuthenticationException, KafkaError._AUTHENTICATION),
    (DisconnectException, KafkaError._TRANSPORT),
    (NetworkException, KafkaError._TRANSPORT),
    (SerializationException, KafkaError._VALUE_DESERIALIZATION),
    (CommitFailedException, KafkaError._ASSIGNMENT_LOST),
    (WakeupException, KafkaError._INTR),
)
"""The client's own side: the first class that fits."""

_ABSENT = UnknownTopicOrPartitionException


def error_of(error: OurException, *, delivery: bool = False) -> KafkaError:
    """The KafkaError for an exception: its number, and our text.

    Args:
        error: The exception.
        delivery: It is what a record has failed with.
    """
    code = _code_of(error, delivery=delivery)
    return KafkaError(
        code,
        str(error),
        fatal=error.fatal,
        # Another call goes on: it is possible when that one has succeeded.
        retriable=error.retriable or code == KafkaError._CONFLICT,
        txn_requires_abort=error.abortable,
    )


def exception_of(error: OurException) -> KafkaException:
    """The same, to be raised."""
    return KafkaException(error_of(error))


def _code_of(error: OurException, *, delivery: bool) -> int:
    cause = error.__cause__
    if isinstance(error, (CommitFailedException, RetriableCommitFailedException)) and (
        isinstance(cause, OurException)
    ):
        return _code_of(cause, delivery=False)
    if isinstance(error, TransactionTimedOutException):
        # There it ends each producer, by this number.
        if error.fatal or not isinstance(cause, OurException):
            return KafkaError._FENCED
        return _code_of(cause, delivery=False)
    if isinstance(error, DeliveryAbortedException):
        sent = error.may_have_happened
        return KafkaError._PURGE_INFLIGHT if sent else KafkaError._PURGE_QUEUE
    if delivery and isinstance(getattr(error, "last_error", None), _ABSENT):
        return KafkaError._UNKNOWN_TOPIC
    for kind, code in CODES:
        if isinstance(error, kind):
            late = delivery and code == KafkaError._TIMED_OUT
            return KafkaError._MSG_TIMED_OUT if late else code
    return KafkaError._FAIL if error.error_code is None else error.error_code
