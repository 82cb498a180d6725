"""The way in: which process it is."""

import subprocess
import sys

FORK = """
import os
from prokurist.application.single_thread_guard import PROCESS
assert PROCESS.id == os.getpid()
child = os.fork()
if not child:
    os._exit(PROCESS.id != os.getpid())
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_knows_that_it_is_one() -> None:
    """CONTRACT, rule 1: no system call is made for each entry, and a copy is known at once."""
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=60)
