"""Parses where reading begins and ends: `startingOffsets`, `endingOffsets` and related options.

Thread: any; frozen values and pure functions. The caller passes the present time.

Options of Spark's own source for Kafka have the same meaning and precedence here: one time for
all partitions, then a time for each, then offsets. Beyond that a place may be `committed`, or
`committed:GROUP`, the committed offsets of a group; a date and time; or a duration back from
now, such as `-1h`.

| written | read as |
| --- | --- |
| `earliest`, `latest` | `Edge` |
| `{"orders": {"0": 23, "1": -1}}` | `AtOffsets` |
| `startingTimestamp`, `2026-11-22T09:30`, `-1h` | `AtTime` |
| `startingOffsetsByTimestamp` | `AtTimes` |
| `committed`, `committed:billing` | `Committed` |
"""

import enum
from collections.abc import Mapping
from typing import Final

from prokurist.config import time_values
from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.offset_json import EARLIEST, LATEST, moments_in, offsets_in
from prokurist.types import TopicPartition, named

NOW: Final = "date and time (2026-11-22T09:30), a duration back from now (-1h)"


class Edge(enum.Enum):
    """The two ends of a log."""

    EARLIEST = "earliest"
    LATEST = "latest"


class Missing(enum.Enum):
    """Treatment of a partition without an answer."""

    ERROR = "error"
    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """An offset for each partition, −1 for the end of its log and −2 for its beginning."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record from one time on, in milliseconds since the epoch."""

    moment: int


@dataclass(frozen=True, slots=True)
class AtTimes:
    """The same with a time for each partition."""

    moments: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Committed:
    """The committed offsets of a group; None for the reader's own group."""

    group: str | None = None


Place = Edge | AtOffsets | AtTime | AtTimes | Committed


@dataclass(frozen=True, slots=True)
class Names:
    """The user's names of the options, for the texts of errors.

    Attributes:
        start: Where reading begins.
        start_times: The same by times, a time for each partition.
        end: Where reading ends.
        end_times: The same by times.
        unnamed: See `StartingOffsets.unnamed`.
        no_record: See `StartingOffsets.no_record`.
    """

    start: str = "startingOffsets"
    start_times: str = "startingOffsetsByTimestamp"
    end: str = "endingOffsets"
    end_times: str = "endingOffsetsByTimestamp"
    unnamed: str = "startingOffsetsMissing"
    no_record: str = "startingOffsetsByTimestampStrategy"


OPTIONS: Final = Names()
"""The names that the options of a reader have."""


@dataclass(frozen=True, slots=True)
class StartingOffsets:
    """Place of the start of reading.

    Attributes:
        place: There.
        no_record: Treatment of a partition without a record as young as the given time
            (`startingOffsetsByTimestampStrategy`).
        unnamed: Treatment of a partition that is not in the JSON, or has no committed offset of
            the group (`startingOffsetsMissing`).
    """

    place: Place
    no_record: Missing = Missing.ERROR
    unnamed: Missing = Missing.ERROR


def stream_start(options: Mapping[str, str], now_ms: int) -> StartingOffsets:
    """Read where a new stream begins; by default at the end of the logs.

    Args:
        options: A reader's options, by lower-case names.
        now_ms: The time of day, in milliseconds since the epoch.

    Raises:
        ConfigException: An option's value is none of its forms, or is none of a stream's.
    """
    for name in ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"):
        if name.lower() in options:
            raise ConfigException(
                f"{name} is not for streams, which have no end: leave it out, or use "
                "trigger(availableNow=True) to end where the logs end now"
            )
    return _start(options, Edge.LATEST, now_ms)


def batch_start(options: Mapping[str, str], now_ms: int) -> StartingOffsets:
    """Read where a batch begins; by default at the beginning of the logs.

    Raises:
        ConfigException: An option's value is none of its forms, or is none of a batch's.
    """
    start = _start(options, Edge.EARLIEST, now_ms)
    check_start(start.place)
    return start


def batch_end(options: Mapping[str, str], now_ms: int) -> Place:
    """Read where a batch ends; by default at the end of the logs.

    Raises:
        ConfigException: An option's value is none of its forms, or is none of an end's.
    """
    place = _place(
        options, "endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets", now_ms
    )
    if place is None:
        return Edge.LATEST
    check_end(place)
    return place


def check_start(place: Place, names: Names = OPTIONS) -> None:
    """Raise if a batch begins at the end of the logs.

    Raises:
        ConfigException: It does.
    """
    if place is Edge.LATEST:
        raise ConfigException(
            f"{names.start}=latest is not for batches, which would be empty: begin at "
            "earliest, at offsets, at a time, or at committed"
        )
    _refuse(place, LATEST, names.start, "latest", "begin")


def check_end(place: Place, names: Names = OPTIONS) -> None:
    """Raise if a batch ends at the beginning of the logs, or at committed offsets.

    Raises:
        ConfigException: It does.
    """
    if place is Edge.EARLIEST:
        raise ConfigException(
            f"{names.end}=earliest would end a batch before it begins: end at latest, at "
            "offsets or at a time"
        )
    if isinstance(place, Committed):
        raise ConfigException(
            f"{names.end}=committed is no end: a batch begins where a group has come to, and "
            "ends at latest, at offsets or at a time"
        )
    _refuse(place, EARLIEST, names.end, "earliest", "end")


