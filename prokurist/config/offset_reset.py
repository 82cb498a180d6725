"""`auto.offset.reset`: where to begin when there is no valid position.

Invariants: `OffsetReset.duration` is set exactly if `kind` is "by_duration", in seconds,
never negative, and at most what Kafka's milliseconds can hold.
"""

import re

from prokurist.config.kinds import LONG_MAX, Rejected
from prokurist.lazy_dataclasses import dataclass

_PREFIX = "by_duration:"
_ISO_8601 = re.compile(
    r"P(?:(?P<days>[+-]?[0-9]{1,19})D)?"
    r"(?:T(?=.)"
    r"(?:(?P<hours>[+-]?[0-9]{1,19})H)?"
    r"(?:(?P<minutes>[+-]?[0-9]{1,19})M)?"
    r"(?:(?P<seconds>[+-]?[0-9]{1,19}(?:[.,][0-9]{0,9})?)S)?"
    r")?",
    re.IGNORECASE | re.ASCII,
)
_HOW = (
    "write by_duration:PnDTnHnMn.nS, for example by_duration:PT6H (six hours) or "
    "by_duration:P1DT30M (a day and half an hour); years, months and weeks have no fixed "
    "place in it"
)
_WORDS = {
    "latest": "latest",
    "earliest": "earliest",
    "none": "none",
    # librdkafka's spellings
    "largest": "latest",
    "end": "latest",
    "smallest": "earliest",
    "beginning": "earliest",
    "error": "none",
}


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """A policy for partitions without a valid position.

    Attributes:
        kind: "latest", "earliest", "none" or "by_duration".
        duration: How far back from now, in seconds; None unless by duration.
    """

    kind: str
    duration: float | None = None

    def __str__(self) -> str:
        if self.duration is None:
            return self.kind
        seconds = f"{self.duration:.9f}".rstrip("0").rstrip(".")
        return f"{_PREFIX}PT{seconds}S"


class Reset:
    """The kind of `auto.offset.reset`."""

    name: str = "string"
    unit: str = ""
    valid: str = "latest, earliest, none, by_duration:PnDTnHnMn.nS"
    accepts: str = "str | OffsetReset"

    def read(self, value: object) -> OffsetReset:
        """Read a policy from its word or from `by_duration:` and a duration."""
        word = str(value).strip() if isinstance(value, (str, OffsetReset)) else ""
        if word.lower().startswith(_PREFIX):
            return OffsetReset("by_duration", _seconds(word[len(_PREFIX) :]))
        kind = _WORDS.get(word.lower())
        if kind is None:
            raise Rejected(f"must be one of {self.valid}")
        return OffsetReset(kind)


def _seconds(text: str) -> float:
    found = _ISO_8601.fullmatch(text)
    parts = found.groupdict() if found else {}
    if not any(parts.values()):
        raise Rejected(f"has no ISO 8601 duration after by_duration; {_HOW}")
    seconds = (
        int(parts["days"] or 0) * 86_400
        + int(parts["hours"] or 0) * 3_600
        + int(parts["minutes"] or 0) * 60
        + float((parts["seconds"] or "0").replace(",", "."))
    )
    if seconds < 0:
        raise Rejected(
            "has a negative duration, which would lie in the future; leave the minus out"
        )
    if seconds * 1000 > LONG_MAX:
        raise Rejected(f"has a longer duration than milliseconds can count; {_HOW}")
    return seconds
