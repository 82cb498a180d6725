"""Values of one poll reuse the memory of those of the last."""

import platform
import subprocess
import sys

import pytest

ROUNDS = 100

POLLS = f"""
import resource, sys
if sys.argv[1] == "kept":
    from prokurist.records.allocator import keep_free_memory
    keep_free_memory()
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
room = bytearray(1024)
before = faults()
for _ in range({ROUNDS}):
    values = [bytes(room) for _ in range(500)]
    del values
print(faults() - before)
"""


def pages_mapped(how: str) -> int:
    """How many pages a process maps that makes and drops the values of many polls."""
    done = subprocess.run(
        [sys.executable, "-c", POLLS, how], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's malloc")
def test_values_of_a_poll_are_made_in_the_pages_of_the_last_one() -> None:
    """Once a consumer was made."""
    assert pages_mapped("kept") < 10 * ROUNDS


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's malloc")
def test_without_it_the_pages_of_each_poll_are_mapped_again() -> None:
    """Where this fails, glibc has learned it, and `keep_free_memory` can go."""
    assert pages_mapped("default") > 20 * ROUNDS
