"""Advice on errors: a row for a class, which holds for its subclasses too.

An error that this version can raise has a row of its own here; the other error codes, which
answer other clients' requests, are covered by the row of their branch.

Thread: any; a table.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from prokurist.errors.cluster import (
    InvalidRequestException,
    PolicyViolationException,
    RebootstrapRequiredException,
    UnknownServerException,
    UnsupportedVersionException,
)
from prokurist.errors.groups import (
    FencedInstanceIdException,
    FencedMemberEpochException,
    GroupIdNotFoundException,
    GroupMaxSizeReachedException,
    IllegalGenerationException,
    InconsistentGroupProtocolException,
    InvalidCommitOffsetSizeException,
    InvalidGroupIdException,
    InvalidRegularExpression,
    InvalidSessionTimeoutException,
    MemberIdRequiredException,
    RebalanceInProgressException,
    StaleMemberEpochException,
    UnknownMemberIdException,
    UnreleasedInstanceIdException,
    UnsupportedAssignorException,
)
from prokurist.errors.security import (
    ClusterAuthorizationException,
    GroupAuthorizationException,
    TopicAuthorizationException,
    TransactionalIdAuthorizationException,
)
from prokurist.errors.timeout import BufferExhaustedException, TimeoutException
from prokurist.errors.topics import (
    CorruptRecordException,
    InvalidRecordException,
    InvalidRequiredAcksException,
    InvalidTimestampException,
    InvalidTopicException,
    LogTruncationException,
    OffsetMetadataTooLarge,
    OffsetMovedToTieredStorageException,
    OffsetOutOfRangeException,
    RecordBatchTooLargeException,
    RecordTooLargeException,
    UnknownTopicIdException,
    UnknownTopicOrPartitionException,
    UnsupportedCompressionTypeException,
    UnsupportedForMessageFormatException,
)
from prokurist.errors.transactions import (
    InvalidPidMappingException,
    InvalidProducerEpochException,
    InvalidTxnStateException,
    InvalidTxnTimeoutException,
    OutOfOrderSequenceException,
    ProducerFencedException,
    TransactionAbortableException,
    UnknownProducerIdException,
)
from prokurist.errors.tree import (
    ApiException,
    AuthenticationException,
    AuthorizationException,
    CommitFailedException,
    ConcurrentModificationException,
    ConfigException,
    DeliveryAbortedException,
    DisconnectException,
    ForkedClientError,
    IllegalStateException,
    InvalidMetadataException,
    InvalidOffsetException,
    KafkaException,
    NetworkThreadDiedException,
    NoOffsetForPartitionException,
    ProducerInDoubtException,
    RecordDeserializationException,
    RetriableCommitFailedException,
    RetriableException,
    SchemaNotFoundException,
    SchemaRefusedException,
    SchemaRegistryException,
    SchemaRegistryUnavailableException,
    SerializationException,
    TransactionAbortedException,
    TransactionTimedOutException,
    WakeupException,
)

_REJOINS: Final = "Poll: the member joins again."
_SUBSCRIBES_AGAIN: Final = (
    "A member then subscribes again: `poll` raises it until `unsubscribe`, `assign` or `close`."
)
_BY_ITSELF: Final = "Nothing: the member sees to it."

ADVICE: Final[Mapping[type[KafkaException], str]] = MappingProxyType(
    {
        # The branches, and what the client raises of its own.
        KafkaException: "Catch it where any error of this client is meant. Raised itself, by "
        "`poll` or `close`, it wraps what your code or the way to the end has raised: see its "
        "cause.",
        ApiException: "No request of this client calls for this answer: report it. The "
        "message has the broker's own words.",
        RetriableException: "Nothing: a call tries again until its deadline, and then it is "
        "the `last_error` of the TimeoutException.",
        InvalidMetadataException: "Nothing: a call fetches metadata, and tries again until its "
        "deadline.",
        DisconnectException: "Nothing: a call tries again, over a new connection, until its "
        "deadline.",
        AuthenticationException: "Mend what was presented, as the text says, and call again.",
        AuthorizationException: "Have the right granted, and call again.",
        ConfigException: "Do what the text says: it names the key, the value and the rule.",
        IllegalStateException: "Change the program: the text says what has to come first.",
        ConcurrentModificationException: "Keep a consumer to one thread; only `wakeup`, "
        "`health`, `metrics` and `repr` may come from others.",
        ForkedClientError: "Build a client in the child, after the fork.",
        WakeupException: "Do what the wakeup was for: end the loop, mostly.",
        SchemaRegistryException: "Read the text: it has the registry's own words.",
        SchemaNotFoundException: "Register the schema, or look at the URL and the subject.",
        SchemaRefusedException: "Change the schema, the compatibility of the subject, or the "
        "credentials.",
        SchemaRegistryUnavailableException: "Try again; where it lasts, look at the registry.",
        SerializationException: "Look at the value, and at what was to read or write it.",
        RecordDeserializationException: "`seek(error.partition, error.offset + 1)` leaves the "
        "record out; its bytes are `error.key` and `error.value`.",
        NetworkThreadDiedException: "Close, and build another. Report it with the cause: it is "
        "a bug of ours.",
        CommitFailedException: "Do not commit the same again: poll, and work on what is "
        "assigned then. What was worked on since the last commit comes again, here or "
        "elsewhere.",
        RetriableCommitFailedException: "Commit again, if nothing newer has been committed.",
        InvalidOffsetException: "`seek` the partitions that it names.",
        NoOffsetForPartitionException: "`seek` the partitions that it names, or set "
        "`auto.offset.reset`.",
        LogTruncationException: "`seek` to the offset that it names, where the log parts from "
        "what was read; what was read behind that is gone from the log.",
        TimeoutException: "Read the text: it says where the time went. Call again; give more "
        "time if it was too little. `may_have_happened` says whether a commit may stand all "
        "the same.",
        DeliveryAbortedException: "Give `close` more time, or send the record again: "
        "`may_have_happened` says whether it may be in the log all the same.",
        TransactionAbortedException: "Begin the transaction again, with all of its records.",
        TransactionTimedOutException: "Nothing of the transaction is visible. If "
        "`abortable` is true, call `abort_transaction` and begin again; else close, and build "
        "another. Keep transactions shorter, or raise `transaction.timeout.ms`.",
        ProducerInDoubtException: "Call `commit_transaction` again until it succeeds, or "
        "`close`.",
        BufferExhaustedException: "The cluster takes less than is sent: send less, give more "
        "brokers or partitions, or raise `buffer.memory`. Nothing of the record was sent.",
        # What brokers answer.
        UnknownServerException: "Look at the broker's log. `error_code` keeps a number that is "
        "newer than this version.",
        OffsetOutOfRangeException: "`seek`, or set `auto.offset.reset`.",
        CorruptRecordException: "`seek` past it, which leaves out what is damaged; the "
        "broker's disk is to be checked.",
        UnknownTopicOrPartitionException: "See to the topic's name and to the right to "
        "describe it. A call tries again until its deadline.",
        UnknownTopicIdException: "The topic was deleted, and perhaps created again: its "
        "offsets say nothing about its successor. A call tries again until its deadline.",
        InvalidTopicException: "Mend the topic's name.",
        RecordTooLargeException: "Written: send less, or raise `max.request.size` and the "
        "topic's `max.message.bytes`, whichever the text names. Read: raise what it names, or "
        "`seek` past the record.",
        RecordBatchTooLargeException: "Lower `max.request.size`, or raise the topic's "
        "`segment.bytes`.",
        InvalidRecordException: "Send what the topic takes: a compacted one wants a key. The "
        "text has the broker's words, or says that another record of the batch was refused; "
        "that one may be sent again.",
        InvalidTimestampException: "Send a timestamp that the topic's "
        "`message.timestamp.before.max.ms` and `.after.max.ms` allow, or none.",
        OffsetMetadataTooLarge: "Shorten the note; `offset.metadata.max.bytes` of the brokers "
        "bounds it.",
        InvalidCommitOffsetSizeException: "Commit fewer partitions at once, or shorter notes.",
        InvalidRequiredAcksException: "Set `acks` to `all`, 1 or 0.",
        PolicyViolationException: "Send what the cluster's policy allows: the text says what.",
        UnsupportedCompressionTypeException: "Set another `compression.type`, or use newer "
        "brokers.",
        ClusterAuthorizationException: "Have the right to write to the topic granted, for "
        "brokers before 2.8 IdempotentWrite on the cluster; or set `enable.idempotence` to "
        "false.",
        TopicAuthorizationException: "Have the right to the topics that it names granted, and "
        "go on polling.",
        GroupAuthorizationException: "Have the right to read in the group granted. "
        + _SUBSCRIBES_AGAIN,
        InvalidGroupIdException: "Set `group.id`.",
        IllegalGenerationException: _BY_ITSELF
        + " A commit ends as CommitFailedException, with this as its cause.",
        InconsistentGroupProtocolException: "Give all members one assignor in common, and the "
        "same `group.protocol`. " + _SUBSCRIBES_AGAIN,
        UnknownMemberIdException: _REJOINS
        + " A commit ends as CommitFailedException, with this as its cause.",
        InvalidSessionTimeoutException: "Keep `session.timeout.ms` between the brokers' "
        "`group.min.session.timeout.ms` and `group.max.session.timeout.ms`.",
        RebalanceInProgressException: "Poll, and then commit what is still assigned.",
        UnsupportedVersionException: "Use newer brokers, or leave out what they do not know, "
        "such as `group.protocol=consumer`.",
        ProducerFencedException: "Close. Another producer has begun with this "
        "`transactional.id`: give each producer that runs an id of its own.",
        InvalidPidMappingException: "Close, and build another: the coordinator has "
        "forgotten the producer, by `transactional.id.expiration.ms` for example.",
        InvalidProducerEpochException: "Call `abort_transaction`: it tells whether another "
        "producer has the id.",
        InvalidTxnStateException: "Call `abort_transaction`, and begin again.",
        InvalidTxnTimeoutException: "Lower `transaction.timeout.ms`, or raise the brokers' "
        "`transaction.max.timeout.ms`.",
        OutOfOrderSequenceException: "In a transaction, call `abort_transaction`, and send all "
        "of its records again.",
        UnknownProducerIdException: "In a transaction, call `abort_transaction`, and send all "
        "of its records again.",
        TransactionAbortableException: "Call `abort_transaction`, and begin again.",
        TransactionalIdAuthorizationException: "Have the right to write with the "
        "`transactional.id` granted, and build another producer.",
        InvalidRequestException: "Report it with its message: it is a bug, of ours or of the "
        "broker's.",
        GroupIdNotFoundException: "See that `group.id` and `group.protocol` are of one kind, "
        "and that the group is not being deleted.",
        GroupMaxSizeReachedException: "Run fewer members, or raise the brokers' "
        "`group.max.size` or `group.consumer.max.size`.",
        FencedInstanceIdException: "Close. Two members run under one `group.instance.id`: give "
        "each its own.",
        FencedMemberEpochException: _BY_ITSELF + " The listener hears what is lost.",
        UnreleasedInstanceIdException: "Nothing for a minute, in which it is waited for. Then "
        "see who still runs under this `group.instance.id`.",
        UnsupportedAssignorException: "Name one of the brokers' `group.consumer.assignors`, or "
        "leave `group.remote.assignor` out.",
        StaleMemberEpochException: "Nothing: the call goes on with the new epoch while the "
        "membership is the same.",
        InvalidRegularExpression: "Mend the pattern: brokers read RE2's syntax.",
        MemberIdRequiredException: _BY_ITSELF,
        RebootstrapRequiredException: "Nothing: the client begins again at its bootstrap "
        "addresses.",
        UnsupportedForMessageFormatException: "Nothing: `offsets_for_times` answers None for "
        "the partition.",
        OffsetMovedToTieredStorageException: "Nothing: it is fetched again.",
    }
)


def advice(cls: type[KafkaException]) -> str:
    """Return the advice on an error's class, from its own row or its branch's."""
    return next(ADVICE[each] for each in cls.__mro__ if each in ADVICE)
