r"""Property files, as Java and librdkafka read them: the keys of a client.

`key=value` or `key: value` in each line; `#` or `!` begins a comment; a backslash at the end of
a line goes on in the next one. As in Java, a backslash before another character stands for that
character, and `\t`, `\n`, `\r` and `\u20ac` for theirs: a backslash is written twice.

Thread: any; no state.
Invariants: an error never shows a line: it may be half a password.
"""

import re
from collections.abc import Iterator
from typing import Final

ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
SEPARATOR: Final = re.compile(r"((?:\\.|[^\\=:\s])+)\s*[=:]\s*(.*)", re.DOTALL)
LETTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def properties(text: str) -> dict[str, str]:
    """The keys and values of a file's text; of a key given twice the last one.

    Raises:
        ValueError: A line is no `key=value`; the text has its number.
    """
    found: dict[str, str] = {}
    for number, line in logical_lines(text):
        parts = SEPARATOR.fullmatch(line)
        if parts is None:
            raise ValueError(f"line {number} is no key=value, such as client.id=me")
        found[unescaped(parts[1])] = unescaped(parts[2])
    return found


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments, each with those that continue it, and its number."""
    whole, begun = "", 0
    for number, natural in enumerate(text.splitlines(), 1):
        line = natural.lstrip()
        if not whole and (not line or line[0] in "#!"):
            continue
        begun = begun if whole else number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            whole += line[:-1]
            continue
        yield begun, (whole + line).rstrip()
        whole = ""
    if whole:
        yield begun, whole.rstrip()


def unescaped(text: str) -> str:
    """Replace the escapes in a key or a value."""

    def meant(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) > 1:
            return chr(int(escape[1:], 16))
        return LETTERS.get(escape, escape)

    return ESCAPE.sub(meant, text)