def check_order(start: Place, end: Place, names: Names = OPTIONS) -> None:
    """Raise if a batch ends before it begins, as far as its options tell.

    Raises:
        ConfigException: It does, or the two name different partitions.
    """
    if isinstance(start, AtOffsets) and isinstance(end, AtOffsets):
        _compare(names.start, start.offsets, names.end, end.offsets)
    elif isinstance(start, AtTimes) and isinstance(end, AtTimes):
        _compare(names.start_times, start.moments, names.end_times, end.moments)


def place_in(text: str, name: str, now_ms: int) -> Place:
    """Read a place as `startingOffsets` names it.

    Args:
        text: The option's text.
        name: The name of the option, for errors.
        now_ms: The time of day, in milliseconds since the epoch.

    Raises:
        ConfigException: It is none of the forms.
    """
    text = text.strip()
    word = text.lower()
    if word in {"earliest", "latest"}:
        return Edge(word)
    if text.startswith("{"):
        return AtOffsets(offsets_in(text, name))
    if word == "committed":
        return Committed()
    if word.startswith("committed:"):
        group = text.partition(":")[2].strip()
        if not group:
            raise ConfigException(f"{name}={text} names no group: write committed:billing")
        return Committed(group)
    if text.isdecimal():
        # An offset or a time: ambiguous, and the wrong guess would read for hours.
        raise ConfigException(
            f"{name}={text} could be an offset or a time: write an offset as "
            f'{{"orders": {{"0": {text}}}}}, and a time in milliseconds in '
            f"{'ending' if name.startswith('ending') else 'starting'}Timestamp"
        )
    return AtTime(_moment(text, name, now_ms))


def missing_in(text: str, name: str, *, earliest: bool) -> Missing:
    """Read the treatment of partitions without an answer.

    Args:
        text: The option's text.
        name: The name of the option, for errors.
        earliest: True if `earliest` is a valid word.

    Raises:
        ConfigException: It is none of them.
    """
    words = [each.value for each in Missing if earliest or each is not Missing.EARLIEST]
    word = text.strip().lower()
    if word not in words:
        raise ConfigException(f"{name} is {' or '.join(words)}: {text!r}")
    return Missing(word)


def _start(options: Mapping[str, str], default: Edge, now_ms: int) -> StartingOffsets:
    place = _place(
        options, "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets", now_ms
    )
    return StartingOffsets(
        default if place is None else place,
        _missing(options, OPTIONS.no_record, earliest=False),
        _missing(options, OPTIONS.unnamed, earliest=True),
    )


def _missing(options: Mapping[str, str], name: str, *, earliest: bool) -> Missing:
    text = options.get(name.lower())
    return Missing.ERROR if text is None else missing_in(text, name, earliest=earliest)


def _place(
    options: Mapping[str, str], one_time: str, times: str, offsets: str, now_ms: int
) -> Place | None:
    """Read the option that Spark's source prefers, of several for one place."""
    if (text := options.get(one_time.lower())) is not None:
        return AtTime(_moment(text.strip(), one_time, now_ms))
    if (text := options.get(times.lower())) is not None:
        return AtTimes(moments_in(text, times))
    if (text := options.get(offsets.lower())) is not None:
        return place_in(text, offsets, now_ms)
    return None


def _moment(text: str, name: str, now_ms: int) -> int:
    try:
        if text.startswith("-"):
            return max(0, now_ms - time_values.span(text[1:]))
        return time_values.milliseconds(text)
    except (ValueError, OverflowError):
        forms = (
            "milliseconds since the epoch"
            if name.endswith("Timestamp")
            else "earliest, latest, committed, committed:GROUP, JSON of offsets"
        )
        raise ConfigException(f"{name} is {forms}, a {NOW}: {text!r}") from None


def _refuse(place: Place, offset: int, name: str, word: str, verb: str) -> None:
    if isinstance(place, AtOffsets):
        refused = [tp for tp, given in place.offsets.items() if given == offset]
        if refused:
            raise ConfigException(
                f"{name} has {offset} ({word}) for {named(refused)}: a batch does not {verb} "
                f"there. Write the offset"
            )


def _compare(
    start_name: str,
    starts: Mapping[TopicPartition, int],
    end_name: str,
    ends: Mapping[TopicPartition, int],
) -> None:
    if starts.keys() != ends.keys():
        alone = [
            f"{named(only)} only in {name}"
            for only, name in (
                (starts.keys() - ends.keys(), start_name),
                (ends.keys() - starts.keys(), end_name),
            )
            if only
        ]
        raise ConfigException(
            f"{start_name} and {end_name} name the same partitions; {' and '.join(alone)}"
        )
    for tp, start in starts.items():
        if 0 <= ends[tp] < start:
            raise ConfigException(
                f"{end_name} has {ends[tp]} for {tp}, which is before {start} in {start_name}"
            )
