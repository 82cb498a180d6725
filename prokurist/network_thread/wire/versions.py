"""Negotiation of an API's version with one broker.

Four things decide: our versions (`apis`), the broker's (its ApiVersions answer), a cap (tests
of old protocols), and the needs of this very request (its `limits`). The newest version in all
four is taken; if there is none, the exception names the side at fault and the way out.

Thread: any; everything is frozen.
"""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from prokurist.errors import UnsupportedVersionException
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire import apis
from prokurist.network_thread.wire.apis import Api
from prokurist.network_thread.wire.request import Request


@dataclass(frozen=True, slots=True)
class Range:
    """The versions of one API, both ends included."""

    oldest: int
    newest: int

    def __str__(self) -> str:
        return (
            f"{self.oldest}–{self.newest}" if self.oldest != self.newest else str(self.oldest)
        )


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of each API that a broker offers, or that a cap allows.

    Attributes:
        ranges: The range of each API it knows, by the API's key.
        source: Whom the ranges are of, as error messages name it.
    """

    ranges: Mapping[int, Range]
    source: str = field(default="the broker", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranges", MappingProxyType(dict(self.ranges)))

    def of(self, api: Api) -> Range | None:
        """The range of an API; None if it is not there."""
        return self.ranges.get(api.key)

    @classmethod
    def of_kafka(cls, release: str) -> "Versions":
        """The versions that a release of Apache Kafka offers, as a cap.

        Only the newest versions are facts; the oldest are 0 or ours, since a cap
        does not bound from below.

        Raises:
            ValueError: We have no facts about this release.
        """
        if release not in RELEASES:
            raise ValueError(
                f"no facts about Kafka {release!r}: there are some about {', '.join(RELEASES)}"
            )
        newest = dict(zip(COLUMNS, RELEASES[release], strict=True))
        return cls(
            {api.key: Range(0, last) for api, last in newest.items() if last is not None},
            f"Kafka {release}",
        )

    def __repr__(self) -> str:
        return f"Versions({self.source}, {len(self.ranges)} APIs)"


def negotiate(
    asked: Request[object] | Api, offered: Versions, cap: Versions | None = None
) -> int:
    """Return the newest version that can carry a request to this broker.

    Args:
        asked: The request itself, with its limits; or the API, to check if it can be asked at
            all.
        offered: The broker's versions.
        cap: Upper bounds on versions, in tests of old protocols.

    Raises:
        UnsupportedVersionException: There is none. The text names the API, the versions of each
            side, and the way out.
    """
    api, limits = (asked, ()) if isinstance(asked, Api) else (asked.api, tuple(asked.limits()))
    ours = Range(api.oldest, api.newest)
    if cap is not None:
        allowed = cap.of(api)
        if allowed is None or allowed.newest < api.oldest:
            raise UnsupportedVersionException(
                f"{api} is not spoken under the cap of {cap.source}: lift the cap"
            )
        ours = Range(api.oldest, min(api.newest, allowed.newest))
    theirs = offered.of(api)
    if theirs is None:
        raise UnsupportedVersionException(
            f"{api} is not among the APIs that {offered.source} knows (we speak versions "
            f"{ours}): it takes a newer broker, or doing without"
        )
    both = Range(max(ours.oldest, theirs.oldest), min(ours.newest, theirs.newest))
    oldest = max([both.oldest, *(limit.oldest for limit in limits)])
    newest = min([both.newest, *(each.newest for each in limits if each.newest is not None)])
    if oldest <= newest:
        return newest
    spoken = f"{api}: we speak versions {ours}, {offered.source} {theirs}"
    if both.oldest > both.newest:
        # A cap never bounds from below, so a gap above us may be the cap's doing.
        capped = cap is not None and ours.newest < api.newest
        older = "lift the cap" if capped else "upgrade prokurist"
        way_out = "upgrade the broker" if theirs.newest < ours.oldest else older
        raise UnsupportedVersionException(f"{spoken}, and none is in both: {way_out}")
    needs = " and ".join(str(limit) for limit in limits)
    raise UnsupportedVersionException(
        f"{spoken}, and none of {both} can carry this request: {needs}"
    )


COLUMNS: Final = (
    apis.FETCH,
    apis.API_VERSIONS,
    apis.METADATA,
    apis.FIND_COORDINATOR,
    apis.OFFSET_COMMIT,
    apis.OFFSET_FETCH,
    apis.LIST_OFFSETS,
    apis.OFFSET_FOR_LEADER_EPOCH,
    apis.CONSUMER_GROUP_HEARTBEAT,
    apis.JOIN_GROUP,
    apis.SYNC_GROUP,
    apis.HEARTBEAT,
    apis.LEAVE_GROUP,
    apis.PRODUCE,
    apis.INIT_PRODUCER_ID,
)
"""APIs of the numbers below, from left to right."""

RELEASES: Final[Mapping[str, tuple[int | None, ...]]] = MappingProxyType(
    {
        "2.4": (11, 3, 9, 3, 8, 6, 5, 3, None, 6, 4, 4, 4, 8, 2),
        "2.5": (11, 3, 9, 3, 8, 7, 5, 3, None, 7, 5, 4, 4, 8, 3),
        "2.6": (11, 3, 9, 3, 8, 7, 5, 3, None, 7, 5, 4, 4, 8, 3),
        "2.7": (12, 3, 9, 3, 8, 7, 5, 3, None, 7, 5, 4, 4, 8, 4),
        "2.8": (12, 3, 11, 3, 8, 7, 6, 4, None, 7, 5, 4, 4, 9, 4),
        "3.0": (12, 3, 11, 4, 8, 8, 7, 4, None, 7, 5, 4, 4, 9, 4),
        "3.1": (13, 3, 12, 4, 8, 8, 7, 4, None, 7, 5, 4, 4, 9, 4),
        "3.2": (13, 3, 12, 4, 8, 8, 7, 4, None, 9, 5, 4, 5, 9, 4),
        "3.3": (13, 3, 12, 4, 8, 8, 7, 4, None, 9, 5, 4, 5, 9, 4),
        "3.4": (13, 3, 12, 4, 8, 8, 7, 4, None, 9, 5, 4, 5, 9, 4),
        "3.5": (15, 3, 12, 4, 8, 8, 8, 4, None, 9, 5, 4, 5, 9, 4),
        "3.6": (15, 3, 12, 4, 8, 8, 8, 4, None, 9, 5, 4, 5, 9, 4),
        "3.7": (16, 3, 12, 4, 9, 9, 8, 4, 0, 9, 5, 4, 5, 10, 4),
        "3.8": (16, 3, 12, 5, 9, 9, 8, 4, 0, 9, 5, 4, 5, 11, 5),
        "3.9": (17, 4, 12, 6, 9, 9, 9, 4, 0, 9, 5, 4, 5, 11, 5),
        "4.3": (18, 4, 13, 6, 10, 10, 11, 4, 1, 9, 5, 4, 5, 13, 5),
    }
)
"""The newest stable version of each API, from `validVersions` and
`latestVersionUnstable` in Kafka's sources at each release's last tag (2.4 to
3.8), and asked of `ApiKeys` in the jars (3.9.2, 4.3.1)."""
