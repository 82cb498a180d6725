"""A process that cannot outlive the test process: this side of the guard.

Thread: any, one call at a time for each process (a lock sees to it).
Invariants: the guard holds the only way to the child; signals go through it, so
that none can hit a process id which the system has given to another process. The pipe
to the guard is the child's life line.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka.errors import KafkaFailed

ANSWER_WITHIN = 60.0
"""Seconds for the guard to answer a line; a kill waits for the end of the child."""


class GuardedProcess:
    """At most one child at a time, in a process group of its own."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        """Start the guard; it owns the folder from now on, and removes it at its end."""
        self._clock = clock
        self._lock = threading.Lock()
        self._folder = folder
        self._pid: int | None = None
        self._requests = 0
        self._guard = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                str(Path(__file__).with_name("guard.py")),
                str(folder),
                str(os.getpid()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __repr__(self) -> str:
        return f"GuardedProcess(pid={self._pid}, guard={self._guard.pid})"

    @property
    def pid(self) -> int | None:
        """The child's process id; None before the first run."""
        return self._pid

    @property
    def guard_pid(self) -> int:
        """The guard's process id."""
        return self._guard.pid

    def run(self, argv: Sequence[str], log: Path) -> None:
        """Start the child; its output is appended to the log.

        Raises:
            KafkaFailed: It could not be started.
        """
        answer = self._ask({"do": "run", "argv": list(argv), "log": str(log)})
        self._pid = answer["pid"]

    def signal(self, number: int) -> bool:
        """Send a signal to the child's group; a stop and a kill have taken effect on return.

        Returns:
            True while the child runs.
        """
        return bool(self._ask({"do": "signal", "number": int(number)})["running"])

    def exit_code(self) -> int | None:
        """Exit code of the child; None while it runs or before it began."""
        code: int | None = self._ask({"do": "status"})["exit"]
        return code

    def running(self) -> bool:
        """Return True while the child runs."""
        return bool(self._ask({"do": "status"})["running"])

    def wait(self, deadline: Deadline) -> int | None:
        """The child's exit code, or None if it still runs at the deadline."""
        while self.running():
            if deadline.expired(self._clock.now()):
                return None
            self._clock.sleep(0.02)
        return self.exit_code()

    def close(self) -> None:
        """Kill what still runs, and let the guard remove the folder; may be called twice."""
        guard = self._guard
        with self._lock:
            if guard.stdin is not None:
                # Commands that were not read do not matter any more, the end of the pipe does.
                with contextlib.suppress(OSError):
                    guard.stdin.close()
            if guard.stdout is not None:
                guard.stdout.close()
            try:
                guard.wait(ANSWER_WITHIN)
            except subprocess.TimeoutExpired:
                guard.terminate()
                guard.wait(ANSWER_WITHIN)

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        """Send one command to the guard, and return its answer.

        The answer bears the command's number: a call that was interrupted by Ctrl-C between
        the two has left its answer in the pipe, and that is not the answer to this command.
        """
        with self._lock:
            deadline = Deadline.after(self._clock.now(), ANSWER_WITHIN)
            self._requests += 1
            number = self._requests
            line = json.dumps({**command, "id": number}).encode() + b"\n"
            stdin, stdout = self._guard.stdin, self._guard.stdout
            if stdin is None or stdout is None or stdin.closed:
                raise KafkaFailed("the broker's guard is closed")
            try:
                stdin.write(line)
                stdin.flush()
            except OSError as error:
                raise self._guard_is_gone() from error
            answer: dict[str, Any] = {}
            while answer.get("id") != number:
                got = b""
                while not got.endswith(b"\n"):
                    remaining = deadline.remaining(self._clock.now())
                    if not select.select([stdout], [], [], remaining)[0]:
                        raise KafkaFailed(
                            f"the broker's guard did not answer in {ANSWER_WITHIN} s"
                        )
                    piece = os.read(stdout.fileno(), 65536)
                    if not piece:
                        raise self._guard_is_gone()
                    got += piece
                answer = json.loads(got.splitlines()[-1])
        if "error" in answer:
            raise KafkaFailed(f"could not start {command['argv'][0]}: {answer['error']}")
        return answer

    def _guard_is_gone(self) -> KafkaFailed:
        return KafkaFailed(
            f"the broker's guard (process {self._guard.pid}) is gone",
            way_out="it was killed, and the broker may still run",
        )
