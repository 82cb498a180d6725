"""From a place to offsets: who is asked what, and what becomes of no answer."""

from collections.abc import Collection, Mapping

import pytest

from prokurist.errors import ConfigException, NoOffsetForPartitionException
from prokurist.spark.offset_resolution import ends, starts
from prokurist.spark.start_offsets import (
    AtOffsets,
    AtTime,
    AtTimes,
    Committed,
    Edge,
    Missing,
    Place,
    StartingOffsets,
)
from prokurist.types import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
BOTH = (A, B)


class Paper:
    """Logs on paper: a from 10 to 100 with a record at 50 for each time, b from 20 to 200."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def beginnings(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """See `OffsetLookup`."""
        self.asked.append(f"beginnings {len(partitions)}")
        return {tp: {A: 10, B: 20}[tp] for tp in partitions}

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `OffsetLookup`."""
        self.asked.append(f"ends {len(partitions)}")
        return {tp: {A: 100, B: 200}[tp] for tp in partitions}

    def at_times(
        self, moments: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """See `OffsetLookup`."""
        self.asked.append(f"times {sorted(moments.values())}")
        return {tp: 50 if tp == A else None for tp in moments}

    def committed(
        self, group: str | None, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        """See `OffsetLookup`."""
        self.asked.append(f"committed {group} {len(partitions)}")
        return {tp: 42 if tp == A else None for tp in partitions}


@pytest.mark.parametrize(
    ("beginning", "found", "asked"),
    [
        (StartingOffsets(Edge.EARLIEST), {A: 10, B: 20}, ["beginnings 2"]),
        (StartingOffsets(Edge.LATEST), {A: 100, B: 200}, ["ends 2"]),
        (StartingOffsets(AtOffsets({A: 3, B: 4})), {A: 3, B: 4}, []),
        (
            StartingOffsets(AtOffsets({A: -2, B: -1})),
            {A: 10, B: 200},
            ["beginnings 1", "ends 1"],
        ),
        (
            StartingOffsets(AtOffsets({A: 3}), unnamed=Missing.EARLIEST),
            {A: 3, B: 20},
            ["beginnings 1"],
        ),
        (
            StartingOffsets(AtOffsets({A: 3}), unnamed=Missing.LATEST),
            {A: 3, B: 200},
            ["ends 1"],
        ),
        (
            StartingOffsets(AtTime(7), Missing.LATEST),
            {A: 50, B: 200},
            ["times [7, 7]", "ends 1"],
        ),
        (
            StartingOffsets(AtTimes({A: 7, B: 8}), Missing.LATEST),
            {A: 50, B: 200},
            ["times [7, 8]", "ends 1"],
        ),
        (
            StartingOffsets(Committed("g"), unnamed=Missing.EARLIEST),
            {A: 42, B: 20},
            ["committed g 2", "beginnings 1"],
        ),
        (
            StartingOffsets(Committed(), unnamed=Missing.LATEST),
            {A: 42, B: 200},
            ["committed None 2", "ends 1"],
        ),
    ],
)
def test_a_beginning_becomes_offsets(
    beginning: StartingOffsets, found: dict[TopicPartition, int], asked: list[str]
) -> None:
    """Nothing is asked that is not needed."""
    logs = Paper()
    assert starts(beginning, BOTH, logs) == found
    assert logs.asked == asked


@pytest.mark.parametrize(
    ("place", "found"),
    [
        (Edge.LATEST, {A: 100, B: 200}),
        (AtOffsets({A: 30, B: -1}), {A: 30, B: 200}),
        (AtTime(7), {A: 50, B: 200}),
        (AtTimes({A: 7, B: 8}), {A: 50, B: 200}),
    ],
)
def test_an_end_becomes_offsets(place: Place, found: dict[TopicPartition, int]) -> None:
    """Where no record is as young as the time, it is the log's end."""
    assert ends(place, BOTH, Paper()) == found


@pytest.mark.parametrize(
    ("beginning", "why"),
    [
        (
            StartingOffsets(AtOffsets({A: 3})),
            "does not name t-1: name all partitions .* or set startingOffsetsMissing",
        ),
        (
            StartingOffsets(AtOffsets({A: 3, B: 4, TopicPartition("u", 0): 5})),
            "names u-0, which is not among the partitions that are read",
        ),
        (
            StartingOffsets(AtTimes({A: 3}), unnamed=Missing.EARLIEST),
            "startingOffsetsByTimestamp does not name t-1: name all partitions$",
        ),
        (
            StartingOffsets(AtTime(7)),
            "no record is as young as 7 .* in t-1: begin earlier, or set startingOffsetsBy",
        ),
    ],
)
def test_a_beginning_without_an_answer_is_refused(beginning: StartingOffsets, why: str) -> None:
    """It names the partitions and the way out."""
    with pytest.raises(ConfigException, match=why):
        starts(beginning, BOTH, Paper())


def test_an_end_that_names_other_partitions_is_refused() -> None:
    """There is no option that would make up for it."""
    with pytest.raises(
        ConfigException, match=r"endingOffsets does not name t-1: name all partit"
    ):
        ends(AtOffsets({A: 3}), BOTH, Paper())


@pytest.mark.parametrize(("group", "named"), [("g", "the group 'g'"), (None, "the group")])
def test_a_group_that_has_committed_nothing_is_no_beginning(
    group: str | None, named: str
) -> None:
    """Unless it is said where to begin then."""
    with pytest.raises(NoOffsetForPartitionException, match=f"{named} has committed") as caught:
        starts(StartingOffsets(Committed(group)), BOTH, Paper())
    assert caught.value.partitions == (B,)
