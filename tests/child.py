"""A process beside the test, for what a test cannot do to its own: to stop it, say."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.documents import ROOT


@contextmanager
def begun(program: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs a program of Python's, from when it has printed `begun`.

    It can import what the tests can. It ends with the block, be it stopped meanwhile.
    """
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            yield process
        finally:
            # Else who left it stopped would wait for it here for ever.
            process.kill()
