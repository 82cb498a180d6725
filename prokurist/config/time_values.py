"""Times and durations as people write them, in milliseconds.

Thread: any; pure functions. The caller passes the present time.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

DURATION: Final = re.compile(
    r"P?(?:(?P<days>\d+)d)?T?(?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m)?(?:(?P<seconds>\d+)s)?",
    re.IGNORECASE,
)


def milliseconds(text: str) -> int:
    """Read a moment: milliseconds since the epoch, or a date and time, in UTC by default.

    Raises:
        ValueError: It is neither.
    """
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no moment: write 2026-11-22T09:30, 2026-11-22T09:30+01:00, or "
            "milliseconds since the epoch"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def span(text: str) -> int:
    """Read a duration, such as `90m`, `1d12h` or ISO 8601's `PT90M`, in milliseconds.

    Raises:
        ValueError: It is none.
    """
    found = DURATION.fullmatch(text)
    parts = {} if found is None else {k: int(v) for k, v in found.groupdict().items() if v}
    if not parts:
        raise ValueError(f"{text!r} is no duration: write 90s, 30m, 1d12h, or PT30M")
    return timedelta(**parts) // timedelta(milliseconds=1)
