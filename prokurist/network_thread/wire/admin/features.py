"""Features of the cluster: ApiVersions, as an administrator asks it, and UpdateFeatures.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from prokurist.events.admin.work import WHOLE
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.apis import API_VERSIONS, UPDATE_FEATURES, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import milliseconds
from prokurist.types.quorums import FeatureLevels, FeatureUpdate, Upgrade
from prokurist.version import VERSION


@dataclass(frozen=True, slots=True)
class DescribeFeatures:
    """Asks a broker for the features that it supports, and those that are finalised.

    Nothing is ever left out.
    """

    api: ClassVar[Api] = API_VERSIONS

    def limits(self) -> Iterator[Limit]:
        """Features are told from version 3 on."""
        yield Limit("asking for features", oldest=3)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"client_software_name": "prokurist", "client_software_version": VERSION}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        supported = {
            row["name"]: (row["min_version"], row["max_version"])
            for row in body.get("supported_features", ())
        }
        finalized = {
            row["name"]: row["max_version_level"] for row in body.get("finalized_features", ())
        }
        levels = {
            name: FeatureLevels(finalized.get(name), supported.get(name))
            for name in sorted(supported.keys() | finalized.keys())
        }
        code = body["error_code"]
        return answer_of(body, [] if code else [(WHOLE, ItemAnswer(value=levels))], code)


@dataclass(frozen=True, slots=True)
class UpdateFeatures:
    """Asks the controller to change the levels of features.

    Version 0 does not tell safe downgrades from unsafe ones, and takes no dry run.

    Attributes:
        updates: The levels by feature.
        timeout: Seconds that the controller may take.
        validate_only: True to check the request, and change nothing.
    """

    api: ClassVar[Api] = UPDATE_FEATURES

    updates: Mapping[str, FeatureUpdate]
    timeout: float
    validate_only: bool = False

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.validate_only:
            yield Limit("checking an update of features", oldest=1)
        if any(each.kind is not Upgrade.UPGRADE for each in self.updates.values()):
            yield Limit("a downgrade of a feature", oldest=1)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "timeout": milliseconds(self.timeout),
            "feature_updates": tuple(
                {
                    "feature": name,
                    "max_version_level": update.level,
                    "upgrade_type": update.kind.value,
                    "allow_downgrade": False,
                }
                for name, update in self.updates.items()
            ),
            "validate_only": self.validate_only,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version: from 2 on all updates end alike."""
        code = body["error_code"]
        if code or "results" not in body:
            rows = [] if code else [(name, ItemAnswer()) for name in self.updates]
            return answer_of(body, rows, code)
        return answer_of(body, ((row["feature"], item_of(row)) for row in body["results"]))
