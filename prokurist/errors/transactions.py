"""What brokers answer to idempotent and transactional producers."""

from prokurist.errors.tree import ApiException, RetriableException


class OutOfOrderSequenceException(ApiException):
    """A sequence number skipped ahead: something before it was lost."""

    error_code = 45


class DuplicateSequenceException(ApiException):
    """The batch was written before; it counts as a success."""

    error_code = 46


class InvalidProducerEpochException(ApiException):
    """The producer's epoch is over: a transaction ended without it."""

    error_code = 47


class InvalidTxnStateException(ApiException):
    """The transaction is not in a state that allows this."""

    error_code = 48


class InvalidPidMappingException(ApiException):
    """The producer id does not belong to this transactional id."""

    error_code = 49


class InvalidTxnTimeoutException(ApiException):
    """`transaction.timeout.ms` is longer than the broker allows."""

    error_code = 50


class ConcurrentTransactionsException(RetriableException):
    """The transaction before this one is still being completed."""

    error_code = 51


class TransactionCoordinatorFencedException(ApiException):
    """The transaction's coordinator has been replaced."""

    error_code = 52


class UnknownProducerIdException(ApiException):
    """The broker has forgotten the producer: its records have expired."""

    error_code = 59


class ProducerFencedException(ApiException):
    """A newer producer has this transactional id: only `close` is left."""

    error_code = 90
    fatal = True


class TransactionalIdNotFoundException(ApiException):
    """There is no such transactional id."""

    error_code = 105


class TransactionAbortableException(ApiException):
    """The transaction cannot be committed; abort it and go on."""

    error_code = 120
