"""Resolution of places to offsets, by look-ups at the brokers.

Thread: the one that uses the consumer. One deadline bounds all look-ups made here.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from prokurist.errors import ConfigException, NoOffsetForPartitionException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.offset_json import EARLIEST, LATEST
from prokurist.spark.start_offsets import (
    OPTIONS,
    AtOffsets,
    AtTime,
    AtTimes,
    Committed,
    Edge,
    Missing,
    Names,
    Place,
    StartingOffsets,
)
from prokurist.types import TopicPartition, named


class OffsetLookup(Protocol):
    """Looks up offsets of logs and groups, within a time of its own."""

    def beginnings(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """The first offset of each log."""
        ...

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The offset after the last record of each log."""
        ...

    def at_times(
        self, moments: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """The first offset at or after a time; None where no record is as young."""
        ...

    def committed(
        self, group: str | None, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        """The committed offsets of a group; None for a partition without one."""
        ...


def starts(
    beginning: StartingOffsets,
    partitions: Collection[TopicPartition],
    logs: OffsetLookup,
    names: Names = OPTIONS,
) -> dict[TopicPartition, int]:
    """Resolve a place to start offsets.

    Args:
        beginning: Where that is.
        partitions: All that are read.
        logs: Who is asked.
        names: The user's terms, for errors.

    Raises:
        ConfigException: The JSON names other partitions than those that are read, or no
            record is as young as a time that is asked for.
        KafkaException: The brokers do not tell.
        NoOffsetForPartitionException: The group has committed nothing for a partition.
    """
    return _Resolving(logs, partitions, names).starts(beginning)


def ends(
    place: Place,
    partitions: Collection[TopicPartition],
    logs: OffsetLookup,
    names: Names = OPTIONS,
) -> dict[TopicPartition, int]:
    """Resolve a place to end offsets of a batch.

    Raises:
        ConfigException: The JSON names other partitions than those that are read.
        KafkaException: The brokers do not tell.
    """
    return _Resolving(logs, partitions, names).ends(place)


@dataclass(frozen=True, slots=True)
class _Resolving:
    logs: OffsetLookup
    partitions: Collection[TopicPartition]
    names: Names

    def starts(self, beginning: StartingOffsets) -> dict[TopicPartition, int]:
        match beginning.place:
            case AtOffsets(offsets):
                wanted = self._matched(offsets, self.names.start, beginning.unnamed)
                return self._with_edges(wanted)
            case AtTime(moment):
                return self._at(dict.fromkeys(self.partitions, moment), beginning.no_record)
            case AtTimes(moments):
                asked = self._matched(moments, self.names.start_times, Missing.ERROR)
                return self._at(asked, beginning.no_record)
            case Committed(group):
                return self._committed(group, beginning.unnamed)
            case edge:
                return self._edge(edge, self.partitions)

    def ends(self, place: Place) -> dict[TopicPartition, int]:
        match place:
            case AtOffsets(offsets):
                return self._with_edges(self._matched(offsets, self.names.end, Missing.ERROR))
            case AtTime(moment):
                return self._at(dict.fromkeys(self.partitions, moment), Missing.LATEST)
            case AtTimes(moments):
                asked = self._matched(moments, self.names.end_times, Missing.ERROR)
                return self._at(asked, Missing.LATEST)
            case Committed(group):
                return self._committed(group, Missing.ERROR)
            case edge:
                return self._edge(edge, self.partitions)

    def _matched(
        self, given: Mapping[TopicPartition, int], name: str, unnamed: Missing
    ) -> dict[TopicPartition, int]:
        """The given offsets for just the partitions that are read."""
        if strange := given.keys() - set(self.partitions):
            raise ConfigException(
                f"{name} names {named(strange)}, which is not among the partitions that are "
                f"read ({named(self.partitions)}): take it out, or subscribe to it"
            )
        lacking = set(self.partitions) - given.keys()
        if not lacking:
            return dict(given)
        if unnamed is Missing.ERROR:
            way_out = (
                f" (-1 for latest, -2 for earliest), or set {self.names.unnamed} to earliest "
                "or latest"
                if name == self.names.start
                else ""
            )
            raise ConfigException(
                f"{name} does not name {named(lacking)}: name all partitions{way_out}"
            )
        offset = EARLIEST if unnamed is Missing.EARLIEST else LATEST
        return dict(given) | dict.fromkeys(lacking, offset)

    def _with_edges(self, given: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        found = dict(given)
        for edge, meant in ((Edge.EARLIEST, EARLIEST), (Edge.LATEST, LATEST)):
            asked = [tp for tp, offset in given.items() if offset == meant]
            found.update(self._edge(edge, asked))
        return found

    def _at(
        self, moments: Mapping[TopicPartition, int], no_record: Missing
    ) -> dict[TopicPartition, int]:
        found = self.logs.at_times(moments)
        none = [tp for tp in moments if found[tp] is None]
        if none and no_record is Missing.ERROR:
            first = min(none)
            raise ConfigException(
                f"no record is as young as {moments[first]} (milliseconds since the epoch) in "
                f"{named(none)}: begin earlier, or set {self.names.no_record} to latest"
            )
        return {tp: offset for tp, offset in found.items() if offset is not None} | self._edge(
            Edge.LATEST, none
        )

    def _committed(self, group: str | None, unnamed: Missing) -> dict[TopicPartition, int]:
        found = self.logs.committed(group, self.partitions)
        none = [tp for tp in self.partitions if found[tp] is None]
        if none and unnamed is Missing.ERROR:
            raise NoOffsetForPartitionException(
                f"{'the group' if group is None else f'the group {group!r}'} has committed "
                f"nothing for {named(none)}: begin elsewhere, or set {self.names.unnamed} to "
                "earliest or latest",
                partitions=tuple(sorted(none)),
            )
        edge = Edge.EARLIEST if unnamed is Missing.EARLIEST else Edge.LATEST
        return {tp: offset for tp, offset in found.items() if offset is not None} | self._edge(
            edge, none
        )

    def _edge(
        self, edge: Edge, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        if not (asked := list(partitions)):
            return {}
        ask = self.logs.beginnings if edge is Edge.EARLIEST else self.logs.ends
        return dict(ask(asked))
