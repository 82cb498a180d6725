"""Coordinator errors about groups: consumer, share and streams groups."""

from prokurist.errors.tree import ApiException, RetriableException


class CoordinatorLoadInProgressException(RetriableException):
    """The coordinator is still reading its log and cannot answer yet."""

    error_code: int | None = 14


class CoordinatorNotAvailableException(RetriableException):
    """No broker coordinates the group just now, or the one that does cannot write its log."""

    error_code: int | None = 15


class NotCoordinatorException(RetriableException):
    """The coordinator has moved to another broker."""

    error_code: int | None = 16


class IllegalGenerationException(ApiException):
    """The member speaks for a generation of the group that is over."""

    error_code: int | None = 22


class InconsistentGroupProtocolException(ApiException):
    """The member shares no protocol with the rest of its group."""

    error_code: int | None = 23


class InvalidGroupIdException(ApiException):
    """The group id is empty, or there is none where one is needed."""

    error_code: int | None = 24


class UnknownMemberIdException(ApiException):
    """The coordinator does not count this member, or no longer."""

    error_code: int | None = 25


class InvalidSessionTimeoutException(ApiException):
    """`session.timeout.ms` lies outside what the broker allows."""

    error_code: int | None = 26


class RebalanceInProgressException(ApiException):
    """The group is rebalancing: poll, and the member takes its part."""

    error_code: int | None = 27


class InvalidCommitOffsetSizeException(ApiException):
    """A commit is larger than the coordinator takes."""

    error_code: int | None = 28


class GroupNotEmptyException(ApiException):
    """The group still has members."""

    error_code: int | None = 68


class GroupIdNotFoundException(ApiException):
    """There is no such group."""

    error_code: int | None = 69


class MemberIdRequiredException(ApiException):
    """The coordinator has given a member id: join again with it."""

    error_code: int | None = 79


class GroupMaxSizeReachedException(ApiException):
    """The group has as many members as it may."""

    error_code: int | None = 81


class FencedInstanceIdException(ApiException):
    """Another member has taken this `group.instance.id`: this one is out."""

    error_code: int | None = 82
    fatal: bool = True


class GroupSubscribedToTopicException(ApiException):
    """The group still reads the topic whose offsets were to be deleted."""

    error_code: int | None = 86


class UnstableOffsetCommitException(RetriableException):
    """A transaction has yet to settle the offsets that were asked for."""

    error_code: int | None = 88


class FencedMemberEpochException(ApiException):
    """The member's epoch is over: it has to join again from nothing."""

    error_code: int | None = 110


class UnreleasedInstanceIdException(ApiException):
    """The `group.instance.id` still belongs to a member that has not left."""

    error_code: int | None = 111


class UnsupportedAssignorException(ApiException):
    """The broker has no assignor of the name in `group.remote.assignor`."""

    error_code: int | None = 112


class StaleMemberEpochException(ApiException):
    """The member's epoch has moved on since the request was made."""

    error_code: int | None = 113


class InvalidRecordStateException(ApiException):
    """A record of a share group is not in the state that this needs."""

    error_code: int | None = 121


class ShareSessionNotFoundException(RetriableException):
    """The broker has dropped the share session."""

    error_code: int | None = 122


class InvalidShareSessionEpochException(RetriableException):
    """A request came out of turn in its share session."""

    error_code: int | None = 123


class FencedStateEpochException(ApiException):
    """The share coordinator has a newer epoch of the state."""

    error_code: int | None = 124


class InvalidRegularExpression(ApiException):
    """The broker cannot read the regular expression of a subscription."""

    error_code: int | None = 128


class StreamsInvalidTopologyException(ApiException):
    """A streams group's topology cannot be used."""

    error_code: int | None = 130


class StreamsInvalidTopologyEpochException(ApiException):
    """A streams group's topology has another epoch."""

    error_code: int | None = 131


class StreamsTopologyFencedException(ApiException):
    """A streams group has a newer topology."""

    error_code: int | None = 132


class ShareSessionLimitReachedException(RetriableException):
    """The broker keeps no more share sessions."""

    error_code: int | None = 133


class GroupDeletionFailedException(ApiException):
    """The group could not be deleted."""

    error_code: int | None = 134


class StreamsTopologyDescriptionUpdateFailedException(ApiException):
    """A streams group's description could not be stored."""

    error_code: int | None = 135
