"""CONTRACT, errors per request: every row, every code, and codes nobody knows."""

import pytest

from prokurist import errors
from prokurist.errors.codes import by_code
from prokurist.network_thread.verdicts import (
    CONSUMER_GROUP_HEARTBEAT,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
    SYNC_GROUP,
    Verdict,
    Verdicts,
)

D, R, F, M, C, E, B, N, X = (
    Verdict.DONE,
    Verdict.RETRY,
    Verdict.REFRESH,
    Verdict.REDISCOVER,
    Verdict.COMMIT_FAILED,
    Verdict.RENEW,
    Verdict.REBOOTSTRAP,
    Verdict.NOTHING,
    Verdict.FATAL,
)

OF_MEMBERS = {
    "CoordinatorLoadInProgressException": R,
    "CoordinatorNotAvailableException": M,
    "NotCoordinatorException": M,
    "UnknownMemberIdException": Verdict.RESET,
    "IllegalGenerationException": Verdict.OUTDATED,
    "GroupAuthorizationException": X,
    "FencedInstanceIdException": X,
}

ROWS: list[tuple[Verdicts, dict[str, Verdict]]] = [
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
            "UnreleasedInstanceIdException": Verdict.UNRELEASED,
            "GroupIdNotFoundException": X,
            "TopicAuthorizationException": Verdict.SURFACE,
            "GroupAuthorizationException": X,
            "InvalidRequestException": X,
            "GroupMaxSizeReachedException": X,
            "UnsupportedAssignorException": X,
            "UnsupportedVersionException": X,
            "FencedInstanceIdException": X,
            "InvalidRegularExpression": X,
            "FencedMemberEpochException": Verdict.REJOIN,
            "UnknownMemberIdException": Verdict.REJOIN,
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
            "MemberIdRequiredException": Verdict.IDENTIFY,
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
            "RebalanceInProgressException": Verdict.ROUND,
            "InconsistentGroupProtocolException": X,
        },
    ),
    (HEARTBEAT, {**OF_MEMBERS, "RebalanceInProgressException": Verdict.ROUND}),
]


@pytest.mark.parametrize(
    ("table", "name", "verdict"),
    [
        pytest.param(table, name, verdict, id=f"{table.api}-{name}")
        for table, rows in ROWS
        for name, verdict in rows.items()
    ],
)
def test_each_row_of_the_contract(table: Verdicts, name: str, verdict: Verdict) -> None:
    """B43–B50, B70, B83–B86, B119, B126, B132: what the table of each API says of a code."""
    code = next(code for code, cls in by_code().items() if cls.__name__ == name)
    assert table.of(code) is verdict


@pytest.mark.parametrize(
    "table", [table for table, _ in ROWS], ids=lambda table: str(table.api)
)
@pytest.mark.parametrize("code", sorted(by_code()))
def test_a_code_outside_its_row_is_judged_by_its_class(table: Verdicts, code: int) -> None:
    """Retriable: again, with fresh metadata where the class says so; else fatal."""
    assert table.of(0) is Verdict.DONE
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
def test_a_code_that_nobody_knows_is_fatal_with_its_number(table: Verdicts) -> None:
    """A broker newer than we are never makes a loop."""
    assert table.of(32000) is Verdict.FATAL
    assert table.error(32000).error_code == 32000


def test_what_fences_a_member_becomes_commit_failed_with_its_cause() -> None:
    """B46: the text says whose the partitions are, the cause says what the broker said."""
    error = OFFSET_COMMIT.error(25)
    assert type(error) is errors.CommitFailedException
    assert type(error.__cause__) is errors.UnknownMemberIdException
    assert "not committed" in str(error)
