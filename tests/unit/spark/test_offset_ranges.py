"""Ranges of offsets, cut as Spark's own source cuts them."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.spark.offset_ranges import OffsetRange, ranges_between, split
from prokurist.types import TopicPartition

ANSWERS = Path(__file__).with_name("jvm-splits.tsv")
SIZES = st.lists(st.integers(0, 10**12), min_size=0, max_size=8)


def ranges_of(sizes: list[int], start: int = 0) -> list[OffsetRange]:
    """A partition for each size."""
    return [
        OffsetRange(TopicPartition("t", number), start, start + size)
        for number, size in enumerate(sizes)
    ]


def told(ranges: list[OffsetRange]) -> str:
    """Ranges as the file of answers has them."""
    return " ".join(f"{each.partition.partition}:{each.start}-{each.end}" for each in ranges)


def answers() -> list[list[str]]:
    """What the connector of Spark 4.2.0 answered, asked by a program of ours."""
    with ANSWERS.open(encoding="utf-8") as lines:
        return list(csv.reader(lines, delimiter="\t"))


@pytest.mark.parametrize("row", answers(), ids=lambda row: " ".join(row[:3]))
def test_ranges_are_cut_where_spark_s_own_source_cuts_them(row: list[str]) -> None:
    """Each line of the file: sizes, `minPartitions`, `maxRecordsPerPartition`, its answer."""
    sizes, least, most, answer = row
    cut = split(
        ranges_of([int(size) for size in sizes.split(",")], start=100),
        min_partitions=int(least) if least else None,
        max_records=int(most) if most else None,
    )
    assert told(cut) == answer


def test_without_limits_each_range_is_a_task_and_empty_ones_are_none() -> None:
    """One task for each partition in which there is something."""
    assert told(split(ranges_of([5, 0, 3]))) == "0:0-5 2:0-3"
    backwards = OffsetRange(TopicPartition("t", 9), 7, 3)
    assert split([backwards], min_partitions=4, max_records=1) == []


def test_ranges_lie_between_starts_and_ends() -> None:
    """In order; a partition without a start has none."""
    tps = [TopicPartition("b", 0), TopicPartition("a", 1), TopicPartition("a", 0)]
    made = ranges_between({tps[0]: 1, tps[1]: 2}, dict.fromkeys(tps, 9))
    assert [str(each) for each in made] == ["a-1@2..9", "b-0@1..9"]


@given(SIZES, st.none() | st.integers(1, 200), st.none() | st.integers(10**10, 10**12))
def test_pieces_are_the_whole_without_gap_or_overlap(
    sizes: list[int], least: int | None, most: int | None
) -> None:
    """For any limits, each offset is read once."""
    pieces = split(ranges_of(sizes), min_partitions=least, max_records=most)
    for number, size in enumerate(sizes):
        reached = 0
        for piece in (each for each in pieces if each.partition.partition == number):
            assert piece.start == reached
            assert piece.size > 0
            reached = piece.end
        assert reached == size


@given(SIZES, st.integers(10**10, 10**12))
def test_no_piece_is_longer_than_the_limit(sizes: list[int], most: int) -> None:
    """And no partition is cut into more pieces than that takes."""
    pieces = split(ranges_of(sizes), max_records=most)
    assert all(piece.size <= most for piece in pieces)
    assert len(pieces) == sum(-(-size // most) for size in sizes)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=8), st.integers(1, 64))
def test_about_as_many_pieces_as_are_wanted(sizes: list[int], wanted: int) -> None:
    """Rounding is off by half a piece for each range at most, and none is left out."""
    pieces = split(ranges_of(sizes), min_partitions=wanted)
    assert {each.partition.partition for each in pieces} == set(range(len(sizes)))
    if len(sizes) >= wanted:
        assert len(pieces) == len(sizes)
    elif min(sizes) >= wanted:
        assert abs(len(pieces) - wanted) <= len(sizes)
