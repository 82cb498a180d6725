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
from tests.soak.lateness import starved
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
    time.sleep(0.2)
    watch = ProcessesWatch()
    # What it was kept from until now, when it began, is none of the watch's.
    before = starved()
    while watch.elapsed() < 1.0:
        sum(range(1000))
    print(watch.fair(), watch.elapsed(), starved() - before)
    other.kill()
"""


def test_what_the_machine_kept_from_this_process_and_those_below_is_taken_off() -> None:
    """Half of the time from each, so all of it where both count."""
    run = subprocess.run(
        [sys.executable, "-c", SHARING],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=25,
    )
    fair, elapsed, own = map(float, run.stdout.split())
    assert own > 0.2 * elapsed
    assert elapsed - fair > 1.5 * own
