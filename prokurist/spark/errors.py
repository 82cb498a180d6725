"""Errors of the manager of offsets and of the sink, and losses found in logs.

Thread: any.
"""

from collections.abc import Mapping, Sequence

from prokurist.errors import CommitFailedException, KafkaException
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition, counted


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets that were to be read and are not in their log.

    Attributes:
        partition: The partition.
        wanted: From where on it was to be read, or, of the end of a plan, up to where.
        beginning: Where the log begins.
        end: Where it ends.
    """

    partition: TopicPartition
    wanted: int
    beginning: int
    end: int

    def __str__(self) -> str:
        log = f"its log has {self.beginning} to {self.end}"
        if self.wanted < self.beginning:
            gone = self.beginning - self.wanted
            offsets = f"{counted(gone, 'offset')} {'is' if gone == 1 else 'are'} gone"
            return f"{self.partition} from {self.wanted} on: {log}, so {offsets}"
        return (
            f"{self.partition} at {self.wanted}: {log}, so it was cut back, or the topic was "
            f"created again"
        )


class DataLossException(KafkaException):
    """Records that were to be read are not there any more.

    Attributes:
        losses: The losses, by partition.
    """

    def __init__(self, message: str = "", *, losses: Sequence[Loss] = ()) -> None:
        super().__init__(message)
        self.losses: tuple[Loss, ...] = tuple(losses)


class GroupInUseException(CommitFailedException):
    """The group has live members, so that another client may not commit for it.

    Attributes:
        group: Its name.
    """

    def __init__(self, message: str = "", *, group: str = "") -> None:
        super().__init__(message)
        self.group = group


class CommitBackwardsException(KafkaException):
    """A commit would have taken the group back; nothing was committed.

    Attributes:
        committed: Where the group is, for each partition that would have gone back.
        wanted: Where it would have gone.
    """

    def __init__(
        self,
        message: str = "",
        *,
        committed: Mapping[TopicPartition, int] | None = None,
        wanted: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.committed: dict[TopicPartition, int] = dict(committed or {})
        self.wanted: dict[TopicPartition, int] = dict(wanted or {})


class CheckpointException(KafkaException):
    """A checkpoint that cannot be read, or has nothing of Kafka in it."""


class SinkRowException(KafkaException):
    """A row that cannot be written anywhere: its topic is null, or its partition negative."""


class LedgerException(KafkaException):
    """The ledger of exactly once does not show what was written before; nothing is written."""
