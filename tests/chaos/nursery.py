"""Members and writers as forks of one process that has imported all they need.

    python -m tests.chaos.nursery

To start one costs milliseconds then, and the load of a run is that of clients. It is told
on stdin what to do and answers on stdout, a line of JSON each; when stdin ends so does every
member, frozen or not.

Thread: that of a `Nursery`'s user, one at a time; the process itself has one, as it forks.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import prokurist.assembly.consumer
import prokurist.assembly.producer
import prokurist.assembly.share  # noqa: F401 - and the others
from tests.chaos import copying, member, rival, sharing, writing
from tests.chaos.copying import CopierDuty
from tests.chaos.member import Duty
from tests.chaos.rival import RivalDuty
from tests.chaos.sharing import SharerDuty
from tests.chaos.writing import WriterDuty

AnyDuty = Duty | WriterDuty | CopierDuty | RivalDuty | SharerDuty
DUTIES: Final[dict[str, type[AnyDuty]]] = {
    each.__name__: each for each in (Duty, WriterDuty, CopierDuty, RivalDuty, SharerDuty)
}

ROOT: Final = Path(__file__).parents[2]


class Nursery:
    """The process, seen from here.

    Attributes:
        codes: How members have ended, by their process ids: an exit code, or the number of
            a signal below 0.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.nursery"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.codes: dict[int, int] = {}

    def start(self, duty: AnyDuty) -> int:
        """Have a process begin: its id."""
        pid: int = self._ask([type(duty).__name__, asdict(duty)])
        return pid

    def look(self) -> None:
        """See who has ended."""
        self.codes.update(self._ask("ended"))

    def close(self) -> None:
        """End it, and all processes that are left."""
        self._process.communicate()

    def _ask(self, words: Any) -> Any:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(words) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())


def fork(duty: AnyDuty) -> int:
    """A process that begins: its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        # What the nursery is told, and says, is none of the member's.
        with Path(duty.journal).with_suffix(".stderr").open("wb") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        if isinstance(duty, Duty):
            member.main(duty)
        elif isinstance(duty, CopierDuty):
            copying.main(duty)
        elif isinstance(duty, RivalDuty):
            rival.main(duty)
        elif isinstance(duty, SharerDuty):
            sharing.main(duty)
        else:
            writing.main(duty)
        code = 0
    except BaseException:  # noqa: BLE001 - it must not go on as a second nursery
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def ended(living: set[int]) -> list[tuple[int, int]]:
    """Who has ended, and how; they are out of the set then."""
    found = []
    for pid in sorted(living):
        which, status = os.waitpid(pid, os.WNOHANG)
        if which:
            living.discard(pid)
            found.append((pid, os.waitstatus_to_exitcode(status)))
    return found


def serve() -> None:
    """Do what stdin says, until it ends."""
    # Ctrl-C is for the parent process, whose close then ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    living: set[int] = set()
    try:
        for line in sys.stdin:
            words = json.loads(line)
            answer: Any
            if words == "ended":
                answer = ended(living)
            else:
                role, fields = words
                answer = fork(DUTIES[role](**fields))
                living.add(answer)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    finally:
        for pid in living:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    serve()
