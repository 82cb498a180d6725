"""The table of assigned partitions as a consumer has it, without the consumer."""

from prokurist.config import OffsetReset
from prokurist.events.assigned import Assigned
from prokurist.events.committable import Committable, CommittableState
from prokurist.events.fetching import Fetching
from prokurist.events.positions import Positions
from prokurist.events.topic_ids import TopicIds


class ConsumerTable:
    """Assigned partitions, with positions and offsets to commit.

    Args:
        policy: `auto.offset.reset`.
        stores: True if commits take stored offsets.
    """

    def __init__(self, policy: OffsetReset, *, stores: bool = False) -> None:
        self.assigned: Assigned[CommittableState] = Assigned(CommittableState)
        self.positions: Positions = Positions(self.assigned, policy)
        self.topic_ids: TopicIds = TopicIds(self.positions)
        self.fetching: Fetching = Fetching(self.positions)
        self.committable: Committable = Committable(
            self.assigned, self.topic_ids, stores=stores
        )
