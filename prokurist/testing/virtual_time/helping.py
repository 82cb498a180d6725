"""The helper of authentication in virtual time: work is done a little later, by the world.

Thread: the one that runs the world.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from prokurist.network_thread.io.helper import Job

if TYPE_CHECKING:
    from prokurist.testing.virtual_time.world import World

TAKES: Final = 0.005


class Helping:
    """See `network_thread.io.helper.HelperThread`.

    Attributes:
        hangs: Work that is handed over is never done.
        jobs: How many were handed over.
    """

    def __init__(self, world: "World[Any]", wake: Callable[[], None]) -> None:
        self.hangs: bool = False
        self.jobs: int = 0
        self._world = world
        self._wake = wake
        self._ended: list[Job] = []

    def submit(self, work: Callable[[], Any]) -> Job:
        """Hand work over."""
        job = Job(work)
        self.jobs += 1
        if not self.hangs:
            self._world.at(self._world.clock.time + TAKES, lambda: self._do(job))
        return job

    def _do(self, job: Job) -> None:
        if not job.is_abandoned:
            job.run()
            self._ended.append(job)
            self._wake()

    def collect(self) -> list[Job]:
        """The jobs that have ended since."""
        ended, self._ended = self._ended, []
        if ended:
            self._wake()  # A loop comes round again after a wait, and writes what came of it.
        return ended

    def close(self) -> None:
        """Abandon everything."""
        self._ended.clear()
