"""The public names, fixed; and what importing them costs in modules."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import prokurist

HEAVY = (
    "kio",
    "pytest",
    "prometheus_client",
    "structlog",
    "pyarrow",
    "pyspark",
    "docker",
    "typer",
    "rich",
)

NAMES = {
    "Acknowledge",
    "AdminConfig",
    "KafkaAdmin",
    "admin",
    "ReadProcessWrite",
    "RecordMetadata",
    "ProducerRecord",
    "ProducerConfig",
    "KafkaProducer",
    "KafkaShareConsumer",
    "DeliveredRun",
    "Deliveries",
    "Delivery",
    "Assignor",
    "CommitFailedException",
    "ConfigException",
    "ConfigWarning",
    "ConsumerConfig",
    "ConsumerGroupMetadata",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerRecords",
    "EmptyCause",
    "LogEvent",
    "GroupMembershipOperation",
    "Health",
    "IllegalStateException",
    "KafkaConsumer",
    "KafkaException",
    "Member",
    "MembershipHealth",
    "MembershipState",
    "Node",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetTracker",
    "OpenTransaction",
    "PartitionInfo",
    "PartitionProgress",
    "ProducerHealth",
    "RetriableException",
    "Secret",
    "ShareConsumerConfig",
    "ShareHealth",
    "ShareRecord",
    "ShareRecords",
    "SubscriptionPattern",
    "TransactionBlock",
    "TimeoutException",
    "TimestampType",
    "TopicPartition",
    "WakeupException",
    "WhyEmpty",
    "__version__",
    "errors",
    "metrics",
    "otel",
    "parallel",
    "spark",
    "testing",
    "timeline",
}


def test_the_public_names_are_these() -> None:
    """A name comes or goes only together with this list, and with the changelog."""
    assert set(prokurist.__all__) == NAMES
    assert set(dir(prokurist)) >= NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_name_resolves(name: str) -> None:
    """What is promised is there, and stays once it was asked for."""
    assert getattr(prokurist, name) is getattr(prokurist, name)


def test_another_name_is_an_attribute_error() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match="'prokurist' has no attribute 'KafkaConsumr'"):
        prokurist.KafkaConsumr  # noqa: B018 - the access is the test


def test_type_checkers_and_the_run_time_see_the_same() -> None:
    """The imports below TYPE_CHECKING and the table that resolves them are one list."""
    tree = ast.parse(Path(prokurist.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        (alias.asname, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = set(prokurist._HOMES.items())
    assert seen == homes | {(room, "prokurist") for room in prokurist._ROOMS}


@pytest.mark.parametrize(
    "statement",
    [
        "import prokurist",
        "from prokurist import ConsumerConfig, TimeoutException, TopicPartition",
    ],
)
def test_importing_is_light(statement: str) -> None:
    """Nothing heavy comes along: neither third parties nor sockets."""
    code = f"{statement}\nimport sys; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "prokurist" in loaded
    assert not [name for name in HEAVY if name in loaded]
    assert "socket" not in loaded
