"""librdkafka's AdminClient changes the embedded broker."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import confluent_kafka.admin
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from prokurist.types import TopicPartition as Tp

if TYPE_CHECKING:
    import logging

    from prokurist.testing.broker import EmbeddedBroker

SECONDS = 10
api: Any = confluent_kafka.admin


@pytest.fixture
def admin(broker: "EmbeddedBroker", quiet: "logging.Logger") -> Any:
    """An administrator of the embedded broker."""
    return api.AdminClient({"bootstrap.servers": broker.bootstrap}, logger=quiet)


def results(futures: Mapping[Any, Any]) -> dict[Any, Any]:
    """The result of each future, an error's name for a failed one."""
    found = {}
    for key, future in futures.items():
        try:
            found[key] = future.result(SECONDS)
        except KafkaException as error:
            found[key] = error.args[0].name()
    return found


def descriptions(failed: Iterable[Any]) -> list[str]:
    """The broker's text of each failed future."""
    texts = []
    for future in failed:
        with pytest.raises(KafkaException) as caught:
            future.result(SECONDS)
        texts.append(caught.value.args[0].str())
    return texts


def test_topics_are_created_grown_and_deleted(admin: Any) -> None:
    """B650: one by one, with the errors and texts of Kafka."""
    made = admin.create_topics(
        [api.NewTopic("new", 2, config={"retention.ms": "1000"}), api.NewTopic("orders", 1)]
    )
    assert results(made) == {"new": None, "orders": "TOPIC_ALREADY_EXISTS"}
    assert descriptions([made["orders"]]) == ["Topic 'orders' already exists."]

    grown = admin.create_partitions(
        [api.NewPartitions("new", 5), api.NewPartitions("orders", 1)]
    )
    assert results(grown) == {"new": None, "orders": "INVALID_PARTITIONS"}
    assert len(admin.list_topics("new", timeout=SECONDS).topics["new"].partitions) == 5

    assert results(admin.delete_topics(["new", "none"])) == {
        "new": None,
        "none": "UNKNOWN_TOPIC_OR_PART",
    }
    assert set(admin.list_topics(timeout=SECONDS).topics) == {"orders"}


def test_configs_are_described_and_altered(admin: Any) -> None:
    """B651: the properties of a topic, with their source; a wrong one changes nothing."""
    topic = api.ConfigResource(api.ConfigResource.Type.TOPIC, "orders")
    entry = api.ConfigEntry(
        "retention.ms", "1000", incremental_operation=api.AlterConfigOpType.SET
    )
    wrong = api.ConfigEntry(
        "retention.ms", "x", incremental_operation=api.AlterConfigOpType.SET
    )

    def described() -> tuple[str, int]:
        [found] = results(admin.describe_configs([topic])).values()
        return found["retention.ms"].value, found["retention.ms"].source

    assert described() == ("-1", 4)
    changed = api.ConfigResource(
        api.ConfigResource.Type.TOPIC, "orders", incremental_configs=[entry]
    )
    assert list(results(admin.incremental_alter_configs([changed])).values()) == [None]
    assert described() == ("1000", 1)
    refused = api.ConfigResource(
        api.ConfigResource.Type.TOPIC, "orders", incremental_configs=[wrong]
    )
    futures = admin.incremental_alter_configs([refused])
    assert descriptions(futures.values()) == [
        "Invalid value x for configuration retention.ms: Not a number of type LONG"
    ]
    assert described() == ("1000", 1)


def test_groups_and_offsets_are_administered(broker: "EmbeddedBroker", admin: Any) -> None:
    """B652: offsets are altered and read, and the group is listed, described and deleted."""
    wanted = ConsumerGroupTopicPartitions("billing", [TopicPartition("orders", 0, 7)])
    assert len(results(admin.alter_consumer_group_offsets([wanted]))) == 1
    assert broker.committed("billing")[Tp("orders", 0)].offset == 7

    asked = ConsumerGroupTopicPartitions("billing")
    [read] = results(admin.list_consumer_group_offsets([asked])).values()
    assert [(each.partition, each.offset) for each in read.topic_partitions] == [(0, 7)]

    listed = admin.list_consumer_groups().result(SECONDS)
    assert [each.group_id for each in listed.valid] == ["billing"]
    [group] = results(admin.describe_consumer_groups(["billing"])).values()
    assert (group.group_id, group.state.name, group.members) == ("billing", "EMPTY", [])

    assert results(admin.delete_consumer_groups(["billing", "none"])) == {
        "billing": None,
        "none": "GROUP_ID_NOT_FOUND",
    }
    assert admin.list_consumer_groups().result(SECONDS).valid == []


def test_records_are_deleted_and_offsets_listed(broker: "EmbeddedBroker", admin: Any) -> None:
    """B653: records below an offset; beyond the end is an error of that partition."""
    broker.append(Tp("orders", 0), b"one", b"two", b"three")
    deleted = admin.delete_records(
        [TopicPartition("orders", 0, 2), TopicPartition("orders", 1, 9)]
    )
    found = {each.partition: result for each, result in results(deleted).items()}
    assert found[0].low_watermark == 2
    assert found[1] == "OFFSET_OUT_OF_RANGE"

    specs = {TopicPartition("orders", 0): api.OffsetSpec.earliest()}
    [row] = results(admin.list_offsets(specs)).values()
    assert row.offset == 2


def test_acls_are_created_described_and_deleted(admin: Any) -> None:
    """B654: entries by filter."""
    made = api.AclBinding(
        api.ResourceType.TOPIC,
        "orders",
        api.ResourcePatternType.LITERAL,
        "User:anna",
        "*",
        api.AclOperation.READ,
        api.AclPermissionType.ALLOW,
    )
    everything = api.AclBindingFilter(
        api.ResourceType.ANY,
        None,
        api.ResourcePatternType.ANY,
        None,
        None,
        api.AclOperation.ANY,
        api.AclPermissionType.ANY,
    )
    assert list(results(admin.create_acls([made])).values()) == [None]
    assert admin.describe_acls(everything).result(SECONDS) == [made]
    assert list(results(admin.delete_acls([everything])).values()) == [[made]]
    assert admin.describe_acls(everything).result(SECONDS) == []


def test_users_are_altered_and_described(admin: Any) -> None:
    """B655: SCRAM credentials by user and mechanism."""
    info = api.ScramCredentialInfo(api.ScramMechanism.SCRAM_SHA_256, 4096)
    upserted = api.UserScramCredentialUpsertion("anna", info, b"password", b"salt")
    deleted = api.UserScramCredentialDeletion("nobody", api.ScramMechanism.SCRAM_SHA_256)
    assert results(admin.alter_user_scram_credentials([upserted, deleted])) == {
        "anna": None,
        "nobody": "RESOURCE_NOT_FOUND",
    }
    found = admin.describe_user_scram_credentials().result(SECONDS)
    assert [each.iterations for each in found["anna"].scram_credential_infos] == [4096]
