"""A process that is stopped while it waits for the network, and goes on: Ctrl-Z, a debugger."""

import signal
import sys
import time
from importlib.util import find_spec

import pytest

from prokurist.network_thread.io.watch import MODULES
from tests.child import begun

WAIT = 3.0
STOPS, STOPPED = 5, 0.3
"""Several: the first may come before the wait has begun."""

WAITING = """
import os, sys
from prokurist.network_thread.io.watch import MODULES, watch_of
from prokurist.twins import choose
from tests.stopwatch import Stopwatch
asleep, waker = os.pipe()
watch = watch_of(choose(MODULES, sys.argv[1]))(asleep, 1 << 20)
with Stopwatch() as took:
    print("begun", flush=True)
    assert watch.wait(float(sys.argv[2])) == []
print(took.seconds, took.own)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts what it keeps")
@pytest.mark.parametrize("name", MODULES)
def test_time_in_which_it_was_stopped_is_not_waited_for_again(name: str) -> None:
    """What is due when it goes on is late already: a heartbeat, say."""
    if find_spec(MODULES[name]) is None:
        pytest.skip(f"the {name} watch was not built")
    with begun(WAITING, name, str(WAIT)) as process:
        for _ in range(STOPS):
            time.sleep(0.2)
            process.send_signal(signal.SIGSTOP)
            time.sleep(STOPPED)
            process.send_signal(signal.SIGCONT)
        out, _ = process.communicate(timeout=20)
    seconds, own = map(float, out.split())
    assert seconds >= WAIT
    # Of the wait itself what the stops have left; else it would be all of it.
    assert own < WAIT - STOPS * STOPPED / 2
