"""Filters of records: `--grep` and `--key`.

Thread: any; pure functions.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from prokurist.cli.errors import Misused
from prokurist.records.consumer_records import ConsumerRecord

Accepts: TypeAlias = Callable[[ConsumerRecord], bool]


def filter_of(value: str | None, key: str | None) -> Accepts | None:
    """Return the filter of records to write; None without patterns.

    Args:
        value: A regular expression that the value must contain a match of.
        key: The same for the key.

    Raises:
        Misused: One is no regular expression.
    """
    in_value, in_key = compiled("--grep", value), compiled("--key", key)
    if in_value is None and in_key is None:
        return None

    def accepts(record: ConsumerRecord) -> bool:
        return matches(in_value, record.value) and matches(in_key, record.key)

    return accepts


def compiled(option: str, text: str | None) -> re.Pattern[bytes] | None:
    """A regular expression of bytes.

    Raises:
        Misused: It is none.
    """
    try:
        return None if text is None else re.compile(text.encode())
    except re.error as error:
        raise Misused(f"{option} {text}: no regular expression: {error}") from None


def matches(pattern: re.Pattern[bytes] | None, data: bytes | None) -> bool:
    """True if bytes contain a match of the pattern; missing bytes contain none."""
    return pattern is None or (data is not None and pattern.search(data) is not None)
