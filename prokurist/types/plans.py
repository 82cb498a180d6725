"""Plans of changes: of committed offsets, and of the brokers of partitions.

Thread: any; frozen values.
"""

from collections.abc import Mapping

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition
from prokurist.types.replicas import Reassignment

Replicas = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shift:
    """A number of offsets to go on from the committed one; back if it is negative.

    Attributes:
        by: The number.

    Raises:
        TypeError: It is no int.
    """

    by: int

    def __post_init__(self) -> None:
        if type(self.by) is not int:
            raise TypeError(f"by is an int, such as Shift(-100), not {self.by!r}")


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """The planned change of a committed offset.

    Attributes:
        before: The committed offset; None if there is none.
        after: The planned one, within the log.
        start: The start of the log.
        end: The end of the log.
        clamped: True if what was asked for lies outside of the log.
    """

    before: int | None
    after: int
    start: int
    end: int
    clamped: bool = False

    @property
    def skipped(self) -> int:
        """Records that would be skipped; negative if they would be read again."""
        begun = self.start if self.before is None else self.before
        return self.after - begun


@dataclass(frozen=True, slots=True)
class ReassignmentPlan:
    """A plan of moves.

    Attributes:
        before: The present brokers of each partition that changes; the way back.
        after: The planned brokers, the preferred leader first.
    """

    before: Mapping[TopicPartition, Replicas]
    after: Mapping[TopicPartition, Replicas]

    @property
    def copies(self) -> int:
        """Replicas that have to be copied to another broker."""
        return sum(
            len(set(brokers) - set(self.before[tp])) for tp, brokers in self.after.items()
        )

    def undone(self) -> "ReassignmentPlan":
        """The plan that leads back."""
        return ReassignmentPlan(self.after, self.before)


@dataclass(frozen=True, slots=True)
class ReassignmentProgress:
    """The state of a plan that was started.

    Attributes:
        moving: Partitions that are still being copied.
        done: Partitions at their planned brokers.
        differing: Partitions that are at rest, at other brokers than planned.
        throttle_removed: True if nothing is being copied any more, and the throttle of the plan
            is removed.
    """

    moving: Mapping[TopicPartition, Reassignment]
    done: tuple[TopicPartition, ...]
    differing: Mapping[TopicPartition, Replicas]
    throttle_removed: bool
