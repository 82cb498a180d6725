"""Chooses the member id and the epoch for a commit, by the membership of its beginning.

Thread: the network thread alone.

A commit carries the identity of its beginning. Its attempts may carry a newer epoch as long as
the membership is the same and all its partitions are still owned: then no other member can have
gone on from there. Otherwise it has failed, and is never sent with a newer epoch on old
offsets.

Under the classic protocol a new generation ends the commits of older ones, also those of a
member that takes part in it: their caller gets a rebalance error, and commits again after the
next poll. The last commit of a member, in `close` or `unsubscribe`, has no next poll. It
follows the member into the new generation, for partitions owned throughout (with a cooperative
assignor).
"""

from collections.abc import Callable, Collection
from typing import Final

from prokurist.errors import (
    CommitFailedException,
    KafkaException,
    RebalanceInProgressException,
)
from prokurist.events.member_identity import Identity, MemberIdentity, Role
from prokurist.network_thread.error_actions import commit_failed
from prokurist.network_thread.operations.signal import Signal
from prokurist.types import TopicPartition

FENCED_INSTANCE_ID: Final = 82
UNKNOWN_MEMBER_ID: Final = 25
ILLEGAL_GENERATION: Final = 22
REBALANCE_IN_PROGRESS: Final = 27

OF_CLASSIC_MEMBERS: Final = (
    FENCED_INSTANCE_ID,
    UNKNOWN_MEMBER_ID,
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
)
OF_MEMBERS_BY_EPOCH: Final = (FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID)
"""Codes of a commit that speak of the membership, as the answer to a heartbeat would."""

NOT_COUNTED: Final = (
    "Commit rejected: this consumer is no longer, or not yet, the member of the group that "
    "the offsets were to be committed by. Its partitions may be assigned to another member "
    "by now"
)

MEMBERSHIP_FAILED: Final = (
    "Commit rejected: this consumer is no longer a member of the group, since its membership "
    "has ended with an error, which poll() raises until unsubscribe()"
)


def not_counted(made_by: Identity, fatal: KafkaException | None) -> CommitFailedException:
    """The error for a commit in the name of a membership that is not the present one.

    Args:
        made_by: The identity at the time of the commit.
        fatal: The error that ended the membership for good.
    """
    if fatal is not None:
        ended = CommitFailedException(f"{MEMBERSHIP_FAILED}: {fatal}")
        ended.__cause__ = fatal
        return ended
    if made_by.departing:
        return CommitFailedException(NOT_COUNTED)  # There is no poll that would rejoin.
    return CommitFailedException(f"{NOT_COUNTED}. Call poll() to rejoin")


