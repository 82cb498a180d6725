"""Work that may wait or compute for long, off the network thread: tokens, secrets, PBKDF2.

Thread: the network thread, except `_work`, the helper's whole life.
Invariants: at most one helper for each client, alive as long as there is work; a job ends once:
in one `collect`, or never because it was abandoned. A job that hangs costs the helper and the
jobs behind it, never the network thread; it is not joined, and ends with the process.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import field
from typing import Any, Protocol

from prokurist.errors import IllegalStateException, KafkaException, SaslAuthenticationException
from prokurist.errors.local_variables import clear_locals
from prokurist.lazy_dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Job:
    """A piece of work for the helper thread, and its result.

    Attributes:
        work: The work.
        value: Its result.
        error: Why it came to nothing.
        is_abandoned: True if it need not begin any more.
    """

    work: Callable[[], Any]
    value: Any = None
    error: KafkaException | None = None
    is_abandoned: bool = False

    def run(self) -> None:
        """Do the work, on the helper thread."""
        try:
            self.value = self.work()
        except KafkaException as error:
            clear_locals(error)  # Its causes' frames hold what the credentials are made of.
            self.error = error.with_traceback(None)
        except BaseException as error:  # noqa: BLE001 - the application's code, SystemExit too
            # Without the error itself: its text or its frames may hold the secret.
            kind = type(error).__name__
            self.error = SaslAuthenticationException(
                f"{kind} was raised while the credentials were made ready"
            )

    def __repr__(self) -> str:
        return "<Job abandoned>" if self.is_abandoned else "<Job>"


class HelperThread(Protocol):
    """The interface of the helper thread: `Helper`, or a simulation's."""

    def submit(self, work: Callable[[], Any]) -> Job:
        """Have work done on the helper thread."""
        ...

    def collect(self) -> list[Job]:
        """The jobs that have ended since; each is told of once."""
        ...

    def close(self) -> None:
        """Abandon all work, and end the thread."""
        ...


@dataclass(slots=True)
class _Desk:
    """The state that both threads share; the helper thread refers to nothing else.

    Attributes:
        wake: Tells the network thread; None once it does not collect any more.
        lock: Guards the others.
        waiting: Jobs that have not begun.
        ended: Jobs that have ended and were not collected.
        is_manned: True if there is a helper.
    """

    wake: Callable[[], None] | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: deque[Job] = field(default_factory=deque)
    ended: list[Job] = field(default_factory=list)
    is_manned: bool = False


class Helper:
    """Runs jobs on a thread of its own, until there are none.

    Args:
        wake: Called from the helper when a job has ended.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._desk = _Desk(wake)

    def submit(self, work: Callable[[], Any]) -> Job:
        """Hand work over; see `HelperThread.submit`.

        Raises:
            IllegalStateException: The helper is closed.
        """
        job, desk = Job(work), self._desk
        with desk.lock:
            if desk.wake is None:
                raise IllegalStateException("the helper is closed")
            desk.waiting.append(job)
            starts, desk.is_manned = not desk.is_manned, True
        if starts:
            try:
                threading.Thread(
                    target=_work, args=(desk,), name="prokurist-helper", daemon=True
                ).start()
            except RuntimeError:  # no more threads for this process
                with desk.lock:
                    desk.is_manned = False
                    desk.waiting.remove(job)
                    desk.ended.append(job)
                job.error = KafkaException("no thread can be started for authentication")
        return job

    def collect(self) -> list[Job]:
        """The jobs that have ended since; see `HelperThread.collect`."""
        with self._desk.lock:
            ended, self._desk.ended = self._desk.ended, []
        return ended

    def close(self) -> None:
        """Abandon everything; a second time does nothing."""
        with self._desk.lock:
            self._desk.wake = None
            self._desk.waiting.clear()
            self._desk.ended.clear()

    def __repr__(self) -> str:
        return f"<Helper {len(self._desk.waiting)} jobs waiting>"


def _work(desk: _Desk) -> None:
    """The helper thread's function: runs one job after the other until there is none."""
    while True:
        with desk.lock:
            if not desk.waiting:
                desk.is_manned = False
                return
            job = desk.waiting.popleft()
        if not job.is_abandoned:
            job.run()
        with desk.lock:
            wake = desk.wake
            if wake is not None:
                desk.ended.append(job)
        if wake is not None:
            wake()
