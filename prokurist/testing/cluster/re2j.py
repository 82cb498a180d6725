r"""Regular expressions as brokers read them: RE2J's syntax, translated into Python's.

A broker refuses syntax beyond RE2's linear time (look-around, back-references, possessive
repetition) and takes some that Python does not know (`\Q…\E`, `\pL`, `[[:alpha:]]`, `\z`). The
translation is for names of topics: beyond ASCII no class matches anything.

Thread: any; nothing here keeps state but a cache.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Final

ASCII: Final = frozenset(map(chr, range(128)))
MOST_REPEATS: Final = 1000
REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
GROUP_NAME: Final = re.compile(r"\(\?P?<(\w+)>", re.ASCII)
HEX: Final = re.compile(r"x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))")
OCTAL: Final = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
POSIX: Final = re.compile(r"\[:(\^?)(\w+):\]")
UNICODE: Final = re.compile(r"[pP](?:\{(\^?)(\w+)\}|(\w))")

WORD: Final = frozenset(c for c in ASCII if c.isalnum() or c == "_")
PERL_CLASSES: Final[dict[str, frozenset[str]]] = {
    "d": frozenset("0123456789"),
    "s": frozenset("\t\n\f\r "),
    "w": WORD,
}
POSIX_CLASSES: Final[dict[str, Callable[[str], bool]]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "ascii": str.isascii,
    "blank": lambda c: c in "\t ",
    "cntrl": lambda c: ord(c) < 32 or ord(c) == 127,
    "digit": str.isdigit,
    "graph": lambda c: "!" <= c <= "~",
    "lower": str.islower,
    "print": lambda c: " " <= c <= "~",
    "punct": lambda c: "!" <= c <= "~" and not c.isalnum(),
    "space": lambda c: c in "\t\n\v\f\r ",
    "upper": str.isupper,
    "word": WORD.__contains__,
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}
CATEGORIES: Final = frozenset(
    (
        "L",
        "Lu",
        "Ll",
        "Lt",
        "Lm",
        "Lo",
        "M",
        "Mn",
        "Mc",
        "Me",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Ps",
        "Pe",
        "Pi",
        "Pf",
        "Po",
        "S",
        "Sm",
        "Sc",
        "Sk",
        "So",
        "Z",
        "Zs",
        "Zl",
        "Zp",
        "C",
        "Cc",
        "Cf",
        "Cs",
        "Co",
    )
)
SCRIPTS: Final = frozenset(
    (
        "Arabic",
        "Armenian",
        "Bengali",
        "Cherokee",
        "Cyrillic",
        "Devanagari",
        "Ethiopic",
        "Georgian",
        "Greek",
        "Gujarati",
        "Gurmukhi",
        "Han",
        "Hangul",
        "Hebrew",
        "Hiragana",
        "Inherited",
        "Kannada",
        "Katakana",
        "Khmer",
        "Lao",
        "Malayalam",
        "Mongolian",
        "Myanmar",
        "Oriya",
        "Sinhala",
        "Tamil",
        "Telugu",
        "Thaana",
        "Thai",
        "Tibetan",
        "Yi",
    )
)
"""Scripts without an ASCII character; Latin and Common share those."""
CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class PatternRefused(ValueError):
    """A broker does not take this regular expression."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, to be matched against whole names of topics.

    Raises:
        PatternRefused: It is none of RE2J's; the text says why in RE2J's words.
    """
    source = Translation(pattern).whole()
    try:
        return re.compile(source)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternRefused(str(error)) from None


class Translation:
    """One pass over a pattern.

    Args:
        pattern: The pattern.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._flags = frozenset("")
        self._names: set[str] = set()

    def whole(self) -> str:
        """Python's form of the pattern.

        Raises:
            PatternRefused: There is none.
        """
        enclosing: list[tuple[frozenset[str], list[str]]] = []
        out: list[str] = []
        operand = repeated = False
        while self._at < len(self._pattern):
            repeat = self._repeat()
            if repeat is not None:
                if repeated:
                    raise PatternRefused("invalid nested repetition operator")
                if not operand:
                    raise PatternRefused("missing argument to repetition operator")
                out[-1] = f"(?:{out[-1]}){repeat}"
                repeated = True
                continue
            repeated = False
            match self._pattern[self._at]:
                case "(":
                    flags = self._flags
                    if self._opened():
                        enclosing.append((flags, out))
                        out, operand = [], False
                case ")":
                    if not enclosing:
                        raise PatternRefused("unexpected )")
                    self._at += 1
                    inside = "".join(out)
                    self._flags, out = enclosing.pop()
                    out.append(f"(?:{inside})")
                    operand = True
                case "|":
                    self._at += 1
                    out.append("|")
                    operand = False
                case _:
                    atoms = self._atoms()
                    out += atoms
                    operand = operand or bool(atoms)
        if enclosing:
            raise PatternRefused("missing closing )")
        return "".join(out)

    # --- groups and repetitions -----------------------------------------------------

    def _opened(self) -> bool:
        """Take an opening parenthesis; False for flags that open no group."""
        rest = self._pattern[self._at :]
        if not rest.startswith("(?"):
            self._at += 1
            return True
        if rest.startswith(("(?P<", "(?<")):
            named = GROUP_NAME.match(rest)
            if named is None:
                if ">" not in rest and rest.startswith("(?P<"):
                    raise PatternRefused("missing closing )")
                raise PatternRefused("invalid named capture")
            if named[1] in self._names:
                raise PatternRefused("duplicate capture group name")
            self._names.add(named[1])
            self._at += named.end()
            return True
        flagged = re.match(r"\(\?([imsU]*)(-[imsU]+)?([:)])", rest)
        if flagged is None:
            raise PatternRefused("invalid or unsupported Perl syntax")
        self._flags = self._flags.union(flagged[1]).difference((flagged[2] or "")[1:])
        self._at += flagged.end()
        return flagged[3] == ":"

    def _repeat(self) -> str | None:
        """Take a repetition, in Python's form; None where there is none."""
        found = self._pattern[self._at]
        if found not in "*+?":
            counted = REPEAT.match(self._pattern, self._at)
            if counted is None:
                return None
            least, most = int(counted[1]), int(counted[3] or counted[1])
            if least > MOST_REPEATS or not least <= most <= MOST_REPEATS:
                raise PatternRefused("invalid repeat count")
            found = counted[0]
        self._at += len(found)
        lazy = self._pattern.startswith("?", self._at)
        self._at += lazy
        return found + ("?" if lazy != ("U" in self._flags) else "")

    # --- what is matched ------------------------------------------------------------

    def _atoms(self) -> list[str]:
        """Take the next thing that is matched; several for a quotation."""
        found = self._pattern[self._at]
        match found:
            case "[":
                return [one_of(self._bracketed())]
            case "\\":
                return self._escaped()
            case ".":
                atom = "." if "s" not in self._flags else r"[\s\S]"
            case "^":
                atom = "(?m:^)" if "m" in self._flags else r"\A"
            case "$":
                atom = "(?m:$)" if "m" in self._flags else r"\Z"
            case _:
                atom = self._literal(found)
        self._at += 1
        return [atom]

    def _literal(self, character: str) -> str:
        escaped = re.escape(character)
        return f"(?i:{escaped})" if "i" in self._flags else escaped

    def _escaped(self) -> list[str]:
        rest = self._pattern[self._at + 1 :]
        if rest.startswith("Q"):
            quoted, end, _ = rest[1:].partition(r"\E")
            self._at += 2 + len(quoted) + len(end)
            return [self._literal(each) for each in quoted]
        if rest[:1] in ("A", "z", "b", "B"):
            self._at += 2
            return [r"\Z" if rest[0] == "z" else f"\\{rest[0]}"]
        characters = self._named_class()
        return [self._literal(self._escape()) if characters is None else one_of(characters)]

    def _named_class(self) -> frozenset[str] | None:
        r"""Take `\d` and its like, or `\pL` and its like; None where there is none."""
        kind = self._pattern[self._at + 1 : self._at + 2]
        known = PERL_CLASSES.get(kind.lower()) if kind else None
        if known is not None:
            self._at += 2
            return known if kind.islower() else ASCII - known
        if kind not in ("p", "P"):
            return None
        found = UNICODE.match(self._pattern, self._at + 1)
        if found is None:
            raise PatternRefused("invalid character class range")
        self._at += 1 + len(found[0])
        characters = unicode_class(found[2] or found[3])
        return ASCII - characters if (kind == "P") != bool(found[1]) else characters

    def _escape(self) -> str:
        """Take an escape of one character."""
        self._at += 1
        if self._at == len(self._pattern):
            raise PatternRefused("trailing backslash at end of expression")
        found = self._pattern[self._at]
        if octal := OCTAL.match(self._pattern, self._at):
            self._at += len(octal[0])
            return chr(int(octal[0], 8))
        if digits := HEX.match(self._pattern, self._at):
            code = int(digits[1] or digits[2], 16)
            self._at += len(digits[0])
            if code <= 0x10FFFF:
                return chr(code)
        elif found in CONTROLS or not (found.isascii() and found.isalnum()):
            self._at += 1
            return CONTROLS.get(found, found)
        raise PatternRefused("invalid escape sequence")

    def _bracketed(self) -> frozenset[str]:
        """Take a class in brackets."""
        self._at += 1
        negated = self._pattern.startswith("^", self._at)
        self._at += negated
        members: set[str] = set()
        first = True
        while first or not self._pattern.startswith("]", self._at):
            first = False
            if named := POSIX.match(self._pattern, self._at):
                self._at += len(named[0])
                members |= posix_class(named[2], negated=bool(named[1]))
                continue
            if self._pattern.startswith("\\", self._at):
                known = self._named_class()
                if known is not None:
                    members |= known
                    continue
            low = high = self._member()
            if re.compile(r"-[^\]]").match(self._pattern, self._at):
                self._at += 1
                high = self._member()
                if high < low:
                    raise PatternRefused("invalid character class range")
            members |= {each for each in ASCII if low <= each <= high}
        self._at += 1
        if "i" in self._flags:
            # Before the class is negated: no case of a character that is named is in it.
            members |= {each.swapcase() for each in members}
        return ASCII - members if negated else frozenset(members)

    def _member(self) -> str:
        """Take one character of a class."""
        if self._at >= len(self._pattern):
            raise PatternRefused("missing closing ]")
        if self._pattern[self._at] == "\\":
            return self._escape()
        self._at += 1
        return self._pattern[self._at - 1]


def one_of(characters: frozenset[str]) -> str:
    """Python's class of these characters."""
    return f"[{''.join(map(re.escape, sorted(characters)))}]" if characters else "(?!)"


def posix_class(name: str, *, negated: bool) -> frozenset[str]:
    """The ASCII characters of `[:name:]`.

    Raises:
        PatternRefused: There is no such class.
    """
    if name not in POSIX_CLASSES:
        raise PatternRefused("invalid character class range")
    return frozenset(each for each in ASCII if POSIX_CLASSES[name](each) != negated)


def unicode_class(name: str) -> frozenset[str]:
    r"""The ASCII characters of `\p{name}`.

    Raises:
        PatternRefused: There is no such category or script.
    """
    if name == "Any":
        return ASCII
    if name in ("Latin", "Common"):
        return frozenset(each for each in ASCII if each.isalpha() == (name == "Latin"))
    if name in SCRIPTS:
        return frozenset()
    if name in CATEGORIES:
        return frozenset(c for c in ASCII if unicodedata.category(c).startswith(name))
    raise PatternRefused("invalid character class range")
