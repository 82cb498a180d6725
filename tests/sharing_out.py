"""Which tests a process gets together: those of a file, and all that want three shared nodes.

Three real nodes cost five seconds of a processor to start, and a twentieth of one for as long
as they stand idle. So one process has them, and not each.
"""

from functools import cache
from pathlib import Path
from typing import Final

from xdist.scheduler import LoadFileScheduling

ROOT: Final = Path(__file__).parents[1]
CLUSTER: Final = "prokurist_cluster"


class ByBrokers(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Shares tests out by files, of which those with shared nodes go to one process."""

    def _split_scope(self, nodeid: str) -> str:
        """The name of what goes together with this test."""
        file = str(super()._split_scope(nodeid))
        return CLUSTER if _wants_cluster(file) else file


@cache
def _wants_cluster(file: str) -> bool:
    return CLUSTER in (ROOT / file).read_text(encoding="utf-8")
