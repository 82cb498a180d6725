"""The tests' own stopwatch: whose fault it is that something took long."""

import os
import re
import signal
import sys
import time

import pytest

from tests.child import begun
from tests.stopwatch import MOST_PLAYED, Stopwatch, undisturbed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux counts what it keeps")

STOPPED = """
import sys
from tests.stopwatch import Stopwatch
with Stopwatch() as took:
    print("begun", flush=True)
    sys.stdin.readline()
print(took.seconds, took.kept, took.own)
"""
STILL = 0.6


def test_time_in_which_the_process_stood_still_is_taken_off() -> None:
    """As with a machine that is paused: it is in what passed, and not in what is ours."""
    with begun(STOPPED) as process:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        time.sleep(STILL)
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate("go on\n", timeout=20)
    seconds, kept, own = map(float, out.split())
    assert seconds >= kept >= STILL - 0.1
    assert own == pytest.approx(seconds - kept)


def test_what_a_process_does_to_itself_is_its_own() -> None:
    """It computes and holds the GIL; the machine is not to blame."""
    with Stopwatch() as took:
        used = -time.process_time()
        re.match("(a*)*$", "a" * 23 + "b")  # in C, and in one piece
        used += time.process_time()
    assert used > 0.1
    assert took.seconds >= took.own >= used - 0.05


def paper_watch(kept: float) -> type[Stopwatch]:
    """A stopwatch that reports a given time as held."""

    class Paper(Stopwatch):
        def __exit__(self, *_: object) -> None:
            super().__exit__(None, None, None)
            self.kept = kept

    return Paper


@pytest.mark.parametrize(("kept", "plays"), [(0.0, 1), (0.3, MOST_PLAYED)])
def test_only_what_the_machine_disturbed_is_played_again(
    monkeypatch: pytest.MonkeyPatch, kept: float, plays: int
) -> None:
    """And not for ever: what fails each time has failed."""
    played: list[object] = []

    def scene() -> None:
        played.append(None)
        pytest.fail("as always")

    monkeypatch.setattr("tests.stopwatch.Stopwatch", paper_watch(kept))
    with pytest.raises(pytest.fail.Exception):
        undisturbed(scene)
    assert len(played) == plays


def test_what_goes_well_in_the_end_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time, here."""
    played: list[object] = []

    def scene() -> None:
        played.append(None)
        assert len(played) == 2

    monkeypatch.setattr("tests.stopwatch.Stopwatch", paper_watch(0.3))
    undisturbed(scene)
    undisturbed(lambda: None)
    assert len(played) == 2
