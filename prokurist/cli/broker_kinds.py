"""Kinds of brokers: releases of Apache Kafka, and services that speak its protocol.

A service is recognised by the names of its hosts, Redpanda by its cluster's id, which has a
prefix for this purpose. Anything else is compared with the releases of Apache Kafka by the
versions of its APIs.

Thread: any; pure functions.
"""

from collections.abc import Iterable
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.connections.features import Features
from prokurist.network_thread.wire.api_versions import ApiVersionsAnswer
from prokurist.network_thread.wire.versions import RELEASES, Versions

EVENT_HUBS: Final = "Azure Event Hubs"
EVENT_HUBS_IDLE_MS: Final = 240_000
"""After this time Azure drops an idle connection."""

SERVICES: Final = (
    (".confluent.cloud", "", "Confluent Cloud"),
    (".amazonaws.com", ".kafka-serverless.", "Amazon MSK Serverless"),
    (".amazonaws.com", ".kafka.", "Amazon MSK"),
    (".servicebus.windows.net", "", EVENT_HUBS),
    (".warpstream.com", "", "WarpStream"),
)
"""End of a host's name, a part of it, and the service's name."""

REDPANDA: Final = "redpanda."


@dataclass(frozen=True, slots=True)
class BrokerKind:
    """The kind of the brokers of a cluster.

    Attributes:
        name: The service or the software; empty where only the release is known.
        release: Their API versions, compared with releases of Apache Kafka.
    """

    name: str
    release: str

    def __str__(self) -> str:
        return f"{self.name}: {self.release}" if self.name else self.release


def kind_of(
    hosts: Iterable[str], cluster_id: str | None, answer: ApiVersionsAnswer
) -> BrokerKind:
    """The kind of the brokers of a cluster.

    Args:
        hosts: The host names of the brokers.
        cluster_id: As their metadata has it.
        answer: The ApiVersions answer of one of them.
    """
    name = "Redpanda" if (cluster_id or "").startswith(REDPANDA) else ""
    for host in hosts:
        for end, part, service in SERVICES:
            if host.lower().endswith(end) and part in host.lower():
                name = service
    return BrokerKind(name, release_of(answer.offered))


def release_of(offered: Versions) -> str:
    """Return the newest release of Apache Kafka that the broker covers completely."""
    newest = ""
    for release in RELEASES:
        known = Versions.of_kafka(release).ranges
        if all(
            key in offered.ranges and offered.ranges[key].newest >= each.newest
            for key, each in known.items()
        ):
            newest = release
    if not newest:
        return f"less than Kafka {next(iter(RELEASES))} offers"
    return f"the APIs of Kafka {newest}"


def spoken(answer: ApiVersionsAnswer) -> str:
    """A broker's ApiVersions answer, in words."""
    protocols = "classic and consumer" if has_consumer_protocol(answer) else "classic"
    return f"{len(answer.offered.ranges)} APIs, group.protocol {protocols}"


def has_consumer_protocol(answer: ApiVersionsAnswer) -> bool:
    """True if members with `group.protocol=consumer` may join groups here."""
    features = Features()
    features.told(answer)
    return bool(features.consumer_protocol)
