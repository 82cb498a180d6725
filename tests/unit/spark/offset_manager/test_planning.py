"""Places as arguments, and offsets held against their logs."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from prokurist.errors import ConfigException
from prokurist.spark.errors import Loss
from prokurist.spark.offset_manager.planning import (
    edge_after_loss,
    lost,
    place_of,
    told,
    within,
)
from prokurist.spark.start_offsets import AtOffsets, AtTime, Committed, Edge, Place
from prokurist.types import TopicPartition

NOW = 1_700_000_000_000
A, B, C = (TopicPartition("t", number) for number in range(3))


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("committed:g", Committed("g")),
        ("latest", Edge.LATEST),
        ('{"t":{"0":5}}', AtOffsets({A: 5})),
        ({A: 5, B: -2}, AtOffsets({A: 5, B: -2})),
        (NOW, AtTime(NOW)),
        (datetime.fromtimestamp(NOW / 1000, UTC), AtTime(NOW)),
        (datetime.fromtimestamp(NOW / 1000, timezone(timedelta(hours=9))), AtTime(NOW)),
        (datetime(1970, 1, 1, 0, 0, 1), AtTime(1000)),  # noqa: DTZ001 - read as UTC
        (datetime(1969, 1, 1, tzinfo=UTC), AtTime(0)),
    ],
)
def test_a_place_is_words_a_time_or_offsets(given: Any, place: Place) -> None:
    """A date without a zone is in UTC, as in the options."""
    assert place_of(given, "start", NOW) == place


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"t": 5}, "start maps TopicPartitions to offsets, not 't'"),
        ({A: -3}, "start, for t-0: the offset is a number from 0"),
        ({A: "5"}, "start, for t-0: the offset is a whole number"),
        ({A: True}, "start, for t-0"),
        (None, "start, in milliseconds since the epoch: the time is a whole number"),
        (True, "start, in milliseconds"),
        (-1, "start, in milliseconds"),
        (1.5, "start, in milliseconds"),
        ("soon", "start is earliest, latest, committed"),
    ],
)
def test_another_place_is_refused(given: Any, why: str) -> None:
    """By the name that the argument has."""
    with pytest.raises(ConfigException, match=why):
        place_of(given, "start", NOW)


def test_what_a_loss_leads_to_is_one_of_three_words() -> None:
    """Nothing, or one of the ends of the log."""
    assert [edge_after_loss(each) for each in ("fail", "earliest", "latest")] == [
        None,
        Edge.EARLIEST,
        Edge.LATEST,
    ]
    with pytest.raises(ConfigException, match="on_data_loss is fail, earliest or latest: 'no'"):
        edge_after_loss("no")


def test_a_start_is_lost_when_it_is_not_in_its_log() -> None:
    """Both ends belong to it: at the end there is nothing to read yet."""
    log_starts, log_ends = {A: 10, B: 10, C: 10}, {A: 20, B: 20, C: 20}
    assert lost({A: 10, B: 20, C: 15}, log_starts, log_ends) == []
    assert lost({C: 21, A: 9, B: 12}, log_starts, log_ends) == [
        Loss(A, 9, 10, 20),
        Loss(C, 21, 10, 20),
    ]


def test_a_loss_says_what_is_gone() -> None:
    """Aged out, or cut back; of many the first five."""
    assert str(Loss(A, 4, 10, 20)) == (
        "t-0 from 4 on: its log has 10 to 20, so 6 offsets are gone"
    )
    assert str(Loss(A, 25, 10, 20)) == (
        "t-0 at 25: its log has 10 to 20, so it was cut back, or the topic was created again"
    )
    assert told([Loss(A, 4, 10, 20)] * 7).endswith("gone; and 2 more")
    assert told([Loss(A, 4, 10, 20)] * 5).count("t-0") == 5


def test_an_end_is_in_its_log_and_not_before_its_start() -> None:
    """A group that is further than the time to end at has nothing to read, and stays."""
    assert within({A: 20, B: 5}, {A: 10, B: 12}, {A: 20, B: 20}) == {A: 20, B: 12}
    with pytest.raises(ConfigException, match=r"end names 21 for t-0, whose log ends at 20"):
        within({A: 21}, {A: 10}, {A: 20})
