"""What an input may cost: seconds of the processor, and memory at the peak.

Both are bounded in proportion to the input's size and to what it may come to: a
batch to its records and columns within the cap, an answer to so many elements.

Thread: one at a time; the peak is the process's. Where the system does not tell it, or
the code runs under a sanitizer, memory is not looked at, and seconds are taken lightly.
"""

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

Result = TypeVar("Result")

MIB: Final = 1 << 20
TRIES: Final = 3
"""How often an input that was too slow is tried: the machine may have other work."""
SANITIZED: Final = "ASAN_OPTIONS" in os.environ
SLOWER: Final = 50 if SANITIZED else 1
STATUS: Final = Path("/proc/self/status")
FORGET: Final = Path("/proc/self/clear_refs")
SEEN: Final = FORGET.exists() and not SANITIZED
"""Whether the peak can be read, and be forgotten before an input."""


class Costly(AssertionError):
    """An input took more than it may."""


class Allowance(NamedTuple):
    """What an input may cost.

    Attributes:
        seconds: Of the processor.
        octets: Of memory, at the peak, beyond what there was.
    """

    seconds: float
    octets: int


def of_batch(size: int, comes_to: int) -> Allowance:
    """What a run of batches may cost the native twin.

    Args:
        size: Its bytes.
        comes_to: How many bytes its records may come to when they are decompressed.
    """
    return Allowance(
        0.03 + 0.15 * size / MIB + 0.05 * comes_to / MIB,
        # Decompressed with room to spare, and columns of six times that.
        4 * MIB + 3 * size + 9 * comes_to,
    )


def of_answer(size: int, elements: int) -> Allowance:
    """What an answer may cost.

    Args:
        size: Its bytes.
        elements: How many its arrays may have.
    """
    made = min(size, elements)
    return Allowance(
        0.03 + 0.02 * size / MIB + 0.8 * made / MIB, 8 * MIB + 2 * size + 320 * made
    )


def of_stream(size: int) -> Allowance:
    """What a stream of frames may cost in both twins."""
    return Allowance(0.05 + 0.2 * size / MIB, 6 * MIB + 8 * size)


SMALL: Final = Allowance(0.6, 32 * MIB)
"""What any of the small inputs may cost, in both twins together."""
BLOCK: Final = 50
"""Small inputs that are measured together: reading the peak takes as long as one of them."""


def within(allowed: Allowance, run: Callable[[], Result], *, exact: bool = False) -> Result:
    """Run something that may cost so much.

    Args:
        allowed: So much.
        run: It.
        exact: Whether memory that was used before is given back first, or the peak would
            hide in it.

    Raises:
        Costly: It cost more.
    """
    if exact:
        give_back()
    left = TRIES
    while True:
        left -= 1
        before = resident() if SEEN else 0
        began = time.process_time()
        result = run()
        took = time.process_time() - began
        grown = peak() - before if SEEN else 0
        if grown > allowed.octets:
            raise Costly(f"{grown} bytes at the peak, and {allowed.octets} are allowed")
        if took <= allowed.seconds * SLOWER:
            return result
        if not left:
            raise Costly(f"{took:.3f} s, and {allowed.seconds:.3f} are allowed")


def give_back() -> None:
    """Give the memory that nothing uses to the system, where that can be asked for."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def resident() -> int:
    """Bytes of memory at present; the peak begins there."""
    FORGET.write_text("5")
    return _told("VmRSS:")


def peak() -> int:
    """Bytes of memory at the peak since then."""
    return _told("VmHWM:")


def _told(name: str) -> int:
    with STATUS.open() as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))
