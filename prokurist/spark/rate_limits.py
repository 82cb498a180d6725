"""Rate limits of a trigger: `maxOffsetsPerTrigger`, `minOffsetsPerTrigger` and the splits.

Thread: any; frozen values and pure functions. The caller passes the present time.
Invariants: the numbers are those of Spark's own source for Kafka, its reckoning in
floating point included.
"""

import math
import re
from collections.abc import Mapping
from typing import Final

from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.offset_json import INT_MAX, LONG_MAX
from prokurist.types import TopicPartition

MAX_TRIGGER_DELAY: Final = 15 * 60 * 1000
UNITS: Final[dict[str, float]] = {
    "us": 0.001,
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


@dataclass(frozen=True, slots=True)
class Splits:
    """The number of tasks that a batch is cut into; see `offset_ranges.split`.

    Attributes:
        min_partitions: `minPartitions`.
        max_records: `maxRecordsPerPartition`.
    """

    min_partitions: int | None = None
    max_records: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Splits":
        """Read them from a reader's options, by lower-case names.

        Raises:
            ConfigException: A value is no positive number.
        """
        return cls(
            positive(options, "minPartitions", INT_MAX),
            positive(options, "maxRecordsPerPartition", LONG_MAX),
        )


@dataclass(frozen=True, slots=True)
class TriggerLimits:
    """The most and the least that a trigger reads.

    Attributes:
        max_offsets: `maxOffsetsPerTrigger`.
        min_offsets: `minOffsetsPerTrigger`.
        max_delay_ms: `maxTriggerDelay`: after this time a trigger takes everything available.
    """

    max_offsets: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = MAX_TRIGGER_DELAY

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "TriggerLimits":
        """Read them from a reader's options, by lower-case names.

        Raises:
            ConfigException: A value makes no sense, or two contradict each other.
        """
        most = positive(options, "maxOffsetsPerTrigger", LONG_MAX)
        least = positive(options, "minOffsetsPerTrigger", LONG_MAX)
        if most is not None and least is not None and least > most:
            raise ConfigException(
                f"minOffsetsPerTrigger={least} is above maxOffsetsPerTrigger={most}: no "
                "trigger could take as many. Lower the one or raise the other"
            )
        delay = options.get("maxtriggerdelay")
        return cls(
            most,
            least,
            MAX_TRIGGER_DELAY if delay is None else duration_in(delay, "maxTriggerDelay"),
        )

    def holds_back(
        self,
        start: Mapping[TopicPartition, int],
        latest: Mapping[TopicPartition, int],
        waited_ms: float,
    ) -> bool:
        """Return True if a trigger reads nothing yet, because there is too little.

        A partition that is new counts from 0 on.

        Args:
            start: How far the stream has come.
            latest: How far the logs go.
            waited_ms: How long ago the last trigger took something; `math.inf` for never.
        """
        if self.min_offsets is None or waited_ms >= self.max_delay_ms:
            return False
        new = sum(end - start.get(tp, 0) for tp, end in latest.items())
        return new < self.min_offsets

    def end(
        self, start: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """The end of a trigger: that of the logs, or as far as `max_offsets` reach."""
        if self.max_offsets is None:
            return dict(latest)
        return rate_limited(self.max_offsets, start, latest)


def rate_limited(
    limit: int, start: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Ends that are so many offsets away, in proportion to each partition's backlog.

    A part is rounded down; if it is less than one, up, so that no partition starves. The sum
    may then be above the limit. Where `start` names no beginning, the end is left as it is:
    planning the batch will notice.

    Args:
        limit: How many offsets, all in all.
        start: Where reading begins; for new partitions, their beginnings.
        latest: How far the logs go.
    """
    sizes = {tp: end - start[tp] for tp, end in latest.items() if tp in start}
    behind = {tp: size for tp, size in sizes.items() if size > 0}
    total = float(sum(behind.values()))
    if total < 1:
        return dict(latest)
    ends = dict(latest)
    for tp, size in behind.items():
        part = limit * (size / total)
        whole = math.ceil(part) if part < 1 else math.floor(part)
        ends[tp] = min(latest[tp], start[tp] + whole)
    return ends


def positive(options: Mapping[str, str], name: str, most: int) -> int | None:
    """Read a number from 1 on; None if the option is not there.

    Raises:
        ConfigException: It is something else.
    """
    text = options.get(name.lower())
    if text is None:
        return None
    if not re.fullmatch(r"\+?[0-9]{1,19}", text.strip()) or not 1 <= int(text) <= most:
        raise ConfigException(f"{name} is a number from 1 to {most}: {text!r}")
    return int(text)


def duration_in(text: str, name: str) -> int:
    """Read a duration in milliseconds, as Spark writes it: `15m`, `90s`, `500ms`; bare, ms.

    Raises:
        ConfigException: It is none.
    """
    found = re.fullmatch(r"(\d{1,15})\s*([a-z]*)", text.strip().lower())
    unit = UNITS.get(found[2] or "ms") if found else None
    if found is None or unit is None:
        raise ConfigException(f"{name} is a duration, such as 15m, 90s or 500ms: {text!r}")
    return int(int(found[1]) * unit)
