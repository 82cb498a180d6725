"""Bounds on password hashing, for PKCS12 stores and encrypted PEM keys.

Thread: that of `stores`.
Invariants: a file costs what its size, `MOST_ROUNDS` and `MOST_TOGETHER` allow, whatever stands
in it; reading the numbers takes time in proportion to its size. What lies in what is encrypted
is not seen: a file whose author knows the password could ask for more there.
"""

import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Final

from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass

LARGEST: Final = 4 << 20
"""Bytes of a file; Java's own store, with all public authorities, has less than a tenth."""
MOST_ROUNDS: Final = 1_000_000
"""Most iterations of password hashing for one key: Java uses 10 000, which take 3 ms."""
MOST_TOGETHER: Final = 4 * MOST_ROUNDS
"""And for all that is in a file: a store has one for each key, one for its certificates and one
for itself."""
ENDLESS: Final = 1 << 128
"""Iterations of a number that is larger, or of a file that cannot be read."""
INTEGER, OCTET_STRING, SEQUENCE, CONSTRUCTED, INDEFINITE = 0x02, 0x04, 0x30, 0x20, 0x80
LONG_TAG: Final = 0x1F
DEEPEST: Final = 256
"""Elements in elements; a store has about fifteen."""
JOINED: Final = 4
"""Bytes copied to join strings in parts, as a multiple of the file's size."""
SCRYPT_NUMBERS: Final = 3

_ENCRYPTED: Final = re.compile(
    rb"-----BEGIN[^!-~]+ENCRYPTED[^!-~]+PRIVATE[^!-~]+KEY-----(.*?)(?=-----|\Z)", re.DOTALL
)
_NO_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/]+")


def read_bounded(key: str, path: str) -> bytes:
    """Read the bytes of a file.

    Args:
        key: The configuration key that names it.
        path: Where it is.

    Raises:
        ConfigException: There are too many of them, or they cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise ConfigException(f"{key}={path} cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise ConfigException(
            f"{key}={path} has more than {LARGEST} bytes: name a file with fewer certificates, "
            "and public authorities in one of their own by ssl.ca.location"
        )
    return data


def check(what: str, numbers: Iterable[int], way_out: str) -> None:
    """See that a password is not hashed without end.

    Args:
        what: Of which key, and with which file.
        numbers: How often it is to be hashed, of all there is in the file.
        way_out: The way out, for the error's text.

    Raises:
        ConfigException: It is hashed too often.
    """
    together = 0
    for rounds in numbers:
        together += rounds
        if rounds > MOST_ROUNDS:
            often = f"{rounds} times" if rounds < ENDLESS else "without end"
            raise ConfigException(
                f"{what} has its password hashed {often}, and {MOST_ROUNDS} times are done "
                f"here: {way_out}"
            )
        if together > MOST_TOGETHER:
            raise ConfigException(
                f"{what} has its passwords hashed more than {MOST_TOGETHER} times together, "
                f"and no more are done here: {way_out}"
            )


def rounds_in_pem(text: bytes) -> Iterator[int]:
    """Yield the iterations of each encrypted key (PKCS#8) in PEM."""
    for each in _ENCRYPTED.finditer(text):
        data = _NO_BASE64.sub(b"", each[1])
        if len(data) % 4 == 1:
            data = data[:-1]
        yield from rounds_of(binascii.a2b_base64(data + b"=" * (-len(data) % 4)))


@dataclass(slots=True)
class _Element:
    """One that is being read, with what was met in it.

    Attributes:
        end: Where it ends at the latest.
        tag: Its tag.
        until_zero: True if it has no length, and a zero ends it.
        numbers: Integers behind a string, which are a salt's; None behind anything else.
        parts: Of a string that comes in some.
    """

    end: int
    tag: int = SEQUENCE
    until_zero: bool = False
    numbers: list[int] | None = None
    parts: list[memoryview] = field(default_factory=list)

    def rounds(self) -> Iterator[int]:
        """Yield the iterations from the numbers behind a salt; scrypt's three multiply."""
        numbers, self.numbers = self.numbers, None
        if not numbers:
            return
        product = 1
        for each in numbers[:SCRYPT_NUMBERS]:
            product *= each
        if len(numbers) < SCRYPT_NUMBERS:
            product = 0
        yield min(ENDLESS, max(numbers[0], product))


def rounds_of(data: bytes) -> Iterator[int]:
    """Yield the iterations of password hashing: the numbers behind each salt.

    Args:
        data: DER or BER, valid or not.
    """
    room = JOINED * len(data)
    left = [memoryview(data)]
    while left:
        view = left.pop()
        within = [_Element(len(view))]
        at = 0
        while within:
            inner = within[-1]
            tag, at, stop, until_zero = _header(view, at, inner.end)
            if tag == 0 and (inner.until_zero or at == inner.end):
                yield from inner.rounds()
                within.pop()
                if not inner.until_zero:
                    at = inner.end
                if inner.tag & ~CONSTRUCTED != OCTET_STRING:
                    continue
                joined = memoryview(b"".join(inner.parts))
                room -= len(joined)
                if room < 0:
                    yield ENDLESS
                    return
                _string(within[-1], joined, left)
            elif tag & CONSTRUCTED:
                if len(within) > DEEPEST:
                    yield ENDLESS
                    return
                yield from inner.rounds()
                within.append(_Element(stop, tag, until_zero))
            elif tag == INTEGER and inner.numbers is not None:
                digits = bytes(view[at:stop]).lstrip(b"\0")
                inner.numbers.append(min(ENDLESS, int.from_bytes(digits[:17], "big")))
                at = stop
            else:
                yield from inner.rounds()
                if tag == OCTET_STRING:
                    _string(inner, view[at:stop], left)
                at = stop


def _string(inner: _Element, string: memoryview, left: list[memoryview]) -> None:
    """A string has been read: a part of one, a salt, or what has elements within."""
    if inner.tag & ~CONSTRUCTED == OCTET_STRING:
        inner.parts.append(string)
        return
    inner.numbers = []
    if string[:1] == bytes([SEQUENCE]):
        left.append(string)


def _header(view: memoryview, at: int, end: int) -> tuple[int, int, int, bool]:
    """An element's tag, where its content begins and ends, and whether a zero ends it.

    Behind the last element it is a zero at the end.
    """
    if at + 2 > end:
        return 0, end, end, False
    tag = view[at]
    at += 1
    if tag & LONG_TAG == LONG_TAG:
        while at < end and view[at] & INDEFINITE:
            at += 1
        at += 1
    size = view[at] if at < end else 0
    at += 1
    if size == INDEFINITE:
        return tag, at, end, True
    if size > INDEFINITE:
        width = size - INDEFINITE
        size = int.from_bytes(view[at : min(end, at + width)], "big")
        at += width
    return tag, min(at, end), min(end, at + size), False
