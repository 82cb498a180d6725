"""A witness in each process of a chaos run: when the machine did not let its threads run.

A deadline is held against a client whose threads could run. The witness is a thread that sleeps
a little, again and again. Where it wakes late, the threads of its process could not run either:
the processor was others', the virtual machine stood still, or the disk that the journal is on.

Thread: its own.
Invariants: what the process itself computed in that time is no excuse, so that a thread of the
client that keeps the others from running is late all the same.
"""

import _thread
import time
from collections.abc import Sequence
from typing import Final

from tests.chaos.journal import Event, Journal
from tests.chaos.verdict import Span

EVERY: Final = 0.02
"""Seconds of one sleep."""

LEAST: Final = 0.005
"""Seconds by which it wakes late, from which on they are written down."""


class Witness:
    """The thread; it ends with its process.

    Args:
        journal: Where "held" is written.

    Attributes:
        held: Seconds that it has written down.
    """

    def __init__(self, journal: Journal) -> None:
        self.held = 0.0
        self._journal = journal
        # None of `threading`'s: what it waits for itself is no starving of the client's calls.
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        reached, computed = time.monotonic(), time.process_time()
        while True:
            # From the last wake on: a write that stands still is seen, too.
            time.sleep(max(0.0, reached + EVERY - time.monotonic()))
            woke, used = time.monotonic(), time.process_time()
            held = round(woke - reached - EVERY - (used - computed), 5)
            if held >= LEAST:
                self.held += held
                self._journal.write("held", held)
            reached, computed = woke, used


def held_spans(events: Sequence[Event]) -> list[Span]:
    """When the threads of a process could not run, by its journal."""
    return [(each.at - each.what, each.at) for each in events if each.kind == "held"]
