"""Where reading begins and ends: the forms, which of two options holds, and what is refused."""

import pytest

from prokurist.errors import ConfigException
from prokurist.spark.start_offsets import (
    AtOffsets,
    AtTime,
    AtTimes,
    Committed,
    Edge,
    Missing,
    Place,
    StartingOffsets,
    batch_end,
    batch_start,
    check_order,
    place_in,
    stream_start,
)
from prokurist.types import TopicPartition

NOW = 1_700_000_000_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("earliest", Edge.EARLIEST),
        (" Latest ", Edge.LATEST),
        ('{"t":{"0":5,"1":-2}}', AtOffsets({T0: 5, T1: -2})),
        ("committed", Committed()),
        ("committed:Billing-7", Committed("Billing-7")),
        ("2023-11-14T22:13:20", AtTime(NOW)),
        ("2023-11-14T23:13:20+01:00", AtTime(NOW)),
        ("2023-11-14", AtTime(1_699_920_000_000)),
        ("-1h", AtTime(NOW - 3_600_000)),
        ("-1d12h", AtTime(NOW - 129_600_000)),
        ("-99999d", AtTime(0)),
    ],
)
def test_a_place_has_these_forms(text: str, place: Place) -> None:
    """Spark's, and a group, a time, a duration back from now."""
    assert place_in(text, "startingOffsets", NOW) == place


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "startingOffsets is earliest, latest, committed, .*: ''"),
        ("earlist", "startingOffsets is earliest.*'earlist'"),
        ("1h", "startingOffsets is earliest"),
        ("-", "startingOffsets is earliest"),
        ("-" + "9" * 30 + "d", "startingOffsets is earliest"),
        ("committed:", "names no group"),
        ("23", 'could be an offset or a time: write an offset as {"orders": {"0": 23}}'),
        ('{"t":{"0":"5"}}', r'startingOffsets, at "t"\."0"'),
    ],
)
def test_another_form_is_refused(text: str, why: str) -> None:
    """With the option, the value and the forms that there are."""
    with pytest.raises(ConfigException, match=why):
        place_in(text, "startingOffsets", NOW)


def test_without_options_streams_begin_late_and_batches_take_all() -> None:
    """As in Spark's own source."""
    assert stream_start({}, NOW) == StartingOffsets(Edge.LATEST)
    assert batch_start({}, NOW) == StartingOffsets(Edge.EARLIEST)
    assert batch_end({}, NOW) is Edge.LATEST


@pytest.mark.parametrize("side", ["starting", "ending"])
def test_one_time_goes_before_times_and_times_before_offsets(side: str) -> None:
    """The order in which Spark's own source looks for them, at both ends."""
    read = (lambda given: batch_end(given, NOW)) if side == "ending" else start_of
    options = {
        f"{side}timestamp": " 5 ",
        f"{side}offsetsbytimestamp": '{"t":{"0":6}}',
        f"{side}offsets": '{"t":{"0":7}}',
    }
    assert read(options) == AtTime(5)
    del options[f"{side}timestamp"]
    assert read(options) == AtTimes({T0: 6})
    del options[f"{side}offsetsbytimestamp"]
    assert read(options) == AtOffsets({T0: 7})


def start_of(options: dict[str, str]) -> Place:
    """Where a stream begins; a batch agrees."""
    place = stream_start(options, NOW).place
    assert batch_start(options, NOW).place == place
    return place


def test_what_has_no_answer_is_an_error_unless_the_options_say() -> None:
    """No record as young as the time; a partition that is not named or not committed."""
    assert stream_start({"startingtimestamp": "5"}, NOW) == StartingOffsets(
        AtTime(5), Missing.ERROR, Missing.ERROR
    )
    assert stream_start(
        {
            "startingoffsets": "committed",
            "startingoffsetsbytimestampstrategy": "LATEST",
            "startingoffsetsmissing": "Earliest",
        },
        NOW,
    ) == StartingOffsets(Committed(), Missing.LATEST, Missing.EARLIEST)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"startingoffsetsbytimestampstrategy": "earliest"},
            "startingOffsetsByTimestampStrategy is error or latest: 'earliest'",
        ),
        ({"startingoffsetsmissing": "0"}, "startingOffsetsMissing is error or earliest or"),
        ({"startingtimestamp": "yesterday"}, "startingTimestamp is milliseconds .*'yesterday'"),
        ({"startingoffsetsbytimestamp": "5"}, "startingOffsetsByTimestamp is a JSON object"),
        ({"endingoffsets": "latest"}, "endingOffsets is not for streams.*availableNow"),
        ({"endingtimestamp": "5"}, "endingTimestamp is not for streams"),
        ({"endingoffsetsbytimestamp": "{}"}, "endingOffsetsByTimestamp is not for streams"),
    ],
)
def test_a_stream_refuses(options: dict[str, str], why: str) -> None:
    """What makes no sense, and an end."""
    with pytest.raises(ConfigException, match=why):
        stream_start(options, NOW)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"startingoffsets": "latest"}, "startingOffsets=latest is not for batches"),
        ({"startingoffsets": '{"t":{"0":-1}}'}, r"startingOffsets has -1 \(latest\) for t-0"),
    ],
)
def test_a_batch_does_not_begin_at_the_end(options: dict[str, str], why: str) -> None:
    """It would be empty."""
    with pytest.raises(ConfigException, match=why):
        batch_start(options, NOW)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"endingoffsets": "earliest"}, "endingOffsets=earliest would end a batch before"),
        ({"endingoffsets": '{"t":{"1":-2}}'}, r"endingOffsets has -2 \(earliest\) for t-1"),
        ({"endingoffsets": "committed:a"}, "endingOffsets=committed is no end"),
        ({"endingoffsets": "7"}, "and a time in milliseconds in endingTimestamp"),
    ],
)
def test_a_batch_does_not_end_at_the_beginning(options: dict[str, str], why: str) -> None:
    """Nor where a group has come to."""
    with pytest.raises(ConfigException, match=why):
        batch_end(options, NOW)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (Edge.EARLIEST, AtOffsets({T0: 5})),
        (AtOffsets({T0: 5}), AtOffsets({T0: 5})),
        (AtOffsets({T0: 5}), AtOffsets({T0: -1})),
        (AtOffsets({T0: -2}), AtOffsets({T0: 0})),
        (AtTimes({T0: 5}), AtOffsets({T1: 3})),
    ],
)
def test_an_end_that_is_none_too_early_passes(start: Place, end: Place) -> None:
    """Also where only the brokers can tell."""
    check_order(start, end)


@pytest.mark.parametrize(
    ("start", "end", "why"),
    [
        (
            AtOffsets({T0: 5}),
            AtOffsets({T0: 4}),
            "endingOffsets has 4 for t-0, which is before 5 in startingOffsets",
        ),
        (AtTimes({T0: 5}), AtTimes({T0: 4}), "endingOffsetsByTimestamp has 4 for t-0"),
        (
            AtOffsets({T0: 5}),
            AtOffsets({T1: 9}),
            "t-0 only in startingOffsets and t-1 only in endingOffsets",
        ),
    ],
)
def test_an_end_before_the_start_is_refused(start: Place, end: Place, why: str) -> None:
    """As soon as the options show it, and without a broker."""
    with pytest.raises(ConfigException, match=why):
        check_order(start, end)
