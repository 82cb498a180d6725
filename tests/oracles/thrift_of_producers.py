"""Judges whether a producer sends no more requests than its batches and its troubles call for.

Unlike a consumer's, each of its requests has a cause that it counts: so each kind of request
has a bound of its own, and without a cause there are only metadata that have come of age.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from prokurist.assembly.producer import ProducerSide
from tests.oracles.bounds import JITTER, Settings

AT_THE_BEGINNING: Final = 4
"""Requests of one kind for which nothing has happened yet."""

OF_A_LOOK_UP: Final = 6
"""Metadata requests of a topic that is not there, until they come about once a second."""

OF_A_TROUBLE: Final = 2
"""Metadata, or ids, that one retry or one end of a connection may have asked for."""


@dataclass(frozen=True)
class Work:
    """What a producer had to do.

    Attributes:
        batches: Batches that were sent, each counted once.
        retries: How often one was sent again.
        split: How many were sent again in parts.
        epochs: How often numbers began again.
        connections: Connections that came up, ended, or did not come up.
        look_ups: How often a call waited for a topic.
    """

    batches: int = 0
    retries: int = 0
    split: int = 0
    epochs: int = 0
    connections: int = 0
    look_ups: int = 0

    @classmethod
    def of(cls, side: ProducerSide, look_ups: int = 0) -> Self:
        """What a producer has counted."""
        did, traffic = side.endings.counters, side.client.counters
        return cls(
            did.batches,
            did.retries,
            did.split,
            did.epochs,
            traffic.opened + traffic.closed + traffic.failed,
            look_ups,
        )

    def since(self, before: "Work") -> "Work":
        """What was done after an earlier look."""
        pairs = zip(self.parts, before.parts, strict=True)
        return Work(*(now - then for now, then in pairs))

    @property
    def parts(self) -> tuple[int, ...]:
        """All of it."""
        return (
            self.batches,
            self.retries,
            self.split,
            self.epochs,
            self.connections,
            self.look_ups,
        )

    @property
    def troubles(self) -> int:
        """What may have it ask where a leader is."""
        return self.retries + self.split + self.connections


def requests_by_kind(side: ProducerSide) -> dict[str, int]:
    """How many requests a producer has sent of each kind."""
    return {name: each.sent for name, each in side.client.counters.apis.children.items()}


def bounds(settings: Settings, seconds: float, work: Work) -> dict[str, float]:
    """How many requests of each kind there may be; those that are not named are not judged.

    Args:
        settings: The producer's.
        seconds: For how long.
        work: What it had to do meanwhile.
    """
    aged = 1 + seconds * JITTER / settings.metadata
    busy = any(work.parts)
    looks = JITTER * seconds / settings.retry_max * busy + OF_A_LOOK_UP * work.look_ups
    asked = OF_A_TROUBLE * work.troubles + AT_THE_BEGINNING * busy
    return {
        "Produce": work.batches + work.retries + 2 * work.split,
        "Metadata": aged + looks + asked,
        "InitProducerId": work.epochs + asked + looks,
        "ApiVersions": work.connections,
    }


def wasted(
    settings: Settings, seconds: float, sent: Mapping[str, int], work: Work, where: str = ""
) -> list[str]:
    """What was sent in vain, in words."""
    most = bounds(settings, seconds, work)
    return [
        f"thrift: {count} {kind} requests in {seconds:.2f} s, and {most[kind]:.0f} are allowed "
        f"({work}) {where}"
        for kind, count in sent.items()
        if count > most.get(kind, count)
    ]
