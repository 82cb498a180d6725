"""The differences between the model and real brokers that stay, each with its reason.

`docs/testing.md` has the same list for users. A difference of a version of Kafka that has
vanished fails the scenario in which it is to show.
"""

import re
from dataclasses import dataclass
from typing import Final

from tests.conformance.comparing import Difference

ALL: Final = ("4.3.1", "3.9.2")


@dataclass(frozen=True)
class Accepted:
    """One of them.

    Attributes:
        name: What it is called in docs/testing.md.
        scenarios: Those in which it has to show.
        api: The API, as a regular expression.
        path: The field, as a regular expression.
        versions: The versions of Kafka in which there is this difference.
        real: What the real broker says, as a regular expression.
    """

    name: str
    scenarios: tuple[str, ...]
    api: str
    path: str
    versions: tuple[str, ...] = ALL
    real: str = ".*"

    def covers(self, difference: Difference, version: str) -> bool:
        """Whether a difference is this one."""
        return (
            version in self.versions
            and re.fullmatch(self.api, difference.step.api) is not None
            and re.search(self.path, difference.path) is not None
            and re.fullmatch(self.real, str(difference.real), re.DOTALL) is not None
        )


OLD: Final = ("3.9.2",)
READING: Final = r"^(len\()?(topics|responses)\[0\]\.partitions"

ACCEPTED: Final[list[Accepted]] = [
    Accepted("an epoch of -2", ("epochs_of_one_leader",), "OffsetForLeaderEpoch", READING),
    Accepted(
        "transactions as ListOffsets sees them",
        ("open_and_aborted_transactions",),
        "ListOffsets",
        READING,
    ),
    Accepted(
        "a classic group before its first assignment",
        ("classic_versions",),
        "DescribeGroups",
        r"groups",
        OLD,
    ),
    Accepted(
        "a partition that ListOffsets names twice",
        ("offsets_refused",),
        "ListOffsets",
        READING,
        OLD,
    ),
    Accepted(
        "coordinators of share groups",
        ("coordinators",),
        "FindCoordinator",
        "error_code",
        OLD,
        r"coordinator_not_available \(15\)",
    ),
]
