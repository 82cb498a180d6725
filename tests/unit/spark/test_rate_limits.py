"""How much a trigger takes: Spark's own numbers, and no partition starves."""

import csv
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import ConfigException
from prokurist.spark.rate_limits import Splits, TriggerLimits, duration_in, rate_limited
from prokurist.types import TopicPartition

ANSWERS = Path(__file__).with_name("jvm-rates.tsv")
TPS = [TopicPartition("t", number) for number in range(8)]


def by_number(offsets: list[int]) -> dict[TopicPartition, int]:
    """An offset for each partition, in order."""
    return dict(zip(TPS, offsets, strict=False))


@pytest.mark.parametrize(
    ("limit", "start", "latest", "ends"),
    [
        # 100 of 400: a quarter of each.
        (100, [0, 0], [300, 100], [75, 25]),
        # 10/3 and 20/3 of a thousandth part: rounded down.
        (10, [0, 0], [1000, 2000], [3, 6]),
        # Less than one is one: the small one does not starve, and the sum is above the limit.
        (10, [0, 0], [1_000_000, 1], [9, 1]),
        (1, [0, 0, 0], [10, 10, 10], [1, 1, 1]),
        # Never past the end.
        (1000, [0, 5], [10, 7], [10, 7]),
        # Where nothing is behind, the end stays; one that went back does as well.
        (10, [5, 0, 9], [5, 100, 4], [5, 10, 4]),
        (10, [5], [5], [5]),
        # Beyond 2^53 floating point decides, and no sum runs over.
        (2**63 - 1, [0], [2**62], [2**62]),
    ],
)
def test_a_limit_is_shared_by_what_is_behind(
    limit: int, start: list[int], latest: list[int], ends: list[int]
) -> None:
    """The formula of Spark's own source, worked out by hand."""
    limited = rate_limited(limit, by_number(start), by_number(latest))
    assert limited == by_number(ends)


def test_a_limit_is_shared_as_spark_s_own_source_shares_it() -> None:
    """Each line of the file: limit, starts, ends, and what the connector of 4.2.0 answered."""
    with ANSWERS.open(encoding="utf-8") as lines:
        rows = list(csv.reader(lines, delimiter="\t"))
    assert len(rows) > 80
    for limit, *lists in rows:
        start, latest, answer = (by_number([int(n) for n in each.split(",")]) for each in lists)
        assert rate_limited(int(limit), start, latest) == answer, (limit, start, latest)


def test_a_partition_whose_beginning_is_not_known_is_left_as_it_is() -> None:
    """It takes no part, and the planning will notice."""
    assert rate_limited(10, {TPS[0]: 0}, by_number([100, 100])) == by_number([10, 100])


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=8),
    st.integers(1, 10**9),
)
def test_no_partition_starves_or_goes_past_its_end(
    logs: list[tuple[int, int]], limit: int
) -> None:
    """Who is behind gets on; the sum is above the limit by one for each at most."""
    start = by_number([begin for begin, _ in logs])
    latest = by_number([begin + size for begin, size in logs])
    ends = rate_limited(limit, start, latest)
    for tp, end in ends.items():
        assert start[tp] <= end <= latest[tp]
        assert end > start[tp] or latest[tp] == start[tp]
    taken = sum(ends.values()) - sum(start.values())
    assert taken <= limit + len(logs)


@pytest.mark.parametrize(
    ("limits", "waited", "held"),
    [
        (TriggerLimits(), math.inf, False),
        (TriggerLimits(min_offsets=50), math.inf, False),
        (TriggerLimits(min_offsets=50), 0, False),
        (TriggerLimits(min_offsets=51), 0, True),
        (TriggerLimits(min_offsets=51), 899_999, True),
        (TriggerLimits(min_offsets=51), 900_000, False),
        (TriggerLimits(min_offsets=51, max_delay_ms=10), 10, False),
        (TriggerLimits(max_offsets=5), 0, False),
    ],
)
def test_a_trigger_waits_for_enough_but_not_for_ever(
    limits: TriggerLimits, waited: float, *, held: bool
) -> None:
    """Fifty are there; a partition that is new counts from 0."""
    start = {TPS[0]: 70}
    assert limits.holds_back(start, by_number([100, 20]), waited) is held


def test_a_trigger_goes_to_the_end_or_as_far_as_it_may() -> None:
    """Without a limit to the end."""
    start, latest = by_number([0]), by_number([100])
    assert TriggerLimits().end(start, latest) == latest
    assert TriggerLimits(max_offsets=7).end(start, latest) == by_number([7])


def test_limits_are_read_from_options() -> None:
    """Names are in lower case there, values are strings."""
    assert TriggerLimits.of({}) == TriggerLimits()
    assert TriggerLimits.of(
        {"maxoffsetspertrigger": "7", "minoffsetspertrigger": "7", "maxtriggerdelay": "2m"}
    ) == TriggerLimits(7, 7, 120_000)
    assert Splits.of({"minpartitions": "12", "maxrecordsperpartition": "9"}) == Splits(12, 9)
    assert Splits.of({}) == Splits()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"maxoffsetspertrigger": "0"}, "maxOffsetsPerTrigger is a number from 1 to .*'0'"),
        ({"maxoffsetspertrigger": "-5"}, "maxOffsetsPerTrigger"),
        ({"minoffsetspertrigger": "many"}, "minOffsetsPerTrigger is a number.*'many'"),
        ({"minoffsetspertrigger": "1e6"}, "minOffsetsPerTrigger is a number"),
        (
            {"minoffsetspertrigger": "8", "maxoffsetspertrigger": "7"},
            "minOffsetsPerTrigger=8 is above maxOffsetsPerTrigger=7",
        ),
        ({"maxtriggerdelay": "soon"}, "maxTriggerDelay is a duration.*'soon'"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(options: dict[str, str], why: str) -> None:
    """With the option and the value."""
    with pytest.raises(ConfigException, match=why):
        TriggerLimits.of(options)


@pytest.mark.parametrize("value", ["0", "-1", "2147483648", "", "²"])
def test_a_number_of_tasks_is_one_at_least(value: str) -> None:
    """And an int of Java's at most."""
    with pytest.raises(ConfigException, match="minPartitions is a number from 1 to 2147483647"):
        Splits.of({"minpartitions": value})


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("15m", 900_000),
        ("15min", 900_000),
        ("90s", 90_000),
        ("500ms", 500),
        ("500", 500),
        ("2H", 7_200_000),
        ("1d", 86_400_000),
        ("1500us", 1),
    ],
)
def test_a_duration_is_written_as_in_spark(text: str, meant: int) -> None:
    """One number, one unit; without one, milliseconds."""
    assert duration_in(text, "maxTriggerDelay") == meant


@pytest.mark.parametrize("text", ["", "m", "-1m", "1.5h", "1h30m", "5 parsecs"])
def test_another_duration_is_refused(text: str) -> None:
    """It names the forms."""
    with pytest.raises(ConfigException, match="such as 15m, 90s or 500ms"):
        duration_in(text, "maxTriggerDelay")
