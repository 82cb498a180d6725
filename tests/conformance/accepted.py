"""The differences between the model and real brokers that stay, each with its reason.

`docs/testing.md` has the same list for users. A difference of a version of Kafka that has
vanished from a step fails the scenario in which it is to show there.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.conformance.comparing import Difference

ALL: Final = ("4.3.1", "3.9.2")


@dataclass(frozen=True)
class Accepted:
    """One of them.

    Attributes:
        name: What it is called in docs/testing.md.
        scenarios: The steps of each scenario in which it has to show, in one version of the
            API at least; none for a scenario in which it may show anywhere.
        api: The API, as a regular expression.
        path: The field, as a regular expression.
        versions: The versions of Kafka in which there is this difference.
        real: What the real broker says, as a regular expression.
    """

    name: str
    scenarios: Mapping[str, tuple[int, ...]]
    api: str
    path: str
    versions: tuple[str, ...] = ALL
    real: str = ".*"

    def covers(self, difference: Difference, version: str, scenario: str) -> bool:
        """Whether a difference of a scenario is this one."""
        steps = self.scenarios.get(scenario)
        return (
            steps is not None
            and (not steps or difference.step.number in steps)
            and version in self.versions
            and re.fullmatch(self.api, difference.step.api) is not None
            and re.search(self.path, difference.path) is not None
            and re.fullmatch(self.real, str(difference.real), re.DOTALL) is not None
        )

    def stale(self, found: Sequence[Difference], version: str, scenario: str) -> list[str]:
        """The places in a scenario where it has to show, and did not."""
        if version not in self.versions or scenario not in self.scenarios:
            return []
        shown = {one.step.number for one in found if self.covers(one, version, scenario)}
        steps = self.scenarios[scenario]
        if not steps:
            return [] if shown else [f"{self.name}: anywhere"]
        return [f"{self.name}: step {each}" for each in steps if each not in shown]


OLD: Final = ("3.9.2",)
READING: Final = r"^(len\()?(topics|responses)\[0\]\.partitions"

ACCEPTED: Final[list[Accepted]] = [
    Accepted(
        "an epoch of -2", {"epochs_of_one_leader": (4, 10)}, "OffsetForLeaderEpoch", READING
    ),
    Accepted(
        "a classic group before its first assignment",
        {"classic_versions": (2, 3), "random_classic": ()},
        "DescribeGroups",
        r"groups",
        OLD,
        r"Dead|0|",
    ),
    Accepted(
        "the beginning of the transaction before InitProducerId",
        {"random_transactions": ()},
        "DescribeTransactions",
        "transaction_start_time",
        OLD,
        "the broker's clock",
    ),
    Accepted(
        "a partition that ListOffsets names twice",
        {"offsets_refused": (8, 9)},
        "ListOffsets",
        READING,
        OLD,
    ),
    Accepted(
        "coordinators of share groups",
        {"coordinators": (5, 6)},
        "FindCoordinator",
        "error_code",
        OLD,
        r"coordinator_not_available \(15\)",
    ),
    Accepted(
        "who is in sync while no copy is up",
        {"death_of_a_broker": ()},
        "Metadata",
        r"isr_nodes",
        OLD,
        "1",
    ),
    Accepted(
        "properties of topics that 4.x has not",
        dict.fromkeys(
            (
                "topics_created",
                "names_of_topics",
                "topics_assigned",
                "topics_configured",
                "limits_of_properties",
                "configs_described",
            ),
            (),
        ),
        "CreateTopics|DescribeConfigs",
        r"configs\.message\.(format|downconversion|timestamp\.(difference|after))",
        OLD,
    ),
    Accepted(
        "texts of refusals",
        {"topics_created": (), "brokers_altered": ()},
        "CreateTopics|IncrementalAlterConfigs",
        "error_message",
        OLD,
        r"Unable to replicate .* registered\.|Cannot update these configs dynamically: Set.*",
    ),
    Accepted(
        "rights over a group",
        {"groups_administered": (), "members_administered": ()},
        "DescribeGroups",
        "authorized_operations",
        OLD,
        "328",
    ),
    Accepted(
        "the controller in Metadata",
        {"leaders_elsewhere": (), "epochs_of_moved_leaders": (), "death_of_a_broker": ()},
        "Metadata",
        "^controller_id$",
    ),
]
