"""ApiVersions: a broker's API versions, requested before anything else.

Thread: any; frozen values.
"""

from collections.abc import Iterable
from typing import ClassVar

from prokurist.errors import UnsupportedVersionException
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import API_VERSIONS, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import throttle
from prokurist.network_thread.wire.versions import Range, Versions


@dataclass(frozen=True, slots=True)
class ApiVersionsAnswer:
    """The API versions and the features that a broker offers.

    Attributes:
        error: 0, or why not; with 35 `offered` may hold ApiVersions alone, or nothing.
        offered: The range of every API it knows.
        throttle: Seconds that the broker wants to be left alone.
        finalized: The features that the cluster has finalised, with their levels; none
            below version 3.
        finalized_in: The epoch of that, growing with each change; −1 if the broker sends none.
    """

    error: int
    offered: Versions
    throttle: float = 0.0
    finalized: tuple[tuple[str, int], ...] = ()
    finalized_in: int = -1

    def version_to_ask_again(self, asked: int) -> int:
        """The version to ask in after UNSUPPORTED_VERSION.

        It is below the one asked, so that a broker cannot keep us asking.

        Args:
            asked: The version that was refused.

        Raises:
            UnsupportedVersionException: There is none left to try.
        """
        offered = self.offered.of(API_VERSIONS) or Range(0, 0)
        version = min(offered.newest, asked - 1)
        if version < max(offered.oldest, API_VERSIONS.oldest):
            raise UnsupportedVersionException(
                f"{API_VERSIONS}: the broker refused version {asked} and offers {offered}; we "
                f"speak {API_VERSIONS.oldest}–{API_VERSIONS.newest}: upgrade whichever is older"
            )
        return version


@dataclass(frozen=True, slots=True)
class ApiVersions:
    """Asks a broker for the API versions that it offers.

    The two names are left out below version 3: they only appear in the broker's
    metrics. From 3 on the broker refuses with INVALID_REQUEST any name that is not made
    of letters, digits, dots and hyphens, or begins or ends with one of the latter two.
    """

    api: ClassVar[Api] = API_VERSIONS

    client_software_name: str
    client_software_version: str

    def limits(self) -> Iterable[Limit]:
        """Nothing: every version can carry it."""
        return ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "client_software_name": self.client_software_name,
            "client_software_version": self.client_software_version,
        }

    def answer(self, body: Body) -> ApiVersionsAnswer:
        """Read an answer of any version."""
        return ApiVersionsAnswer(
            error=body["error_code"],
            offered=Versions(
                {
                    row["api_key"]: Range(row["min_version"], row["max_version"])
                    for row in body["api_keys"]
                }
            ),
            throttle=throttle(body),
            finalized=tuple(
                (row["name"], row["max_version_level"])
                for row in body.get("finalized_features", ())
            ),
            finalized_in=body.get("finalized_features_epoch", -1),
        )
