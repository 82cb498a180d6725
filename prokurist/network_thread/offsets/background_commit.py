"""Automatic commits: a snapshot of positions, tried again until the coordinator has it.

Thread: the network thread alone. The application thread chooses the positions, at the start of
a poll; here a snapshot is never made newer.

It may become too old instead. Between two of its attempts the user may commit by hand, or newer
positions may go out: a repetition of the old ones would set the group back. So each later
commit takes its partitions out of every snapshot under way, and an empty snapshot has ended. An
attempt that is on the wire already does no harm: the later commit is behind it, on the same
connection, and a broker takes one after the other.
"""

from collections.abc import Iterable

from prokurist.events.application_events import AutoCommit
from prokurist.events.call import Call
from prokurist.network_thread.error_actions import UNASKED_COMMIT
from prokurist.network_thread.offsets.commit_manager import CommitManager
from prokurist.types import OffsetAndMetadata, TopicPartition


class BackgroundCommits:
    """Retries snapshots of positions until they are committed or newer ones replace them."""

    def __init__(self, commits: CommitManager) -> None:
        self._commits = commits
        self._overtaken: dict[Call, set[TopicPartition]] = {}

    async def commit(self, wish: AutoCommit) -> dict[TopicPartition, OffsetAndMetadata]:
        """Commit a snapshot, without partitions replaced between two attempts.

        Returns:
            The committed offsets.
        """
        overtaken = self._overtaken[wish.call] = set()
        try:
            return await self._commits.commit(
                wish.call,
                wish.offsets,
                wish.identity,
                wish.topics,
                kind="auto",
                overtaken=overtaken,
                table=UNASKED_COMMIT,
            )
        finally:
            del self._overtaken[wish.call]

    def overtake(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop retrying snapshots for these partitions.

        They are committed by a newer commit, or were of a topic that was deleted.
        """
        later = frozenset(partitions)
        for each in self._overtaken.values():
            each.update(later)

    def __repr__(self) -> str:
        return f"BackgroundCommits({len(self._overtaken)} under way)"
