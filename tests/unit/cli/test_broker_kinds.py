"""Which kind of broker answers: by hosts, by the cluster's id, and by what it offers."""

import pytest

from prokurist.cli.broker_kinds import has_consumer_protocol, kind_of, release_of
from prokurist.network_thread.wire.api_versions import ApiVersionsAnswer
from prokurist.network_thread.wire.apis import CONSUMER_GROUP_HEARTBEAT, FETCH
from prokurist.network_thread.wire.versions import RELEASES, Range, Versions


def offering(release: str) -> Versions:
    """What a release of Kafka offers."""
    return Versions(Versions.of_kafka(release).ranges)


@pytest.mark.parametrize(
    ("host", "cluster", "name"),
    [
        ("kafka1.example.com", "5L6g3nShT-eMCtK--X86sw", ""),
        ("kafka1.example.com", None, ""),
        ("redpanda-0.example.com", "redpanda.2f5d-11", "Redpanda"),
        ("pkc-1.eu-west-1.aws.confluent.cloud", "lkc-1", "Confluent Cloud"),
        ("b-1.orders.x1.c3.kafka.eu-west-1.amazonaws.com", "x", "Amazon MSK"),
        ("boot-x.c2.kafka-serverless.eu-west-1.amazonaws.com", "x", "Amazon MSK Serverless"),
        ("ORDERS.servicebus.windows.net", "x", "Azure Event Hubs"),
        ("serverless.warpstream.com", "x", "WarpStream"),
        ("kafka.eu-west-1.amazonaws.com.example.com", "x", ""),
    ],
)
def test_services_are_told_by_their_names(host: str, cluster: str | None, name: str) -> None:
    """Whichever host it is; else there is only what is offered."""
    answer = ApiVersionsAnswer(error=0, offered=offering("3.9"))
    kind = kind_of(["10.0.0.1", host], cluster, answer)
    assert kind.name == name
    assert str(kind) == (f"{name}: " if name else "") + "the APIs of Kafka 3.9"


def test_a_release_is_told_by_what_it_offers() -> None:
    """The newest of those that offer the same, and none that offers more."""
    for release in RELEASES:
        told = release_of(offering(release)).removeprefix("the APIs of Kafka ")
        assert RELEASES[told] == RELEASES[release]
    less = dict(offering("2.4").ranges)
    less[FETCH.key] = Range(0, 4)
    assert release_of(Versions(less)) == "less than Kafka 2.4 offers"
    between = dict(offering("3.9").ranges)
    between[CONSUMER_GROUP_HEARTBEAT.key] = Range(0, 1)
    assert release_of(Versions(between)) == "the APIs of Kafka 3.9"


def test_the_consumer_protocol_is_there_when_it_is_finalised() -> None:
    """The API alone does not tell."""
    answer = ApiVersionsAnswer(error=0, offered=offering("4.3"))
    assert not has_consumer_protocol(answer)
    answer = ApiVersionsAnswer(
        error=0, offered=offering("4.3"), finalized=(("group.version", 1),), finalized_in=3
    )
    assert has_consumer_protocol(answer)
