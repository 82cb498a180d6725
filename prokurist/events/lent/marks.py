"""State of a lent record in one byte: its mark, and how far that has come.

    HELD ──► SENT ──► DONE
     ▲         │
     └─────────┘ rolled back        HELD, SENT ──► LOST

Thread: any; tables.
"""

from collections.abc import Callable
from typing import Final

from prokurist.types import Acknowledge

MARK: Final = 0x07
"""Bits of the mark: none, one of `Acknowledge`, or a gap."""
NONE: Final = 0
GAP: Final = 5
"""An offset without a record; on the wire it is 0."""
RETURNED: Final = 0x08
"""A poll has returned it."""
KEPT: Final = 0x10
"""The user has renewed it: it blocks no poll, and none accepts it.

Without this bit a renewal is automatic, and no decision of the user's.
"""
STAGE: Final = 0x60
HELD: Final = 0x00
SENT: Final = 0x20
DONE: Final = 0x40
LOST: Final = 0x60

ON_THE_WIRE: Final = bytes((0, 1, 2, 3, 4, 0, 0, 0))
"""Acknowledge types of the protocol, by mark."""


def translation(change: Callable[[int], int]) -> bytes:
    """Make a table for `bytes.translate` of a change of one byte."""
    return bytes(change(each) & 0xFF for each in range(256))


def is_undecided(byte: int) -> bool:
    """True for a held record without a decision; its lock may be being renewed."""
    if byte & KEPT:
        return False
    return byte & (STAGE | MARK) in (HELD, HELD | Acknowledge.RENEW, SENT | Acknowledge.RENEW)


def is_open(byte: int) -> bool:
    """True for a record that a poll has returned, is held, and has no decision."""
    return bool(byte & RETURNED) and is_undecided(byte)


def is_lost_open(byte: int) -> bool:
    """True for a record that was lost before the application had decided on it."""
    return byte & (STAGE | MARK | RETURNED | KEPT) == LOST | RETURNED


def is_decided(byte: int) -> bool:
    """True for a held record with a decision of the user's that was not sent."""
    if byte & STAGE != HELD or byte & MARK in (NONE, GAP):
        return False
    return byte & MARK != Acknowledge.RENEW or bool(byte & KEPT)


def mark_open(mark: int) -> bytes:
    """A table that marks held and lost records that polls have returned without a mark."""

    def change(byte: int) -> int:
        if is_open(byte):
            return byte & ~(STAGE | MARK) | HELD | mark
        return byte | mark if is_lost_open(byte) else byte

    return translation(change)


def lose(byte: int) -> int:
    """Lose a held or sent record; an automatic renewal is no decision on it."""
    if byte & STAGE not in (HELD, SENT):
        return byte
    is_automatic = byte & (MARK | KEPT) == Acknowledge.RENEW
    return byte & ~(STAGE | (MARK if is_automatic else 0)) | LOST


OPEN_TO: Final = {each: mark_open(each) for each in Acknowledge}

RELEASE_REST: Final = translation(
    lambda byte: (
        byte & ~(STAGE | MARK) | Acknowledge.RELEASE
        if is_undecided(byte) or byte & (STAGE | MARK) == HELD
        else byte
    )
)
"""Releases everything that is held without a mark, returned or not."""

LOSE: Final = translation(lose)
"""Loses held and sent records."""

ONLY_OPEN: Final = translation(is_open)
"""1 for a record that blocks a poll in the explicit mode."""
ONLY_HELD: Final = translation(lambda byte: byte & STAGE == HELD)
ONLY_LIVE: Final = translation(lambda byte: byte & STAGE in (HELD, SENT))
ONLY_MARKED: Final = translation(lambda byte: byte & STAGE == HELD and byte & MARK != NONE)
ONLY_LOST_OPEN: Final = translation(is_lost_open)
"""1 for a record that was lost before the application had decided on it."""
