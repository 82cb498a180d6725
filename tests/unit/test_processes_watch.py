"""The tests' own watch over processes: what the machine keeps from them is not theirs."""

import os
import subprocess
import sys

import pytest

from tests.documents import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux counts what it keeps")

# Two that compute on one processor: each is kept from it by the other.
SHARING = """
import os, subprocess, sys, time
from tests.processes_watch import ProcessesWatch
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
    time.sleep(0.2)
    all_of_us, alone, used = ProcessesWatch(), ProcessesWatch(alone=True), time.process_time()
    while alone.elapsed() < 1.0:
        sum(range(1000))
    used = time.process_time() - used
    print(used, alone.fair(), alone.elapsed(), all_of_us.fair(), all_of_us.elapsed())
    other.kill()
"""


def test_what_the_machine_gave_to_others_is_taken_off_and_no_more() -> None:
    """Half of the time for each; both halves where both count; what was used stays."""
    run = subprocess.run(
        [sys.executable, "-c", SHARING],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=25,
    )
    used, alone, elapsed, both, both_elapsed = map(float, run.stdout.split())
    assert used - 0.05 < alone < 0.8 * elapsed
    assert both_elapsed - both > 1.5 * (elapsed - alone)
