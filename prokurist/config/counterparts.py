"""Other clients' keys whose counterpart here has another unit or another word for its value.

A key with the same values as ours is an alias in the table; one without a counterpart is in
`foreign.py`.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from prokurist.config.kinds import LONG_MAX, Boolean, Integer, ValueKind, millis
from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Counterpart:
    """Translation of another client's key into one of ours.

    Attributes:
        name: Our key, by its dotted name.
        kind: How the other client's value is read.
        convert: Makes our value of theirs.
        difference: The difference between the two; a clause without a full stop.
    """

    name: str
    kind: ValueKind
    convert: Callable[[Any], object]
    difference: str


COUNTERPARTS = MappingProxyType(
    {
        "queued.max.messages.kbytes": Counterpart(
            "fetch.buffer.max.bytes",
            Integer(1, 2_097_151, "KiB"),
            lambda kibibytes: kibibytes * 1024,
            "KiB there, bytes here; one bound for all that was fetched",
        ),
        "topic.metadata.refresh.interval.ms": Counterpart(
            "metadata.max.age.ms",
            millis(-1, 3_600_000),
            lambda interval: LONG_MAX if interval < 0 else interval,
            "the age at which metadata is fetched again",
        ),
        "ssl_check_hostname": Counterpart(
            "ssl.endpoint.identification.algorithm",
            Boolean(),
            lambda verified: "https" if verified else "none",
            "true is https, false is none",
        ),
    }
)
"""The keys of librdkafka and kafka-python that are converted, as they spell them."""
