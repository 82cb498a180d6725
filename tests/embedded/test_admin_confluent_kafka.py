"""librdkafka's AdminClient, and the face that has its names, change the embedded broker."""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from prokurist.types import TopicPartition as Tp

if TYPE_CHECKING:
    import logging

    from prokurist.testing.broker import EmbeddedBroker

SECONDS = 10
THEIRS, FACE = "confluent_kafka", "prokurist.compat.confluent_kafka"


class Peer(NamedTuple):
    """A package, its module for administration, and an administrator of the broker."""

    package: Any
    api: Any
    admin: Any


@pytest.fixture(params=[THEIRS, FACE])
def peer(
    request: pytest.FixtureRequest, broker: "EmbeddedBroker", quiet: "logging.Logger"
) -> Iterator[Peer]:
    """An administrator of the embedded broker: librdkafka's, or the face."""
    package, api = import_module(request.param), import_module(f"{request.param}.admin")
    logs = {"logger": quiet} if request.param == THEIRS else {}
    with api.AdminClient({"bootstrap.servers": broker.bootstrap}, **logs) as admin:
        yield Peer(package, api, admin)


def results(futures: Mapping[Any, Any]) -> dict[Any, Any]:
    """The result of each future, an error's name for a failed one."""
    found = {}
    for key, future in futures.items():
        error = future.exception(SECONDS)
        found[key] = future.result() if error is None else error.args[0].name()
    return found


def descriptions(failed: Iterable[Any]) -> list[str]:
    """The broker's text of each failed future."""
    return [future.exception(SECONDS).args[0].str() for future in failed]


def test_topics_are_created_grown_and_deleted(peer: Peer) -> None:
    """B650: one by one, with the errors and texts of Kafka."""
    made = peer.admin.create_topics(
        [
            peer.api.NewTopic("new", 2, config={"retention.ms": "1000"}),
            peer.api.NewTopic("orders", 1),
        ]
    )
    assert results(made) == {"new": None, "orders": "TOPIC_ALREADY_EXISTS"}
    assert descriptions([made["orders"]]) == ["Topic 'orders' already exists."]

    grown = peer.admin.create_partitions(
        [peer.api.NewPartitions("new", 5), peer.api.NewPartitions("orders", 1)]
    )
    assert results(grown) == {"new": None, "orders": "INVALID_PARTITIONS"}
    assert len(peer.admin.list_topics("new", timeout=SECONDS).topics["new"].partitions) == 5

    assert results(peer.admin.delete_topics(["new", "none"])) == {
        "new": None,
        "none": "UNKNOWN_TOPIC_OR_PART",
    }
    assert set(peer.admin.list_topics(timeout=SECONDS).topics) == {"orders"}


def test_configs_are_described_and_altered(peer: Peer) -> None:
    """B651: the properties of a topic, with their source; a wrong one changes nothing."""
    topic = peer.api.ConfigResource(peer.api.ConfigResource.Type.TOPIC, "orders")
    entry = peer.api.ConfigEntry(
        "retention.ms", "1000", incremental_operation=peer.api.AlterConfigOpType.SET
    )
    wrong = peer.api.ConfigEntry(
        "retention.ms", "x", incremental_operation=peer.api.AlterConfigOpType.SET
    )

    def described() -> tuple[str, int]:
        [found] = results(peer.admin.describe_configs([topic])).values()
        return found["retention.ms"].value, found["retention.ms"].source

    assert described() == ("-1", 4)
    changed = peer.api.ConfigResource(
        peer.api.ConfigResource.Type.TOPIC, "orders", incremental_configs=[entry]
    )
    assert list(results(peer.admin.incremental_alter_configs([changed])).values()) == [None]
    assert described() == ("1000", 1)
    refused = peer.api.ConfigResource(
        peer.api.ConfigResource.Type.TOPIC, "orders", incremental_configs=[wrong]
    )
    futures = peer.admin.incremental_alter_configs([refused])
    assert descriptions(futures.values()) == [
        "Invalid value x for configuration retention.ms: Not a number of type LONG"
    ]
    assert described() == ("1000", 1)


