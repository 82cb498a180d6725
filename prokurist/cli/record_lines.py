"""From a piece of input to the record that is sent for it: `-K`, `-Z` and `-J`, as in kcat.

Thread: any; pure functions.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from prokurist.cli.errors import Failed
from prokurist.cli.formats import unescaped
from prokurist.lazy_dataclasses import dataclass

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class InputRecord:
    """A record to send.

    Attributes:
        value: The value; None for a tombstone.
        key: The key; None for none.
        headers: The headers.
        timestamp: Epoch milliseconds; None for now.
    """

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None


Parse: TypeAlias = Callable[[bytes], InputRecord]


def from_lines(
    key: str | None, key_delimiter: str | None, headers: Headers, *, null_for_empty: bool
) -> Parse:
    """Make records of pieces that are values, or keys and values.

    Args:
        key: The key of all records.
        key_delimiter: The delimiter between a key and its value; a piece without it has no key.
        headers: The headers of all records.
        null_for_empty: True if empty text is null.
    """
    fixed = None if key is None else key.encode()
    between = None if key_delimiter is None else unescaped(key_delimiter)

    def parse(piece: bytes) -> InputRecord:
        own: bytes | None = fixed
        value: bytes | None = piece
        if between and between in piece:
            own, _, value = piece.partition(between)
        if null_for_empty:
            own, value = own or None, value or None
        return InputRecord(value, own, headers)

    return parse


def from_json(headers: Headers) -> Parse:
    """Make records of the output of `consume -J`: key, payload, headers and timestamp.

    Args:
        headers: More headers, for all records.
    """

    def parse(piece: bytes) -> InputRecord:
        try:
            envelope = json.loads(piece)
            flat = envelope.get("headers") or ()
            own = tuple(zip(flat[::2], map(raw, flat[1::2]), strict=True))
            stamp = envelope.get("ts")
            return InputRecord(
                raw(envelope.get("payload")),
                raw(envelope.get("key")),
                (*own, *headers),
                stamp if isinstance(stamp, int) and stamp >= 0 else None,
            )
        except (ValueError, AttributeError, TypeError) as error:
            shown = piece[:60].decode("utf-8", "replace")
            raise Failed(f"-J: not what `consume -J` writes ({error}): {shown}") from None

    return parse


def raw(text: Any) -> bytes | None:
    """The bytes that `consume -J` has shown as text."""
    return None if text is None else text.encode("utf-8", "surrogateescape")
