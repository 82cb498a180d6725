"""Hostile bytes by the million: `make fuzz FUZZ=10000000`.

    python -m tests.fuzz --count 10000000 --seed 1 --processes 2
    python -m tests.fuzz --seed 1 --only 4711

Each process throws its share at the code; this one watches that they go on, do not
grow, and end well. A process that dies, or that is stuck on an input, is told with
the number of that input.
"""

import argparse
import multiprocessing
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from typing import Final

from tests.fuzz.fuzzing import throw, throw_share
from tests.fuzz.held import held

STUCK: Final = 20.0
"""Seconds for one input: a thousand times what any needs. They are counted by looks, so that
processes which are stopped together for a while are not taken for stuck."""
STARTS: Final = 120.0
"""Seconds for what is loaded first, which takes ten times as long under a sanitizer."""
LOOK: Final = 0.2
"""Seconds between two looks."""
GROWTH: Final = 32 << 20
LOOKS: Final = 25
"""What grows is there at each of so many inputs; one that asks for much is over then."""
SETTLED: Final = 0.2
"""After this part of its share a process has all the memory that it ought to need."""


class Growth:
    """What a process keeps beyond what it had once it was settled.

    Attributes:
        most: In bytes, of what was there at each of so many inputs in a row.
    """

    def __init__(self) -> None:
        self.most = 0
        self._base = 0
        self._number = -1
        self._looks: deque[int] = deque(maxlen=LOOKS)

    def look(self, number: int, there: int) -> None:
        """Take down what is held at an input.

        On a busy machine one input that asks for much is there for seconds, at many looks:
        it counts once.
        """
        if number == self._number:
            return
        self._number = number
        self._looks.append(there)
        if len(self._looks) == LOOKS:
            least = min(self._looks)
            self._base = self._base or least
            self.most = max(self.most, least - self._base)


class Share:
    """A process, and what is seen of it."""

    def __init__(self, first: int, given: argparse.Namespace) -> None:
        context = multiprocessing.get_context("spawn")
        self.at = context.RawValue("q", -1)
        self._live = context.RawValue("q", 0)
        share = (first, given.count, given.processes, given.seed)
        self.process: SpawnProcess = context.Process(
            target=throw_share, args=(*share, self.at, self._live)
        )
        self.process.start()
        assert self.process.pid is not None
        self._pid: int = self.process.pid
        self._seen = -1
        self._unmoved = 0
        self._settled_at = given.count * SETTLED
        self.growth = Growth()

    def wrong(self) -> str:
        """What is wrong with it; empty while nothing is."""
        number = self.at.value
        if not self.process.is_alive():
            code = self.process.exitcode
            return f"ended with {code} at input {number}" if code else ""
        self._unmoved = self._unmoved + 1 if number == self._seen else 0
        self._seen = number
        if number < 0 and self._unmoved * LOOK > STARTS:
            return "is stuck before its first input"
        if number >= 0 and self._unmoved * LOOK > STUCK:
            return f"is stuck at input {number}"
        if number > self._settled_at:
            with suppress(FileNotFoundError, ProcessLookupError):  # It has ended since.
                self.growth.look(number, held(self._pid, self._live.value))
        grown = self.growth.most
        return f"has grown by {grown >> 20} MiB by input {number}" if grown > GROWTH else ""


def watched(shares: Sequence[Share], count: int) -> list[str]:
    """Wait until all have ended: what was wrong."""
    told = time.monotonic()
    while any(share.process.is_alive() for share in shares):
        if wrongs := [words for share in shares if (words := share.wrong())]:
            return wrongs
        if time.monotonic() - told > 60:
            told = time.monotonic()
            say(f"input {max(share.at.value for share in shares)} of {count}")
        time.sleep(LOOK)
    return [words for share in shares if (words := share.wrong())]


def say(words: str) -> None:
    """A progress line for the terminal."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def main() -> int:
    """Fuzz, and say how it went."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    if given.only is not None:
        throw([given.only], given.seed, lambda _number: None)
        say(f"input {given.only} of seed {given.seed}: well")
        return 0
    began = time.monotonic()
    shares = [Share(first, given) for first in range(given.processes)]
    try:
        wrongs = watched(shares, given.count)
    finally:
        for share in shares:
            share.process.kill()
            share.process.join()
    grown = max(share.growth.most for share in shares)
    say(
        f"{given.count} hostile inputs of seed {given.seed} in "
        f"{time.monotonic() - began:.0f} s, grown by {grown >> 20} MiB"
    )
    for words in wrongs:
        say(f"WRONG: a process {words}")
    return bool(wrongs)


if __name__ == "__main__":
    sys.exit(main())
