"""Keeps the memory of one poll's values for those of the next.

Thread: any.

A value larger than 512 bytes is malloc's. Its user lets go of a whole poll of values at once,
and glibc then gives pages back to the system as soon as 128 KiB lie free at the end of its
heap: the next poll has to have each of them mapped and cleared again. glibc keeps more where a
process has freed a larger block before: twice as much as that block had.
"""

from typing import Final

BLOCK: Final = 1 << 20
"""Twice as much stays: the values of a poll of 500 records of 4 KiB, and no more than 2 MiB."""


def keep_free_memory() -> None:
    """Have malloc keep up to 2 MiB that were freed, and no less than it keeps already.

    No page of the block is touched. Limits that the user has set in the environment
    (`MALLOC_TRIM_THRESHOLD_`) stay; other allocators than glibc's are not concerned.
    """
    bytes(BLOCK)
