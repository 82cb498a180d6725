"""`subscribePattern`: a regular expression as Java reads it, as far as Python reads it alike.

Thread: any; a pure function. What the two read differently is refused and not guessed at:
a pattern that matches other topics than it did would go unnoticed.
"""

import re
from typing import Final

from prokurist.errors import ConfigException

OTHERWISE: Final = {
    r"\p": "a class by property",
    r"\P": "a class by property",
    r"\Q": "quoting",
    r"\E": "quoting",
    r"\h": "horizontal space",
    r"\H": "horizontal space",
    r"\v": "vertical space",
    r"\V": "vertical space",
    r"\R": "any line break",
    r"\X": "a grapheme",
    r"\G": "the end of the last match",
    r"\k": "a group by its name",
    r"\c": "a control character",
    r"\e": "the escape character",
    "&&": "an intersection of classes",
}
"""Syntax of Java's patterns that Python lacks, or reads otherwise."""
NAMED: Final = re.compile(r"\(\?<(?=[a-zA-Z])")
TOKEN: Final = re.compile(r"\\.|&&|\[\^?\]?|\]|.", re.DOTALL)


def java_pattern(text: str, name: str) -> re.Pattern[str]:
    """Compile a pattern that Java and Python read alike, for a search in names.

    Args:
        text: As it was written.
        name: The option's name.

    Raises:
        ConfigException: It is none, or Python would read it otherwise.
    """
    depth = 0
    for found in TOKEN.finditer(text):
        part = found[0]
        if (what := OTHERWISE.get(part)) and (depth or part != "&&"):
            raise _refusal(name, text, f"{part} ({what})")
        if part.startswith("["):
            depth += 1
            if depth > 1:
                raise _refusal(name, text, "[ inside of [ (a union of classes)")
        elif part == "]":
            depth = 0
    try:
        return re.compile(NAMED.sub("(?P<", text), re.ASCII)
    except re.error as error:
        raise ConfigException(f"{name}={text!r} is no regular expression: {error}") from None


def _refusal(name: str, text: str, what: str) -> ConfigException:
    return ConfigException(
        f"{name}={text!r} has {what}, which Java knows and Python does not: write the pattern "
        f"without it. A topic's name has letters, digits, dots, dashes and underscores only"
    )
