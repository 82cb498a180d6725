"""The branches of the exception tree, and what every exception carries.

    KafkaException
    ├── ConfigException (ValueError)            you: a value that cannot be used
    ├── IllegalStateException (RuntimeError)    you: not now, or not in this way
    │   ├── ConcurrentModificationException         a second thread
    │   ├── ForkedClientError                       a copy in a child process
    │   └── ProducerInDoubtException                only another commit, or `close`
    ├── WakeupException                         you: `wakeup()` asked for it
    ├── SerializationException                  a value that does not (de)serialize
    ├── SchemaRegistryException                 a schema registry's answer, or its absence
    │   ├── SchemaNotFoundException                 no such schema, subject or version
    │   ├── SchemaRefusedException                  incompatible, invalid or not allowed
    │   └── SchemaRegistryUnavailableException      no answer in time; ask again
    ├── DeliveryAbortedException                a record that `close` or `purge` gave up
    │   └── TransactionAbortedException             the same with its transaction
    ├── TransactionTimedOutException            open for longer than `transaction.timeout.ms`
    ├── NetworkThreadDiedException              us: a bug ended the network thread
    ├── CommitFailedException, RetriableCommitFailedException
    ├── InvalidOffsetException                  no position, or none that exists
    └── ApiException                            the broker's word
        ├── RetriableException                      another try may succeed
        │   ├── TimeoutException (TimeoutError)         the time is over
        │   └── InvalidMetadataException                after fresh metadata
        │       └── DisconnectException, NetworkException   the network
        ├── AuthenticationException                 who you are
        ├── AuthorizationException                  what you may do
        └── one class for each error code           `prokurist.errors.codes`

Every class takes its message as its one positional argument and everything
else by keyword with a default. That one rule makes all of them picklable: the
message rebuilds the object and `__dict__`, the cause included, fills it.
"""

from typing import ClassVar

from prokurist.types import TopicPartition


class KafkaException(Exception):
    """The root of everything that prokurist raises of its own.

    Attributes:
        error_code: The number the broker sent, or None for an error of the
            client's side.
        may_have_happened: What was asked may have been done all the same: a request with
            an effect, such as a commit or a record, was on the wire and unanswered.
        retriable: The same call, made again unchanged, may succeed.
        fatal: The client that raised this will not work again: close it and
            build another.
        abortable: The producer's transaction cannot be committed any more, and
            `abort_transaction` ends it; the next one may succeed.
        refreshes_metadata: What the client knew of the cluster was stale; it
            fetches it again before the next attempt.
    """

    error_code: int | None = None
    may_have_happened: bool = False
    retriable: ClassVar[bool] = False
    fatal: bool = False
    abortable: bool = False
    refreshes_metadata: ClassVar[bool] = False

    def __reduce__(self) -> tuple[object, ...]:
        """Take the cause along: by itself, Python's pickling leaves it behind."""
        state = dict(self.__dict__)
        if self.__cause__ is not None:
            state["__cause__"] = portable(self.__cause__)
        return (type(self), self.args, state)


def portable(error: BaseException) -> BaseException:
    """The error itself if it can be pickled, else one that tells of it.

    A cause raised by another library may hold a socket or a lock; losing
    the whole report in a process pool because of it would be worse.
    """
    import pickle  # noqa: PLC0415 - only a process pool pays for it

    try:
        # There and back: some exceptions pickle and then cannot be rebuilt.
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - its __reduce__ may raise anything; it is not portable
        return KafkaException(f"{type(error).__qualname__}: {error}")
    return error


