"""kafka-python's KafkaAdminClient changes the embedded broker."""

import warnings
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.types import TopicPartition as Tp

if TYPE_CHECKING:
    from prokurist.testing.broker import EmbeddedBroker

with warnings.catch_warnings():
    # It reads its own schemas in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka  # type: ignore[import-untyped]
    from kafka import OffsetAndMetadata, TopicPartition
    from kafka.admin import (  # type: ignore[import-untyped]
        ConfigResource,
        ConfigResourceType,
        NewPartitions,
    )
    from kafka.errors import TopicAlreadyExistsError  # type: ignore[import-untyped]


@pytest.fixture
def admin(broker: "EmbeddedBroker") -> Iterator[Any]:
    """An administrator of the embedded broker."""
    with closing(kafka.KafkaAdminClient(bootstrap_servers=broker.bootstrap.split(","))) as made:
        yield made


def test_topics_are_created_grown_and_deleted(admin: Any) -> None:
    """B650: by another client too."""
    admin.create_topics({"new": {"num_partitions": 2, "replication_factor": 1}})
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics({"new": {"num_partitions": 2, "replication_factor": 1}})
    admin.create_partitions({"new": NewPartitions(5)})
    [described] = admin.describe_topics(["new"])
    assert len(described["partitions"]) == 5
    admin.delete_topics(["new"])
    assert set(admin.list_topics()) == {"orders"}


def test_configs_are_altered_and_described(admin: Any) -> None:
    """B651: by another client too."""
    changed = ConfigResource(ConfigResourceType.TOPIC, "orders", {"retention.ms": "1000"})
    admin.alter_configs([changed])
    asked = ConfigResource(ConfigResourceType.TOPIC, "orders", None)
    assert "1000" in str(admin.describe_configs([asked]))


def test_records_and_groups_are_deleted(broker: "EmbeddedBroker", admin: Any) -> None:
    """B652, B653: by another client too."""
    broker.append(Tp("orders", 0), b"one", b"two", b"three")
    admin.delete_records({TopicPartition("orders", 0): 2})
    assert broker.offsets(Tp("orders", 0)) == (2, 3)
    admin.alter_group_offsets(
        "billing", {TopicPartition("orders", 0): OffsetAndMetadata(2, "", -1)}
    )
    assert broker.committed("billing")[Tp("orders", 0)].offset == 2
    assert [each["group_id"] for each in admin.list_groups()] == ["billing"]
    admin.delete_groups(["billing"])
    assert admin.list_groups() == []
