"""confluent-kafka's two versions: both are this package's, for there is no library below."""

import re

from prokurist.version import VERSION


def version() -> str:
    """This package's version."""
    return VERSION


def libversion() -> tuple[str, int]:
    """The same, and as a number of two hexadecimal digits for each of its first three parts."""
    parts = [int(each) for each in re.findall(r"\d+", VERSION)[:3]]
    number = 0
    for each in (*parts, 0):
        number = number << 8 | min(each, 255)
    return VERSION, number