def test_groups_and_offsets_are_administered(broker: "EmbeddedBroker", peer: Peer) -> None:
    """B652: offsets are altered and read, and the group is listed, described and deleted."""
    wanted = peer.package.ConsumerGroupTopicPartitions(
        "billing", [peer.package.TopicPartition("orders", 0, 7)]
    )
    assert len(results(peer.admin.alter_consumer_group_offsets([wanted]))) == 1
    assert broker.committed("billing")[Tp("orders", 0)].offset == 7

    asked = peer.package.ConsumerGroupTopicPartitions("billing")
    [read] = results(peer.admin.list_consumer_group_offsets([asked])).values()
    assert [(each.partition, each.offset) for each in read.topic_partitions] == [(0, 7)]

    listed = peer.admin.list_consumer_groups().result(SECONDS)
    assert [each.group_id for each in listed.valid] == ["billing"]
    [group] = results(peer.admin.describe_consumer_groups(["billing"])).values()
    assert (group.group_id, group.state.name, group.members) == ("billing", "EMPTY", [])

    assert results(peer.admin.delete_consumer_groups(["billing", "none"])) == {
        "billing": None,
        "none": "GROUP_ID_NOT_FOUND",
    }
    assert peer.admin.list_consumer_groups().result(SECONDS).valid == []


def test_records_are_deleted_and_offsets_listed(broker: "EmbeddedBroker", peer: Peer) -> None:
    """B653: records below an offset; beyond the end is an error of that partition."""
    broker.append(Tp("orders", 0), b"one", b"two", b"three")
    deleted = peer.admin.delete_records(
        [
            peer.package.TopicPartition("orders", 0, 2),
            peer.package.TopicPartition("orders", 1, 9),
        ]
    )
    found = {each.partition: result for each, result in results(deleted).items()}
    assert found[0].low_watermark == 2
    assert found[1] == "OFFSET_OUT_OF_RANGE"

    specs = {peer.package.TopicPartition("orders", 0): peer.api.OffsetSpec.earliest()}
    [row] = results(peer.admin.list_offsets(specs)).values()
    assert row.offset == 2


def test_acls_are_created_described_and_deleted(peer: Peer) -> None:
    """B654: entries by filter."""
    made = peer.api.AclBinding(
        peer.api.ResourceType.TOPIC,
        "orders",
        peer.api.ResourcePatternType.LITERAL,
        "User:anna",
        "*",
        peer.api.AclOperation.READ,
        peer.api.AclPermissionType.ALLOW,
    )
    everything = peer.api.AclBindingFilter(
        peer.api.ResourceType.ANY,
        None,
        peer.api.ResourcePatternType.ANY,
        None,
        None,
        peer.api.AclOperation.ANY,
        peer.api.AclPermissionType.ANY,
    )
    assert list(results(peer.admin.create_acls([made])).values()) == [None]
    assert peer.admin.describe_acls(everything).result(SECONDS) == [made]
    assert list(results(peer.admin.delete_acls([everything])).values()) == [[made]]
    assert peer.admin.describe_acls(everything).result(SECONDS) == []


def test_users_are_altered_and_described(peer: Peer) -> None:
    """B655: SCRAM credentials by user and mechanism."""
    info = peer.api.ScramCredentialInfo(peer.api.ScramMechanism.SCRAM_SHA_256, 4096)
    upserted = peer.api.UserScramCredentialUpsertion("anna", info, b"password", b"salt")
    deleted = peer.api.UserScramCredentialDeletion(
        "nobody", peer.api.ScramMechanism.SCRAM_SHA_256
    )
    assert results(peer.admin.alter_user_scram_credentials([upserted, deleted])) == {
        "anna": None,
        "nobody": "RESOURCE_NOT_FOUND",
    }
    found = peer.admin.describe_user_scram_credentials().result(SECONDS)
    assert [each.iterations for each in found["anna"].scram_credential_infos] == [4096]
