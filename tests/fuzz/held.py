"""What a process of the fuzzers holds: resident memory, or what the code has of it.

AddressSanitizer keeps what was freed: in its quarantine and in a list for each size, whose
pages stay resident, and their shadow too. Of its heap what is given out is counted then, by the
sanitizer's own count, and of all other memory what is resident. A large block of the heap has
a mapping of its own and counts twice, which is only stricter.

Thread: any. `live` is of the process that asks; another one may ask for the rest.
"""

import ctypes
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil

_LIBRARY: Final = ctypes.CDLL(None)
COUNTED: Final = hasattr(_LIBRARY, "__sanitizer_get_current_allocated_bytes")
"""Whether there is AddressSanitizer, which counts what it gives out."""
HEAPS: Final = (0x600000000000, 0x500000000000)
"""Where its heap may begin on x86-64, by its version. Elsewhere it counts twice."""
HEAP_SIZE: Final = 1 << 42
ADDRESSES: Final = 1 << 47
_MAPPING: Final = re.compile(
    rb"^([0-9a-f]+)-[0-9a-f]+ .*\n(?:\w+: .*\n)*?Rss: +(\d+) kB", re.MULTILINE
)


def live() -> int:
    """Bytes of the heap that are given out; 0 without the sanitizer."""
    if not COUNTED:
        return 0
    ask = _LIBRARY.__sanitizer_get_current_allocated_bytes
    ask.restype = ctypes.c_size_t
    return int(ask())


def held(pid: int, given_out: int) -> int:
    """Bytes that a process holds.

    Args:
        pid: The process; it runs under the sanitizer where this one does.
        given_out: What is `live` in it.

    Raises:
        FileNotFoundError: It is no more.
        ProcessLookupError: It is no more.
    """
    if not COUNTED:
        try:
            return int(psutil.Process(pid).memory_info().rss)
        except psutil.NoSuchProcess as error:
            raise ProcessLookupError(pid) from error
    return given_out + outside(Path(f"/proc/{pid}/smaps").read_bytes(), kept())


def outside(mappings: bytes, ranges: Sequence[range]) -> int:
    """Bytes that are resident outside of ranges of addresses, of what `smaps` says."""
    return sum(
        int(found[2]) << 10
        for found in _MAPPING.finditer(mappings)
        if not any(int(found[1], 16) in each for each in ranges)
    )


def kept() -> list[range]:
    """The addresses of the sanitizer's heap and of its shadow."""
    scale, offset = ctypes.c_size_t(), ctypes.c_size_t()
    _LIBRARY.__asan_get_shadow_mapping(ctypes.byref(scale), ctypes.byref(offset))
    block = ctypes.create_string_buffer(100)
    heaps = [range(first, first + HEAP_SIZE) for first in HEAPS]
    return [
        range(offset.value, offset.value + (ADDRESSES >> scale.value)),
        *(each for each in heaps if ctypes.addressof(block) in each),
    ]
