"""The process between the tests and one broker, so that no broker outlives them.

Run as `python -I -S guard.py FOLDER PARENT`, with the standard library only. It
takes one JSON object a line on its standard input and answers each with one, which has the
command's `id`:

    {"do": "run", "argv": [...], "log": path}         -> {"pid": n}
    {"do": "signal", "number": n}                  -> {"running": bool}, once it took effect
    {"do": "status"}                               -> {"running": bool, "exit": n or null}

Thread: one, in a process of its own.
Invariants: at most one child, the leader of a process group of its own. At the
end of the input, however the test process ended, the child's group gets SIGKILL
(which works on a stopped process too) and FOLDER is removed.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, NoReturn

LOOK_UP_SECONDS = 1.0


class Guard:
    """One child at a time, and the folder it works in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._child: subprocess.Popen[bytes] | None = None

    def __repr__(self) -> str:
        return f"Guard(folder={str(self._folder)!r}, running={self._running()})"

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out the command of one line."""
        match command["do"]:
            case "run":
                return self._run(command["argv"], command["log"])
            case "signal":
                return self._signal(command["number"])
            case "status":
                running = self._running()
                code = None if self._child is None else self._child.returncode
                return {"running": running, "exit": code}
            case other:
                return {"error": f"no such command: {other}"}

    def end(self) -> None:
        """Kill the child's whole group, wait for it, and remove its folder."""
        child = self._child
        if child is not None and child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        # The nodes of a cluster share a parent folder; the last one to go removes it.
        with contextlib.suppress(OSError):
            self._folder.parent.rmdir()

    def _running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _run(self, argv: list[str], log: str) -> dict[str, Any]:
        if self._running():
            return {"error": "the child still runs"}
        try:
            with Path(log).open("ab") as output:
                self._child = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=self._folder,
                    process_group=0,
                )
        except OSError as error:
            return {"error": str(error)}
        return {"pid": self._child.pid}

    def _signal(self, number: int) -> dict[str, Any]:
        child = self._child
        # poll() reaps: a process id that is still ours cannot belong to another process.
        if child is None or child.poll() is not None:
            return {"running": False}
        os.killpg(child.pid, number)
        if number == signal.SIGSTOP and hasattr(os, "waitid"):
            # The caller relies on silence from now on; a stop takes effect when every
            # thread of the JVM has seen it. WNOWAIT leaves an exit for poll() to find.
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        elif number == signal.SIGKILL:
            child.wait()
        return {"running": child.poll() is None}


def serve(guard: Guard, parent: int, commands: IO[bytes], answers: IO[bytes]) -> None:
    """Answer commands until the input ends or the parent is gone.

    The end of the pipe is the usual sign. A parent that forked may have left the
    pipe's other end open in a child that outlives it: then no end comes, and the
    parent's process id tells.
    """
    pending = b""
    while True:
        readable, _, _ = select.select([commands], [], [], LOOK_UP_SECONDS)
        if not readable:
            if os.getppid() != parent:
                return
            continue
        got = os.read(commands.fileno(), 65536)
        if not got:
            return
        *lines, pending = (pending + got).split(b"\n")
        for line in lines:
            command = json.loads(line)
            answer = {**guard.answer(command), "id": command["id"]}
            answers.write(json.dumps(answer).encode() + b"\n")
            answers.flush()


def main() -> None:
    """Serve until the test process ends, then leave nothing behind."""

    def leave(_number: int, _frame: object) -> NoReturn:
        raise SystemExit(0)

    # Ctrl-C is for the test process, which then closes the pipe; a polite kill of
    # this process still takes the broker along.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, leave)
    guard = Guard(Path(sys.argv[1]))
    try:
        with contextlib.suppress(BrokenPipeError):
            serve(guard, int(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer)
    finally:
        guard.end()
        os._exit(0)


if __name__ == "__main__":
    main()
