"""The producer's keys from before KIP-19, mapped as its migration plan says.

`timeout.ms` overrides `request.timeout.ms`; `metadata.fetch.timeout.ms` overrides
`max.block.ms`; `block.on.buffer.full=true` makes `max.block.ms` endless and wins over
both. Each is accepted with a DeprecationWarning.
"""

from collections.abc import Mapping
from types import MappingProxyType

from prokurist.config.kinds import LONG_MAX, Boolean, ValueKind, millis

TIMEOUT = "timeout.ms"
METADATA_FETCH_TIMEOUT = "metadata.fetch.timeout.ms"
BLOCK_ON_BUFFER_FULL = "block.on.buffer.full"

DEPRECATED: Mapping[str, ValueKind] = MappingProxyType(
    {
        TIMEOUT: millis(high=2**31 - 1),
        METADATA_FETCH_TIMEOUT: millis(),
        BLOCK_ON_BUFFER_FULL: Boolean(),
    }
)
"""The old keys and the kinds of their values."""

REPLACEMENTS: Mapping[str, str] = MappingProxyType(
    {
        TIMEOUT: "request.timeout.ms, also where that is given",
        METADATA_FETCH_TIMEOUT: "max.block.ms, also where that is given",
        BLOCK_ON_BUFFER_FULL: "true: max.block.ms without an end, which wins over both of its "
        "other keys; false: nothing",
    }
)
"""Effect of each key, for the documentation."""


def migrate(old: Mapping[str, object]) -> tuple[dict[str, object], str]:
    """Turn old keys into new ones.

    Args:
        old: The old keys that were given, with their converted values.

    Returns:
        The new keys with the values that override theirs, and the warning's text.
    """
    new: dict[str, object] = {}
    advice: list[str] = []
    if TIMEOUT in old:
        new["request.timeout.ms"] = old[TIMEOUT]
        advice.append(
            f"{TIMEOUT} overrides request.timeout.ms with {old[TIMEOUT]}; give "
            "request.timeout.ms instead"
        )
    endless = old.get(BLOCK_ON_BUFFER_FULL)
    if METADATA_FETCH_TIMEOUT in old and endless:
        advice.append(
            f"{METADATA_FETCH_TIMEOUT} is not honoured because {BLOCK_ON_BUFFER_FULL} is true"
        )
    elif METADATA_FETCH_TIMEOUT in old:
        new["max.block.ms"] = old[METADATA_FETCH_TIMEOUT]
        advice.append(
            f"{METADATA_FETCH_TIMEOUT} overrides max.block.ms with "
            f"{old[METADATA_FETCH_TIMEOUT]}; give max.block.ms instead"
        )
    if endless:
        new["max.block.ms"] = LONG_MAX
        advice.append(
            f"{BLOCK_ON_BUFFER_FULL}=true overrides max.block.ms with {LONG_MAX}, which is "
            "never; give max.block.ms instead"
        )
    elif BLOCK_ON_BUFFER_FULL in old:
        advice.append(
            f"{BLOCK_ON_BUFFER_FULL}=false changes nothing; say how long send may wait with "
            "max.block.ms"
        )
    return new, f"KIP-19 replaced these keys: {'. '.join(advice)}."
