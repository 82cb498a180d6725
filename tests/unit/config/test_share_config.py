"""The configuration of a share consumer."""

import pytest

from prokurist.config import ShareConsumerConfig
from prokurist.errors import ConfigException

SERVERS = {"bootstrap.servers": "kafka:9092", "group.id": "workers"}


@pytest.mark.parametrize(
    ("key", "value", "instead"),
    [
        ("auto.offset.reset", "earliest", "share.auto.offset.reset"),
        ("isolation.level", "read_committed", "share.isolation.level"),
        ("session.timeout.ms", "6000", "share.session.timeout.ms"),
        ("heartbeat.interval.ms", "1000", "share.heartbeat.interval.ms"),
        ("enable.auto.commit", "false", "share.acknowledgement.mode"),
        ("group.instance.id", "a", "dynamic"),
        ("group.protocol", "consumer", "leave the key out"),
        ("group.remote.assignor", "uniform", "leave the key out"),
        ("partition.assignment.strategy", "range", "leave the key out"),
        ("interceptor.classes", [object()], "on_acknowledged"),
    ],
)
def test_keys_of_the_group_are_named(key: str, value: object, instead: str) -> None:
    """B794: the error says where it is set, or that there is no such thing."""
    with pytest.raises(ConfigException) as raised:
        ShareConsumerConfig({**SERVERS, key: value})
    assert instead in str(raised.value)
    assert key in str(raised.value)


def test_a_group_is_needed() -> None:
    """The error says what it is."""
    with pytest.raises(ConfigException, match="the name of the share group"):
        ShareConsumerConfig({"bootstrap.servers": "kafka:9092"})
