"""The topics of a selection, as a broker lists them.

Thread: any; frozen values and pure functions.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from prokurist.errors import UnknownTopicOrPartitionException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.source.partition_selection import Matching, Selection, Topics
from prokurist.types import PartitionInfo, TopicPartition, named


@dataclass(frozen=True, slots=True)
class Listing:
    """What a broker lists of a selection.

    Attributes:
        partitions: The partitions that are selected and exist, in order.
        topic_ids: The id of each of their topics; None where brokers tell none.
        missing: Topics that are selected by name, and do not exist.
        lacking: Partitions that are selected by number, and that their topic does not have.
        refused: Topics that exist, as far as is known, and that the user may not see.
    """

    partitions: tuple[TopicPartition, ...]
    topic_ids: Mapping[str, UUID | None]
    missing: tuple[str, ...] = ()
    lacking: tuple[TopicPartition, ...] = ()
    refused: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        listed: Mapping[str, Sequence[PartitionInfo]],
        selection: Selection,
        refused: frozenset[str] = frozenset(),
    ) -> "Listing":
        """Read a broker's list.

        Args:
            listed: Topics of the selection, and perhaps others.
            selection: Which are wanted.
            refused: See `Listing`.
        """
        there = sorted(
            tp
            for name, infos in listed.items()
            for each in infos
            if selection.selects(tp := TopicPartition(name, each.partition))
        )
        ids = {name: infos[0].topic_id for name, infos in listed.items() if infos}
        wanted: Iterable[str] = ()
        numbers: Iterable[TopicPartition] = ()
        if isinstance(selection, Topics):
            wanted = selection.names
        elif not isinstance(selection, Matching):
            numbers = set(selection.partitions) - set(there)
            wanted = {tp.topic for tp in selection.partitions}
        return cls(
            tuple(there),
            ids,
            tuple(sorted(name for name in wanted if name not in ids)),
            tuple(sorted(tp for tp in numbers if tp.topic in ids)),
            refused,
        )

    @property
    def known_ids(self) -> dict[str, UUID]:
        """The ids that brokers tell."""
        return {name: each for name, each in self.topic_ids.items() if each is not None}

    def recreated(self, former: Mapping[str, UUID]) -> list[str]:
        """Topics that are others than those with these ids."""
        ids = self.known_ids
        return sorted(name for name, each in ids.items() if former.get(name, each) != each)

    def check(self) -> None:
        """Raise if what is selected by name does not exist.

        Raises:
            UnknownTopicOrPartitionException: That is so.
        """
        if words := self.absence():
            raise UnknownTopicOrPartitionException(words)

    def absence(self, places: Collection[TopicPartition] = ()) -> str:
        """Return, in words, what is selected by name and does not exist; empty without any.

        Args:
            places: Partitions that are passed over: they did exist.
        """
        known = {tp.topic for tp in places}
        if missing := [name for name in self.missing if name not in known]:
            those = ", ".join(map(repr, missing))
            return (
                f"there is no topic {those}, or none that this user may describe: create what "
                f"is to be read, or take it off the selection"
            )
        if lacking := [tp for tp in self.lacking if tp not in places]:
            return (
                f"{named(lacking)} does not exist, although the topic does: assign "
                f"partitions that the topic has"
            )
        return ""
