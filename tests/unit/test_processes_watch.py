"""The tests' own watch over processes: what the machine keeps from them is not theirs."""

import os
import subprocess
import sys

import pytest

from tests.documents import ROOT
from tests.soak.lateness import grown

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux counts what it keeps")

# Two that compute on one processor: each is kept from it by the other.
SHARING = """
import os, subprocess, sys, time
from tests.processes_watch import ProcessesWatch
from tests.soak.lateness import starved_since, thread_waits
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
    time.sleep(0.2)
    watch = ProcessesWatch()
    # What it was kept from until now, when it began, is none of the watch's.
    before = thread_waits()
    while watch.elapsed() < 1.0:
        sum(range(1000))
    print(watch.fair(), watch.elapsed(), starved_since(before))
    other.kill()
"""

# Both compute on one processor, and the child says what it was kept from.
FORKED = """
import os, time
from tests.soak.lateness import starved_since, thread_waits
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
child = os.fork()
began, before = time.monotonic(), thread_waits()
while time.monotonic() - began < 1.0:
    sum(range(1000))
if child:
    os.waitpid(child, 0)
else:
    print(starved_since(before), time.monotonic() - began)
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


def test_a_thread_that_ends_hides_no_wait_of_another() -> None:
    """What one has waited by its end is more than another waits in a call."""
    ended, there, new = 1, 2, 3
    assert grown({ended: 5.0, there: 1.0}, {there: 1.5, new: 0.25}) == 0.75


def test_a_forked_process_counts_the_waits_of_its_first_thread() -> None:
    """It has a number of its own."""
    run = subprocess.run(
        [sys.executable, "-c", FORKED],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=25,
    )
    waited, elapsed = map(float, run.stdout.split())
    assert waited > 0.2 * elapsed
