"""CONTRACT, errors per request: every row, every code, and unknown codes."""

import pytest

from prokurist import errors
from prokurist.errors.codes import by_code
from prokurist.network_thread.error_actions import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    CONSUMER_GROUP_HEARTBEAT,
    END_TXN,
    FIND_COORDINATOR,
    GET_TELEMETRY_SUBSCRIPTIONS,
    HEARTBEAT,
    INIT_TRANSACTIONS,
    JOIN_GROUP,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
    PRODUCER_METADATA,
    PUSH_TELEMETRY,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
    Action,
    ErrorTable,
)

D, R, F, M, C, E, B, N, X = (
    Action.DONE,
    Action.RETRY,
    Action.REFRESH,
    Action.REDISCOVER,
    Action.COMMIT_FAILED,
    Action.RENEW,
    Action.REBOOTSTRAP,
    Action.NOTHING,
    Action.FATAL,
)

OF_MEMBERS = {
    "CoordinatorLoadInProgressException": R,
    "CoordinatorNotAvailableException": M,
    "NotCoordinatorException": M,
    "UnknownMemberIdException": Action.RESET,
    "IllegalGenerationException": Action.OUTDATED,
    "GroupAuthorizationException": X,
    "FencedInstanceIdException": X,
}

OF_TRANSACTIONS = {
    "CoordinatorLoadInProgressException": R,
    "CoordinatorNotAvailableException": M,
    "NotCoordinatorException": M,
    "ConcurrentTransactionsException": R,
    "InvalidProducerEpochException": X,
    "InvalidTxnStateException": X,
    "InvalidPidMappingException": X,
    "TransactionalIdAuthorizationException": X,
    "ProducerFencedException": X,
    "TransactionAbortableException": X,
}

ROWS: list[tuple[ErrorTable, dict[str, Action]]] = [
    (END_TXN, OF_TRANSACTIONS),
    (INIT_TRANSACTIONS, {**OF_TRANSACTIONS, "InvalidTxnTimeoutException": X}),
    (ADD_OFFSETS_TO_TXN, {**OF_TRANSACTIONS, "GroupAuthorizationException": X}),
    (
        ADD_PARTITIONS_TO_TXN,
        {
            **OF_TRANSACTIONS,
            "UnknownTopicOrPartitionException": R,
            "TopicAuthorizationException": X,
            "OperationNotAttemptedException": R,
        },
    ),
    (
        TXN_OFFSET_COMMIT,
        {
            **OF_TRANSACTIONS,
            "UnknownTopicOrPartitionException": R,
            "TimeoutException": M,
            "IllegalGenerationException": C,
            "UnknownMemberIdException": C,
            "FencedInstanceIdException": C,
            "StaleMemberEpochException": C,
            "OffsetMetadataTooLarge": X,
            "GroupAuthorizationException": X,
        },
    ),
    (
        GET_TELEMETRY_SUBSCRIPTIONS,
        {
            "UnsupportedVersionException": X,
            "InvalidRequestException": X,
            "ThrottlingQuotaExceededException": Action.LATER,
            "TimeoutException": R,
        },
    ),
    (
        PUSH_TELEMETRY,
        {
            "UnsupportedVersionException": Action.END,
            "InvalidRequestException": Action.END,
            "InvalidRecordException": Action.END,
            "UnsupportedCompressionTypeException": Action.ANOTHER_CODEC,
            "ThrottlingQuotaExceededException": Action.LATER,
            "TelemetryTooLargeException": Action.LATER,
            "UnknownSubscriptionIdException": Action.SUBSCRIBE,
            "ClusterAuthorizationException": X,
        },
    ),
    (
        FIND_COORDINATOR,
        {
            "CoordinatorNotAvailableException": R,
            "CoordinatorLoadInProgressException": R,
            "TimeoutException": R,
            "GroupAuthorizationException": X,
            "InvalidGroupIdException": X,
        },
    ),
    (
        OFFSET_COMMIT,
        {
            "CoordinatorLoadInProgressException": R,
            "UnknownTopicOrPartitionException": R,
            "UnknownTopicIdException": F,
            "CoordinatorNotAvailableException": M,
            "NotCoordinatorException": M,
            "TimeoutException": M,
            "UnknownMemberIdException": C,
            "FencedInstanceIdException": C,
            "StaleMemberEpochException": E,
            "IllegalGenerationException": E,
            "GroupAuthorizationException": X,
            "OffsetMetadataTooLarge": X,
            "InvalidCommitOffsetSizeException": X,
            "TopicAuthorizationException": X,
            "RebalanceInProgressException": E,
            "GroupIdNotFoundException": X,
            "InvalidGroupIdException": X,
        },
    ),
    (
        OFFSET_FETCH,
        {
            "CoordinatorLoadInProgressException": R,
            "UnstableOffsetCommitException": R,
            "NotCoordinatorException": M,
            "CoordinatorNotAvailableException": M,
            "TopicAuthorizationException": X,
            "GroupAuthorizationException": X,
            "UnknownMemberIdException": X,
            "StaleMemberEpochException": E,
        },
    ),
    (
        CONSUMER_GROUP_HEARTBEAT,
        {
            "NotCoordinatorException": M,
            "CoordinatorNotAvailableException": M,
            "CoordinatorLoadInProgressException": R,
            "UnreleasedInstanceIdException": Action.UNRELEASED,
            "GroupIdNotFoundException": X,
            "TopicAuthorizationException": Action.SURFACE,
            "GroupAuthorizationException": X,
            "InvalidRequestException": X,
            "GroupMaxSizeReachedException": X,
            "UnsupportedAssignorException": X,
            "UnsupportedVersionException": X,
            "FencedInstanceIdException": X,
            "InvalidRegularExpression": X,
            "FencedMemberEpochException": Action.REJOIN,
            "UnknownMemberIdException": Action.REJOIN,
        },
    ),
    (
        METADATA,
        {
            "RebootstrapRequiredException": B,
            "UnknownTopicOrPartitionException": R,
            "LeaderNotAvailableException": R,
            "TimeoutException": R,
            "TopicAuthorizationException": X,
            "InvalidTopicException": X,
        },
    ),
    (
        LIST_OFFSETS,
        {
            "NotLeaderOrFollowerException": F,
            "ReplicaNotAvailableException": F,
            "KafkaStorageException": F,
            "OffsetNotAvailableException": F,
            "LeaderNotAvailableException": F,
            "FencedLeaderEpochException": F,
            "UnknownLeaderEpochException": F,
            "UnknownTopicOrPartitionException": F,
            "TimeoutException": R,
            "TopicAuthorizationException": X,
            "UnsupportedForMessageFormatException": N,
        },
    ),
    (
        OFFSET_FOR_LEADER_EPOCH,
        {
            "NotLeaderOrFollowerException": F,
            "ReplicaNotAvailableException": F,
            "KafkaStorageException": F,
            "OffsetNotAvailableException": F,
            "LeaderNotAvailableException": F,
            "FencedLeaderEpochException": F,
            "UnknownLeaderEpochException": F,
            "UnknownTopicOrPartitionException": F,
            "TimeoutException": R,
            "TopicAuthorizationException": X,
            "UnsupportedForMessageFormatException": X,
        },
    ),
    (
        JOIN_GROUP,
        {
            **OF_MEMBERS,
            "MemberIdRequiredException": Action.IDENTIFY,
            "RebalanceInProgressException": R,
            "GroupMaxSizeReachedException": X,
            "InconsistentGroupProtocolException": X,
            "InvalidSessionTimeoutException": X,
            "InvalidGroupIdException": X,
            "UnsupportedVersionException": X,
        },
    ),
    (
        SYNC_GROUP,
        {
            **OF_MEMBERS,
            "RebalanceInProgressException": Action.ROUND,
            "InconsistentGroupProtocolException": X,
        },
    ),
    (HEARTBEAT, {**OF_MEMBERS, "RebalanceInProgressException": Action.ROUND}),
]


