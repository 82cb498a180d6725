"""In whose name the group is asked: bound to the membership in which it was wished.

Thread: the network thread alone.

A commit says who we were when it was made. Its attempts may speak with a newer epoch
as long as the membership is the same and everything in it is still ours: then nobody
else can have gone on from there. Otherwise it has failed, and is never sent with a
newer stamp on old offsets.
"""

from collections.abc import Callable, Collection

from prokurist.errors import CommitFailedException, RebalanceInProgressException
from prokurist.events.membership import Enrolment, Identity, Role
from prokurist.types import TopicPartition


class Stamps:
    """See the module.

    Args:
        enrolment: Who we are.
        owned: What the group has given us, and has not got back.
    """

    def __init__(
        self, enrolment: Enrolment, owned: Callable[[], frozenset[TopicPartition]]
    ) -> None:
        self._enrolment = enrolment
        self._owned = owned

    @property
    def present(self) -> Identity:
        """Who we are now."""
        return self._enrolment.identity

    def of(self, made_by: Identity, partitions: Collection[TopicPartition]) -> Identity:
        """In whose name a commit is sent that somebody has made.

        Raises:
            CommitFailedException: He was not, or is not any more, in the group.
            RebalanceInProgressException: He has to wait for the next generation.
        """
        if made_by.role is Role.ALONE:
            return made_by
        if made_by.role is Role.REBALANCING:
            raise RebalanceInProgressException(
                "the group is sharing its partitions out anew: poll, which takes part in "
                "that, and commit afterwards"
            )
        if made_by.role is Role.OUTSIDE or not self.is_same(made_by):
            raise CommitFailedException(
                "this consumer is not, or not any more, the member that the offsets were to be "
                "committed by: it has yet to join, or was put out of the group. Its partitions "
                "may be another's; the next poll joins again"
            )
        return self.present if self.may_renew(made_by, partitions) else made_by

    def is_same(self, made_by: Identity) -> bool:
        """Whether the membership has gone on since."""
        return self.present.incarnation == made_by.incarnation

    def may_renew(self, made_by: Identity, partitions: Collection[TopicPartition]) -> bool:
        """Whether these may be committed with whatever epoch there is now."""
        return (
            made_by.by_epoch
            and self.present.by_epoch
            and self.is_same(made_by)
            and self._owned().issuperset(partitions)
        )

    def may_ask_again(self, asked_by: Identity) -> bool:
        """Whether a look-up that was refused for its epoch may have a newer one."""
        return asked_by.by_epoch and self.is_same(asked_by)

    def __repr__(self) -> str:
        return f"Stamps({self._enrolment})"