class CommitIdentities:
    """Chooses the identity of a commit's request, or refuses it.

    Args:
        member_identity: Who we are.
        owned: Returns the partitions that the group has assigned.
        fatal: The error that ended the membership for good, or None.

    Attributes:
        refused: Emits an error code about the present membership, and True if the member is
            about to leave.
    """

    def __init__(
        self,
        member_identity: MemberIdentity,
        owned: Callable[[], frozenset[TopicPartition]],
        fatal: Callable[[], KafkaException | None],
    ) -> None:
        self._member_identity = member_identity
        self._owned = owned
        self._fatal = fatal
        self.refused: Signal[int, bool] = Signal()

    @property
    def present(self) -> Identity:
        """The member's identity at this moment."""
        return self._member_identity.identity

    def of(self, made_by: Identity, partitions: Collection[TopicPartition]) -> Identity:
        """Return the identity for an attempt of a commit.

        Args:
            made_by: The identity at the time of the commit.
            partitions: The partitions of the commit.

        Raises:
            CommitFailedException: The member was not, or is no longer, in the group.
            RebalanceInProgressException: The group is, or was meanwhile, rebalancing.
        """
        if made_by.role is Role.ALONE:
            return made_by
        if made_by.role is Role.REBALANCING:
            raise RebalanceInProgressException(
                "Commit rejected: the group is rebalancing. Call poll(), which takes part in "
                "that, and commit what is still assigned then"
            )
        if made_by.role is Role.OUTSIDE:
            raise not_counted(made_by, self._fatal())
        if self.may_renew(made_by, partitions):
            present = self.present
            return present if present.role is Role.MEMBER else made_by
        if not self.is_same(made_by):
            raise self.refusal(made_by, partitions)
        return made_by

    def is_same(self, made_by: Identity) -> bool:
        """Return True if the membership is still the same."""
        return self.present.incarnation == made_by.incarnation

    def may_renew(self, made_by: Identity, partitions: Collection[TopicPartition]) -> bool:
        """Return True if these partitions may be committed with the present epoch."""
        if made_by.by_epoch:
            return (
                self.present.by_epoch
                and self.is_same(made_by)
                and self._owned().issuperset(partitions)
            )
        return made_by.departing and self._is_still_in(made_by, partitions)

    def may_go_on(
        self, made_by: Identity, sent_as: Identity, partitions: Collection[TopicPartition]
    ) -> bool:
        """Return True if another attempt may follow one that was refused for its epoch.

        A classic member in the refused generation has no newer one to come; a member in a
        rebalance has.
        """
        present = self.present
        is_newer = present.role is Role.REBALANCING or present.epoch != sent_as.epoch
        return self.may_renew(made_by, partitions) and (made_by.by_epoch or is_newer)

    def _is_still_in(self, made_by: Identity, partitions: Collection[TopicPartition]) -> bool:
        """Return True if a classic member still has the same id, and owns these partitions."""
        present = self.present
        return (
            present.is_counted
            and not present.by_epoch
            and present.member_id == made_by.member_id
            and self._owned().issuperset(partitions)
        )

    def refusal(
        self,
        made_by: Identity,
        partitions: Collection[TopicPartition],
        error: KafkaException | None = None,
    ) -> KafkaException:
        """The error for a commit after a rebalance, or after the member's end.

        Args:
            made_by: The identity at the time of the commit.
            partitions: The partitions of the commit.
            error: The coordinator's error, where it was asked.
        """
        refused: KafkaException
        if isinstance(error, RebalanceInProgressException):
            if not made_by.departing:
                return error  # It says that a poll takes part in the round.
            refused = RebalanceInProgressException(
                "Commit rejected: the group is rebalancing, and this consumer leaves it"
            )
        elif not made_by.by_epoch and self._is_still_in(made_by, partitions):
            refused = RebalanceInProgressException(
                "Commit rejected: the group has rebalanced since, and this consumer still owns "
                "these partitions. Call poll(), and commit what is still assigned then"
            )
        elif error is not None:
            return commit_failed(error)
        else:
            return not_counted(made_by, self._fatal())
        refused.__cause__ = error
        return refused

    def heed(self, made_by: Identity, sent_as: Identity, codes: Collection[int]) -> None:
        """Pass a refused commit's codes to the membership, before its caller gets the error.

        The caller polls next, and must not read partitions that may be another member's by
        then. An error about an earlier membership is no news of the present one; nor is it for
        a member in a rebalance, which learns its state from that.

        Args:
            made_by: The identity at the time of the commit.
            sent_as: The identity in the request.
            codes: Error codes of its partitions.
        """
        spoken = OF_MEMBERS_BY_EPOCH if sent_as.by_epoch else OF_CLASSIC_MEMBERS
        code = next((each for each in spoken if each in codes), None)
        present = self.present
        is_present = (
            present.role is Role.MEMBER
            and self.is_same(sent_as)
            and present.epoch == sent_as.epoch
        )
        if code is not None and is_present:
            self.refused.emit(code, made_by.departing)

    def may_ask_again(self, asked_by: Identity) -> bool:
        """Return True if a look-up refused for its epoch may be sent with a newer one."""
        return asked_by.by_epoch and self.is_same(asked_by)

    def __repr__(self) -> str:
        return f"CommitIdentities({self._member_identity})"