class ConfigException(KafkaException, ValueError):
    """A configuration that cannot be used; the text names key, value and rule.

    Attributes:
        faults: Every fault that was found, a text each; empty where there is one, the
            message itself.
    """

    def __init__(self, message: str = "", *, faults: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class ConfigWarning(UserWarning):
    """A configuration key that is accepted and does nothing."""


class IllegalStateException(KafkaException, RuntimeError):
    """A call that is not allowed in the client's present state."""


class ConcurrentModificationException(IllegalStateException):
    """A second thread called while one was inside; the first is unaffected."""


class ForkedClientError(IllegalStateException):
    """A client made before `os.fork()` was used in the child: build one there."""

    fatal: bool = True


class ProducerInDoubtException(IllegalStateException):
    """A commit without a known outcome leaves nothing but another commit, or `close`."""


class WakeupException(KafkaException):
    """`wakeup()` ended a wait, once."""


class SerializationException(KafkaException):
    """A serializer or deserializer refused a value."""


class SchemaRegistryException(KafkaException):
    """A schema registry's answer does not serve.

    Attributes:
        status: The HTTP status; None without an answer.
        registry_code: The registry's own number for the error, such as 40403.
    """

    def __init__(
        self, message: str = "", *, status: int | None = None, registry_code: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.registry_code = registry_code


class SchemaNotFoundException(SchemaRegistryException):
    """The registry has no such schema, subject or version."""


class SchemaRefusedException(SchemaRegistryException):
    """The registry refused a schema, or the credentials of the caller.

    Asking again does not help.
    """


class SchemaRegistryUnavailableException(SchemaRegistryException):
    """No URL of the registry gave a usable answer in time."""

    retriable: ClassVar[bool] = True


class DeliveryAbortedException(KafkaException):
    """A record was given up by `close` or `purge` of its producer, before its time was over.

    `may_have_happened` says whether a request with it was on the wire.
    """


class TransactionAbortedException(DeliveryAbortedException):
    """A record was given up with its transaction."""


class TransactionTimedOutException(KafkaException):
    """The coordinator has aborted a transaction open for too long.

    Attributes:
        open_for: Seconds since the first request of the transaction.
        timeout: `transaction.timeout.ms`, in seconds.
    """

    def __init__(
        self, message: str = "", *, open_for: float = 0.0, timeout: float = 0.0
    ) -> None:
        super().__init__(message)
        self.open_for = open_for
        self.timeout = timeout


class RecordDeserializationException(SerializationException):
    """A deserializer refused the record at one offset; the position stays there.

    Attributes:
        partition: Where the record lies.
        offset: Its offset; seek one further to leave it out.
        key: The key's bytes, as they came.
        value: The value's bytes, as they came.
    """

    def __init__(
        self,
        message: str = "",
        *,
        partition: TopicPartition | None = None,
        offset: int | None = None,
        key: bytes | None = None,
        value: bytes | None = None,
    ) -> None:
        super().__init__(message)
        self.partition = partition
        self.offset = offset
        self.key = key
        self.value = value


class NetworkThreadDiedException(KafkaException):
    """The network thread ended by a bug of ours; the cause is what it died of."""

    fatal: bool = True


class CommitFailedException(KafkaException):
    """The group no longer counts this member: the offsets are not committed.

    The partitions belong to another member by now, or will soon; the next
    `poll` joins again. Committing the same offsets again cannot help.
    """


class RetriableCommitFailedException(KafkaException):
    """An asynchronous commit failed for a passing reason, which is the cause.

    It is not tried again by itself: a newer commit may have overtaken it.
    """

    retriable: ClassVar[bool] = True


class InvalidOffsetException(KafkaException):
    """Partitions have no position that can be read from.

    Attributes:
        partitions: The partitions in question.
    """

    def __init__(
        self, message: str = "", *, partitions: tuple[TopicPartition, ...] = ()
    ) -> None:
        super().__init__(message)
        self.partitions = partitions


class NoOffsetForPartitionException(InvalidOffsetException):
    """Nothing is committed and `auto.offset.reset` is `none`: seek, or set a policy."""


class ApiException(KafkaException):
    """The branch of everything a broker can answer."""


class RetriableException(ApiException):
    """Another try of the same call may succeed."""

    retriable: ClassVar[bool] = True


class InvalidMetadataException(RetriableException):
    """The client's metadata of the cluster are stale."""

    refreshes_metadata: ClassVar[bool] = True


class DisconnectException(InvalidMetadataException):
    """The connection ended before the answer came."""


class AuthenticationException(ApiException):
    """The broker does not accept who we say we are, or we do not accept it."""


class AuthorizationException(ApiException):
    """We are known, and may not do this."""


class InvalidConfigurationException(ApiException):
    """The broker refuses a configuration value."""

    error_code: int | None = 40
