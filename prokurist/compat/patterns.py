"""Patterns of topics that look how a name begins, as those of kafka-python and aiokafka."""

import re
from typing import Final

_FLAGS: Final = re.compile(r"\(\?[aiLmsux]+\)")
"""Flags of the whole, which stand at the very beginning of an expression."""


def beginning_as(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """An expression for whole names that begin as a pattern says.

    Args:
        pattern: A regular expression, or a compiled one.

    Raises:
        re.error: It is none.
    """
    # By itself, so that an error speaks of what was given.
    given = re.compile(pattern)
    flags = _FLAGS.match(given.pattern)
    rest = given.pattern[flags.end() :] if flags else given.pattern
    # The end of a line ends the remark that an expression with re.VERBOSE may close with.
    return re.compile(
        f"(?:{rest}\n)[\\s\\S]*" if given.flags & re.VERBOSE else f"(?:{rest})[\\s\\S]*",
        given.flags,
    )
