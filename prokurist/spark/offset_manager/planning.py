"""Parts of planning: start and end arguments, and checks of offsets against their logs.

Thread: any; pure functions.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from prokurist.errors import ConfigException
from prokurist.spark.errors import Loss
from prokurist.spark.offset_json import EARLIEST, number_of
from prokurist.spark.start_offsets import AtOffsets, AtTime, Edge, Names, Place, place_in
from prokurist.types import TopicPartition

ARGUMENTS: Final = Names(
    start="start",
    start_times="start",
    end="end",
    end_times="end",
    unnamed="start_missing",
    no_record="no_record",
)
"""The names that things have in `OffsetManager.plan`."""


def place_of(given: object, name: str, now_ms: int) -> Place:
    """Read a place in any form that `OffsetManager.plan` takes.

    Raises:
        ConfigException: It is none of them.
    """
    if isinstance(given, str):
        return place_in(given, name, now_ms)
    if isinstance(given, Mapping):
        for tp, offset in given.items():
            if not isinstance(tp, TopicPartition):
                raise ConfigException(f"{name} maps TopicPartitions to offsets, not {tp!r}")
            number_of(offset, f"{name}, for {tp}", EARLIEST, "offset")
        return AtOffsets(dict(given))
    if isinstance(given, datetime):
        moment = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
        return AtTime(max(0, int(moment.timestamp() * 1000)))
    return AtTime(number_of(given, f"{name}, in milliseconds since the epoch", 0, "time"))


def edge_after_loss(given: str) -> Edge | None:
    """The edge of the log to go on from after a loss; None to raise.

    Raises:
        ConfigException: It is none of the words.
    """
    if given == "fail":
        return None
    if given not in {each.value for each in Edge}:
        raise ConfigException(f"on_data_loss is fail, earliest or latest: {given!r}")
    return Edge(given)


def lost(
    wanted: Mapping[TopicPartition, int],
    log_starts: Mapping[TopicPartition, int],
    log_ends: Mapping[TopicPartition, int],
) -> list[Loss]:
    """The starts that are not in their logs."""
    return [
        Loss(tp, at, log_starts[tp], log_ends[tp])
        for tp, at in sorted(wanted.items())
        if not log_starts[tp] <= at <= log_ends[tp]
    ]


def told(losses: Sequence[Loss], most: int = 5) -> str:
    """Losses as text."""
    more = len(losses) - most
    return "; ".join(map(str, losses[:most])) + (f"; and {more} more" if more > 0 else "")


def within(
    stop: Mapping[TopicPartition, int],
    begin: Mapping[TopicPartition, int],
    log_ends: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Ends that lie in their logs, and none before its start.

    Raises:
        ConfigException: One is behind the end of its log.
    """
    for tp, at in sorted(stop.items()):
        if at > log_ends[tp]:
            raise ConfigException(
                f"end names {at} for {tp}, whose log ends at {log_ends[tp]}: a batch does not "
                "wait for records. Name an offset up to there, or latest"
            )
    return {tp: max(at, begin[tp]) for tp, at in stop.items()}