@pytest.mark.parametrize(
    ("table", "name", "action"),
    [
        pytest.param(table, name, action, id=f"{table.api}-{name}")
        for table, rows in ROWS
        for name, action in rows.items()
    ],
)
def test_each_row_of_the_contract(table: ErrorTable, name: str, action: Action) -> None:
    """B43–B50, B70, B83–B86, B119, B126, B132: what the table of each API says of a code."""
    code = next(code for code, cls in by_code().items() if cls.__name__ == name)
    assert table.of(code) is action


@pytest.mark.parametrize(
    "table", [table for table, _ in ROWS], ids=lambda table: str(table.api)
)
@pytest.mark.parametrize("code", sorted(by_code()))
def test_a_code_outside_its_row_is_judged_by_its_class(table: ErrorTable, code: int) -> None:
    """Retriable: again, with fresh metadata where the class says so; else fatal."""
    assert table.of(0) is Action.DONE
    if code in table.rows:
        assert table.rows[code].reason
        return
    cls = by_code()[code]
    expected = (F if cls.refreshes_metadata else R) if cls.retriable else X
    assert table.of(code) is expected
    assert isinstance(table.error(code), cls)


@pytest.mark.parametrize(
    "table", [table for table, _ in ROWS], ids=lambda table: str(table.api)
)
def test_an_unknown_code_is_fatal_with_its_number(table: ErrorTable) -> None:
    """A broker newer than we are never makes a loop."""
    assert table.of(32000) is Action.FATAL
    assert table.error(32000).error_code == 32000


@pytest.mark.parametrize("code", sorted({*by_code(), 32000} - {0}))
def test_metadata_of_a_producers_topic_are_fatal_by_two_codes_alone(code: int) -> None:
    """B441: every other code is asked about again, also one that is not known."""
    fatal = {17, 29}
    expected = X if code in fatal else B if code == 129 else R
    assert PRODUCER_METADATA.of(code) is expected
    assert all(row.reason for row in PRODUCER_METADATA.rows.values())


def test_what_fences_a_member_becomes_commit_failed_with_its_cause() -> None:
    """B46: the text says whose the partitions are, the cause says what the broker said."""
    error = OFFSET_COMMIT.error(25)
    assert type(error) is errors.CommitFailedException
    assert type(error.__cause__) is errors.UnknownMemberIdException
    assert "not committed" in str(error)
