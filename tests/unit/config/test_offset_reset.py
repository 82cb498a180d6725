"""`auto.offset.reset` (B77: an invalid duration is a config error)."""

import pytest

from prokurist.config import OffsetReset
from prokurist.config.kinds import Rejected
from prokurist.config.offset_reset import Reset


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("latest", "latest"),
        ("EARLIEST", "earliest"),
        ("none", "none"),
        ("smallest", "earliest"),
        ("beginning", "earliest"),
        ("largest", "latest"),
        ("end", "latest"),
        ("error", "none"),
    ],
)
def test_words(given: str, kind: str) -> None:
    """Kafka's words and librdkafka's mean one of three policies."""
    assert Reset().read(given) == OffsetReset(kind)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("P1D", 86_400.0),
        ("PT6H", 21_600.0),
        ("P1DT2H3M4.5S", 93_784.5),
        ("PT0S", 0.0),
        ("pt1m", 60.0),
        ("PT0.000000001S", 1e-9),
        ("PT1,5S", 1.5),
        ("PT+1H-30M", 1_800.0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """B77: a duration in ISO 8601 is read as Java reads it, into seconds."""
    read = Reset().read(f"by_duration:{text}")
    assert read == OffsetReset("by_duration", seconds)
    assert isinstance(read.duration, float)
    assert Reset().read(read) == read


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("", "one of latest"),
        ("yesterday", "one of latest, earliest, none, by_duration"),
        (None, "one of latest"),
        ("by_duration:", "no ISO 8601 duration.*PT6H"),
        ("by_duration:P", "no ISO 8601"),
        ("by_duration:PT", "no ISO 8601"),
        ("by_duration:P1DT", "no ISO 8601"),
        ("by_duration:P1W", "weeks"),
        ("by_duration:P1Y", "years"),
        ("by_duration:1H", "no ISO 8601"),
        ("by_duration:PT1H ago", "no ISO 8601"),
        ("by_duration:PT٣H", "no ISO 8601"),
        ("by_duration:PT-1S", "negative"),
        ("by_duration:P-1DT1H", "negative"),
        ("by_duration:P9999999999999999999D", "longer"),
    ],
)
def test_rejects(given: object, rule: str) -> None:
    """B77: a negative, endless or malformed duration is an error that shows a good one."""
    with pytest.raises(Rejected, match=rule):
        Reset().read(given)


def test_shows_itself() -> None:
    """The policy prints as it is configured, and its repr tells the seconds."""
    reset = OffsetReset("by_duration", 5400.0)
    assert str(reset) == "by_duration:PT5400S"
    assert repr(reset) == "OffsetReset(kind='by_duration', duration=5400.0)"
    assert str(OffsetReset("latest")) == "latest"
