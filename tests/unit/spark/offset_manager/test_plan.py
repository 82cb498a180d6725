"""Plans: what a reader is told, and text that becomes the same plan again."""

import json
from typing import Any
from uuid import UUID

import pytest

from prokurist.errors import ConfigException
from prokurist.spark.errors import Loss
from prokurist.spark.offset_manager.plan import OffsetPlan
from prokurist.spark.rate_limits import Splits
from prokurist.types import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
PLAN = OffsetPlan(
    bootstrap_servers="b1:9092,b2:9092",
    group="billing",
    starts={U0: 0, T0: 5, T1: 7},
    ends={U0: 10, T0: 25, T1: 7},
    log_starts={U0: 0, T0: 2, T1: 0},
    log_ends={U0: 10, T0: 30, T1: 7},
    leader_epochs={T0: 3, T1: 0},
    topic_ids={"t": UUID(int=7)},
    made_at=1_700_000_000_000,
    splits=Splits(4, 8),
    losses=(Loss(T0, 1, 2, 30),),
)
BARE = OffsetPlan("b:9092", None, {T0: 5}, {T0: 5}, {T0: 0}, {T0: 5})


@pytest.mark.parametrize("plan", [PLAN, BARE], ids=["full", "bare"])
def test_a_plan_is_the_same_after_its_text(plan: OffsetPlan) -> None:
    """Everything that it holds, and equal plans are equal text."""
    again = OffsetPlan.from_json(plan.to_json())
    assert again == plan
    assert again.to_json() == plan.to_json()


def test_a_reader_is_told_what_is_pinned() -> None:
    """In Spark's own options, partitions in order; those without an offset are named too."""
    assert PLAN.options() == {
        "kafka.bootstrap.servers": "b1:9092,b2:9092",
        "assign": '{"t": [0, 1], "u": [0]}',
        "startingOffsets": '{"t": {"0": 5, "1": 7}, "u": {"0": 0}}',
        "endingOffsets": '{"t": {"0": 25, "1": 7}, "u": {"0": 10}}',
        "minPartitions": "4",
        "maxRecordsPerPartition": "8",
    }
    assert "minPartitions" not in BARE.options()


def test_a_plan_knows_how_much_it_is() -> None:
    """Offsets all in all, whether there are any, and the tasks that will read them."""
    assert (PLAN.size, bool(PLAN)) == (30, True)
    assert (BARE.size, bool(BARE)) == (0, False)
    assert PLAN.partitions == [T0, T1, U0]
    assert [str(each) for each in PLAN.ranges()] == [
        "t-0@5..11",
        "t-0@11..18",
        "t-0@18..25",
        "u-0@0..5",
        "u-0@5..10",
    ]
    assert BARE.ranges() == []
    assert str(PLAN) == "OffsetPlan(30 offsets of 3 partitions)"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "version 2, and only 1 is known"),
        ({"starts": {"t": {"0": -1}}}, 'the plan, at starts, at "t"."0": the offset'),
        ({"starts": {"t": {"0": 1}}}, "starts and ends of different partitions"),
        ({"topic_ids": {"t": "7"}}, "no plan as to_json writes it .*badly formed"),
        ({"bootstrap_servers": None}, "no plan as to_json writes it .*bootstrap_servers"),
        ({"losses": [1]}, "no plan as to_json writes it"),
        ({"made_at": -5}, "the plan, at made_at"),
    ],
)
def test_text_that_is_no_plan_is_refused(change: dict[str, Any], why: str) -> None:
    """With what is wrong in it."""
    text = json.dumps(json.loads(PLAN.to_json()) | change)
    with pytest.raises(ConfigException, match=why):
        OffsetPlan.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}'])
def test_other_text_is_refused(text: str) -> None:
    """For any other value."""
    with pytest.raises(ConfigException, match="plan"):
        OffsetPlan.from_json(text)
