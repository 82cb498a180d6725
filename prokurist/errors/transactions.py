"""Broker errors for idempotent and transactional producers."""

from prokurist.errors.tree import ApiException, RetriableException


class OutOfOrderSequenceException(ApiException):
    """A sequence number skipped ahead: something before it was lost."""

    error_code: int | None = 45


class DuplicateSequenceException(ApiException):
    """The batch was written before; it counts as a success."""

    error_code: int | None = 46


class InvalidProducerEpochException(ApiException):
    """The producer's epoch is over: a transaction ended without it."""

    error_code: int | None = 47


class InvalidTxnStateException(ApiException):
    """The transaction is not in a state that allows this."""

    error_code: int | None = 48


class InvalidPidMappingException(ApiException):
    """The producer id does not belong to this transactional id."""

    error_code: int | None = 49


class InvalidTxnTimeoutException(ApiException):
    """`transaction.timeout.ms` is longer than the broker allows."""

    error_code: int | None = 50


class ConcurrentTransactionsException(RetriableException):
    """The transaction before this one is still being completed."""

    error_code: int | None = 51


class TransactionCoordinatorFencedException(ApiException):
    """The transaction's coordinator has been replaced."""

    error_code: int | None = 52


class UnknownProducerIdException(ApiException):
    """The broker has forgotten the producer: its records have expired."""

    error_code: int | None = 59


class ProducerFencedException(ApiException):
    """A newer producer has this transactional id: only `close` is left."""

    error_code: int | None = 90
    fatal: bool = True


class TransactionalIdNotFoundException(ApiException):
    """There is no such transactional id."""

    error_code: int | None = 105


class TransactionAbortableException(ApiException):
    """The transaction cannot be committed; abort it and go on."""

    error_code: int | None = 120
